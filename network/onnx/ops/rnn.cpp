// RNN of floats with ONNX Runtime's bytes: G = (Wb + Rb) + X W' of all steps, then h = f(h R' + G_t) in each.
// It packs no weights.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/recurrent.hpp"
#include "network/onnx/ops/recurrent.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

namespace in = recurrent_inputs;

class rnn_cell final : public recurrent_cell {
public:
    rnn_cell(const lowering &l, const recurrent_sizes &z, const recurrent_buffers &b, dim_t direction,
             const loops::rnn_loop &loop)
        : z_(z), b_(b), loop_(loop), has_state_(l.has_input(in::hidden)), biases_(l, b, z.units, direction),
          product_(l.scratch(b.hidden.get_desc())),
          input_product_(float_gate_product(
              l, {rows_of_x(l, z), in::w, direction * z.units, z.units, b.products, 0, true}, false)),
          recurrent_product_(float_gate_product(
              l, {b.hidden, in::r, direction * z.units, z.units, product_, 0, false}, false)) {}

    void make_primitives() override {
        input_product_->make_primitives();
        recurrent_product_->make_primitives();
    }

    /// Always of all rows, whatever the lengths are.
    void multiply_inputs(const stream &s, const run_memory &m, dim_t) const override {
        biases_.sum(m, z_.units);
        const float *const bias = biases_.sums(m);
        float *const sums = m.at<float>(b_.products);
        const dim_t rows = z_.steps * z_.batch;
        for (dim_t n = 0; n < rows; n++)
            if (bias)
                std::copy_n(bias, z_.units, sums + n * z_.units);
            else
                std::fill_n(sums + n * z_.units, z_.units, 0.f);
        input_product_->run(s, m, rows);
    }

    void advance(const stream &s, const run_memory &m, const live_rows &rows) const override {
        float *const product = m.at<float>(product_);
        if (rows.step == 0 && !has_state_)
            std::fill_n(product, z_.batch * z_.units, 0.f);
        else
            recurrent_product_->run(s, m, z_.batch);
        constexpr dim_t work = 32; // of a unit
        for_units(z_, rows, work, [&](dim_t n, dim_t first, dim_t count) {
            const dim_t at = n * z_.units + first;
            loop_.run(product + at, m.at<float>(b_.sums) + at, m.at<float>(b_.hidden) + at, count);
        });
    }

    std::string implementation() const override { return input_product_->implementation(); }
    std::string explain() const override {
        return input_product_->explain() + "\n" + recurrent_product_->explain();
    }

private:
    recurrent_sizes z_;
    recurrent_buffers b_;
    loops::rnn_loop loop_;
    bool has_state_;
    gate_biases biases_;
    buffer product_; ///< h R'
    std::unique_ptr<gate_product> input_product_, recurrent_product_;
};

std::unique_ptr<step> lower_rnn(const lowering &l) {
    const recurrent_sizes z = recurrent_sizes_of(l, 1, 2);
    const auto activations = activations_of(l, z.directions, {loops::gate_function::tanh}, true);
    const float clip = l.real("clip", -1.f);
    const std::optional<float> limit = clip < 0.f ? std::nullopt : std::optional(clip);
    return recurrent_step(l, z, 1, false, [&](const recurrent_buffers &b, dim_t direction) {
        const loops::rnn_loop loop(activations[static_cast<std::size_t>(direction)], limit);
        return std::make_unique<rnn_cell>(l, z, b, direction, loop);
    });
}

using namespace row_words;

constexpr row onnx_rnn_rows[] = {
    row("RNN", {3, 6}, lower_rnn, recurrent_shape, rows::never).sizes(flow::lost).sums(products::of_floats),
};

} // namespace

operator_rows onnx_rnn_operators() { return onnx_rnn_rows; }

} // namespace octet::model
