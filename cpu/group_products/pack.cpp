// Weights and rows of the source as the kernel reads them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "cpu/group_products/group_products.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl {

namespace {

constexpr int columns = jit::group_layout::columns;
constexpr int source_offset = 128; ///< from u8 codes of the source to s8

/// The code at an index, with its sign bit flipped where it is signed.
unsigned unsigned_code(const void *codes, dim_t i, int bits, int offset) {
    const auto *bytes = static_cast<const std::uint8_t *>(codes);
    const unsigned code = bits == 8 ? bytes[i] : bytes[i / 2] >> i % 2 * 4 & 15;
    return code ^ static_cast<unsigned>(offset);
}

template <typename T> void store(std::uint8_t *to, T value) { std::memcpy(to, &value, sizeof value); }

/// Place of a code in a group's record.
struct code_place {
    dim_t byte;
    int shift;
};
code_place place_of(bool is_nibble, dim_t k, int lane) {
    const dim_t quad = k / 4, within = lane * 4 + k % 4;
    if (!is_nibble)
        return {quad * 4 * columns + within, 0};
    return {quad / 2 * 4 * columns + within, static_cast<int>(quad % 2) * 4};
}

/// Words of a quad lie in the order 0, 2, 1, 3.
dim_t place_of_word(dim_t k) {
    constexpr dim_t places[] = {0, 2, 1, 3};
    return k / 4 * 4 + places[k % 4];
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
            for (dim_t column = b * columns; column < std::min((b + 1) * columns, problem_.n); column++)
                pack_column(w, column, block);
        }
    });
}

void group_products::pack_column(const group_weights &w, dim_t column, std::uint8_t *block) const {
    const auto lane = static_cast<int>(column % columns);
    for (dim_t g = 0; g < problem_.groups(); g++) {
        std::uint8_t *record = block + g * layout_.record_bytes();
        const dim_t first = g * problem_.group, count = std::min(problem_.group, problem_.k - first);
        const dim_t at = column * w.scale_column_stride + g * w.scale_group_stride;
        const std::int32_t zero_point = (w.zero_points ? w.zero_points[at] : 0) + unsigned_offset();
        std::int32_t sum = 0;
        for (dim_t k = 0; k < count; k++) {
            const unsigned code = unsigned_code(w.codes, column * w.column_stride + (first + k) * w.k_stride,
                                                problem_.weight_bits, unsigned_offset());
            const code_place p = place_of(problem_.weight_bits == 4, k, lane);
            record[p.byte] = static_cast<std::uint8_t>(record[p.byte] | code << p.shift);
            sum += static_cast<std::int32_t>(code) - zero_point;
        }
        store(record + layout_.scales() + 4 * lane, w.scales[at]);
        if (layout_.has_sums)
            store(record + layout_.sums() + 4 * lane, sum);
        if (layout_.has_zero_points)
            store(record + layout_.zero_points() + 4 * lane, zero_point);
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
    const auto code = [&](dim_t k) { return std::int32_t{static_cast<std::int8_t>(codes[k] ^ flip)}; };
    std::fill_n(record, layout_.source_row(), std::uint8_t{0});
    std::int32_t sum = 0;
    jit::group_row row{p.scale, 0, 0, 0};
    if (layout_.codes == jit::group_codes::words) {
        for (dim_t k = 0; k < count; k++) {
            const auto word = static_cast<std::int16_t>(code(k) - zero_point);
            store(record + 2 * place_of_word(k), word);
            sum += word;
        }
    } else {
        for (dim_t k = 0; k < count; k++) {
            record[k] = codes[k] ^ flip;
            sum += code(k);
        }
        row.minus_zero_point = -zero_point;
    }
    row.minus_sum = -sum;
    if (!problem_.has_weight_zero_points)
        row.initial = -sum * unsigned_offset();
    std::memcpy(record + layout_.source_row(), &row, sizeof row);
}

} // namespace octet::impl
