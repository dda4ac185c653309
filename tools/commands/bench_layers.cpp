// Layers of shape tables, and problems in the words of verbose mode: each timed by itself, with its weights packed.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <iostream>

#include <unistd.h>

#include "base/json.hpp"
#include "base/print.hpp"
#include "bench/layer.hpp"
#include "bench/measure.hpp"
#include "bench/problem.hpp"
#include "bench/results.hpp"
#include "bench/results_files.hpp"
#include "commands/bench.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct shape_table {
    std::string name;
    std::vector<layer> layers;
};

// ---- From options to layers

data_type type_from(const std::string &name) {
    for (const data_type type : {data_type::u8, data_type::s8, data_type::s32, data_type::f32})
        if (name == to_string(type))
            return type;
    throw error(status::invalid_arguments, "--types: '" + name + "' given, allowed: u8, s8, s32, f32");
}

/// "s4:32": type, and length of groups.
dynamic_weights dynamic_from(const std::string &text) {
    const std::string form =
        "--dynamic: '" + text + "' given, allowed: s8, u8, s4, u4, each also with :GROUP, ";
    dynamic_weights d;
    const std::size_t colon = text.find(':');
    d.type = data_type::undef;
    for (const data_type type : {data_type::s8, data_type::u8, data_type::s4, data_type::u4})
        if (text.substr(0, colon) == to_string(type))
            d.type = type;
    if (colon != std::string::npos) {
        const char *end = text.data() + text.size();
        const auto [stop, failure] = std::from_chars(text.data() + colon + 1, end, d.group);
        if (stop != end || failure != std::errc() || d.group < 1 || d.group > 32768)
            d.type = data_type::undef;
    }
    if (d.type == data_type::undef)
        throw error(status::invalid_arguments, form + "from 1 to 32768");
    return d;
}

bench_contract contract_of(const bench_options &options) {
    bench_contract c;
    if (!options.dynamic.empty()) {
        c.dynamic = dynamic_from(options.dynamic);
        c.weights = c.dynamic->type;
        c.src = c.dst = data_type::f32;
        return c;
    }
    c.rule = requantization_rule_from_string(options.rule.c_str());
    const std::size_t first = options.types.find(':'), second = options.types.find(':', first + 1);
    if (second == std::string::npos)
        throw error(status::invalid_arguments,
                    "--types: '" + options.types + "' given, the form is src:weights:dst, e.g. u8:s8:u8");
    c.src = type_from(options.types.substr(0, first));
    c.weights = type_from(options.types.substr(first + 1, second - first - 1));
    c.dst = type_from(options.types.substr(second + 1));
    if (c.rule == requantization_rule::none)
        c.dst = data_type::s32;
    return c;
}

std::string table_name(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
    return file.substr(0, file.rfind('.'));
}

shape_table table_of(const std::string &path, const bench_options &options) {
    shape_table table{table_name(path), {}};
    for (layer &l :
         read_layers(path, options.inner_product ? layer_kind::inner_product : layer_kind::matmul)) {
        const bool is_convolution = l.kind == layer_kind::convolution;
        if (is_convolution && !options.dynamic.empty())
            throw error(status::invalid_arguments, path + ": is a table of convolutions, allowed with "
                                                          "--dynamic: of products");
        if ((is_convolution && (options.inner_product || options.matrix)) ||
            (!is_convolution && options.conv))
            throw error(status::invalid_arguments,
                        path + ": is a table of " + (is_convolution ? "convolutions" : "products") +
                            ", which " + (options.conv ? "--conv" : "--ip or --matmul") + " excludes");
        if ((options.skip_depthwise && l.is_depthwise()) || l.name.find(options.only) == std::string::npos)
            continue;
        l.mb *= options.batch;
        table.layers.push_back(l);
    }
    return table;
}

/// All tables are read before the first layer is timed; those of which no layer is left are dropped.
std::vector<shape_table> tables_of(const bench_options &options) {
    std::vector<shape_table> tables;
    for (const std::string &path : options.shapes)
        if (shape_table table = table_of(path, options); !table.layers.empty())
            tables.push_back(std::move(table));
    if (tables.empty())
        throw error(status::invalid_arguments, "--only or --skip-depthwise leaves no layer");
    return tables;
}

