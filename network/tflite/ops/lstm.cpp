// UNIDIRECTIONAL_SEQUENCE_LSTM on s8 codes with an s16 cell, as TFLite Micro computes it. The inputs of all time
// steps are multiplied at once, the previous output at each step.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "loops/parallel.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/node_shapes.hpp"
#include "network/tflite/ops/integers.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/ops/recurrent.hpp"

namespace octet::model {
namespace {

enum gate : std::size_t { input_gate, forget_gate, cell_gate, output_gate, gates };

// Inputs of the node; weights and biases in the order of the gates.
constexpr std::size_t input_weights = 1, recurrent_weights = 5, peephole_weights = 9, biases = 12,
                      projection = 16, hidden_input = 18, cell_input = 19, norm_coefficients = 20,
                      all_inputs = 24;

struct lstm {
    dim_t batch, steps, units;
    bool is_time_major;
    std::array<fixed_point_multiplier, gates> input_factors, recurrent_factors; ///< of sums -> Q3.12
    fixed_point_multiplier keep, admit, emit; ///< products with the forget, input and output gates
    int cell_power;                           ///< the cell's least bit is worth 2^cell_power
    std::int16_t cell_clip;                   ///< 0: none
    std::int32_t zero_point;                  ///< of hidden state and output
};

using gate_buffers = std::array<buffer, gates>; ///< s32 [rows, units]

class lstm_step final : public step {
public:
    lstm_step(const lstm &p, primitive_step input_product, const gate_buffers &input_sums,
              primitive_step recurrent_product, const gate_buffers &recurrent_sums, const buffer &hidden,
              const buffer &cell, const buffer &dst)
        : p_(p), input_product_(std::move(input_product)), recurrent_product_(std::move(recurrent_product)),
          input_sums_(input_sums), recurrent_sums_(recurrent_sums), hidden_(hidden), cell_(cell), dst_(dst) {}

    void make_primitives() override {
        input_product_.make_primitives();
        recurrent_product_.make_primitives();
    }

    void run(const stream &s, const run_memory &m) const override {
        input_product_.run(s, m);
        for (dim_t t = 0; t < p_.steps; t++) {
            recurrent_product_.run(s, m);
            constexpr dim_t work = 64; // of a unit
            loops::parallel_for(p_.batch * p_.units, work, [&](dim_t begin, dim_t end) {
                for (dim_t first = begin; first < end;) {
                    const dim_t b = first / p_.units, last = std::min((b + 1) * p_.units, end);
                    advance(m, t, b, first - b * p_.units, last - b * p_.units);
                    first = last;
                }
            });
        }
    }

    std::string implementation() const override { return input_product_.implementation(); }
    std::string explain() const override {
        return input_product_.explain() + "\n" + recurrent_product_.explain() +
               "\n  then compiled loops over units";
    }

private:
    using gate_rows = std::array<const std::int32_t *, gates>;

    gate_rows rows_of(const gate_buffers &sums, dim_t row, const run_memory &m) const {
        gate_rows rows = {};
        for (std::size_t g = 0; g < gates; g++)
            rows[g] = m.at<std::int32_t>(sums[g]) + row * p_.units;
        return rows;
    }

