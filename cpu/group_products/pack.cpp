// Weights and rows of the source as the kernel reads them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "common/layout/plain.hpp"
#include "cpu/group_products/bytes.hpp"
#include "cpu/group_products/group_products.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"

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

/// Two pairs of codes, 8 apart.
template <int bits> std::uint32_t load_pairs(const std::uint8_t *codes, dim_t i, dim_t stride) {
    return load_codes<bits>(codes, i, stride, 2) | load_codes<bits>(codes, i + 8 * stride, stride, 2) << 16;
}

/// Bytes for each column: a quad of codes.
using column_quads = std::array<std::uint32_t, panel_columns>;
using column_sums = std::array<std::uint32_t, panel_columns>; ///< of codes, unsigned ones
constexpr dim_t quad_bytes = sizeof(column_quads);

/// A function of values of each column; the loop becomes vectors.
template <typename Function> column_quads by_columns(Function f, column_quads a, column_quads b) {
    column_quads result;
    for (std::size_t c = 0; c < result.size(); c++)
        result[c] = f(a[c], b[c]);
    return result;
}
std::uint32_t add_bytes(std::uint32_t sum, std::uint32_t x) {
    const std::uint32_t pairs = (x & 0x00ff00ff) + (x >> 8 & 0x00ff00ff);
    return sum + (pairs & 0xffff) + (pairs >> 16);
}

/// Whole quads of all columns, in a layout that most weights have.
template <int bits>
bool load_quads(const group_weights &w, const std::uint8_t *codes, dim_t at, bool is_lane, column_quads &x) {
    const dim_t second_pair = is_lane ? 8 : 2; // of a lane, its next two codes
    const std::uint8_t *from = codes + at * bits / 8;
    const dim_t step = w.column_stride * bits / 8;
    if (bits == 8 && w.k_stride == 1) {
        for (dim_t c = 0; c < panel_columns; c++, from += step)
            x[c] = load_bytes<std::uint16_t>(from) | load_bytes<std::uint16_t>(from + second_pair) << 16;
    } else if (bits == 8 && w.column_stride == 1 && !is_lane) {
        const dim_t k = w.k_stride;
        for (dim_t c = 0; c < panel_columns; c++, from++)
            x[c] = from[0] | from[k] << 8 | from[2 * k] << 16 | static_cast<std::uint32_t>(from[3 * k]) << 24;
    } else if (bits == 4 && w.k_stride == 1 && at % 2 == 0 && w.column_stride % 2 == 0) {
        for (dim_t c = 0; c < panel_columns; c++, from += step)
            x[c] = from[0] | from[second_pair / 2] << 8;
        x = by_columns(
            [](std::uint32_t nibbles, std::uint32_t) {
                const std::uint32_t pairs = (nibbles | nibbles << 8) & 0x00ff00ff;
                return (pairs | pairs << 4) & 0x0f0f0f0f;
            },
            x, {});
    } else {
        return false;
    }
    return true;
}

