// SPDX-License-Identifier: Apache-2.0
#include "network/tests/fuzz/fuzz_network.hpp"

#include <algorithm>
#include <cstring>

#include "network/saved/plan_file.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

constexpr double most_elements = 1 << 20, most_work = 1 << 26;

/// A bound of what a node computes: each output element may read a whole input.
double work_of(const model::graph &g) {
    double work = 0, elements = 0;
    const auto size = [&](int t) {
        return t < 0 ? 0.
                     : static_cast<double>(model::element_count(g.tensors[static_cast<std::size_t>(t)].dims));
    };
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        elements += size(static_cast<int>(t));
    for (const model::node &n : g.nodes) {
        double largest_input = 1, outputs = 0;
        for (const int t : n.inputs)
            largest_input = std::max(largest_input, size(t));
        for (const int t : n.outputs)
            outputs += size(t);
        work += largest_input * outputs;
    }
    return elements > most_elements ? most_work * elements : work;
}

void fill(const memory &m) {
    for (std::size_t i = 0; i < m.get_desc().get_size(); i++)
        m.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 89 + i / 7);
}

void run(network &net) {
    for (const int t : net.get_graph().inputs)
        fill(net.get_memory(t));
    net.run();
}

/// Runs a plan in other sizes, for which its file has data; they may be refused.
void run_two_images(network &net, model::graph source) try {
    model::infer_shapes(source);
    model::set_batch(source, 2);
    if (work_of(source) > most_work)
        return;
    net.resize({2, {}, {}});
    run(net);
} catch (const error &) {
}

} // namespace

fuzz_outcome fuzz_network(graph_reader read, const std::uint8_t *bytes, std::size_t size) {
    return fuzz_graph([&] { return read(bytes, size, "fuzzed"); });
}

fuzz_outcome fuzz_graph(const std::function<model::graph()> &make) {
    try {
        model::graph g = make();
        if (work_of(g) > most_work)
            return fuzz_outcome::too_large;
        const auto saved = g.saved;
        network net(std::move(g));
        run(net);
        if (saved)
            run_two_images(net, saved->source);
        return fuzz_outcome::ran;
    } catch (const error &e) {
        if (std::strlen(e.what()) == 0)
            throw std::runtime_error("an error without a sentence");
        return fuzz_outcome::refused;
    }
}

} // namespace octet::tests
