// octet inspect: what is in a network's file, what of it would run where, and what is refused. A file with
// operators that Octet lacks is shown like any other; only one that cannot be read is an error.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/json.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "base/tensor_text.hpp"
#include "commands/commands.hpp"
#include "commands/network_file.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "octet/profile.hpp"

namespace octet::tools {
namespace {

struct inspect_options {
    network_file_options net;
    machine_options machine;
    bool json = false, passes = false;
};

/// A file and what becomes of it: a network, or the sentence that says why not, and one for each node that is to blame.
struct inspected {
    model::graph file; ///< with the sizes that were asked for, where operators are known
    std::optional<network> net;
    std::string refusal;
    std::map<int, std::string> refused = {}; ///< by the node's number

    /// Tensors keep their indices; those of the network have scales that .onnx files tell with operators.
    const model::graph &best() const { return net ? net->get_graph() : file; }
};

std::size_t bytes_of(const model::tensor &t) {
    return t.type == data_type::undef
               ? 0
               : static_cast<std::size_t>(model::element_count(t.dims)) * memory::data_type_size(t.type);
}

struct size_of_weights {
    std::size_t tensors = 0, bytes = 0;
};

size_of_weights weights_of(const model::graph &g) {
    size_of_weights sum;
    for (const model::tensor &t : g.tensors)
        if (t.is_constant) {
            sum.tensors++;
            sum.bytes += bytes_of(t);
        }
    return sum;
}

std::size_t weights_of(const model::graph &g, const model::node &n) {
    std::size_t sum = 0;
    for (const int t : n.inputs)
        if (t >= 0 && g.tensors[static_cast<std::size_t>(t)].is_constant)
            sum += bytes_of(g.tensors[static_cast<std::size_t>(t)]);
    return sum;
}

/// Operators of the file with their counts, the most frequent first.
std::vector<std::pair<std::string, int>> operators_of(const model::graph &g) {
    std::map<std::string, int> counts;
    for (const model::node &n : g.nodes)
        counts[n.op]++;
    std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto &a, const auto &b) { return a.second > b.second; });
    return sorted;
}

/// Nodes that a network cannot have, of a graph or a path, as far as one can know.
template <typename Model>
std::map<int, std::string> reasons_of(const Model &m, const inspect_options &options) {
    std::map<int, std::string> reasons;
    try {
        for (const refused_node &n : refused_nodes(m, arithmetic_of(options.net)))
            if (n.is_certain)
                reasons.emplace(n.number, n.reason);
    } catch (const error &) { // no node is to blame
    }
    return reasons;
}

/// Whether a file that cannot be read whole can at least be looked at.
bool read_structure(const std::string &path, model::graph &g) {
    try {
        g = model::read_onnx_structure(path);
    } catch (const error &) {
        return false;
    }
    return true;
}

inspected inspect_file(const inspect_options &options) {
    inspected result;
    try {
        result.file = read_graph(options.net);
        result.net.emplace(make_network(result.file, options.net));
    } catch (const error &e) {
        const bool is_read = !result.file.nodes.empty();
        if (!is_read &&
            (e.status != status::unimplemented || !read_structure(options.net.model, result.file)))
            throw;
        result.refusal = e.what();
        const std::string name = options.net.model + ": "; // is known
        if (result.refusal.rfind(name, 0) == 0)
            result.refusal.erase(0, name.size());
        result.refused = is_read ? reasons_of(result.file, options) : reasons_of(options.net.model, options);
    }
    return result;
}

/// A saved plan has its own.
std::string rule_of(const inspected &i, const inspect_options &options) {
    return i.net ? to_string(i.net->options().rule) : options.net.rule;
}

/// In force, empty for the framework's default.
std::string profile_of(const inspected &i, const inspect_options &options) {
    return i.net ? i.net->options().profile : options.net.profile;
}