/// `count` codes in `columns` columns, as unsigned ones, and their sums; or one of four lanes of pairs in turn. Columns
/// are inside: their codes may lie side by side.
template <int bits>
column_sums pack_codes(const group_weights &w, dim_t first, dim_t count, dim_t columns, bool is_lane,
                       std::uint32_t offset, std::uint8_t *record) {
    const auto *codes = static_cast<const std::uint8_t *>(w.codes);
    column_sums sums{};
    for (dim_t k = 0; k < count; k += quad) {
        const dim_t n = std::min<dim_t>(count - k, quad), q = k / quad;
        const dim_t at = first + (is_lane ? 4 * k : k) * w.k_stride;
        column_quads x{}, flips{};
        if (n < quad || columns < panel_columns || !load_quads<bits>(w, codes, at, is_lane, x))
            for (dim_t c = 0; c < columns; c++) {
                const dim_t of_column = at + c * w.column_stride;
                x[c] = is_lane ? load_pairs<bits>(codes, of_column, w.k_stride)
                               : load_codes<bits>(codes, of_column, w.k_stride, n);
            }
        std::fill_n(flips.begin(), columns, offset * 0x01010101u >> 8 * (quad - n));
        x = by_columns([](std::uint32_t code, std::uint32_t flip) { return code ^ flip; }, x, flips);
        sums = by_columns(add_bytes, sums, x);
        std::uint8_t *to = record + (bits == 8 ? q : q / 2) * quad_bytes;
        if (bits != 8 && q % 2 == 1)
            x = by_columns([](std::uint32_t low, std::uint32_t high) { return low | high << 4; },
                           load_bytes<column_quads>(to), x);
        store_bytes(to, x);
    }
    return sums;
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

/// Adds two neighbours of a record in all columns.
void add_pair(const std::uint8_t *record, dim_t place, bool are_nibbles, column_sums &sums) {
    const dim_t q = place / quad;
    const auto shift = static_cast<std::uint32_t>(place % quad * 8 + (are_nibbles ? q % 2 * 4 : 0));
    const std::uint32_t mask = are_nibbles ? 15 : 255;
    const auto add = [=](std::uint32_t sum, std::uint32_t x) {
        return sum + (x >> shift & mask) + (x >> (shift + 8) & mask);
    };
    sums = by_columns(add, sums, load_bytes<column_quads>(record + (are_nibbles ? q / 2 : q) * quad_bytes));
}

std::int32_t middle_of(data_type source) { return source == data_type::s8 ? 0 : source_offset; }

/// Codes of four lanes one after the other: pairs in turn.
void split_into_lanes(const std::uint8_t *codes, dim_t count, std::uint8_t *to) {
    constexpr dim_t lanes = 4;
    for (dim_t lane = 0; lane < lanes; lane++)
        for (dim_t k = 2 * lane; k < count; k += 2 * lanes, to += 2)
            std::memcpy(to, codes + k, 2);
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
        for (std::int64_t b = begin; b < end; b++)
            pack_block(w, b * panel_columns, static_cast<std::uint8_t *>(packed) + b * block_bytes());
    });
}

void group_products::pack_block(const group_weights &w, dim_t column, std::uint8_t *block) const {
    std::fill_n(block, block_bytes(), std::uint8_t{0}); // padding of groups, and columns beyond the last
    for (dim_t r = 0; r < records(); r++)
        pack_record(w, column, r, block + r * layout_.record_bytes());
    if (layout_.has_scaled_sums)
        sum_scaled_weights(w, column, block);
}

void group_products::pack_record(const group_weights &w, dim_t column, dim_t r, std::uint8_t *record) const {
    const dim_t columns = std::min<dim_t>(problem_.n - column, panel_columns), count = count_of(r);
    const dim_t lanes = order_.kernel.lanes, g = r / lanes, first = g * problem_.group + 2 * (r % lanes);
    const auto pack = w.bits == 8 ? pack_codes<8> : w.bits == 4 ? pack_codes<4> : pack_codes<2>;
    const column_sums sums = pack(w, column * w.column_stride + first * w.k_stride, count, columns, lanes > 1,
                                  static_cast<std::uint32_t>(unsigned_offset()), record);
    for (dim_t c = 0; c < columns; c++) {
        const dim_t at = (column + c) * w.scale_column_stride + g * w.scale_group_stride;
        const std::int32_t zero_point = (w.zero_points ? w.zero_points[at] : 0) + unsigned_offset();
        const float scale = order_.scales_are_sixteenths ? w.scales[at] / 16 * 16 : w.scales[at];
        store_bytes(record + layout_.scales() + c * 4, scale);
        if (layout_.has_sums)
            store_bytes(record + layout_.sums() + c * 4,
                        static_cast<std::int32_t>(sums[c] - count * zero_point));
        if (layout_.has_zero_points)
            store_bytes(record + layout_.zero_points() + c * 4, zero_point);
    }
}

