// octet explain: which implementation each node of a network gets, for which problem, and who refused.

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "commands/commands.hpp"
#include "commands/print.hpp"
#include "network/run/network.hpp"

namespace octet::tools {
namespace {

struct explain_options {
    std::string model, rule = "automatic";
    int node = -1; ///< all
    bool no_fusion = false;
};

void explain_node(const model::network &net, std::size_t index) {
    const model::graph &g = net.get_graph();
    std::cout << model::node_text(g, index);
    for (const int t : g.nodes[index].outputs) {
        const model::tensor &output = g.tensors[static_cast<std::size_t>(t)];
        std::cout << " -> " << model::type_text(output) << ' ' << model::to_text(output.dims);
    }
    std::cout << '\n';
    std::istringstream lines(net.get_step(index).explain());
    for (std::string line; std::getline(lines, line);)
        std::cout << "  " << line << '\n';
}

void explain(const explain_options &options) {
    const model::network net = model::load_network(
        options.model, {requantization_rule_from_string(options.rule.c_str()), !options.no_fusion});
    const std::size_t count = net.get_graph().nodes.size();
    if (options.node >= 0 && static_cast<std::size_t>(options.node) >= count)
        throw error(status::invalid_arguments, "--node is " + std::to_string(options.node) + ", but " +
                                                   options.model + " has " + std::to_string(count) +
                                                   " nodes");
    for (std::size_t i = 0; i < count; i++)
        if (options.node < 0 || static_cast<std::size_t>(options.node) == i)
            explain_node(net, i);
}

} // namespace

void add_explain_command(CLI::App &app) {
    const auto options = std::make_shared<explain_options>();
    CLI::App *command = app.add_subcommand("explain", "Why a network's nodes run as they do");
    command->add_option("model", options->model, "A .tflite or .onnx file")->required();
    command->add_option("--node", options->node, "Only this node")->check(CLI::Range(0, 1000000));
    command->add_option("--rule", options->rule, "Requantization rule: " + rule_names());
    command->add_flag("--no-fusion", options->no_fusion, "Every operator by itself");
    command->callback([options] { explain(*options); });
}

} // namespace octet::tools
