#pragma once // SPDX-License-Identifier: Apache-2.0

// What a step of a recurrent network does beside its products and functions, as loops over contiguous
// channels: common/rnn.hpp for many elements at once. Compiled for AVX2.

#include "common/rnn_problem.hpp"

namespace octet::impl::recurrent {

/// Numbers of each channel, or of each gate and channel.
struct gate_params {
    const float *factor; ///< weights scale times data scale; null: f32
    const float *bias;
};

/// Subtracts from a gate's bias what a shift of codes adds to the sums of x and h: the sums of weights times the
/// shift. Those of h from a bias of their own where there is one.
void shift_biases(const std::int32_t *of_x, const std::int32_t *of_h, const float *factor, float shift,
                  float *bias, float *bias_h, dim_t count);

/// gate = f32(x + h) / factor + bias
///@{
void add_gates(const std::int32_t *x, const std::int32_t *h, const gate_params &p, float *gate, dim_t count);
void add_gates(const float *x, const float *h, const gate_params &p, float *gate, dim_t count);
///@}
/// The candidate of lbr_gru: fma(reset, h / factor + bias_h, x / factor) + bias.
///@{
void add_reset_gate(const std::int32_t *x, const std::int32_t *h, const gate_params &p, const float *bias_h,
                    const float *reset, float *gate, dim_t count);
void add_reset_gate(const float *x, const float *h, const gate_params &p, const float *bias_h,
                    const float *reset, float *gate, dim_t count);
///@}
/// gate = fma(weights, c, gate)
void add_peephole(const float *weights, const float *c, float *gate, dim_t count);
/// c = fma(i, candidate, c * f); copy = c
void update_cells(const float *i, const float *f, const float *candidate, float *c, float *copy, dim_t count);

/// States as a network's numbers hold them.
class state_loops {
public:
    explicit state_loops(const rnn_problem &p)
        : scale_(p.scale), shift_(p.shift), highest_(p.src_layer.data_type == data_type::s8 ? 127.f : 255.f) {
    }

    /// to = code(a * b), or a * b
    ///@{
    void store_product(const float *a, const float *b, std::uint8_t *to, dim_t count) const;
    void store_product(const float *a, const float *b, float *to, dim_t count) const;
    ///@}
    ///@{
    void store(const float *h, std::uint8_t *to, dim_t count) const;
    void store(const float *h, float *to, dim_t count) const;
    ///@}
    /// to = value(codes)
    ///@{
    void load(const std::uint8_t *codes, float *to, dim_t count) const;
    void load(const float *states, float *to, dim_t count) const;
    ///@}
    /// to = fma(1 - update, candidate, update * before)
    template <typename Number>
    void store_gru(const float *update, const float *candidate, const float *before, Number *to,
                   dim_t count) const;
    /// Of a projection: to = code((f32(acc) - sums * shift) / factor)
    void store_projected(const std::int32_t *acc, const float *sums, const float *factor, std::uint8_t *to,
                         dim_t rows, dim_t channels) const;

private:
    float scale_, shift_, highest_;
};

} // namespace octet::impl::recurrent
