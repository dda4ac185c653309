// A row per order; common/combination.cpp has their formulas.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/group_products/orders.hpp"

namespace octet::impl {

namespace {

using jit::group_order;
using jit::group_scale;
using jit::row_scale;
using jit::zero_point_term;

constexpr group_order by_row{group_scale::product, true, row_scale::none, zero_point_term::none, true};
constexpr group_order by_weight_groups{group_scale::of_weights, true, row_scale::fused};
constexpr group_order by_both_groups{group_scale::product, true, row_scale::none};
constexpr group_order by_blocks{group_scale::product, false, row_scale::none};
constexpr group_order by_blocks_in_turn{group_scale::in_turn, false, row_scale::none};

constexpr group_order xnnpack(bool is_fused, row_scale row, int lanes) {
    group_order order{group_scale::of_weights, is_fused, row, zero_point_term::first};
    order.adds_absent_bias = true;
    order.lanes = lanes;
    return order;
}
constexpr order_of_groups xnnpack_row(const group_order &kernel, dim_t neighbours,
                                      std::int32_t zero_point = 0) {
    return {kernel, zero_point, false, neighbours, false, true};
}
constexpr order_of_groups kleidiai_row(dim_t neighbours) {
    group_order order{group_scale::of_weights, true, row_scale::product, zero_point_term::last};
    order.adds_absent_bias = true;
    return {order, 0, true, neighbours, true};
}

} // namespace

std::optional<order_of_groups> order_of_groups_for(combination order, bool source_has_groups) {
    switch (order) {
    case combination::dynamic_row:
        return order_of_groups{by_row};
    case combination::dynamic_group:
        return order_of_groups{source_has_groups ? by_both_groups : by_weight_groups};
    case combination::ggml_q8_0:
        return order_of_groups{by_blocks};
    case combination::ggml_q4_0:
        return order_of_groups{by_blocks_in_turn};
    case combination::xnnpack_groups: // codes are u8 there
        return xnnpack_row(xnnpack(true, row_scale::product, 1), 16, -128);
    case combination::xnnpack_groups_avx2:
        return xnnpack_row(xnnpack(true, row_scale::fused, 4), 16);
    case combination::xnnpack_groups_sse:
        return xnnpack_row(xnnpack(false, row_scale::product, 1), 16);
    case combination::xnnpack_groups_scalar:
        return xnnpack_row(xnnpack(false, row_scale::product, 1), 2);
    case combination::kleidiai_groups:
        return kleidiai_row(8);
    case combination::kleidiai_groups_of_4:
        return kleidiai_row(4);
    default:
        return std::nullopt;
    }
}

} // namespace octet::impl
