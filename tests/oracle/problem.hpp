#pragma once // SPDX-License-Identifier: Apache-2.0

// A problem of the oracle: one call of a primitive as a plain value. Numbers are kept in double, which
// holds every element type exactly, in row-major order; the layout is only a wish for the library. The
// oracle (arithmetic.cpp, operations.cpp) reads a problem, draw.cpp makes one from a number,
// oracle_test.cpp hands it to the library.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace octet::oracle {

using dims = memory::dims;
using index = std::array<dim_t, max_ndims>;
using rule = requantization_rule;

struct tensor {
    tensor() = default;
    explicit tensor(const memory::desc &d) : desc(d), shape_(d.dims()) {}

    memory::desc desc;          ///< shape, type and the layout asked for; `any` leaves it to the primitive
    std::vector<double> values; ///< row-major
    const dims &shape() const { return shape_; }
    data_type type() const { return desc.data_type(); }
    bool is_set() const { return !desc.is_zero(); }

private:
    dims shape_;
};

/// The attributes with all values, those given at execution too (`runtime`).
struct attributes {
    oracle::rule rule = rule::automatic;
    masked_values<float> output_scales;
    std::map<int, masked_values<float>> scales;
    std::map<int, masked_values<std::int32_t>> zero_points;
    masked_values<fixed_point_multiplier> multipliers;
    masked_values<double> real_scales;
    bool real_scales_are_f32 = false;
    std::map<int, fixed_point_multiplier> input_multipliers;
    std::vector<post_op_entry> post_ops;
    std::vector<tensor> post_op_tensors; ///< one per post-op: src1 of binary, weights of prelu
};

struct problem {
    primitive_kind kind = primitive_kind::undef;
    algorithm alg = algorithm::undef;
    float alpha = 0, beta = 0;
    tensor src, weights, bias, dst; ///< weights is src1 of binary; dst holds what it held before
    std::vector<tensor> srcs;       ///< sum, concat
    std::vector<float> sum_scales;  ///< sum
    bool grouped = false;           ///< weights have a dimension for groups
    dims strides, dilates, padding_l, padding_r, kernel; ///< spatial
    int axis = 0;                                        ///< softmax, concat
    resampling_coordinates coordinates = resampling_coordinates::half_pixel;
    attributes attr;
    int threads = 1;
};

/// The numbers that the destination may hold, in row-major order: any in [low, high]. The two are equal but
/// behind functions that the documentation bounds by an error.
struct expectation {
    std::vector<double> low, high;
    bool is_known = true; ///< false: only that all levels agree
};

expectation expect(const problem &p); ///< the oracle

problem draw(std::uint64_t seed, std::uint64_t number);
std::string describe(const problem &p);
const char *name_of(primitive_kind kind);

// ---- indices

template <typename F> void for_each(const dims &shape, F &&f) {
    index at{};
    std::size_t count = 1;
    for (const dim_t d : shape)
        count *= static_cast<std::size_t>(d);
    for (std::size_t i = 0; i < count; i++) {
        f(static_cast<const index &>(at), i);
        for (std::size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];)
            at[d] = 0;
    }
}

/// Row-major position of an index; dimensions of size 1 are broadcast.
inline std::size_t position(const dims &shape, const index &at) {
    dim_t result = 0;
    for (std::size_t d = 0; d < shape.size(); d++)
        result = result * shape[d] + (shape[d] == 1 ? 0 : at[d]);
    return static_cast<std::size_t>(result);
}

template <typename T> T masked(const masked_values<T> &m, const dims &shape, const index &at) {
    std::size_t result = 0;
    for (std::size_t d = 0; d < shape.size(); d++)
        if (m.mask & (1 << d))
            result = result * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at[d]);
    return m.values[result];
}

} // namespace octet::oracle
