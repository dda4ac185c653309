// ReshapeFusion, as far as others see it: views one after the other are one.
// SPDX-License-Identifier: Apache-2.0
#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

/// The only reader of a view, where it is another one of known sizes; -1: none.
int next_view(const ort_graph &g, int i) {
    const int next = g.only_consumer(g.output(i));
    const bool is_view = g.is(next, "Reshape") || g.is(next, "Squeeze") || g.is(next, "Unsqueeze");
    return is_view && g.is_known(g.output(next)) ? next : -1;
}

} // namespace

void fuse_reshapes(ort_graph &g) {
    g.for_each("Reshape", [&](int first) {
        int last = first;
        for (int next = next_view(g, last); next >= 0; next = next_view(g, last)) {
            if (last != first)
                g.remove(last);
            last = next;
        }
        if (last == first)
            return;
        std::vector<std::int32_t> sizes;
        for (const dim_t size : g.dims(g.output(last)))
            sizes.push_back(static_cast<std::int32_t>(size));
        const int x = g.input(first, 0),
                  shape = g.add_constant("shape", data_type::s32, {static_cast<dim_t>(sizes.size())},
                                         bytes_of(sizes));
        g.become(last, "Reshape", {x, shape});
        g.remove(first);
    });
}

} // namespace octet::model::ort
