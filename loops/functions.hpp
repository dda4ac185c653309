#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of single floats in ONNX Runtime's arithmetic that no primitive has.

#include "octet/types.hpp"

namespace octet::loops {

enum class function {
    ceiling,
    celu, ///< max(0, x) + min(0, alpha (e^(x / alpha) - 1))
    cosine,
    elu, ///< x, or alpha (e^x - 1) below 0
    floor,
    logarithm,
    negative,
    sign,
    sine,
    softplus,        ///< ln(1 + e^x)
    softsign,        ///< x / (1 + |x|)
    thresholded_relu ///< x, or 0 up to alpha
};

/// y[i] = f(x[i]).
class function_loop {
public:
    function_loop(function f, float alpha); ///< for the level in use
    /// On the threads of primitives. Elements behind the last four of `count` have another formula than the others.
    void run(const float *x, float *y, dim_t count) const;

private:
    void (*loop_)(const float *x, float *y, dim_t count, float alpha);
    float alpha_;
};

} // namespace octet::loops
