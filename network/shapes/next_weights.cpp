// Bytes of constants as the graph has them: how primitives pack them is not known yet.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/next_weights.hpp"

#include <algorithm>
#include <iterator>

#include "network/dialect.hpp"
#include "network/graph/operator_facts.hpp"
#include "octet/settings.hpp"

namespace octet::model {
namespace {

/// Of the second-level cache, which has to keep what is fetched while these bytes pass.
constexpr dim_t most_bytes_between = dim_t{1} << 18;

dim_t bytes_of_tensor(const graph &g, tensor_id t) {
    const tensor &of = tensor_at(g, t);
    return element_count(of.dims) * static_cast<dim_t>(memory::data_type_size(of.type));
}

/// The largest constant; none if there are no constants.
tensor_id weights_of(const graph &g, const node &n) {
    tensor_id largest;
    for (const tensor_id t : inputs_of(n))
        if (t && tensor_at(g, t).is_constant &&
            (!largest || bytes_of_tensor(g, t) > bytes_of_tensor(g, largest)))
            largest = t;
    return largest;
}

} // namespace

dim_t bytes_of_next_weights(const graph &g, const node &n) {
    if (get_effective_cpu_isa() < cpu_isa::avx512_amx)
        return 0;
    const auto end = g.nodes.end();
    auto next = std::find_if(g.nodes.begin(), end, [&](const node &other) { return &other == &n; });
    dim_t between = 0;
    for (next = next == end ? end : std::next(next); next != end && between <= most_bytes_between; ++next) {
        if (facts_of(g, *next).fusion == fusion_part::accumulates) {
            const tensor_id weights = weights_of(g, *next);
            return weights && weights != weights_of(g, n) ? bytes_of_tensor(g, weights) : 0;
        }
        for (const tensor_id t : outputs_of(*next))
            between += t ? bytes_of_tensor(g, t) : 0;
    }
    return 0;
}

} // namespace octet::model
