// Weights and rows of the source as the kernel reads them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "common/layout/plain.hpp"
#include "cpu/group_products/bytes.hpp"
#include "cpu/group_products/group_products.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl {

namespace {

constexpr int panel_columns = jit::group_layout::columns, quad = 4;
constexpr int source_offset = 128; ///< from u8 codes of the source to s8

/// `count` codes, 1 to 4, at a distance of `stride` from each other: a byte each, the first one lowest.
template <int bits> std::uint32_t load_codes(const std::uint8_t *codes, dim_t i, dim_t stride, dim_t count) {
    if (count == quad && stride == 1 && bits == 8)
        return load_bytes<std::uint32_t>(codes + i);
    if (count == quad && stride == 1 && bits == 4 && i % 2 == 0) {
        const std::uint32_t x = load_bytes<std::uint16_t>(codes + i / 2);
        return (x & 0xf) | (x & 0xf0) << 4 | (x & 0xf00) << 8 | (x & 0xf000) << 12;
    }
    constexpr dim_t per_byte = 8 / bits;
    std::uint32_t result = 0;
    for (dim_t j = 0; j < count; j++, i += stride) {
        const std::uint32_t code = codes[i / per_byte] >> i % per_byte * bits & ((1 << bits) - 1);
        result |= code << 8 * j;
    }
    return result;
}

std::int32_t sum_of_bytes(std::uint32_t x) {
    const std::uint32_t pairs = (x & 0x00ff00ff) + (x >> 8 & 0x00ff00ff);
    return static_cast<std::int32_t>((pairs & 0xffff) + (pairs >> 16));
}

/// The codes of a group in `lanes` columns, as unsigned ones, and their sums. Columns are inside: their codes may lie
/// side by side.
template <int bits>
void pack_codes(const group_weights &w, dim_t first, dim_t count, dim_t lanes, std::uint32_t offset,
                std::uint8_t *record, std::array<std::int32_t, panel_columns> &sums) {
    constexpr dim_t quad_bytes = dim_t{panel_columns} * quad;
    const auto *codes = static_cast<const std::uint8_t *>(w.codes);
    for (dim_t k = 0; k < count; k += quad) {
        const dim_t n = std::min<dim_t>(count - k, quad), q = k / quad;
        const std::uint32_t flip = offset * 0x01010101u >> 8 * (quad - n);
        std::uint8_t *to = record + (bits == 8 ? q : q / 2) * quad_bytes;
        for (dim_t lane = 0; lane < lanes; lane++, to += quad) {
            const std::uint32_t x =
                load_codes<bits>(codes, first + lane * w.column_stride + k * w.k_stride, w.k_stride, n) ^
                flip;
            sums[static_cast<std::size_t>(lane)] += sum_of_bytes(x);
            store_bytes(to, bits != 8 && q % 2 == 1 ? load_bytes<std::uint32_t>(to) | x << 4 : x);
        }
    }
}

/// Codes, unsigned ones, as words without a zero point; those of a quad lie in the order 0, 2, 1, 3.
void unpack_to_words(const std::uint8_t *codes, dim_t count, std::uint8_t flip, int zero_point,
                     std::uint8_t *record) {
    const std::uint32_t flips = flip * 0x01010101u;
    for (dim_t k = 0; k < count; k += quad) {
        const std::uint32_t x = (k + quad <= count ? load_bytes<std::uint32_t>(codes + k)
                                                   : load_codes<8>(codes, k, 1, count - k)) ^
                                flips;
        store_bytes(record + 2 * k, x & 0x00ff00ff);
        store_bytes(record + 2 * k + quad, x >> 8 & 0x00ff00ff);
    }
    const auto words = (count + quad - 1) / quad * quad;
    for (dim_t i = 0; i < words; i++)
        store_bytes(record + 2 * i,
                    static_cast<std::int16_t>(load_bytes<std::int16_t>(record + 2 * i) - zero_point));
    constexpr dim_t places[] = {0, 2, 1, 3};
    for (dim_t k = count; k < words; k++)
        store_bytes(record + 2 * (words - quad + places[k % quad]), std::int16_t{0});
}

} // namespace

