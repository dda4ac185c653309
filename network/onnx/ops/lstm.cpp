// LSTM of floats with ONNX Runtime's bytes: G = X W' of all steps, then g = G_t + h R' in each.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/lstm.hpp"

#include "loops/recurrent.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

namespace in = recurrent_inputs;

class lstm_cell final : public recurrent_cell {
public:
    lstm_cell(const lowering &l, const recurrent_sizes &z, const recurrent_buffers &b, dim_t direction,
              const loops::lstm_loop &loop, const gate_product_maker &make)
        : z_(z), b_(b), direction_(direction), loop_(loop), biases_(l, b, lstm_gates * z.units, direction),
          input_product_(make(rows_of_x(l, z), in::w, direction, b.products, false)),
          recurrent_product_(make(b.hidden, in::r, direction, b.sums, true)) {
        if (l.has_input(in::peepholes))
            peepholes_ = l.input_buffer(in::peepholes);
    }

    void make_primitives() override {
        input_product_->make_primitives();
        recurrent_product_->make_primitives();
    }

    void multiply_inputs(const stream &s, const run_memory &m, dim_t rows) const override {
        input_product_->run(s, m, rows);
        biases_.sum(m, lstm_gates * z_.units);
    }

    void advance(const stream &s, const run_memory &m, const live_rows &rows) const override {
        recurrent_product_->run(s, m, z_.batch);
        float *const sums = m.at<float>(b_.sums), *const cell = m.at<float>(b_.cell),
                     *const hidden = m.at<float>(b_.hidden);
        const float *const bias = biases_.sums(m);
        const float *const peepholes =
            peepholes_ ? m.at<float>(*peepholes_) + direction_ * 3 * z_.units : nullptr;
        constexpr dim_t work = 32; // of a unit
        for_units(z_, rows, work, [&](dim_t n, dim_t first, dim_t count) {
            loop_.run({sums + n * lstm_gates * z_.units, z_.units, bias, peepholes, cell + n * z_.units,
                       hidden + n * z_.units},
                      first, count);
        });
    }

    std::string implementation() const override { return input_product_->implementation(); }
    std::string explain() const override {
        return input_product_->explain() + "\n" + recurrent_product_->explain();
    }

private:
    recurrent_sizes z_;
    recurrent_buffers b_;
    dim_t direction_;
    loops::lstm_loop loop_;
    gate_biases biases_;
    std::unique_ptr<gate_product> input_product_, recurrent_product_;
    std::optional<buffer> peepholes_;
};

std::unique_ptr<step> lower_lstm(const lowering &l) {
    const recurrent_sizes z = recurrent_sizes_of(l, lstm_gates, 3);
    return lstm_step(
        l, z, [&](const buffer &src, std::size_t weights, dim_t direction, const buffer &dst, bool adds) {
            const dim_t width = lstm_gates * z.units;
            return float_gate_product(l, {src, weights, direction * width, width, dst, 0, adds},
                                      are_packed_ahead(l, weights));
        });
}

using namespace row_words;

constexpr row onnx_lstm_rows[] = {
    row("LSTM", {3, 8}, lower_lstm, recurrent_shape, rows::never).sizes(flow::lost).sums(products::of_floats),
};

} // namespace

std::unique_ptr<step> lstm_step(const lowering &l, const recurrent_sizes &z, const gate_product_maker &make) {
    const memory::dims peepholes = {z.directions, 3 * z.units};
    if (l.has_input(in::peepholes) && l.input(in::peepholes, {data_type::f32}).dims != peepholes)
        refuse("input 7 has dimensions " + to_text(l.input(in::peepholes).dims) + ", allowed is " +
               to_text(peepholes));
    using f = loops::gate_function;
    const auto activations = activations_of(l, z.directions, {f::sigmoid, f::tanh, f::tanh}, false);
    const float limit = positive_clip(l);
    const bool couples = l.integer("input_forget", 0) != 0;
    return recurrent_step(l, z, lstm_gates, true, [&](const recurrent_buffers &b, dim_t direction) {
        const auto *const of_direction = activations.data() + 3 * direction;
        const loops::lstm_loop loop({of_direction[0], of_direction[1], of_direction[2], limit, couples});
        return std::make_unique<lstm_cell>(l, z, b, direction, loop, make);
    });
}

operator_rows onnx_lstm_operators() { return onnx_lstm_rows; }

} // namespace octet::model
