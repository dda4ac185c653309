// The spans of two operands, from the innermost dimension outwards.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/spans.hpp"

#include <algorithm>

#include "network/graph/descs.hpp"
#include "network/graph/element_map.hpp"

namespace octet::model {

spans::spans(const memory::dims &a, const memory::dims &b) : outer(broadcast(a, b)) {
    a_strides = broadcast_strides(a, outer);
    b_strides = broadcast_strides(b, outer);
    const std::size_t shared = std::min(a.size(), b.size());
    const auto last = [](const memory::dims &d, std::size_t i) { // from the back, 1 where there is none
        return i < d.size() ? d[d.size() - 1 - i] : 1;
    };
    std::size_t i = 0;
    while (i + 1 < shared && last(outer, i) <= 1)
        i++;
    a_moves = last(a, i) > 1;
    b_moves = last(b, i) > 1;
    size = last(outer, i);
    for (i++; i < outer.size(); i++) {
        const dim_t n = last(outer, i);
        if (n == 1 && i < shared)
            continue;
        if ((last(a, i) > 1) != a_moves || (last(b, i) > 1) != b_moves)
            break;
        size *= n;
    }
    outer.resize(outer.size() - std::min(i, outer.size()));
}

} // namespace octet::model