/// From the records, whose groups are multiples of 32. A record of a lane has a quad of every 16 elements.
void group_products::sum_scaled_weights(const group_weights &w, dim_t column, std::uint8_t *block) const {
    const dim_t columns = std::min<dim_t>(problem_.n - column, panel_columns), lanes = order_.kernel.lanes;
    const dim_t neighbours = order_.neighbours;
    const auto add_codes = [&](dim_t k, column_sums &sums) { // of the 2 elements of group and place
        const std::uint8_t *record = block + (k / problem_.group * lanes) * layout_.record_bytes();
        const dim_t place = k % problem_.group;
        if (lanes > 1)
            record += place % 8 / 2 * layout_.record_bytes();
        add_pair(record, lanes > 1 ? place / 16 * 4 + place % 16 / 8 * 2 : place,
                 layout_.codes == jit::group_codes::nibbles, sums);
    };
    std::array<float, panel_columns> scaled{};
    for (dim_t k = 0; k < problem_.k;
         k += order_.takes_both_halves && (k + neighbours) % 32 == 16 ? neighbours + 16 : neighbours) {
        column_sums sums{};
        for (dim_t i = k; i < k + neighbours; i += 2) {
            add_codes(i, sums);
            if (order_.takes_both_halves)
                add_codes(i + 16, sums);
        }
        const dim_t count = neighbours * (order_.takes_both_halves ? 2 : 1);
        for (dim_t c = 0; c < columns; c++) {
            const dim_t at = (column + c) * w.scale_column_stride + k / problem_.group * w.scale_group_stride;
            const std::int32_t zero_point = (w.zero_points ? w.zero_points[at] : 0) + unsigned_offset();
            const auto i = static_cast<std::size_t>(c);
            const float term = static_cast<float>(dim_t{sums[i]} - count * zero_point) * w.scales[at];
            scaled[i] = order_.adds_weights ? scaled[i] + term : scaled[i] - term;
        }
    }
    std::memcpy(block + records() * layout_.record_bytes(), scaled.data(), sizeof scaled);
}

void group_products::prepare_row(const operands &o, dim_t row, std::uint8_t *prepared) const {
    const auto *codes = static_cast<const std::uint8_t *>(o.codes) + row * o.codes_stride;
    const dim_t lanes = order_.kernel.lanes;
    auto *split = lanes > 1 ? scratch_of<std::uint8_t>(scratch_slot::source_copy, problem_.group) : nullptr;
    for (dim_t g = 0; g < problem_.groups(); g++) {
        const std::uint8_t *group = codes + g * problem_.group;
        if (lanes > 1) {
            split_into_lanes(group, problem_.group, split);
            group = split;
        }
        const source_parameters &p =
            o.parameters[problem_.source_has_groups ? row * problem_.groups() + g : row];
        for (dim_t r = g * lanes; r < (g + 1) * lanes; r++) {
            prepare_group(group, count_of(r), p, prepared + r * layout_.source_bytes());
            group += count_of(r);
        }
    }
    if (layout_.has_scaled_sums) {
        const std::int32_t in_f32 = o.parameters[row].zero_point - order_.exact_zero_point;
        store_bytes(prepared + records() * layout_.source_bytes(),
                    static_cast<float>(order_.adds_weights ? -in_f32 : in_f32));
    }
}

std::int32_t group_products::exact_zero_point(const source_parameters &p) const {
    const std::int32_t zero_point = layout_.has_scaled_sums           ? order_.exact_zero_point
                                    : problem_.has_source_zero_points ? p.zero_point
                                                                      : middle_of(problem_.source);
    return zero_point - middle_of(problem_.source);
}

void group_products::prepare_group(const std::uint8_t *codes, dim_t count, const source_parameters &p,
                                   std::uint8_t *record) const {
    const bool is_signed = problem_.source == data_type::s8;
    const auto flip = static_cast<std::uint8_t>(is_signed ? 0 : source_offset);
    const std::int32_t zero_point = exact_zero_point(p);
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
