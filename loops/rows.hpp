#pragma once // SPDX-License-Identifier: Apache-2.0

// How Eigen folds a row with vectors of four, which ONNX Runtime's reductions use.

#include <algorithm>

#include "octet/types.hpp"

namespace octet::loops {

/// fold over term(0) to term(n - 1) of a row that begins `place` floats behind a tensor's first. Groups of
/// four begin at multiples of 16 bytes. They are folded into eight lanes, two groups in turn; then the halves
/// of the lanes; then what comes before the first group, and what is left behind the last, one by one.
template <typename Term, typename Fold>
float fold_row(dim_t n, dim_t place, const Term &term, const Fold &fold) {
    const dim_t head = std::min(n, (4 - place % 4) % 4), fours = head + (n - head) / 4 * 4,
                eights = head + (n - head) / 8 * 8;
    float result = 0.f;
    dim_t from = 0; // of what is taken one by one
    if (fours == head) {
        result = term(0);
        from = 1;
    } else {
        float lanes[4], pairs[8];
        for (dim_t l = 0; l < 4; l++)
            lanes[l] = term(head + l);
        if (eights > head) {
            for (dim_t l = 0; l < 8; l++)
                pairs[l] = term(head + l);
            for (dim_t i = head + 8; i < eights; i += 8)
                for (dim_t l = 0; l < 8; l++)
                    pairs[l] = fold(pairs[l], term(i + l));
            for (dim_t l = 0; l < 4; l++)
                lanes[l] = fold(pairs[l], pairs[l + 4]);
            if (fours > eights)
                for (dim_t l = 0; l < 4; l++)
                    lanes[l] = fold(lanes[l], term(eights + l));
        }
        result = fold(fold(lanes[0], lanes[2]), fold(lanes[1], lanes[3]));
        for (dim_t i = 0; i < head; i++)
            result = fold(result, term(i));
        from = fours;
    }
    for (dim_t i = from; i < n; i++)
        result = fold(result, term(i));
    return result;
}

/// The sum of a row in that order.
template <typename Term> float sum_of_row(dim_t n, dim_t place, const Term &term) {
    return fold_row(n, place, term, [](float a, float b) { return a + b; });
}

} // namespace octet::loops
