// octet explain: which implementation each node of a network, or a problem, gets, and who refused.

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
    std::string model, problem, rule = "automatic";
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

void explain_problem(const std::string &text) {
    const primitive_desc pd = primitive_desc_from_string(text, engine(engine::kind::cpu, 0));
    std::cout << pd.problem_str() << "\n  runs on " << pd.impl_info_str() << '\n';
    if (const std::string plan = primitive(pd).plan_str(); !plan.empty())
        std::cout << "  plan: " << plan << '\n';
    for (const std::string &refusal : pd.refusals())
        std::cout << "  refused by " << refusal << '\n';
}

void explain(const explain_options &options) {
    if (options.model.empty() == options.problem.empty())
        throw CLI::RequiredError("either MODEL or --problem");
    apply(options.machine);
    if (!options.problem.empty())
        return explain_problem(options.problem);
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
    command->add_option("MODEL", options->model, "A .tflite or .onnx file")->type_name("");
    CLI::Option *problem =
        command
            ->add_option("--problem", options->problem,
                         "A problem instead of a model: a line of verbose mode (OCTET_VERBOSE=1), in quotes")
            ->type_name("LINE");
    command->add_option("--node", options->node, "Only this node of the file")
        ->type_name("N")
        ->check(whole_number(0, 1'000'000));
    add_rule_option(*command, options->rule, "Requantization rule of the accumulating operators");
    command->add_flag("--no-fusion", options->no_fusion, "Every operator by itself");
    add_machine_options(*command, options->machine);
    for (const char *option : {"MODEL", "--node", "--rule", "--no-fusion"})
        problem->excludes(command->get_option(option));
    command->callback([options] { explain(*options); });
}

} // namespace octet::tools