    /// A time step of units `first` to `last` - 1 of one image of the batch.
    void advance(const run_memory &m, dim_t time, dim_t b, dim_t first, dim_t last) const {
        const dim_t row = p_.is_time_major ? time * p_.batch + b : b * p_.steps + time;
        const gate_rows from_input = rows_of(input_sums_, row, m),
                        from_output = rows_of(recurrent_sums_, b, m);
        std::int16_t *const cell = m.at<std::int16_t>(cell_) + b * p_.units;
        std::int8_t *const hidden = m.at<std::int8_t>(hidden_) + b * p_.units, *const dst =
                                                                                   m.at<std::int8_t>(dst_) +
                                                                                   row * p_.units;
        const auto sum = [&](gate g, dim_t u) { // before the gate's function; Q3.12
            return saturated<std::int16_t>(
                saturated<std::int16_t>(scaled(from_input[g][u], p_.input_factors[g])) +
                saturated<std::int16_t>(scaled(from_output[g][u], p_.recurrent_factors[g])));
        };
        for (dim_t u = first; u < last; u++) {
            const std::int16_t kept =
                saturated<std::int16_t>(scaled(sigmoid_q15(sum(forget_gate, u)) * cell[u], p_.keep));
            const std::int16_t admitted = saturated<std::int16_t>(
                scaled(sigmoid_q15(sum(input_gate, u)) * tanh_q15(sum(cell_gate, u), gate_power), p_.admit));
            auto c = saturated<std::int16_t>(kept + admitted);
            if (p_.cell_clip > 0)
                c = std::clamp<std::int16_t>(c, static_cast<std::int16_t>(-p_.cell_clip), p_.cell_clip);
            cell[u] = c;
            const std::int32_t product = sigmoid_q15(sum(output_gate, u)) * tanh_q15(c, p_.cell_power);
            dst[u] = hidden[u] =
                saturated<std::int8_t>(std::int64_t{scaled(product, p_.emit)} + p_.zero_point);
        }
    }

    static constexpr int gate_power = -12;

