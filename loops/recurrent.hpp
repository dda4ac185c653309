#pragma once // SPDX-License-Identifier: Apache-2.0

// What recurrent operators compute between their matrix products, in ONNX Runtime's arithmetic: from the sums
// of a time step to the next state, for neighbouring units of one row of the batch. Units do not depend on
// each other, so any division of them among threads gives the same bytes. Below + and * are one f32 operation
// each.

#include <optional>

#include "loops/gates.hpp"

namespace octet::loops {

/// y = f(K(sum)) with K the sum plus its bias, then limited to ±limit: with a bias a NaN becomes the limit,
/// without one it stays.
class gate {
public:
    /// `limit`: none is no limit, not even that of finite numbers.
    gate(const gate_activation &a, gate_form form, std::optional<float> limit);
    /// In place; `bias` may be null.
    void run(float *sums, const float *bias, dim_t count) const;

private:
    gate_loop function_;
    std::optional<float> limit_;
    void (*add_and_limit_)(float *sums, const float *bias, dim_t count, float limit);
    void (*limit_alone_)(float *sums, dim_t count, float limit);
};

/// The state of an LSTM's row, and its sums of a step.
struct lstm_row {
    float *sums; ///< [4][units]: gates i, o, f, c; overwritten
    dim_t units;
    const float *bias;      ///< as the sums, or null
    const float *peepholes; ///< [3][units]: of i, o, f; or null
    float *cell, *hidden;   ///< [units]
};

/// i = f(K(s_i + c P_i)), f = f(K(s_f + c P_f)) or 1 - i, g = g(K(s_c)), c = (c f) + (i g), o = f(K(s_o + c
/// P_o)) with the new c, h = o h(c).
class lstm_loop {
public:
    struct parameters {
        gate_activation gates, candidate, output;
        float limit;        ///< FLT_MAX without a clip
        bool couples_gates; ///< f = 1 - i
    };
    explicit lstm_loop(const parameters &p);
    /// Units `first` to `first + count - 1`.
    void run(const lstm_row &row, dim_t first, dim_t count) const;

private:
    gate gates_, candidate_;
    gate_loop output_;
    bool couples_gates_;
};

/// The state of a GRU's row, and its sums of a step.
struct gru_row {
    float *sums; ///< [3][units]: gates z, r, h; overwritten
    dim_t units;
    const float *bias; ///< as the sums, or null
    const float
        *recurrent; ///< [units]: the candidate's product with the state where the reset gate comes behind it
    float *reset;   ///< [units]: r h where the reset gate comes before it
    float *hidden;  ///< [units]
};

/// r = f(K(s_r)), z = f(K(s_z)); the candidate's sum a is s_h, where products with r h are added to it
/// between the two calls, or s_h + (r product); h = ((1 - z) g(K(a))) + (z h).
class gru_loop {
public:
    struct parameters {
        gate_activation gates, candidate;
        float limit;         ///< FLT_MAX without a clip
        bool resets_product; ///< linear_before_reset
    };
    explicit gru_loop(const parameters &p);
    /// Both for units `first` to `first + count - 1`: the gates, with r h; then the new state.
    void open(const gru_row &row, dim_t first, dim_t count) const;
    void close(const gru_row &row, dim_t first, dim_t count) const;

private:
    gate update_, reset_, candidate_;
    bool resets_product_;
};

/// h = f(limited(product + sum))
class rnn_loop {
public:
    rnn_loop(const gate_activation &a, std::optional<float> limit)
        : gate_(a, gate_form::exponentials, limit) {}
    void run(const float *product, float *sums, float *hidden, dim_t count) const;

private:
    gate gate_;
};

} // namespace octet::loops