std::string contract_text(const bench_options &options) {
    return options.dynamic.empty() ? options.rule + ", " + options.types
                                   : "source quantized per row, weights " + options.dynamic;
}

// ---- From layers to results

/// An allocation may succeed and end the process when it is written to; a slip in a table must not.
void check_size(const layer &l) {
    constexpr double largest_element = sizeof(float);
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    if (l.elements() * largest_element > memory)
        throw error(status::invalid_arguments, "its tensors take more memory than this machine has");
}

measuring how_of(const bench_options &options, const std::vector<int> &threads) {
    return {options.samples, threads, options.cold, false};
}

std::vector<measurement> measure_layer(const layer &l, const bench_contract &contract,
                                       const bench_options &options, const std::vector<int> &threads) {
    try {
        check_size(l);
        workload_makers makers{[&] {
                                   return contract.dynamic ? make_dynamic_workload(l, *contract.dynamic)
                                                           : make_octet_workload(l, contract);
                               },
                               {}};
        if (options.baseline == "static")
            makers.baseline = [&] { return make_octet_workload(l, static_contract()); };
        else if (!options.baseline.empty())
            makers.baseline = [&] { return make_onednn_workload(l, contract); };
        return measure(subject_of(l, contract), makers, how_of(options, threads));
    } catch (const error &e) {
        throw error(e.status, "layer " + l.name + ": " + e.what());
    }
}

std::vector<measurement> measure_table(const shape_table &table, const bench_contract &contract,
                                       const bench_options &options, const std::vector<int> &threads,
                                       results_files &files) {
    progress_line progress;
    std::vector<measurement> results;
    for (const layer &l : table.layers) {
        progress.show(table.name + ' ' + one_line(l.name));
        const std::vector<measurement> of_layer = measure_layer(l, contract, options, threads);
        files.add(table.name, of_layer);
        results.insert(results.end(), of_layer.begin(), of_layer.end());
    }
    return results;
}

} // namespace

/// Each problem is a table of its own with one layer.
void bench_problems(const bench_options &options) {
    const std::vector<int> threads = apply(options.machine);
    const engine cpu(engine::kind::cpu, 0);
    std::vector<primitive_desc> problems; // all are read before the first one is timed
    for (const std::string &text : options.problems)
        problems.push_back(primitive_desc_from_string(text, cpu));
    results_files files(options.csv, options.history);
    json tables = json::array();
    for (const primitive_desc &pd : problems) {
        const std::string text = pd.problem_str();
        const auto planned_anew = [&] {
            return make_problem_workload(primitive_desc_from_string(text, cpu));
        };
        const std::vector<measurement> results =
            measure(subject_of(pd), {planned_anew, {}}, how_of(options, threads));
        files.add(text, results);
        tables.push_back(table_json(text, results));
        if (options.json)
            continue;
        std::cout << text << '\n'
                  << threads_text(threads) << ", peak " << peaks_text(results) << '\n'
                  << results_text(results) << std::endl;
    }
    if (options.json)
        print(bench_json(threads, tables));
}

void bench_tables(const bench_options &options) {
    const bench_contract contract = contract_of(options);
    const std::vector<shape_table> tables = tables_of(options);
    const std::vector<int> threads = apply(options.machine);
    results_files files(options.csv, options.history);
    std::vector<measurement> all;
    json tables_of_results = json::array();
    for (const shape_table &table : tables) {
        const std::vector<measurement> results = measure_table(table, contract, options, threads, files);
        all.insert(all.end(), results.begin(), results.end());
        tables_of_results.push_back(table_json(table.name, results));
        if (options.json)
            continue;
        std::cout << table.name << ", " << threads_text(threads) << ", " << contract_text(options)
                  << ", peak " << peaks_text(results) << '\n'
                  << results_text(results) << std::endl;
    }
    if (options.json)
        print(bench_json(threads, tables_of_results, options.baseline.empty() ? json() : ratios_json(all)));
    else if (!options.baseline.empty())
        std::cout << ratios_text(all);
}

} // namespace octet::tools
