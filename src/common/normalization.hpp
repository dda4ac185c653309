#pragma once // SPDX-License-Identifier: Apache-2.0

// Normalizations and reductions for one element: octet/batch_normalization.hpp, layer_normalization.hpp, reduction.hpp.

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/arguments.hpp"
#include "common/eltwise_math.hpp"
#include "common/lanes.hpp"
#include "common/normalization_problem.hpp"
#include "common/reduction_problem.hpp"
#include "common/rules.hpp"

namespace octet::impl {

/// Scales and shifts of one execution; 1 and 0 where there are none.
class bound_operands {
public:
    bound_operands(const normalization_operands &o, dim_t channels, const arguments &args) {
        const auto *joined = o.are_joined ? args.get<const float>(OCTET_ARG_SCALE_SHIFT) : nullptr;
        if (o.has_scale)
            scale_ = joined ? joined : args.get<const float>(OCTET_ARG_SCALE);
        if (o.has_shift)
            shift_ = joined ? joined + channels : args.get<const float>(OCTET_ARG_SHIFT);
    }
    float scale(dim_t c) const { return scale_ ? scale_[c] : 1.f; }
    float shift(dim_t c) const { return shift_ ? shift_[c] : 0.f; }
    const float *scales() const { return scale_; }
    const float *shifts() const { return shift_; }

private:
    const float *scale_ = nullptr, *shift_ = nullptr;
};

/// x becomes fma(x, factor, term).
struct folded_normalization {
    float factor, term;
};
inline folded_normalization fold_normalization(float mean, float variance, float epsilon, float scale,
                                               float shift) {
    const float factor = scale / std::sqrt(variance + epsilon);
    return {factor, std::fma(-mean, factor, shift)};
}

/// Behind the statistics of a row.
inline float normalize(float centred_and_scaled, const bound_operands &operands, dim_t c) {
    const float d = centred_and_scaled;
    if (operands.scales() && operands.shifts())
        return std::fma(d, operands.scale(c), operands.shift(c));
    if (operands.scales())
        return d * operands.scale(c);
    return operands.shifts() ? d + operands.shift(c) : d;
}

// ---- ONNX Runtime's layer normalization

inline bool is_ort(const layer_normalization_problem &p) { return is_ort(p.out_stage.rule); }

/// ONNX Runtime's kernel for whole vectors takes rows of so many elements.
constexpr dim_t ort_vector = 8;

struct row_moments {
    float mean, variance; ///< variance without epsilon
};

/// Mean of squares: those in lanes, and of the elements from i on.
template <typename X>
float ort_variance(const float (&lanes)[ort_vector], dim_t n, dim_t i, float mean, const X &x) {
    float squares =
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    const dim_t fused_from = n - i >= 4 ? i + 4 : i;
    for (; i < n; i++) {
        const float d = x(i) - mean;
        squares = i < fused_from ? squares + d * d : std::fma(d, d, squares);
    }
    return squares / static_cast<float>(n);
}

/// x(i) is element i of a row of n. In the kernel the mean is a sum of binary64 over 4 lanes, squares go to 8
/// lanes, both then by halves; what is left over is added behind them, of squares the first four without
/// fusing. Shorter rows: Welford's updates.
template <typename X> row_moments ort_moments(dim_t n, const X &x) {
    if (n < ort_vector) {
        float mean = 0.f, squares = 0.f;
        for (dim_t i = 0; i < n; i++) {
            const float delta = x(i) - mean;
            mean += delta / static_cast<float>(i + 1);
            squares += delta * (x(i) - mean);
        }
        return {mean, squares / static_cast<float>(n)};
    }
    double sums[4] = {};
    dim_t i = 0;
    for (; i < n / 4 * 4; i++)
        sums[i % 4] += static_cast<double>(x(i));
    double sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for (; i < n; i++)
        sum += static_cast<double>(x(i));
    const auto mean = static_cast<float>(sum / static_cast<double>(n));

    float lanes[ort_vector] = {};
    for (i = 0; i < n / ort_vector * ort_vector; i++)
        lanes[i % ort_vector] = std::fma(x(i) - mean, x(i) - mean, lanes[i % ort_vector]);
    return {mean, ort_variance(lanes, n, i, mean, x)};
}

/// The result for an element of a row of n, from the moments of the row.
inline float ort_normalize(float x, dim_t n, row_moments m, float epsilon, const bound_operands &operands,
                           dim_t c) {
    const float deviation = std::sqrt(m.variance + epsilon);
    if (n >= ort_vector)
        return normalize((x - m.mean) * (1.f / deviation), operands, c);
    const float scaled = (x - m.mean) / deviation * operands.scale(c);
    return operands.shifts() ? scaled + operands.shift(c) : scaled;
}

// ---- reductions

inline bool is_norm(algorithm alg) { return alg >= algorithm::reduction_norm_lp_max; }

inline float reduction_start(algorithm alg) {
    switch (alg) {
    case algorithm::reduction_max:
        return -std::numeric_limits<float>::infinity();
    case algorithm::reduction_min:
        return std::numeric_limits<float>::infinity();
    case algorithm::reduction_mul:
        return 1.f;
    default:
        return 0.f;
    }
}

/// One element, or another lane.
inline float reduce(algorithm alg, float acc, float x) {
    switch (alg) {
    case algorithm::reduction_max:
        return acc > x ? acc : x;
    case algorithm::reduction_min:
        return acc < x ? acc : x;
    case algorithm::reduction_mul:
        return acc * x;
    default:
        return acc + x;
    }
}

/// x^e of a number that is not negative.
inline float power(float x, float e) {
    return e == 1.f    ? x
           : e == 2.f  ? x * x
           : e == 0.5f ? std::sqrt(x)
                       : eltwise(algorithm::eltwise_pow, 1.f, e, x);
}

/// The term that an element adds to a reduction.
inline float reduction_term(const reduction_problem &p, float x) {
    return is_norm(p.alg) ? power(std::fabs(x), p.p) : x;
}

/// The result of a reduction, from the reduced lanes of `count` elements.
inline float reduction_result(const reduction_problem &p, float acc, dim_t count) {
    switch (p.alg) {
    case algorithm::reduction_mean:
        return acc / static_cast<float>(count);
    case algorithm::reduction_norm_lp_max:
        return power(std::max(acc, p.epsilon), 1.f / p.p);
    case algorithm::reduction_norm_lp_sum:
        return power(acc + p.epsilon, 1.f / p.p);
    case algorithm::reduction_norm_lp_power_p_max:
        return std::max(acc, p.epsilon);
    case algorithm::reduction_norm_lp_power_p_sum:
        return acc + p.epsilon;
    default:
        return acc;
    }
}

} // namespace octet::impl
