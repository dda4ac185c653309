// The largest of a row, and its sum, over 16 lanes each: vectors of whichever width give the same bytes.
// SPDX-License-Identifier: Apache-2.0
#include "loops/softmax.hpp"

#include <algorithm>
#include <limits>

#include "loops/levels.hpp"

namespace octet::loops {
namespace {

constexpr dim_t softmax_lanes = 16;

OCTET_LOOP void subtract_largest_of(const float *x, dim_t n, float *y) {
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    float lanes[softmax_lanes], largest = lowest;
    std::fill_n(lanes, softmax_lanes, lowest);
    const dim_t vectors = n / softmax_lanes * softmax_lanes;
    for (dim_t k = 0; k < vectors; k += softmax_lanes)
        for (dim_t i = 0; i < softmax_lanes; i++)
            lanes[i] = lanes[i] > x[k + i] ? lanes[i] : x[k + i];
    for (const float lane : lanes)
        largest = largest > lane ? largest : lane;
    for (dim_t k = vectors; k < n; k++)
        largest = largest > x[k] ? largest : x[k];
    for (dim_t k = 0; k < n; k++)
        y[k] = x[k] - largest;
}

OCTET_LOOP float sum_of_lanes(const float *x, dim_t n) {
    float sums[softmax_lanes] = {}, lanes[softmax_lanes];
    const dim_t vectors = n / softmax_lanes * softmax_lanes;
    for (dim_t k = 0; k < vectors; k += softmax_lanes)
        for (dim_t i = 0; i < softmax_lanes; i++)
            sums[i] += x[k + i];
    std::copy_n(sums, softmax_lanes, lanes); // so that the sums above stay in registers
    for (dim_t k = vectors; k < n; k++)
        lanes[k - vectors] += x[k];
    for (dim_t i = 0; i < 8; i++)
        lanes[i] += lanes[i + 8];
    for (dim_t distance = 1; distance < 8; distance *= 2)
        for (dim_t i = 0; i < 8; i += 2 * distance)
            lanes[i] += lanes[i + distance];
    return lanes[0];
}

} // namespace

softmax_loops::softmax_loops()
    : subtract_largest(compiled_for_level<subtract_largest_of>()), sum(compiled_for_level<sum_of_lanes>()) {}

} // namespace octet::loops
