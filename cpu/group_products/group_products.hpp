#pragma once // SPDX-License-Identifier: Apache-2.0

// Products of codes whose reduction has groups with scales of their own, in Octet's order (`dynamic_row` and
// `dynamic_group` of common/combination.hpp) and in those of orders.cpp: the bytes of a row depend on that row alone.
// Weights are packed once; jit/kernels/group_dot.hpp has their layout.

#include <algorithm>
#include <cstddef>

#include "common/combination.hpp"
#include "common/machine.hpp"
#include "cpu/group_products/orders.hpp"
#include "jit/kernels/group_dot.hpp"
#include "octet/types.hpp"

namespace octet::impl {

struct group_problem {
    dim_t m, n, k;
    dim_t
        group; ///< neighbours in k that share a scale of the weights, the last ones may be fewer; k: all of them
    int weight_bits = 8; ///< 8 or 4
    bool weights_are_signed = true;
    bool has_weight_zero_points = false;
    data_type source = data_type::s8;    ///< or u8
    bool has_source_zero_points = false; ///< else they are 0, of u8 128
    bool source_has_groups = false;      ///< parameters of the source are those of groups, else of rows
    combination order = combination::dynamic_group; ///< one that `order_of_groups_for` has
    bool has_bias = false;

    dim_t groups() const { return (k + group - 1) / group; }
};

/// Plain weights. Strides count elements; codes of 4 and 2 bits share bytes, the first one in the lowest bits.
struct group_weights {
    const void *codes;
    int bits; ///< 8, 4 or 2: those of 2 are packed as of 4
    dim_t column_stride, k_stride;
    const float *scales;
    const std::int32_t *zero_points;               ///< of the codes as they are; null without
    dim_t scale_column_stride, scale_group_stride; ///< also of zero points
};

class group_products {
public:
    /// At a level that this machine has, or `ref`.
    group_products(const group_problem &p, instruction_set isa);

    std::size_t weights_bytes() const;
    /// On the threads of primitives. Packed weights begin at a multiple of 64 bytes.
    void pack(const group_weights &w, void *packed) const;

    struct operands {
        const void *codes; ///< [m][k], `codes_stride` from row to row
        dim_t codes_stride;
        const source_parameters *parameters; ///< [m], or [m][groups]
        const void *weights;                 ///< packed
        const float *bias;                   ///< [n], if there is one
        float *dst;                          ///< [m][n], `dst_stride` from row to row
        dim_t dst_stride;
    };
    /// On the threads of primitives.
    void run(const operands &o) const;

private:
    using code = jit::shared_code<const jit::group_dot_args>;
    struct row_range {
        dim_t first, end;
    };

    void make_code();
    /// Groups of the kernel: the lanes of all groups.
    dim_t records() const { return problem_.groups() * order_.kernel.lanes; }
    /// Elements of a group that are in a record.
    dim_t count_of(dim_t record) const {
        const dim_t g = record / order_.kernel.lanes;
        return std::min(problem_.group, problem_.k - g * problem_.group) / order_.kernel.lanes;
    }
    jit::group_dot_spec spec_of(int rows, int n) const;
    dim_t blocks() const {
        return (problem_.n + jit::group_layout::columns - 1) / jit::group_layout::columns;
    }
    std::int64_t block_bytes() const { return layout_.block_bytes(records()); }
    std::int64_t row_bytes() const { return layout_.row_bytes(records()); }
    int unsigned_offset() const; ///< what makes codes of weights unsigned
    /// Of the source as signed codes, in exact sums.
    std::int32_t exact_zero_point(const source_parameters &p) const;
    void pack_block(const group_weights &w, dim_t column, std::uint8_t *block) const;
    void pack_record(const group_weights &w, dim_t column, dim_t r, std::uint8_t *record) const;
    void sum_scaled_weights(const group_weights &w, dim_t column, std::uint8_t *block) const;
    void prepare_row(const operands &o, dim_t row, std::uint8_t *prepared) const;
    void prepare_group(const std::uint8_t *codes, dim_t count, const source_parameters &p,
                       std::uint8_t *record) const;
    void multiply(const operands &o, const std::uint8_t *prepared, row_range rows, dim_t column_tile) const;
    void multiply_in_cpp(const operands &o, const std::uint8_t *prepared, row_range rows,
                         dim_t column_tile) const;
    float result(const operands &o, const std::uint8_t *row, dim_t column) const;
    std::int64_t sum_of_group(const std::uint8_t *codes, const std::uint8_t *record, dim_t lane) const;

    group_problem problem_;
    order_of_groups order_;
    instruction_set isa_;
    jit::group_layout layout_;
    dim_t tile_rows_ = 1, tile_columns_ = jit::group_layout::columns;
    code code_[2][2]; ///< of whole tiles and the last ones: rows, columns
};

} // namespace octet::impl
