#pragma once // SPDX-License-Identifier: Apache-2.0

// Matrix products whose float source is quantized while they run (doc/dynamic.md), and the packing of their weights.

#include <cstdint>
#include <string>
#include <vector>

#include "common/problem.hpp"
#include "common/source_quantizer.hpp"

namespace octet::impl {

/// Scales or zero points of weights: one, one for each column, or {G, N}, for groups of K and columns, or {N, G}.
struct weight_values {
    bool is_set = false;
    dim_t groups = 1;               ///< G
    bool has_columns = false;       ///< else one for all
    bool has_columns_first = false; ///< {N, G}
    int arg = 0;                    ///< where they come with the execution
    data_type type{};               ///< there; undef: `values` has them
    std::vector<float> values;      ///< zero points are exact, too

    dim_t count(dim_t n) const { return groups * (has_columns ? n : 1); }
    /// {groups, n} values as f32.
    ///@{
    void bind(const arguments &args, dim_t all_groups, dim_t n, float *to) const;
    std::vector<float> bind(const arguments &args, dim_t all_groups, dim_t n) const {
        std::vector<float> all(static_cast<std::size_t>(all_groups * n));
        bind(args, all_groups, n, all.data());
        return all;
    }
    ///@}
};

/// Of matmul and of inner products, whose tensors are matrices here.
struct dynamic_matmul_problem {
    const char *operation = "matmul"; ///< for messages
    memory_desc src, weights, dst;    ///< weights {1, …, K, N}
    memory_desc bias;                 ///< f32, {1, …, N}; ndims 0 without
    source_quantization source;
    combination order = combination::dynamic_row;
    dim_t group = 1;                ///< elements of K that share a scale; K without groups
    weight_values scales;           ///< at execution also in the weights, if `has_stored_values`
    weight_values zero_points;      ///< likewise
    bool has_stored_values = false; ///< weights are packed with scales
    epilogue out_stage; ///< post-ops and the store of what `order` gives; dst's scale, if it has codes
    dim_t prefetched_bytes = 0; ///< primitive_attr::set_prefetched_bytes

    dim_t k() const { return src.dims[src.ndims - 1]; }
    dim_t n() const { return dst.dims[dst.ndims - 1]; }
    dim_t rows() const { return n() == 0 ? 0 : element_count(dst) / n(); }
    dim_t groups() const { return div_up(k(), group); }
    /// The quantizer, for plans.
    std::string source_text() const;
    bool source_has_groups() const { return source.span == source_span::group; }
    /// False if zero points of the source are the middle of their type's codes.
    bool source_has_zero_points() const { return source.mode == source_mode::asymmetric; }
    /// True if some zero point is not 0.
    bool has_source_zero_points() const { return source_has_zero_points() || source.code == data_type::u8; }
};

/// Weights {K, N} beside their scales, in the layout of `packed`.
struct packing_problem {
    memory_desc weights, packed;
    dim_t group = 1;
    weight_values scales, zero_points;
};

enum class scale_signs { not_negative, any };

/// Throw `invalid_arguments` for a scale of another sign, infinite or NaN; for a zero point that is no code of `type`.
///@{
void check_scales(const char *operation, const char *what, const float *values, std::size_t count,
                  scale_signs signs);
void check_weight_zero_points(const char *operation, const char *what, const float *values, std::size_t count,
                              data_type type);
///@}

} // namespace octet::impl
