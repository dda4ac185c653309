// GRU of floats with ONNX Runtime's bytes: G = X W' of all steps; in each step the gates z and r in one
// product, then the candidate's. Sigmoid of z and of r are two functions (loops/gates.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "loops/recurrent.hpp"
#include "network/onnx/ops/recurrent.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

namespace in = recurrent_inputs;

constexpr dim_t gates = 3;

class gru_cell final : public recurrent_cell {
public:
    gru_cell(const lowering &l, const recurrent_sizes &z, const recurrent_buffers &b, dim_t direction,
             const loops::gru_loop &loop, bool resets_product)
        : z_(z), b_(b), resets_product_(resets_product), loop_(loop),
          biases_(l, b, gates * z.units, direction),
          beside_(l.scratch(memory::desc({z.batch, z.units}, data_type::f32, memory::dims()))) {
        const dim_t column = direction * gates * z.units, opened = 2 * z.units;
        const bool w_is_packed = are_packed_ahead(l, in::w), r_is_packed = are_packed_ahead(l, in::r);
        input_product_ = float_gate_product(
            l, {rows_of_x(l, z), in::w, column, gates * z.units, b.products, 0, false}, w_is_packed);
        gate_product_ =
            float_gate_product(l, {b.hidden, in::r, column, opened, b.sums, 0, true}, r_is_packed);
        if (resets_product)
            candidate_product_ = float_gate_product(
                l, {b.hidden, in::r, column + opened, z.units, beside_, 0, l.has_input(in::bias)},
                r_is_packed);
        else
            candidate_product_ = float_gate_product(
                l, {beside_, in::r, column + opened, z.units, b.sums, opened, true}, r_is_packed);
    }

    void make_primitives() override {
        for (const auto *product : {&input_product_, &gate_product_, &candidate_product_})
            (*product)->make_primitives();
    }

    void multiply_inputs(const stream &s, const run_memory &m, dim_t rows) const override {
        input_product_->run(s, m, rows);
        biases_.sum(m, (resets_product_ ? 2 : gates) * z_.units);
    }

    void advance(const stream &s, const run_memory &m, const live_rows &rows) const override {
        constexpr dim_t work = 16; // of a unit
        gate_product_->run(s, m, z_.batch);
        if (resets_product_)
            multiply_state(s, m);
        for_units(z_, rows, work,
                  [&](dim_t n, dim_t first, dim_t count) { loop_.open(row_of(m, n), first, count); });
        if (!resets_product_)
            candidate_product_->run(s, m, z_.batch);
        for_units(z_, rows, work,
                  [&](dim_t n, dim_t first, dim_t count) { loop_.close(row_of(m, n), first, count); });
    }

    std::string implementation() const override { return input_product_->implementation(); }
    std::string explain() const override {
        return input_product_->explain() + "\n" + gate_product_->explain() + "\n" +
               candidate_product_->explain();
    }

private:
    /// h R_h' + Rb_h
    void multiply_state(const stream &s, const run_memory &m) const {
        const float *const bias = biases_.recurrent(m);
        for (dim_t n = 0; bias && n < z_.batch; n++)
            std::memcpy(m.at<float>(beside_) + n * z_.units, bias + 2 * z_.units,
                        static_cast<std::size_t>(z_.units) * sizeof(float));
        candidate_product_->run(s, m, z_.batch);
    }

    loops::gru_row row_of(const run_memory &m, dim_t n) const {
        float *const beside = m.at<float>(beside_) + n * z_.units;
        return {m.at<float>(b_.sums) + n * gates * z_.units, z_.units, biases_.sums(m), beside, beside,
                m.at<float>(b_.hidden) + n * z_.units};
    }

    recurrent_sizes z_;
    recurrent_buffers b_;
    bool resets_product_;
    loops::gru_loop loop_;
    gate_biases biases_;
    buffer beside_; ///< r h, or h R_h' + Rb_h
    std::unique_ptr<gate_product> input_product_, gate_product_, candidate_product_;
};

std::unique_ptr<step> lower_gru(const lowering &l) {
    const recurrent_sizes z = recurrent_sizes_of(l, gates, 2);
    using f = loops::gate_function;
    const auto activations = activations_of(l, z.directions, {f::sigmoid, f::tanh}, false);
    const float limit = positive_clip(l);
    const bool resets_product = l.integer("linear_before_reset", 0) != 0;
    return recurrent_step(l, z, gates, false, [&](const recurrent_buffers &b, dim_t direction) {
        const auto *const of_direction = activations.data() + 2 * direction;
        const loops::gru_loop loop({of_direction[0], of_direction[1], limit, resets_product});
        return std::make_unique<gru_cell>(l, z, b, direction, loop, resets_product);
    });
}

using namespace row_words;

constexpr row onnx_gru_rows[] = {
    row("GRU", {3, 6}, lower_gru, recurrent_shape, rows::never).sizes(flow::lost).sums(products::of_floats),
};

} // namespace

operator_rows onnx_gru_operators() { return onnx_gru_rows; }

} // namespace octet::model
