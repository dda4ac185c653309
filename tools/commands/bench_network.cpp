// octet bench --network: whole networks and their layers, also against ONNX Runtime.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "base/print.hpp"
#include "bench/difference_reason.hpp"
#include "bench/eviction.hpp"
#include "bench/measured_network.hpp"
#include "bench/network_results.hpp"
#include "bench/onnxruntime.hpp"
#include "bench/results.hpp"
#include "bench/results_files.hpp"
#include "commands/bench.hpp"
#include "commands/network_file.hpp"
#include "commands/run_inputs.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

/// A network that is read and checked before anything is timed.
struct loaded_network {
    network_file_options file;
    model::graph graph;
};

loaded_network load(const std::string &path, const bench_options &options) {
    loaded_network loaded;
    loaded.file = options.network;
    loaded.file.model = path;
    const std::string onnx = ".onnx";
    if (!options.baseline.empty() &&
        (path.size() < onnx.size() || path.substr(path.size() - onnx.size()) != onnx))
        throw error(status::invalid_arguments, path + ": --baseline onnxruntime runs .onnx files");
    loaded.graph = read_graph(loaded.file);
    require_sizes(loaded.graph, loaded.file);
    return loaded;
}

/// "a/b/resnet50.onnx" as "resnet50"
std::string stem_of(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
    return file.substr(0, file.rfind('.'));
}

/// One network, measured with each count of threads.
class bench_of_network {
public:
    bench_of_network(loaded_network loaded, const std::vector<int> &threads, const bench_options &options)
        : path_(loaded.file.model) {
        const run_inputs inputs(loaded.graph, path_, {});
        for (const int count : threads) {
            const num_threads_scope scope(count);
            const onnxruntime *without = nullptr; // Octet's provider
            for (const onnxruntime::provider who : providers(options)) {
                network net = make_network(loaded.graph, loaded.file);
                inputs.write_to(net);
                std::unique_ptr<onnxruntime> baseline;
                if (!options.baseline.empty()) {
                    baseline = std::make_unique<onnxruntime>(path_, net, count, options.node_modules, who);
                    net.run();
                    const bool is_equal = without                   ? baseline->equals(*without)
                                          : options.through.empty() ? baseline->equals(net)
                                                                    : true;
                    if (!is_equal && is_equal_)
                        reason_ =
                            difference_reason((without ? without : baseline.get())->outputs(), net, [&] {
                                network_file_options file = loaded.file;
                                file.rows_alike = false;
                                network other = make_network(loaded.graph, file);
                                inputs.write_to(other);
                                other.run();
                                return other;
                            });
                    is_equal_ = is_equal_ && is_equal;
                    without = baseline.get();
                }
                networks_.emplace_back(std::move(net), std::move(baseline), count, options.samples);
            }
        }
    }

    std::vector<network_result> measure(int samples) {
        const progress_line progress;
        int sample = 0;
        const auto take = [&](bool is_further) {
            progress.show(path_ + ": sample " + std::to_string(++sample) +
                          (is_further ? ", for a disturbed one" : " of " + std::to_string(samples)));
            evict_caches();
            for (measured_network &net : networks_)
                net.sample_cold();
            for (measured_network &net : networks_)
                net.sample();
        };
        take_samples(samples, take, [&] {
            return std::any_of(networks_.begin(), networks_.end(),
                               [](const measured_network &net) { return net.is_disturbed(); });
        });
        std::vector<network_result> results;
        for (const measured_network &net : networks_)
            results.push_back(net.result());
        set_scaling(results);
        return results;
    }

    /// Whether the baseline's outputs are Octet's, byte for byte; of its sessions, whether they are the same
    /// with Octet's provider.
    bool is_equal() const { return is_equal_; }
    /// Why they are not, as doc/onnx.md lists it; an empty text: for no reason that it lists.
    const std::string &reason() const { return reason_; }
    std::string equality_text() const {
        return is_equal_         ? "equal bytes"
               : reason_.empty() ? "DIFFERENT, for no reason that doc/onnx.md lists"
                                 : "DIFFERENT (" + reason_ + "; doc/onnx.md)";
    }

private:
    /// The baseline's providers: where asked for, it takes turns with itself on Octet.
    static std::vector<onnxruntime::provider> providers(const bench_options &options) {
        if (options.through.empty())
            return {onnxruntime::provider::cpu};
        return {onnxruntime::provider::cpu, onnxruntime::provider::octet};
    }

    std::string path_, reason_;
    bool is_equal_ = true;
    std::vector<measured_network> networks_;
};

} // namespace

void bench_networks(const bench_options &options) {
    const std::vector<int> threads = apply(options.machine);
    std::vector<loaded_network> loaded;
    for (const std::string &path : options.networks)
        loaded.push_back(load(path, options));
    results_files files(options.csv, options.history);
    json networks = json::array();
    for (loaded_network &l : loaded) {
        const std::string path = l.file.model;
        bench_of_network bench(std::move(l), threads, options);
        const std::vector<network_result> results = bench.measure(options.samples);
        json object = {{"model", path}, {"runs", json::array()}};
        for (const network_result &r : results) {
            files.add(stem_of(path), rows_of(r));
            object["runs"].push_back(to_json(r));
        }
        if (!options.baseline.empty()) {
            object["equal"] = bench.is_equal();
            object["reason"] = bench.reason().empty() ? json() : json(bench.reason());
        }
        const std::vector<provider_gain> gains =
            options.through.empty() ? std::vector<provider_gain>() : provider_gains(results);
        for (const provider_gain &g : gains)
            object["provider"].push_back({{"threads", g.threads}, {"ratio", g.ratio}});
        networks.push_back(std::move(object));
        if (options.json)
            continue;
        std::cout << path << ", " << to_string(get_effective_cpu_isa()) << ", " << options.samples
                  << " samples\n";
        if (!options.baseline.empty())
            std::cout << (options.through.empty() ? "outputs of ONNX Runtime and Octet: "
                                                  : "outputs of ONNX Runtime without and with Octet: ")
                      << bench.equality_text() << '\n';
        for (const provider_gain &g : gains)
            std::cout << "ONNX Runtime's CPU provider / Octet's provider, " << threads_text({g.threads})
                      << ": " << fixed(g.ratio, 2) << '\n';
        std::cout << network_text(results) << std::endl;
    }
    if (options.json)
        print({{"threads", threads.size() == 1 ? json(threads[0]) : json(threads)},
               {"isa", to_string(get_effective_cpu_isa())},
               {"networks", networks}});
}

} // namespace octet::tools