    const lstm p_;
    primitive_step input_product_, recurrent_product_;
    const gate_buffers input_sums_, recurrent_sums_;
    const buffer hidden_, cell_, dst_;
};

void refuse_variant(const lowering &l, std::size_t first, std::size_t count, const char *what) {
    for (std::size_t i = first; i < first + count; i++)
        if (l.has_input(i))
            refuse_as_unimplemented(std::string(what) + " (input " + std::to_string(i) +
                                    ") is not supported, as in TFLite Micro");
}

void check_variant(const lowering &l) {
    for (const std::size_t first : {input_weights, recurrent_weights, biases})
        if (!l.has_input(first))
            refuse_as_unimplemented("an input gate coupled to the forget gate (CIFG: input " +
                                    std::to_string(first) +
                                    " is absent) is not supported, as in TFLite Micro");
    refuse_variant(l, peephole_weights, 3, "a peephole");
    refuse_variant(l, projection, 2, "a projection");
    refuse_variant(l, norm_coefficients, all_inputs - norm_coefficients, "a layer normalization");
    if (l.integer("diagonal_recurrent_tensors", 0) != 0)
        refuse_as_unimplemented("diagonal recurrent weights are not supported");
    if (l.text("activation", "TANH") != "TANH")
        refuse_as_unimplemented("activation " + l.text("activation") + " is not supported, allowed is TANH");
}

/// Returns p for a scale of 2^p, the only kind that the cell state may have.
int cell_power_of(const tensor &cell) {
    const linear_codes q = per_tensor(cell, "the cell state");
    const double exponent = std::log2(static_cast<double>(q.scale)), power = std::round(exponent);
    if (std::abs(exponent - power) >= 1e-3 || power < -27 || power > 2 || q.zero_point != 0)
        refuse("the cell state ('" + cell.name + "') has scale " + std::to_string(q.scale) +
               " and zero point " + std::to_string(q.zero_point) +
               ", allowed are powers of two from 2^-27 to 4 and 0");
    return static_cast<int>(power);
}

std::int16_t cell_clip_of(const lowering &l, float cell_scale) {
    const float clip = l.real("cell_clip", 0.f);
    if (!(clip >= 0) || !std::isfinite(clip))
        refuse("attribute 'cell_clip' is " + std::to_string(clip) + ", allowed: 0 (none) or more");
    return static_cast<std::int16_t>(
        std::min(static_cast<double>(clip) / static_cast<double>(cell_scale), 32767.0));
}

lstm parameters(const lowering &l, const tensor &cell, float src_scale, const linear_codes &hidden) {
    constexpr float q12 = 1.f / 4096, q15 = 1.f / 32768;
    const auto product = [](float a, float b, float result) {
        return tflite_multiplier(real_multiplier(scale_derivation::tflite_f64, a, b, result));
    };
    const float cell_scale = cell.quant.scales[0];
    lstm p = {};
    for (std::size_t g = 0; g < gates; g++) {
        const auto gate_factor = [&](float scale, std::size_t weights) {
            return tflite_multiplier(real_multiplier(scale_derivation::tflite_f32prod, scale,
                                                     l.input(weights + g).quant.scales[0], q12));
        };
        p.input_factors[g] = gate_factor(src_scale, input_weights);
        p.recurrent_factors[g] = gate_factor(hidden.scale, recurrent_weights);
    }
    p.keep = product(q15, cell_scale, cell_scale);
    p.admit = product(q15, q15, cell_scale);
    p.emit = product(q15, q15, hidden.scale);
    p.cell_power = cell_power_of(cell);
    p.cell_clip = cell_clip_of(l, cell_scale);
    p.zero_point = hidden.zero_point;
    return p;
}

std::unique_ptr<step> lower_unidirectional_sequence_lstm(const lowering &l) {
    check_variant(l);
    const tensor &src = l.input(0, {data_type::s8}), &dst = l.output({data_type::s8});
    need_rank(src, "input 0", 3);
    need_rank(l.input(input_weights), "input 1", 2);
    const bool is_time_major = l.integer("time_major", 0) != 0;
    const dim_t batch = src.dims[is_time_major ? 1 : 0], steps = src.dims[is_time_major ? 0 : 1];
    const dim_t depth = src.dims[2], units = l.input(input_weights).dims[0];
    need_output_dims(l, {src.dims[0], src.dims[1], units});
    for (std::size_t g = 0; g < gates; g++) {
        symmetric_weights(l, input_weights + g, {units, depth});
        symmetric_weights(l, recurrent_weights + g, {units, units});
    }
    const tensor &hidden = state_input(l, hidden_input, {data_type::s8}, {batch, units});
    const tensor &cell = state_input(l, cell_input, {data_type::s16}, {batch, units});
    need_equal_quantization(hidden, dst, "the output state and the output");
    cell_power_of(cell);

    const linear_codes x = per_tensor(src, "input 0"), h = per_tensor(hidden, "the output state");
    lstm p = parameters(l, cell, x.scale, h);
    p.batch = batch;
    p.steps = steps;
    p.units = units;
    p.is_time_major = is_time_major;
    const memory::desc src_md({batch * steps, depth}, data_type::s8, format_tag::nc);
    primitive_step input_product, recurrent_product;
    gate_buffers input_sums, recurrent_sums;
    for (std::size_t g = 0; g < gates; g++) {
        input_sums[g] =
            add_product(input_product, l, {batch * steps, input_weights + g, biases + g, x.zero_point},
                        l.input_buffer(0, src_md));
        recurrent_sums[g] =
            add_product(recurrent_product, l, {batch, recurrent_weights + g, std::nullopt, h.zero_point},
                        l.input_buffer(hidden_input));
    }
    return std::make_unique<lstm_step>(p, std::move(input_product), input_sums, std::move(recurrent_product),
                                       recurrent_sums, l.input_buffer(hidden_input),
                                       l.input_buffer(cell_input), l.output_buffer());
}

// ---- Shapes, and whether rows of a batch stay apart

/// The state has a row for each image of the batch.
void sequence_shape(node_shapes &n) {
    constexpr std::size_t weights = 2, hidden_state = 18, cell_state = 19;
    const memory::dims x = n.dims_of_rank(0, 3);
    const dim_t units = n.dims_of_rank(weights, 2)[0], batch = x[n.integer("time_major", 0) != 0 ? 1 : 0];
    n.set_state_dims(hidden_state, {batch, units});
    n.set_state_dims(cell_state, {batch, units});
    n.set_output_dims({x[0], x[1], units});
}

using namespace row_words;

constexpr row tflite_lstm_rows[] = {
    row("UNIDIRECTIONAL_SEQUENCE_LSTM", {20, 24}, lower_unidirectional_sequence_lstm, sequence_shape,
        rows::never),
};

} // namespace

operator_rows tflite_lstm_operators() { return tflite_lstm_rows; }

} // namespace octet::model
