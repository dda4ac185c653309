// Attributes of recurrent operators, and the way through a sequence. Products with X take rows as they lie; a
// reverse direction only takes their results from the end, as ONNX Runtime's bytes of a row do not depend on
// its place.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/recurrent.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>

#include "network/onnx/ops/attribute_lists.hpp"

namespace octet::model {
namespace {

using loops::gate_activation, loops::gate_function;
namespace in = recurrent_inputs;

struct named_function {
    const char *name;
    gate_function function;
    bool has_a, has_b; ///< takes a number of activation_alpha, activation_beta
    float a, b;        ///< where none is left
};

constexpr named_function functions[] = {
    {"Affine", gate_function::affine, true, true, 0.f, 0.f},
    {"Elu", gate_function::elu, true, false, 1.f, 0.f},
    {"HardSigmoid", gate_function::hard_sigmoid, true, true, 0.2f, 0.5f},
    {"LeakyRelu", gate_function::leaky_relu, true, false, 0.01f, 0.f},
    {"Relu", gate_function::relu, false, false, 0.f, 0.f},
    {"ScaledTanh", gate_function::scaled_tanh, true, true, 0.f, 0.f},
    {"Sigmoid", gate_function::sigmoid, false, false, 0.f, 0.f},
    {"Softplus", gate_function::softplus, false, false, 0.f, 0.f},
    {"Softsign", gate_function::softsign, false, false, 0.f, 0.f},
    {"Tanh", gate_function::tanh, false, false, 0.f, 0.f},
    {"ThresholdedRelu", gate_function::thresholded_relu, true, false, 0.f, 0.f},
};

bool are_equal(const std::string &a, const char *b, bool is_case_sensitive) {
    const auto same = [&](char x, char y) {
        const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
        return x == y || (!is_case_sensitive && lower(x) == lower(y));
    };
    return a.size() == std::strlen(b) && std::equal(a.begin(), a.end(), b, same);
}

const named_function &function_named(const std::string &name, bool is_case_sensitive) {
    std::string allowed;
    for (const named_function &f : functions) {
        if (are_equal(name, f.name, is_case_sensitive))
            return f;
        allowed += (allowed.empty() ? "" : ", ") + std::string(f.name);
    }
    refuse("attribute 'activations' names '" + name + "', allowed: " + allowed);
}

std::size_t directions_of(const lowering &l) {
    const std::string direction = l.text("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
        refuse("attribute 'direction' is '" + direction + "', allowed: forward, reverse, bidirectional");
    return direction == "bidirectional" ? 2 : 1;
}

void need_dims(const lowering &l, std::size_t i, const memory::dims &dims, data_type type = data_type::f32) {
    if (l.has_input(i) && l.input(i, {type}).dims != dims)
        refuse("input " + std::to_string(i) + " has dimensions " + to_text(l.input(i).dims) +
               ", allowed is " + to_text(dims));
}

/// What is given of a state, and what is asked for; [directions, batch, units] each.
struct state_buffers {
    std::optional<buffer> initial, last;
};

class sequence_step final : public step {
public:
    sequence_step(const lowering &l, const recurrent_sizes &z, dim_t gates, bool has_cell,
                  const cell_maker &make)
        : z_(z), gates_(gates), is_reverse_(l.text("direction", "forward") == "reverse") {
        const auto scratch = [&](const memory::dims &d) {
            return l.scratch(memory::desc(d, data_type::f32, memory::dims()));
        };
        const memory::dims state = {z.batch, z.units};
        b_ = {scratch({z.steps * z.batch, gates * z.units}), scratch({z.batch, gates * z.units}),
              scratch(state), has_cell ? scratch(state) : buffer(),
              l.has_input(in::bias) ? scratch({gates * z.units}) : buffer()};
        if (l.has_input(in::lengths))
            lengths_ = l.input_buffer(in::lengths);
        hidden_ = {input(l, in::hidden), output(l, 1)};
        if (has_cell)
            cell_ = {input(l, in::cell), output(l, 2)};
        y_ = output(l, 0);
        const node &n = l.get_node();
        keeps_last_ = !y_ && tensor_at(l.get_graph(), output_of(n)).name.empty();
        for (dim_t d = 0; d < z.directions; d++)
            cells_.push_back(make(b_, d));
    }

    void make_primitives() override {
        for (const auto &cell : cells_)
            cell->make_primitives();
    }

    void run(const stream &s, const run_memory &m) const override {
        const auto *const lengths = lengths_ ? m.at<std::int32_t>(*lengths_) : nullptr;
        const dim_t longest = checked_longest(lengths);
        for (dim_t d = 0; d < z_.directions; d++) {
            begin(m, lengths, d);
            if (longest == 0)
                continue;
            const recurrent_cell &cell = *cells_[static_cast<std::size_t>(d)];
            cell.multiply_inputs(s, m, longest * z_.batch);
            for (dim_t t = 0; t < longest; t++) {
                const live_rows rows{lengths, t};
                take_sums(m, rows, d);
                cell.advance(s, m, rows);
                give_state(m, rows, d);
            }
        }
    }

    std::string implementation() const override { return cells_[0]->implementation(); }
    std::string explain() const override {
        std::string text;
        for (const auto &cell : cells_)
            text += (text.empty() ? "" : "\n") + cell->explain();
        return text + "\n  then loops over " + std::to_string(z_.units) + " units";
    }

private:
    static std::optional<buffer> input(const lowering &l, std::size_t i) {
        return l.has_input(i) ? std::optional(l.input_buffer(i)) : std::nullopt;
    }
    static std::optional<buffer> output(const lowering &l, std::size_t i) {
        const tensor_id t = output_of(l.get_node(), i);
        if (!t || !is_read(l.get_graph(), t))
            return {};
        l.output(i, {data_type::f32});
        return l.output_buffer(i);
    }

    dim_t length(const std::int32_t *lengths, dim_t row) const { return lengths ? lengths[row] : z_.steps; }
    bool is_reverse(dim_t direction) const { return is_reverse_ || direction == 1; }
    /// The step of X that a row computes with in its step `t`.
    dim_t time(const live_rows &rows, dim_t row, dim_t direction) const {
        return is_reverse(direction) ? length(rows.lengths, row) - 1 - rows.step : rows.step;
    }
    static void copy(float *to, const float *from, dim_t count) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    }

    dim_t checked_longest(const std::int32_t *lengths) const {
        dim_t longest = lengths ? 0 : z_.steps;
        for (dim_t n = 0; lengths && n < z_.batch; n++) {
            if (lengths[n] < 0 || lengths[n] > z_.steps)
                throw error(status::invalid_arguments, "sequence_lens[" + std::to_string(n) + "] is " +
                                                           std::to_string(lengths[n]) + ", allowed: 0 to " +
                                                           std::to_string(z_.steps));
            longest = std::max<dim_t>(longest, lengths[n]);
        }
        return longest;
    }

    /// The initial state, which a row without steps has, too, for the products of the first step. Zeros where
    /// Y is over, and the last state of a row without steps.
    void begin(const run_memory &m, const std::int32_t *lengths, dim_t d) const {
        const dim_t all = z_.batch * z_.units;
        begin(m, hidden_, b_.hidden, lengths, d * all);
        if (b_.cell)
            begin(m, cell_, b_.cell, lengths, d * all);
        for (dim_t n = 0; y_ && n < z_.batch; n++)
            for (dim_t t = length(lengths, n); t < z_.steps; t++)
                std::fill_n(m.at<float>(*y_) + y_place(t, d, n), z_.units, 0.f);
    }
    void begin(const run_memory &m, const state_buffers &state, const buffer &now,
               const std::int32_t *lengths, dim_t place) const {
        const dim_t all = z_.batch * z_.units;
        if (state.initial)
            copy(m.at<float>(now), m.at<float>(*state.initial) + place, all);
        else
            std::fill_n(m.at<float>(now), all, 0.f);
        for (dim_t n = 0; state.last && n < z_.batch; n++)
            if (length(lengths, n) == 0)
                std::fill_n(m.at<float>(*state.last) + place + n * z_.units, z_.units, 0.f);
    }

    void take_sums(const run_memory &m, const live_rows &rows, dim_t d) const {
        const dim_t width = gates_ * z_.units;
        const float *const products = m.at<float>(b_.products);
        float *const sums = m.at<float>(b_.sums);
        loops::parallel_for(z_.batch, width, [&](dim_t begin, dim_t end) {
            for (dim_t n = begin; n < end; n++) {
                const dim_t t = rows.have(n) ? time(rows, n, d) : 0;
                copy(sums + n * width, products + (t * z_.batch + n) * width, width);
            }
        });
    }

    /// The state of a row is its last one where its sequence ends here. ONNX Runtime reads h where it wrote
    /// Y, so that a row is zeros from the second step on in which it is over; without Y it keeps its last
    /// state.
    void give_state(const run_memory &m, const live_rows &rows, dim_t d) const {
        float *const hidden = m.at<float>(b_.hidden);
        for (dim_t n = 0; n < z_.batch; n++) {
            float *const h = hidden + n * z_.units;
            if (!rows.have(n)) {
                if (!keeps_last_)
                    std::fill_n(h, z_.units, 0.f);
                continue;
            }
            if (y_)
                copy(m.at<float>(*y_) + y_place(time(rows, n, d), d, n), h, z_.units);
            if (rows.step + 1 == length(rows.lengths, n))
                give_last(m, (d * z_.batch + n) * z_.units, n);
        }
    }
    void give_last(const run_memory &m, dim_t place, dim_t row) const {
        if (hidden_.last)
            copy(m.at<float>(*hidden_.last) + place, m.at<float>(b_.hidden) + row * z_.units, z_.units);
        if (cell_.last)
            copy(m.at<float>(*cell_.last) + place, m.at<float>(b_.cell) + row * z_.units, z_.units);
    }
    dim_t y_place(dim_t t, dim_t d, dim_t n) const {
        return ((t * z_.directions + d) * z_.batch + n) * z_.units;
    }

    recurrent_sizes z_;
    dim_t gates_;
    bool is_reverse_, keeps_last_;
    recurrent_buffers b_;
    std::optional<buffer> lengths_, y_;
    state_buffers hidden_, cell_;
    std::vector<std::unique_ptr<recurrent_cell>> cells_;
};

} // namespace

gate_biases::gate_biases(const lowering &l, const recurrent_buffers &b, dim_t width, dim_t direction)
    : sums_(b.bias), width_(width), direction_(direction) {
    if (l.has_input(in::bias))
        given_ = l.input_buffer(in::bias);
}

void gate_biases::sum(const run_memory &m, dim_t summed) const {
    if (!given_)
        return;
    const float *const w = m.at<float>(*given_) + direction_ * 2 * width_, *const r = w + width_;
    float *const sums = m.at<float>(sums_);
    for (dim_t i = 0; i < width_; i++)
        sums[i] = i < summed ? w[i] + r[i] : w[i];
}

buffer rows_of_x(const lowering &l, const recurrent_sizes &z) {
    return l.input_buffer(in::x, memory::desc({z.steps * z.batch, z.inputs}, data_type::f32, memory::dims()));
}

recurrent_sizes recurrent_sizes_of(const lowering &l, dim_t gates, std::size_t outputs, gate_weights form) {
    const tensor &x = l.input(in::x, {data_type::f32}), &r = l.input(in::r);
    if (x.dims.size() != 3 || r.dims.size() != 3)
        refuse("X has dimensions " + to_text(x.dims) + " and R " + to_text(r.dims) +
               ", allowed are three dimensions each");
    const bool is_usual = form == gate_weights::usual;
    const recurrent_sizes z = {x.dims[0], x.dims[1], x.dims[2], r.dims[is_usual ? 2 : 1],
                               static_cast<dim_t>(directions_of(l))};
    const dim_t width = gates * z.units;
    if (is_usual) {
        need_dims(l, in::w, {z.directions, width, z.inputs});
        need_dims(l, in::r, {z.directions, width, z.units});
    }
    if (l.integer("hidden_size", z.units) != z.units)
        refuse("attribute 'hidden_size' is " + std::to_string(l.integer("hidden_size")) +
               ", allowed is that of R, " + std::to_string(z.units));
    if (l.integer("layout", 0) != 0)
        refuse_as_unimplemented("attribute 'layout' is " + std::to_string(l.integer("layout")) +
                                ", allowed is 0, as in ONNX Runtime");
    need_dims(l, in::bias, {z.directions, 2 * width});
    need_dims(l, in::lengths, {z.batch}, data_type::s32);
    need_dims(l, in::hidden, {z.directions, z.batch, z.units});
    need_dims(l, in::cell, {z.directions, z.batch, z.units});
    if (l.get_node().outputs.size() > outputs)
        refuse("it has " + std::to_string(l.get_node().outputs.size()) + " outputs, allowed are up to " +
               std::to_string(outputs));
    return z;
}

std::vector<gate_activation> activations_of(const lowering &l, dim_t directions,
                                            const std::vector<gate_function> &usual, bool is_case_sensitive) {
    std::vector<std::string> names = words_of(l, "activations");
    const std::size_t expected = usual.size() * static_cast<std::size_t>(directions);
    std::vector<gate_activation> result;
    if (names.empty())
        while (result.size() < expected)
            for (const gate_function f : usual)
                result.push_back({f});
    else if (names.size() != expected)
        refuse("attribute 'activations' names " + std::to_string(names.size()) + " functions, allowed is " +
               std::to_string(usual.size()) + " for each direction");
    std::vector<float> all_a = numbers_of(l, "activation_alpha"), all_b = numbers_of(l, "activation_beta");
    std::size_t used_a = 0, used_b = 0;
    for (const std::string &name : names) {
        const named_function &f = function_named(name, is_case_sensitive);
        const float a = f.has_a && used_a < all_a.size() ? all_a[used_a++] : f.a,
                    b = f.has_b && used_b < all_b.size() ? all_b[used_b++] : f.b;
        result.push_back({f.function, a, b});
    }
    return result;
}

float positive_clip(const lowering &l) {
    const float clip = l.real("clip", std::numeric_limits<float>::max());
    if (!(clip > 0.f))
        refuse("attribute 'clip' is " + std::to_string(clip) + ", allowed are numbers above 0");
    return clip;
}

std::unique_ptr<step> recurrent_step(const lowering &l, const recurrent_sizes &z, dim_t gates, bool has_cell,
                                     const cell_maker &make) {
    return std::make_unique<sequence_step>(l, z, gates, has_cell, make);
}

void recurrent_shape(node_shapes &n, dim_t units) {
    const memory::dims x = n.dims_of_rank(in::x, 3);
    const dim_t directions = n.dims_of_rank(in::r, 3)[0];
    n.set_output(data_type::f32, {x[0], directions, x[1], units});
    n.set_output(data_type::f32, {directions, x[1], units}, 1);
    n.set_output(data_type::f32, {directions, x[1], units}, 2);
}

void recurrent_shape(node_shapes &n) { recurrent_shape(n, n.dims_of_rank(in::r, 3)[2]); }

} // namespace octet::model
