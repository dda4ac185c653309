#pragma once // SPDX-License-Identifier: Apache-2.0

// How --help looks: descriptions are broken into lines, and an option shows what it takes, not what CLI11 knows of its
// relations to others, which descriptions and errors say in words.

#include <string>

#include <CLI/CLI.hpp>

namespace octet::tools {

class help_formatter : public CLI::Formatter {
public:
    std::string make_option(const CLI::Option *option, bool is_positional) const override;
    std::string make_subcommand(const CLI::App *command) const override;
    std::string make_option_opts(const CLI::Option *option) const override;
};

} // namespace octet::tools
