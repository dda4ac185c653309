// octet bench: time, share of the machine's peak and, with a peer, the ratio of each layer of a shape table; or the
// time of a problem in the words of verbose mode.

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include <unistd.h>

#include "bench/layer.hpp"
#include "bench/measure.hpp"
#include "bench/problem.hpp"
#include "bench/results.hpp"
#include "commands/commands.hpp"
#include "commands/files.hpp"
#include "commands/json.hpp"
#include "commands/options.hpp"
#include "commands/print.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct bench_options {
    std::vector<std::string> shapes, problems;
    bool conv = false, inner_product = false, matrix = false, skip_depthwise = false;
    std::string only;
    std::string rule = "f32", types = "u8:s8:u8", peer, csv;
    machine_options machine;
    int samples = 11;
    std::int64_t batch = 1;
    bool json = false;
};

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

bench_contract contract_of(const bench_options &options) {
    bench_contract c;
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

// ---- From layers to results

/// An allocation may succeed and end the process when it is written to; a slip in a table must not.
void check_size(const layer &l) {
    constexpr double largest_element = sizeof(float);
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    if (l.elements() * largest_element > memory)
        throw error(status::invalid_arguments, "its tensors take more memory than this machine has");
}

measurement measure_layer(const layer &l, const bench_contract &contract, const bench_options &options) {
    try {
        check_size(l);
        const std::unique_ptr<workload> ours = make_octet_workload(l, contract);
        std::unique_ptr<workload> peer;
        if (!options.peer.empty())
            peer = make_onednn_workload(l, contract);
        return measure(subject_of(l, contract), *ours, peer.get(), {options.samples, get_num_threads()});
    } catch (const error &e) {
        throw error(e.status, "layer " + l.name + ": " + e.what());
    }
}

std::vector<measurement> measure_table(const shape_table &table, const bench_contract &contract,
                                       const bench_options &options, output_file *csv) {
    progress_line progress;
    std::vector<measurement> results;
    for (const layer &l : table.layers) {
        progress.show(table.name + ' ' + one_line(l.name));
        results.push_back(measure_layer(l, contract, options));
        if (csv)
            csv->write(csv_row(table.name, results.back()));
    }
    return results;
}

std::string threads_text(int threads) {
    return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

/// Opened with its header; null without --csv.
std::optional<output_file> open_csv(const bench_options &options) {
    std::optional<output_file> csv;
    if (!options.csv.empty()) {
        csv.emplace(options.csv);
        csv->write(csv_header);
    }
    return csv;
}

/// `compared`: the measurements with a peer, if there is one.
json bench_json(const json &tables, const std::vector<measurement> &compared) {
    json object = {
        {"threads", get_num_threads()}, {"isa", to_string(get_effective_cpu_isa())}, {"tables", tables}};
    if (!compared.empty())
        object["ratio"] = ratios_json(compared);
    return object;
}

/// Each problem is a table of its own with one layer.
void bench_problems(const bench_options &options) {
    apply(options.machine);
    const int threads = get_num_threads();
    const engine cpu(engine::kind::cpu, 0);
    std::vector<primitive_desc> problems; // all are read before the first one is timed
    for (const std::string &text : options.problems)
        problems.push_back(primitive_desc_from_string(text, cpu));
    std::optional<output_file> csv = open_csv(options);
    json tables = json::array();
    for (const primitive_desc &pd : problems) {
        const std::unique_ptr<workload> ours = make_problem_workload(pd);
        const measurement m = measure(subject_of(pd), *ours, nullptr, {options.samples, threads});
        if (csv)
            csv->write(csv_row(pd.problem_str(), m));
        tables.push_back(table_json(pd.problem_str(), {m}));
        if (options.json)
            continue;
        std::cout << pd.problem_str() << '\n'
                  << threads_text(threads) << ", peak " << fixed(m.peak * 1e-9, 0) << " GOPS\n"
                  << results_text({m}) << std::endl;
    }
    if (options.json)
        print(bench_json(tables, {}));
}

void bench(const bench_options &options) {
    if (options.shapes.empty() == options.problems.empty())
        throw CLI::RequiredError("either --shapes or --problem");
    if (options.json)
        reserve_standard_output();
    if (!options.problems.empty())
        return bench_problems(options);
    const bench_contract contract = contract_of(options);
    const std::vector<shape_table> tables = tables_of(options);
    apply(options.machine);
    const int threads = get_num_threads();
    set_onednn_threads(threads);
    std::optional<output_file> csv = open_csv(options);
    std::vector<measurement> all;
    json tables_of_results = json::array();
    for (const shape_table &table : tables) {
        const std::vector<measurement> results =
            measure_table(table, contract, options, csv ? &*csv : nullptr);
        all.insert(all.end(), results.begin(), results.end());
        tables_of_results.push_back(table_json(table.name, results));
        if (options.json)
            continue;
        std::cout << table.name << ", " << threads_text(threads) << ", " << options.rule << ", "
                  << options.types << ", peak " << fixed(results.front().peak * 1e-9, 0) << " GOPS\n"
                  << results_text(results) << std::endl;
    }
    if (options.json)
        print(bench_json(tables_of_results, options.peer.empty() ? std::vector<measurement>() : all));
    else if (!options.peer.empty())
        std::cout << ratios_text(all);
}

} // namespace

void add_bench_command(CLI::App &app) {
    const auto options = std::make_shared<bench_options>();
    CLI::App *command =
        app.add_subcommand("bench", "Time the layers of shape tables, or problems, also against a peer");
    command->add_option("--shapes", options->shapes, "CSV tables of layers, see below")->type_name("FILE");
    CLI::Option *problem =
        command
            ->add_option(
                "--problem", options->problems,
                "Problems instead of tables: lines of verbose mode (OCTET_VERBOSE=1), each in quotes")
            ->type_name("LINE");
    CLI::Option *conv = command->add_flag("--conv", options->conv, "The tables hold convolutions");
    CLI::Option *ip =
        command->add_flag("--ip", options->inner_product, "Time products as inner products")->excludes(conv);
    command->add_flag("--matmul", options->matrix, "Time products as matmuls (the default)")
        ->excludes(conv)
        ->excludes(ip);
    command->add_flag("--skip-depthwise", options->skip_depthwise, "Without depthwise convolutions");
    command->add_option("--only", options->only, "Only layers whose names contain this")->type_name("TEXT");
    command->add_option("--batch", options->batch, "Images per convolution, 1 to 1024")
        ->type_name("N")
        ->check(whole_number(1, 1024));
    add_rule_option(*command, options->rule, "Requantization rule");
    command->add_option("--types", options->types, "Types of src:weights:dst")
        ->type_name("TYPES")
        ->capture_default_str();
    add_machine_options(*command, options->machine);
    command
        ->add_option(
            "--samples", options->samples,
            "Samples per layer, 1 to 1001: each the mean of as many runs as fill 0.3 ms, after a warm-up")
        ->type_name("N")
        ->check(whole_number(1, 1001))
        ->capture_default_str();
    command->add_option("--peer", options->peer, "Time this library too, sample by sample in turn: onednn")
        ->type_name("NAME")
        ->check(word_of({"onednn"}));
    command
        ->add_option("--csv", options->csv, "Write the results to this file, each as soon as it is measured")
        ->type_name("FILE");
    add_json_option(*command, options->json);
    command->footer("Shape tables (samples in bench/shapes) start with a line of column names:\n"
                    "  convolutions  name,mb,g,ic,ih,iw,oc,oh,ow,kh,kw,sh,sw,ph,pw,dh,dw,count\n"
                    "  products      name,m,n,k,count          dst[m x n] = src[m x k] * weights[k x n]\n"
                    "mb images, g groups, ic/oc channels of all groups, i/o/k height and width of source, "
                    "destination and\n"
                    "kernel, s strides, p padding above and left, d zeros between taps, count occurrences in "
                    "the network.\n"
                    "Results: min us, us (median), P90, P99: of the samples, in microseconds; % of peak: of "
                    "the machine's\n"
                    "multiply-add peak; % of read: time to read the weights of a one-row product / time; "
                    "ratio: the peer's\n"
                    "time / Octet's. doc/bench.md has all columns.");
    // What a problem says itself, or has no say in.
    for (const char *option : {"--shapes", "--conv", "--ip", "--matmul", "--skip-depthwise", "--only",
                               "--batch", "--rule", "--types", "--peer"})
        problem->excludes(command->get_option(option));
    command->callback([options] { bench(*options); });
}

} // namespace octet::tools
