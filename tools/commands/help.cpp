// Lines of --help.
// SPDX-License-Identifier: Apache-2.0
#include "commands/help.hpp"

#include <sstream>

namespace octet::tools {
namespace {

constexpr std::size_t line_width = 100;

/// "  name      text", continued below the text.
std::string entry(const std::string &name, const std::string &text, std::size_t column) {
    std::string result = "  " + name, line;
    const auto flush = [&] {
        result += line + '\n' + std::string(column, ' ');
        line.clear();
    };
    if (result.size() + 1 < column)
        result += std::string(column - result.size(), ' ');
    else
        flush();
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!line.empty() && column + line.size() + 1 + word.size() > line_width)
            flush();
        line += (line.empty() ? "" : " ") + word;
    }
    return result + line + '\n';
}

} // namespace

std::string help_formatter::make_option(const CLI::Option *option, bool is_positional) const {
    return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option),
                 get_column_width());
}

std::string help_formatter::make_subcommand(const CLI::App *command) const {
    return entry(command->get_name(), command->get_description(), get_column_width());
}

std::string help_formatter::make_option_opts(const CLI::Option *option) const {
    if (option->get_type_size() == 0) // a flag
        return "";
    std::string text;
    if (!option->get_type_name().empty())
        text += ' ' + option->get_type_name();
    if (!option->get_default_str().empty())
        text += '=' + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size)
        text += " ...";
    return text;
}

} // namespace octet::tools
