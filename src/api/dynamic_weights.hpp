#pragma once // SPDX-License-Identifier: Apache-2.0

// The weights of products whose source is quantized while they run, as operations have them: {…, K, N} of matmul,
// {N, K…} of inner products. Problems have the one form {K, N}, and values in either order.

#include <string>

#include "common/dynamic_matmul_problem.hpp"

namespace octet::impl {

/// Weights with the names that messages give them.
struct described_weights {
    const char *operation, *tensor;
    int arg;               ///< the tensor that attributes name
    const memory_desc &md; ///< as the operation has it
    bool has_columns_first;

    int column_mask() const { return has_columns_first ? 1 : 1 << (md.ndims - 1); }
    /// Of values for groups; 0 where K is several dimensions, which have no groups.
    int group_mask() const { return has_columns_first && md.ndims > 2 ? 0 : 3 << (md.ndims - 2); }
    dim_t n() const { return has_columns_first ? md.dims[0] : md.dims[md.ndims - 1]; }
    dim_t k() const;
};

/// Weights {N, K…} as {K, N}. Throws `unimplemented` for strides that no single dimension has.
memory_desc matrix_of_columns(const char *operation, const memory_desc &weights);
/// A layout of {K, N} as one of `given`, {N, K…}.
memory_desc columns_of_matrix(const memory_desc &matrix, const memory_desc &given);
/// {M, K…} as {M, K}.
memory_desc matrix_of_rows(const char *operation, const char *name, const memory_desc &rows);

struct lowered_weights {
    weight_values scales, zero_points;
    dim_t group = 1;         ///< elements of K that share a scale; all without groups
    bool has_groups = false; ///< set_scales named groups
};
/// Throws `invalid_arguments` for a mask, groups, a number of values or values that do not fit.
lowered_weights lower_weight_values(const primitive_attr &attr, const described_weights &w);

} // namespace octet::impl
