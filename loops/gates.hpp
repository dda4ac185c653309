#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of the gates of recurrent operators in ONNX Runtime's arithmetic. Each is a fixed sequence of f32
// operations; a NaN stays one.

#include "octet/types.hpp"

namespace octet::loops {

enum class gate_function {
    affine,       ///< a x + b
    elu,          ///< x, or a (e^x - 1) below 0
    hard_sigmoid, ///< a x + b between 0 and 1
    leaky_relu,   ///< x, or a x below 0
    relu,
    scaled_tanh, ///< a tanh(b x)
    sigmoid,
    softplus, ///< ln(1 + e^x)
    softsign, ///< x / (1 + |x|)
    tanh,
    thresholded_relu ///< x, or 0 up to a
};

/// A function with its numbers a and b; those without use for them have any.
struct gate_activation {
    gate_function function;
    float a = 0.f, b = 0.f;
};

/// ONNX Runtime has several forms of sigmoid, tanh and relu, and which of them runs depends on the place:
///   kernels       its functions for tensors, which are fused multiply-adds (gates of LSTM, update gate of GRU);
///                 relu keeps NaN and -0
///   cell_output   the same, but relu makes +0 of NaN and -0 (as below)
///   quotients     tanh(x) = x P(x²) / Q(x²) without fused operations, which exceeds 1; sigmoid is half of
///                 1 + tanh(x / 2) (reset gate and candidate of GRU)
///   exponentials  sigmoid by e^x of the C library, tanh(x) = 2 sigmoid(2 x) - 1 (RNN)
enum class gate_form { kernels, cell_output, quotients, exponentials };

class gate_loop {
public:
    gate_loop(const gate_activation &a, gate_form form); ///< for the level in use
    /// y[i] = f(x[i]), in the calling thread; y may be x.
    void run(const float *x, float *y, dim_t count) const { loop_(x, y, count, a_, b_); }

private:
    void (*loop_)(const float *x, float *y, dim_t count, float a, float b);
    float a_, b_;
};

} // namespace octet::loops
