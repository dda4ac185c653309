// octet explain: which implementation each node of a network gets, for which problem, and who refused.

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct explain_options {
    std::string model, rule = "automatic";
    machine_options machine;
    int node = -1; ///< all
    bool no_fusion = false;
};

void explain_node(const network &net, std::size_t index) {
    const model::graph &g = net.get_graph();
    std::cout << model::node_text(g, index);
    for (const int t : g.nodes[index].outputs) {
        const model::tensor &output = g.tensors[static_cast<std::size_t>(t)];
        std::cout << " -> " << model::type_text(output) << ' ' << model::to_text(output.dims);
    }
    std::cout << '\n';
    std::istringstream lines(net.explain(index));
    for (std::string line; std::getline(lines, line);)
        std::cout << "  " << line << '\n';
}

void explain(const explain_options &options) {
    apply(options.machine);
    const network net(options.model,
                      {requantization_rule_from_string(options.rule.c_str()), !options.no_fusion});
    bool is_found = options.node < 0;
    for (std::size_t i = 0; i < net.get_graph().nodes.size(); i++)
        if (options.node < 0 || model::node_number(net.get_graph(), i) == options.node) {
            explain_node(net, i);
            is_found = true;
        }
    if (!is_found)
        throw error(status::invalid_arguments,
                    "--node: " + std::to_string(options.node) + " given, but " + options.model +
                        " has no such node, or it became part of another (octet explain without --node)");
}

} // namespace

void add_explain_command(CLI::App &app) {
    const auto options = std::make_shared<explain_options>();
    CLI::App *command = app.add_subcommand("explain", "Why a network's nodes run as they do");
    command->add_option("MODEL", options->model, "A .tflite or .onnx file")->required()->type_name("");
    command->add_option("--node", options->node, "Only this node of the file")
        ->type_name("N")
        ->check(whole_number(0, 1'000'000));
    add_rule_option(*command, options->rule, "Requantization rule of the accumulating operators");
    command->add_flag("--no-fusion", options->no_fusion, "Every operator by itself");
    add_machine_options(*command, options->machine);
    command->callback([options] { explain(*options); });
}

} // namespace octet::tools
