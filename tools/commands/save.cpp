// octet save: a network as it runs, lowered and packed, in a file that starts without that work.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "commands/commands.hpp"
#include "commands/network_file.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "storage/replacement.hpp"

namespace octet::tools {
namespace {

struct save_options {
    network_file_options net;
    std::string file;
    machine_options machine;
    bool json = false;
};

/// Checks the target before the network is made; the plan itself replaces the file by renaming.
void require_target(const save_options &options) {
    storage::require_replaceable(options.file);
    std::error_code ignored;
    if (std::filesystem::equivalent(options.file, options.net.model, ignored))
        throw error(status::invalid_arguments, options.file + ": is the model itself");
}

void save(const save_options &options) {
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    model::graph g = read_graph(options.net);
    require_sizes(g, options.net);
    require_target(options);
    const network net = make_network(std::move(g), options.net);
    net.save(options.file);
    const std::uintmax_t bytes = std::filesystem::file_size(options.file);
    const char *level = to_string(get_effective_cpu_isa());
    if (options.json)
        print({{"model", options.net.model},
               {"file", options.file},
               {"bytes", bytes},
               {"rule", to_string(net.options().rule)},
               {"profile", net.options().profile},
               {"isa", level}});
    else
        std::cout << "wrote " << options.file << ", " << bytes_text(bytes) << ", for " << level
                  << " and this version of Octet\n";
}

} // namespace

void add_save_command(CLI::App &app) {
    const auto options = std::make_shared<save_options>();
    CLI::App *command = app.add_subcommand("save", "Write a plan that starts in milliseconds");
    add_network_options(*command, options->net);
    command->get_option("MODEL")->required();
    command
        ->add_option("FILE", options->file,
                     "The file to write, usually NAME.octet; every command takes it as a model")
        ->required()
        ->type_name("");
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->callback([options] { save(*options); });
}

} // namespace octet::tools
