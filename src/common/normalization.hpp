#pragma once

// Normalizations and reductions for one element: octet/batch_normalization.hpp, layer_normalization.hpp, reduction.hpp.

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/arguments.hpp"
#include "common/eltwise_math.hpp"
#include "common/lanes.hpp"
#include "common/problem.hpp"

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

/// What an element adds.
inline float reduction_term(const reduction_problem &p, float x) {
    return is_norm(p.alg) ? power(std::fabs(x), p.p) : x;
}

/// What becomes of the reduced lanes of `count` elements.
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
