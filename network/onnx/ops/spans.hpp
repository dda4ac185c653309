#pragma once // SPDX-License-Identifier: Apache-2.0

// How ONNX Runtime walks two operands that broadcast (core/providers/cpu/math/element_wise_ops.h): in spans
// of the result. Its operators have a function for spans of two operands and others for spans that share one
// number of an operand, and the bits of a result may depend on the function.

#include <algorithm>

#include "network/graph/index_walk.hpp"

namespace octet::model {

/// The last dimensions of the result are a span, as long as each operand has all of them or none. Trailing
/// dimensions of 1 that both have count as neither; leading ones that one operand lacks end a span of the
/// other.
struct spans {
    spans(const memory::dims &a, const memory::dims &b);

    /// One number of `a` or `b` serves a span. ONNX Runtime asks about `a` first.
    bool shares_a() const { return !a_moves; }
    bool shares_b() const { return a_moves && !b_moves; }

    /// Calls f(number of the first element of a span, its places in a and in b, first, last) for elements `begin` to
    /// `end` - 1 of the result, which are in the span from `first` on, up to `last` - 1.
    template <typename F> void for_each(dim_t begin, dim_t end, const F &f) const {
        if (begin >= end)
            return;
        dim_t s = begin / size;
        for (stack_index at = index_of(s, outer, outer.size()); s * size < end; s++, next_index(at, outer))
            f(s * size, offset_at(at, a_strides), offset_at(at, b_strides),
              std::max<dim_t>(begin - s * size, 0), std::min(end - s * size, size));
    }
    /// The elements of the result.
    dim_t count() const { return size * element_count(outer); }

    dim_t size = 1;
    bool a_moves, b_moves; ///< an operand goes on within a span, element by element
    memory::dims outer;    ///< dimensions of the result around spans
    memory::dims a_strides, b_strides;
};

} // namespace octet::model
