// octet explain: which implementation each node of a network, or a problem, gets, and who refused.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "base/json.hpp"
#include "base/options.hpp"
#include "commands/commands.hpp"
#include "commands/network_file.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct explain_options {
    network_file_options net;
    std::string problem;
    machine_options machine;
    int node = -1; ///< all
    bool json = false;
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

json node_json(const network &net, std::size_t index) {
    const model::graph &g = net.get_graph();
    json outputs = json::array(), lines = json::array();
    for (const int t : g.nodes[index].outputs)
        outputs.push_back(to_json(g, t));
    std::istringstream text(net.explain(index));
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    return {{"node", model::node_number(g, index)},
            {"operator", model::operator_text(g.nodes[index])},
            {"outputs", outputs},
            {"implementation", net.implementation(index)},
            {"explanation", lines}};
}

void explain_problem(const explain_options &options) {
    const primitive_desc pd = primitive_desc_from_string(options.problem, engine(engine::kind::cpu, 0));
    const std::string plan = primitive(pd).plan_str();
    if (options.json)
        return print({{"problem", pd.problem_str()},
                      {"implementation", pd.impl_info_str()},
                      {"plan", plan},
                      {"refusals", pd.refusals()}});
    std::cout << pd.problem_str() << "\n  runs on " << pd.impl_info_str() << '\n';
    if (!plan.empty())
        std::cout << "  plan: " << plan << '\n';
    for (const std::string &refusal : pd.refusals())
        std::cout << "  refused by " << refusal << '\n';
}

void explain(const explain_options &options) {
    if (options.net.model.empty() == options.problem.empty())
        throw CLI::RequiredError("either MODEL or --problem");
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    if (!options.problem.empty())
        return explain_problem(options);
    const network net = make_network(read_graph(options.net), options.net);
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < net.get_graph().nodes.size(); i++)
        if (options.node < 0 || model::node_number(net.get_graph(), i) == options.node)
            nodes.push_back(i);
    if (options.node >= 0 && nodes.empty())
        throw error(status::invalid_arguments,
                    "--node: " + std::to_string(options.node) + " given, but " + options.net.model +
                        " has no such node, or it became part of another (octet explain without --node)");
    json object = {{"model", options.net.model}, {"nodes", json::array()}};
    for (const std::size_t i : nodes)
        if (options.json)
            object["nodes"].push_back(node_json(net, i));
        else
            explain_node(net, i);
    if (options.json)
        print(object);
}

} // namespace

void add_explain_command(CLI::App &app) {
    const auto options = std::make_shared<explain_options>();
    CLI::App *command = app.add_subcommand("explain", "Say which kernel each node runs on, and why");
    std::vector<std::string> others = add_network_options(*command, options->net);
    others.push_back("--node");
    CLI::Option *problem =
        command
            ->add_option("--problem", options->problem,
                         "A problem instead of a model: a line of verbose mode (OCTET_VERBOSE=1), in quotes")
            ->type_name("LINE");
    command->add_option("--node", options->node, "Only this node of the file")
        ->type_name("N")
        ->check(whole_number(0, 1'000'000));
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    for (const std::string &option : others)
        problem->excludes(command->get_option(option));
    command->callback([options] { explain(*options); });
}

} // namespace octet::tools