/// A .tflite network has no other rows.
bool are_rows_alike(const inspected &i, const inspect_options &options) {
    return i.file.framework == "tflite" || (i.net ? i.net->options().rows_alike : options.net.rows_alike);
}

bool reads_floats(const model::graph &g, const std::string &op) {
    return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const model::node &n) {
        return n.op == op && std::any_of(n.inputs.begin(), n.inputs.end(), [&](int t) {
                   return t >= 0 && g.tensors[static_cast<std::size_t>(t)].type == data_type::f32;
               });
    });
}

/// Operators of the file that another profile computes otherwise than the one in force: what its rows say differs.
/// Rows of floats have no rule; those without a contract have none either, and a runtime that lacks one for codes
/// differs by its other rows, too.
std::vector<std::string> changed_by(const profile &other, const profile &in_force, const model::graph &g) {
    const auto rows_of = [&g](const profile &p, const std::string &op) {
        const bool has_floats = reads_floats(g, op);
        std::vector<std::string> rows;
        for (const profile_entry &e : p.entries)
            if (e.op == op &&
                (has_floats || e.rule.value_or(requantization_rule::none) != requantization_rule::none))
                rows.push_back(e.condition + e.arithmetic + e.derivation);
        return rows;
    };
    std::vector<std::string> changed;
    for (const auto &[op, count] : operators_of(g))
        if (rows_of(other, op) != rows_of(in_force, op))
            changed.push_back(op);
    return changed;
}

/// The profile in force, by the name that it has where none is given; empty for formats with one alone.
std::string profile_in_force(const inspected &i, const inspect_options &options) {
    const std::string given = profile_of(i, options);
    return !given.empty() || i.file.framework != "tflite" ? given : all_profiles().front().name;
}

/// Returns the other profiles that a network of the format can run under, each with the operators whose
/// arithmetic it changes.
std::vector<std::pair<std::string, std::vector<std::string>>> other_profiles(const inspected &i,
                                                                             const std::string &name) {
    std::vector<std::pair<std::string, std::vector<std::string>>> others;
    if (name.empty())
        return others;
    const profile &in_force = find_profile(name);
    for (const profile &other : all_profiles())
        if (other.framework == i.file.framework && other.name != in_force.name)
            others.emplace_back(other.name, changed_by(other, in_force, i.file));
    return others;
}

// ---- Text

void print_profiles(const inspected &i, const inspect_options &options) {
    const std::string name = profile_in_force(i, options);
    if (name.empty())
        return;
    std::cout << "\nprofiles\n  " << name << "  in force\n";
    for (const auto &[other, operators] : other_profiles(i, name)) {
        const std::string changes =
            operators.empty() ? "changes nothing" : "other arithmetic for " + list_text(operators);
        std::string head = "  " + other + "  ";
        for (const std::string &line : wrapped(changes, widest_line - head.size())) {
            std::cout << head << line << '\n';
            head.assign(head.size(), ' ');
        }
    }
}

/// "0.0078125", "64 scales", nothing
std::string scale_text(const model::quantization &q) {
    if (q.scales.size() > 1)
        return std::to_string(q.scales.size()) + " scales";
    char text[32] = "";
    if (!q.scales.empty())
        std::snprintf(text, sizeof text, "%.7g", static_cast<double>(q.scales[0]));
    return text;
}

std::string zero_point_text(const model::quantization &q) {
    return q.zero_points.size() == 1 ? std::to_string(q.zero_points[0]) : "";
}

/// One line for each, in their order.
void print_passes(const inspected &i, const std::string &model) {
    if (i.file.framework != "onnx" || i.file.saved)
        throw error(status::invalid_arguments,
                    "--passes: " + model + " is " +
                        (i.file.saved ? "a plan of octet save, which keeps no list of them"
                                      : "of " + i.file.framework + ", the passes are ONNX Runtime's") +
                        "; allowed: an .onnx file");
    if (!i.net)
        throw error(status::unimplemented, i.refusal);
    if (i.net->passes().empty())
        std::cout << "no pass changed the graph\n";
    for (const std::string &pass : i.net->passes())
        std::cout << pass << '\n';
}

