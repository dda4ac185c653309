// octet compare-profiles: a network under two runtimes or rules, as a table and as a page.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include "base/json.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "commands/commands.hpp"
#include "commands/match_files.hpp"
#include "commands/network_file.hpp"
#include "commands/run_inputs.hpp"
#include "match/comparison.hpp"
#include "storage/replacement.hpp"

namespace octet::tools {
namespace {

struct compare_profiles_options {
    network_file_options net;
    input_options input;
    std::string a, b, output, labels;
    machine_options machine;
    bool json = false;
};

/// As codes and numbers of the graph, by way of a network that is given the files.
match::inputs read_inputs(const model::graph &g, const compare_profiles_options &options) {
    const run_inputs files(g, options.net.model, options.input);
    const network net(g);
    files.write_to(net);
    match::inputs all;
    for (std::size_t i = 0; i < net.input_count(); i++) {
        const tensor_view x = net.input(i);
        const auto *bytes = static_cast<const std::uint8_t *>(x.data());
        all.push_back({x.name(), x.data_type(), x.dims(), {bytes, bytes + x.size_in_bytes()}, false});
    }
    return all;
}

std::vector<std::int64_t> read_labels(const std::string &path) {
    std::vector<std::int64_t> labels;
    if (path.empty())
        return labels;
    const match::values v = read_values(path);
    if (v.type == data_type::f32)
        throw error(status::invalid_arguments, path + ": holds float32, allowed: int8, uint8, int16, int32");
    for (std::size_t i = 0; i < v.count(); i++)
        labels.push_back(v.integer(i));
    return labels;
}

/// Six digits: differences of codes are whole, those of floats need no more.
std::string short_number(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

/// Per operator: how many codes differ.
std::string table_of(const match::comparison &c) {
    constexpr auto right = table::align::right;
    table t({{"operator"}, {"elements", right}, {"differ", right}, {"largest", right}, {"tensor"}});
    for (const match::operator_difference &d : c.operators)
        t.add({d.op, std::to_string(d.elements), std::to_string(d.different), short_number(d.largest),
               d.tensor});
    return t.text();
}

void compare_profiles(const compare_profiles_options &options) {
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    if (!options.output.empty())
        storage::require_replaceable(options.output);
    const model::graph g = read_graph(options.net);
    require_sizes(g, options.net);
    const match::contender a = match::find_contender(g.framework, options.a),
                           b = match::find_contender(g.framework, options.b);
    const std::vector<std::int64_t> labels = read_labels(options.labels);
    const match::comparison c = match::compare_networks(g, a, b, read_inputs(g, options), labels);
    if (!options.output.empty()) {
        const std::string page = match::to_html(c, options.net.model);
        storage::replace_file(options.output, page.data(), page.size());
    }
    if (options.json) {
        json operators = json::array();
        for (const match::operator_difference &d : c.operators)
            operators.push_back({{"operator", d.op},
                                 {"tensor", d.tensor},
                                 {"elements", d.elements},
                                 {"different", d.different},
                                 {"largest", d.largest}});
        return print({{"model", options.net.model},
                      {"file", options.output.empty() ? json() : json(options.output)},
                      {"operators", operators},
                      {"rows", c.rows},
                      {"agreeing", c.agreeing},
                      {"right", c.right_a ? json({*c.right_a, *c.right_b}) : json()}});
    }
    std::size_t differing = 0;
    for (const match::operator_difference &d : c.operators)
        differing += d.different > 0;
    std::cout << table_of(c) << '\n'
              << differing << " of " << c.operators.size() << " operators give other codes; " << c.agreeing
              << " of " << c.rows << " rows of the output have the same largest element\n";
    if (!options.output.empty())
        std::cout << "wrote " << options.output << '\n';
}

} // namespace

void add_compare_profiles_command(CLI::App &app) {
    const auto options = std::make_shared<compare_profiles_options>();
    CLI::App *command =
        app.add_subcommand("compare-profiles", "Compare a network under two runtimes or rules");
    command->add_option("MODEL", options->net.model, "A .tflite or .onnx file")->required()->type_name("");
    command->add_option("A", options->a, "A runtime or a rule, as octet match-network names them")
        ->required()
        ->type_name("");
    command->add_option("B", options->b, "Another one")->required()->type_name("");
    command->add_option("-o,--output", options->output, "A page to write, one file of HTML")
        ->type_name("FILE");
    command->add_option("--batch", options->net.batch, "First dimension of the inputs")
        ->type_name("N")
        ->check(whole_number(1, 1'000'000));
    add_input_options(*command, options->input);
    command->add_option("--labels", options->labels, "Right classes of the rows, integers in a .npy file")
        ->type_name("FILE");
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->callback([options] { compare_profiles(*options); });
}

} // namespace octet::tools
