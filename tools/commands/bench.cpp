// octet bench: time, share of the machine's peak and, with a peer, the ratio of each layer of a shape table.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include <unistd.h>

#include "bench/layer.hpp"
#include "bench/limits.hpp"
#include "commands/commands.hpp"
#include "commands/print.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct bench_options {
    std::vector<std::string> shapes;
    bool conv = false, inner_product = false, matrix = false, skip_depthwise = false;
    std::string only;
    std::string rule = "f32", types = "u8:s8:u8", isa, peer, csv;
    int threads = 0, samples = 11;
    std::int64_t batch = 1;
};

struct result {
    std::string table;
    layer what;
    std::string implementation, peer_implementation;
    double seconds = 0, peer_seconds = 0; ///< medians
    double peak = 0;                      ///< operations per second
    double read_seconds = 0;              ///< of the weights of a one-row product

    double share() const { return what.operations() / seconds / peak; }
    double peer_share() const { return what.operations() / peer_seconds / peak; }
    double ratio() const { return peer_seconds / seconds; }
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

double seconds_of(workload &w, int runs) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; i++)
        w.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
}

/// Enough runs that the clock's resolution and a cold start don't matter.
int runs_per_sample(workload &w) {
    constexpr double sample_seconds = 300e-6;
    w.run();
    const double once = std::max(1e-7, seconds_of(w, 2));
    return std::clamp(static_cast<int>(sample_seconds / once), 1, 2000);
}

