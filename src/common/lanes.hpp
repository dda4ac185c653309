#pragma once // SPDX-License-Identifier: Apache-2.0

// The order of reductions: element i of what becomes one number goes to lane i mod 16, then lanes are reduced
// by halves. Sixteen lanes are one vector or a few of any instruction set, so that the same order is fast on
// all.

#include <array>

#include "octet/types.hpp"

namespace octet::impl {

constexpr dim_t lane_count = 16;
using f32_lanes = std::array<float, lane_count>;

template <typename Op> float reduce_lanes(f32_lanes lanes, const Op &op) {
    for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; i++)
            lanes[i] = op(lanes[i], lanes[i + half]);
    return lanes[0];
}

} // namespace octet::impl