int group_products::unsigned_offset() const {
    return problem_.weights_are_signed ? 1 << (problem_.weight_bits - 1) : 0;
}

std::size_t group_products::weights_bytes() const {
    return static_cast<std::size_t>(blocks() * block_bytes());
}

void group_products::pack(const group_weights &w, void *packed) const {
    parallel_for(blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; b++) {
            std::uint8_t *block = static_cast<std::uint8_t *>(packed) + b * block_bytes();
            std::fill_n(block, block_bytes(),
                        std::uint8_t{0}); // padding of groups, and columns beyond the last
            for (dim_t g = 0; g < problem_.groups(); g++)
                pack_group(w, b * panel_columns, g, block + g * layout_.record_bytes());
        }
    });
}

void group_products::pack_group(const group_weights &w, dim_t column, dim_t g, std::uint8_t *record) const {
    const dim_t lanes = std::min<dim_t>(problem_.n - column, panel_columns), first = g * problem_.group;
    const dim_t count = std::min(problem_.group, problem_.k - first);
    std::array<std::int32_t, panel_columns> sums{};
    const auto pack = w.bits == 8 ? pack_codes<8> : w.bits == 4 ? pack_codes<4> : pack_codes<2>;
    pack(w, column * w.column_stride + first * w.k_stride, count, lanes,
         static_cast<std::uint32_t>(unsigned_offset()), record, sums);
    for (dim_t lane = 0; lane < lanes; lane++) {
        const dim_t at = (column + lane) * w.scale_column_stride + g * w.scale_group_stride;
        const std::int32_t zero_point = (w.zero_points ? w.zero_points[at] : 0) + unsigned_offset();
        store_bytes(record + layout_.scales() + lane * 4, w.scales[at]);
        if (layout_.has_sums)
            store_bytes(record + layout_.sums() + lane * 4,
                        static_cast<std::int32_t>(sums[static_cast<std::size_t>(lane)] - count * zero_point));
        if (layout_.has_zero_points)
            store_bytes(record + layout_.zero_points() + lane * 4, zero_point);
    }
}

void group_products::prepare_row(const operands &o, dim_t row, std::uint8_t *prepared) const {
    const auto *codes = static_cast<const std::uint8_t *>(o.codes) + row * o.codes_stride;
    for (dim_t g = 0; g < problem_.groups(); g++) {
        const dim_t first = g * problem_.group, count = std::min(problem_.group, problem_.k - first);
        const source_parameters &p =
            o.parameters[problem_.source_has_groups ? row * problem_.groups() + g : row];
        prepare_group(codes + first, count, p, prepared + g * layout_.source_bytes());
    }
}

void group_products::prepare_group(const std::uint8_t *codes, dim_t count, const source_parameters &p,
                                   std::uint8_t *record) const {
    const bool is_signed = problem_.source == data_type::s8;
    const auto flip = static_cast<std::uint8_t>(is_signed ? 0 : source_offset);
    const std::int32_t zero_point =
        problem_.has_source_zero_points ? p.zero_point - (is_signed ? 0 : source_offset) : 0;
    std::int32_t sum = 0;
    for (dim_t k = 0; k < count; k++)
        sum += static_cast<std::int8_t>(codes[k] ^ flip);
    jit::group_row row{p.scale, 0, 0, 0};
    std::fill_n(record, layout_.source_row(), std::uint8_t{0});
    if (layout_.codes == jit::group_codes::words) {
        unpack_to_words(codes, count, static_cast<std::uint8_t>(flip ^ source_offset),
                        zero_point + source_offset, record);
        sum -= static_cast<std::int32_t>(count) * zero_point;
    } else {
        for (dim_t k = 0; k < count; k++)
            record[k] = codes[k] ^ flip;
        row.minus_zero_point = -zero_point;
    }
    row.minus_sum = -sum;
    if (!problem_.has_weight_zero_points)
        row.initial = -sum * unsigned_offset();
    std::memcpy(record + layout_.source_row(), &row, sizeof row);
}

} // namespace octet::impl