/// Without the list of all that is supported.
std::string refusal_text(const inspected &i) {
    return one_line(i.refusal.substr(0, i.refusal.find("; supported are")), 10'000);
}

/// Names of the axes that the file leaves open, by axis; empty for the others.
std::vector<std::string> open_axes(const model::tensor &t) {
    std::vector<std::string> names = t.dim_names;
    names.resize(t.dims.size());
    return names;
}

void print_tensors(const char *title, const model::graph &g, const std::vector<int> &tensors) {
    std::cout << '\n' << title << '\n';
    for (const int t : tensors) {
        const model::quantization &q = g.tensors[static_cast<std::size_t>(t)].quant;
        std::cout << "  " << tensor_text(g, t);
        if (q.is_set())
            std::cout << ", scale " << scale_text(q) << ", zero point " << zero_point_text(q);
        std::vector<std::string> open = open_axes(g.tensors[static_cast<std::size_t>(t)]);
        open.erase(std::remove(open.begin(), open.end(), ""), open.end());
        if (!open.empty())
            std::cout << ", open: " << list_text(open);
        std::cout << '\n';
    }
}

void print_operators(const model::graph &g) {
    table t({{"operator"}, {"nodes", table::align::right}});
    for (const auto &[name, count] : operators_of(g))
        t.add({name, std::to_string(count)});
    std::cout << '\n' << t.text();
}

void print_nodes(const inspected &i) {
    const model::graph &g = i.best();
    using align = table::align;
    std::vector<table::column> columns = {
        {"node", align::right},  {"operator"},           {"output"},
        {"scale", align::right}, {"zero", align::right}, {"weights", align::right},
        {"implementation"}};
    table t(columns);
    for (std::size_t n = 0; n < g.nodes.size(); n++) {
        const model::node &node = g.nodes[n];
        const model::tensor &output = g.tensors[static_cast<std::size_t>(node.outputs.at(0))];
        const std::size_t weights = weights_of(g, node);
        const bool is_refused = i.refused.count(model::node_number(g, n)) != 0;
        t.add({std::to_string(model::node_number(g, n)), model::operator_text(node), shape_text(output),
               scale_text(output.quant), zero_point_text(output.quant),
               weights > 0 ? bytes_text(weights) : "",
               i.net        ? i.net->implementation(n)
               : is_refused ? "refused"
                            : ""});
    }
    std::cout << '\n' << t.text();
}

void print_text(const inspected &i, const inspect_options &options) {
    const size_of_weights weights = weights_of(i.file);
    std::cout << options.net.model << ": " << i.file.framework
              << (i.file.saved ? ", saved as it runs, " : ", ") << i.file.nodes.size() << " nodes";
    if (i.net) {
        std::cout << " in the file, " << i.net->get_graph().nodes.size() << " to run; "
                  << arithmetic_of(*i.net) << ", " << get_num_threads()
                  << (get_num_threads() == 1 ? " thread, " : " threads, ")
                  << to_string(get_effective_cpu_isa()) << '\n';
    } else {
        std::cout << "\nit does not run: " << refusal_text(i) << '\n';
        for (const auto &[number, reason] : i.refused)
            std::cout << "  " << one_line(reason, 10'000) << '\n';
    }
    print_tensors("inputs", i.best(), i.file.inputs);
    print_tensors("outputs", i.best(), i.file.outputs);
    std::cout << "\nsizes\n  weights      " << bytes_text(weights.bytes) << " in " << weights.tensors
              << " constants\n";
    if (i.net) {
        const auto [shared, separate] = i.net->buffer_bytes();
        std::cout << "  activations  " << bytes_text(shared) << " in one arena, " << bytes_text(separate)
                  << " if each had its own buffer\n";
    }
    print_profiles(i, options);
    print_operators(i.file);
    print_nodes(i);
}

// ---- JSON

json nodes_json(const inspected &i) {
    const model::graph &g = i.best();
    json nodes = json::array();
    for (std::size_t n = 0; n < g.nodes.size(); n++) {
        json outputs = json::array(), fused = json::array();
        const auto refused = i.refused.find(model::node_number(g, n));
        for (const int t : g.nodes[n].outputs)
            outputs.push_back(to_json(g, t));
        for (const model::node &f : g.nodes[n].fused)
            fused.push_back(f.op);
        nodes.push_back({{"node", model::node_number(g, n)},
                         {"operator", g.nodes[n].op},
                         {"fused", fused},
                         {"inputs", g.nodes[n].inputs},
                         {"outputs", outputs},
                         {"weights_bytes", weights_of(g, g.nodes[n])},
                         {"implementation", i.net ? json(i.net->implementation(n)) : json()},
                         {"refused", refused != i.refused.end()},
                         {"reason", refused != i.refused.end() ? json(refused->second) : json()}});
    }
    return nodes;
}

json inspected_json(const inspected &i, const inspect_options &options) {
    const auto tensors = [&](const std::vector<int> &indices) {
        json list = json::array();
        for (const int t : indices) {
            list.push_back(to_json(i.best(), t));
            json axes = json::array();
            for (const std::string &name : open_axes(i.best().tensors[static_cast<std::size_t>(t)]))
                axes.push_back(name.empty() ? json() : json(name));
            list.back()["axes"] = axes;
        }
        return list;
    };
    json operators = json::array();
    for (const auto &[name, count] : operators_of(i.file))
        operators.push_back({{"operator", name}, {"nodes", count}});
    json profiles = json::array();
    for (const auto &[name, changed] : other_profiles(i, profile_in_force(i, options)))
        profiles.push_back({{"profile", name}, {"changes", changed}});
    const size_of_weights weights = weights_of(i.file);
    json activations;
    if (i.net)
        activations = {{"arena_bytes", i.net->buffer_bytes().first},
                       {"separate_bytes", i.net->buffer_bytes().second}};
    return {{"model", options.net.model},
            {"framework", i.file.framework},
            {"saved", i.file.saved != nullptr},
            {"rule", rule_of(i, options)},
            {"profile", profile_in_force(i, options)},
            {"rows_alike", are_rows_alike(i, options)},
            {"profiles", profiles},
            {"threads", get_num_threads()},
            {"isa", to_string(get_effective_cpu_isa())},
            {"runs", i.net.has_value()},
            {"refusal", i.net ? json() : json(i.refusal)},
            {"inputs", tensors(i.file.inputs)},
            {"outputs", tensors(i.file.outputs)},
            {"weights", {{"tensors", weights.tensors}, {"bytes", weights.bytes}}},
            {"activations", activations},
            {"operators", operators},
            {"nodes", nodes_json(i)}};
}

void inspect(const inspect_options &options) {
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    const inspected i = inspect_file(options);
    if (options.passes)
        print_passes(i, options.net.model);
    else if (options.json)
        print(inspected_json(i, options));
    else
        print_text(i, options);
}

} // namespace

void add_inspect_command(CLI::App &app) {
    const auto options = std::make_shared<inspect_options>();
    CLI::App *command = app.add_subcommand(
        "inspect", "Show the operators, shapes and scales of a model, and whether Octet supports it");
    add_network_options(*command, options->net);
    command->get_option("MODEL")->required();
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command
        ->add_flag("--passes", options->passes,
                   "Only ONNX Runtime's transformers that changed the graph, in order: L2.1 GeluFusionL2")
        ->excludes("--json");
    command->footer(
        "Exit code 0 also where the network does not run: octet explain tells more of those that do.");
    command->callback([options] { inspect(*options); });
}

} // namespace octet::tools