/// Lets the workers of the library that ran last go to sleep, so that they don't slow the next one.
void settle(int threads) {
    if (threads > 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// Warms up, with workers until they are surely awake, then takes the mean of the sample's runs.
double sample(workload &w, int runs, int threads) {
    constexpr std::chrono::milliseconds waking(5);
    const auto start = std::chrono::steady_clock::now();
    do {
        w.run();
    } while (threads > 1 && std::chrono::steady_clock::now() - start < waking);
    return seconds_of(w, runs);
}

result measure(const layer &l, const bench_contract &contract, const bench_options &options, int threads) {
    result r;
    r.what = l;
    const std::unique_ptr<workload> ours = make_octet_workload(l, contract);
    std::unique_ptr<workload> peer;
    if (!options.peer.empty())
        peer = make_onednn_workload(l, contract);
    r.implementation = ours->implementation();
    const bool is_one_row = l.kind != layer_kind::convolution && l.m == 1;
    const std::vector<char> weights(is_one_row ? static_cast<std::size_t>(l.weights_bytes()) : 0, 1);

    const int runs = runs_per_sample(*ours);
    std::vector<double> times, peer_times, peaks, reads;
    int peer_runs = 1;
    if (peer) {
        r.peer_implementation = peer->implementation();
        peer_runs = runs_per_sample(*peer);
        rest_onednn();
    }
    for (int i = 0; i < options.samples; i++) {
        settle(threads);
        peaks.push_back(measure_peak(get_effective_cpu_isa(), threads));
        if (is_one_row) {
            measure_read(weights.data(), weights.size(), threads);
            reads.push_back(measure_read(weights.data(), weights.size(), threads));
        }
        times.push_back(sample(*ours, runs, threads));
        if (peer) {
            settle(threads);
            peer_times.push_back(sample(*peer, peer_runs, threads));
            if (threads > 1)
                rest_onednn();
        }
    }
    r.seconds = median(times);
    r.peak = median(peaks);
    if (peer)
        r.peer_seconds = median(peer_times);
    if (is_one_row)
        r.read_seconds = median(reads);
    return r;
}

// ---- options

data_type type_from(const std::string &name) {
    static const std::map<std::string, data_type> types = {
        {"u8", data_type::u8}, {"s8", data_type::s8}, {"s32", data_type::s32}, {"f32", data_type::f32}};
    const auto found = types.find(name);
    if (found == types.end())
        throw error(status::invalid_arguments, "--types has '" + name + "', allowed: u8, s8, s32, f32");
    return found->second;
}

bench_contract contract_of(const bench_options &options) {
    bench_contract c;
    c.rule = requantization_rule_from_string(options.rule.c_str());
    const std::size_t first = options.types.find(':'), second = options.types.find(':', first + 1);
    if (second == std::string::npos)
        throw error(status::invalid_arguments,
                    "--types is '" + options.types + "', the form is src:weights:dst, e.g. u8:s8:u8");
    c.src = type_from(options.types.substr(0, first));
    c.weights = type_from(options.types.substr(first + 1, second - first - 1));
    c.dst = type_from(options.types.substr(second + 1));
    if (c.rule == requantization_rule::none)
        c.dst = data_type::s32;
    return c;
}

std::vector<layer> layers_of(const std::string &path, const bench_options &options) {
    std::vector<layer> layers;
    for (layer &l :
         read_layers(path, options.inner_product ? layer_kind::inner_product : layer_kind::matmul)) {
        const bool is_convolution = l.kind == layer_kind::convolution;
        if ((is_convolution && (options.inner_product || options.matrix)) ||
            (!is_convolution && options.conv))
            throw error(status::invalid_arguments, path + " is a table of " +
                                                       (is_convolution ? "convolutions" : "products") +
                                                       ", which --conv, --ip or --matmul excludes");
        if ((options.skip_depthwise && l.is_depthwise()) ||
            (!options.only.empty() && l.name.find(options.only) == std::string::npos))
            continue;
        l.mb *= options.batch;
        layers.push_back(l);
    }
    return layers;
}

// ---- output

std::string microseconds(double seconds) { return fixed(seconds * 1e6, 2); }
std::string percent(double share) { return std::isfinite(share) ? fixed(share * 100, 1) : "-"; }

void print_table(const std::vector<result> &results, bool has_peer) {
    using align = table::align;
    std::vector<table::column> titles = {{"layer"},
                                         {"count", align::right},
                                         {"implementation"},
                                         {"us", align::right},
                                         {"GOPS", align::right},
                                         {"% of peak", align::right},
                                         {"% of read", align::right}};
    if (has_peer)
        for (const char *title : {"peer us", "peer %", "ratio"})
            titles.push_back({title, align::right});
    table t(titles);
    for (const result &r : results) {
        std::vector<std::string> row = {r.what.name,
                                        std::to_string(r.what.count),
                                        r.implementation,
                                        microseconds(r.seconds),
                                        fixed(r.what.operations() / r.seconds * 1e-9, 1),
                                        percent(r.share()),
                                        r.read_seconds > 0 ? percent(r.read_seconds / r.seconds) : ""};
        if (has_peer) {
            row.push_back(microseconds(r.peer_seconds));
            row.push_back(percent(r.peer_share()));
            row.push_back(fixed(r.ratio(), 3));
        }
        t.add(row);
    }
    std::cout << t.text();
}

/// Operations of all occurrences / their time / peak: what a network of these layers would reach.
void print_total(const std::vector<result> &results, bool has_peer) {
    double ideal = 0, time = 0, peer_time = 0;
    for (const result &r : results) {
        const auto count = static_cast<double>(r.what.count);
        ideal += count * r.what.operations() / r.peak;
        time += count * r.seconds;
        peer_time += count * r.peer_seconds;
    }
    std::cout << "share of peak, weighted by count: " << percent(ideal / time) << " %";
    if (has_peer)
        std::cout << ", peer " << percent(ideal / peer_time) << " %";
    std::cout << '\n';
}

void print_geomean(const std::vector<result> &results) {
    double logs = 0, lowest = INFINITY;
    for (const result &r : results) {
        logs += std::log(r.ratio());
        lowest = std::min(lowest, r.ratio());
    }
    std::cout << "geomean " << fixed(std::exp(logs / static_cast<double>(results.size())), 3) << " min "
              << fixed(lowest, 3) << '\n';
}

void write_csv(const std::string &path, const std::vector<result> &results) {
    std::ofstream out(path);
    out << "table,name,count,implementation,microseconds,gops,share_of_peak,share_of_read,peer_"
           "implementation,"
           "peer_microseconds,peer_share_of_peak,ratio\n";
    for (const result &r : results) {
        out << r.table << ',' << r.what.name << ',' << r.what.count << ',' << r.implementation << ','
            << r.seconds * 1e6 << ',' << r.what.operations() / r.seconds * 1e-9 << ',' << r.share() << ',';
        if (r.read_seconds > 0)
            out << r.read_seconds / r.seconds;
        out << ',' << r.peer_implementation << ',';
        if (r.peer_seconds > 0)
            out << r.peer_seconds * 1e6 << ',' << r.peer_share() << ',' << r.ratio();
        else
            out << ",,";
        out << '\n';
    }
    if (!out)
        throw error(status::runtime_error, path + ": cannot be written");
}

std::string table_name(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
    return file.substr(0, file.rfind('.'));
}

void bench(const bench_options &options) {
    const bench_contract contract = contract_of(options);
    if (!options.isa.empty())
        set_max_cpu_isa(cpu_isa_from_string(options.isa.c_str()));
    if (options.threads > 0)
        set_num_threads(options.threads);
    const int threads = get_num_threads();
    set_onednn_threads(threads);

    const bool shows_progress = isatty(STDERR_FILENO) != 0;
    std::vector<result> all;
    for (const std::string &path : options.shapes) {
        std::vector<result> results;
        for (const layer &l : layers_of(path, options)) {
            if (shows_progress)
                std::cerr << "\r\033[K" << table_name(path) << ' ' << l.name << std::flush;
            results.push_back(measure(l, contract, options, threads));
            results.back().table = table_name(path);
        }
        if (shows_progress)
            std::cerr << "\r\033[K";
        if (results.empty())
            continue;
        std::cout << table_name(path) << ", " << threads << (threads == 1 ? " thread, " : " threads, ")
                  << options.rule << ", " << options.types << ", peak "
                  << fixed(results.front().peak * 1e-9, 0) << " GOPS\n";
        print_table(results, !options.peer.empty());
        print_total(results, !options.peer.empty());
        std::cout << '\n';
        all.insert(all.end(), results.begin(), results.end());
    }
    if (all.empty())
        throw error(status::invalid_arguments,
                    "no layer is left: --only, --skip-depthwise or an empty table");
    if (!options.csv.empty())
        write_csv(options.csv, all);
    if (!options.peer.empty())
        print_geomean(all);
}

} // namespace

void add_bench_command(CLI::App &app) {
    const auto options = std::make_shared<bench_options>();
    CLI::App *command = app.add_subcommand("bench", "Time the layers of shape tables, also against a peer");
    command->add_option("--shapes", options->shapes, "CSV tables of layers")->required();
    CLI::Option *conv = command->add_flag("--conv", options->conv, "The tables hold convolutions");
    CLI::Option *ip =
        command->add_flag("--ip", options->inner_product, "Time products as inner products")->excludes(conv);
    command->add_flag("--matmul", options->matrix, "Time products as matmuls (the default)")
        ->excludes(conv)
        ->excludes(ip);
    command->add_flag("--skip-depthwise", options->skip_depthwise, "Without depthwise convolutions");
    command->add_option("--only", options->only, "Only layers whose names contain this");
    command->add_option("--rule", options->rule, "Requantization rule: " + rule_names())
        ->capture_default_str();
    command->add_option("--types", options->types, "Types of src:weights:dst")->capture_default_str();
    command->add_option("--batch", options->batch, "Images per convolution")->check(CLI::Range(1, 1024));
    command->add_option("--threads", options->threads, "Threads; default: all")->check(CLI::Range(1, 1024));
    command->add_option("--isa", options->isa,
                        "Highest instruction set: avx512_vnni, avx512_core, avx_vnni, avx2, ref");
    command->add_option("--samples", options->samples, "Samples per layer, of which the median counts")
        ->check(CLI::Range(1, 1001))
        ->capture_default_str();
    command->add_option("--peer", options->peer, "Time this library too, run by run")
        ->check(CLI::IsMember({"onednn"}));
    command->add_option("--csv", options->csv, "Write the results to this file");
    command->callback([options] { bench(*options); });
}

} // namespace octet::tools
