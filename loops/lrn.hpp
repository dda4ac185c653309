#pragma once // SPDX-License-Identifier: Apache-2.0

// Local response normalization across channels in ONNX Runtime's arithmetic.

#include "octet/types.hpp"

namespace octet::loops {

/// y = x * s^-β: s is the bias and α / size times the squares of `size` channels around x, and goes from
/// channel to channel: s_0 = ((bias + a q_0) + a q_1) + …, then s = (s + a q_new) - a q_old, with 0 for q
/// outside.
class lrn_loop {
public:
    struct parameters {
        dim_t images, channels, pixels; ///< tensors are [images, channels, pixels]
        dim_t size;                     ///< odd
        float alpha, beta, bias;        ///< beta is above 0
    };
    explicit lrn_loop(const parameters &p); ///< for the level in use
    /// On the threads of primitives.
    void run(const float *x, float *y) const;

private:
    using power_code = void (*)(const float *x, float *y, dim_t count, float beta);

    void sum(const float *x, float *y, dim_t first, dim_t count) const;

    parameters p_;
    power_code power_;
};

} // namespace octet::loops
