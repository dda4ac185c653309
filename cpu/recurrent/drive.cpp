// Products give each gate the channels of all rows. The rest of a step goes over blocks, some channels of a row,
// whose gates lie side by side in the first-level cache: a function takes neighbouring gates at once. A step writes
// its state where the next one reads it, in the layer's results.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/recurrent/drive.hpp"

#include <array>
#include <cstring>

#include "common/eltwise_problem.hpp"
#include "common/layout/layout.hpp"
#include "common/matmul_problem.hpp"
#include "common/rnn.hpp"
#include "common/rules.hpp"
#include "common/text.hpp"
#include "cpu/dot/drive.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/recurrent/loops.hpp"
#include "cpu/recurrent/results.hpp"
#include "cpu/stream/drive.hpp"
#include "cpu/weights/pack.hpp"

namespace octet::impl::recurrent {

namespace {

memory_desc packed_form_of(const memory_desc &weights, dim_t gates_of_first) {
    memory_desc md = weights;
    if (!is_packed_recurrent(md) && md.ndims != 0)
        set_packed_recurrent(md, gates_of_first);
    return md;
}

/// Channels of a block: what divides them, and is neither so short that calls count nor too long for the cache.
dim_t block_of(dim_t channels) {
    constexpr dim_t shortest = 64, longest = 512;
    for (dim_t parts = div_up(channels, longest); channels >= parts * shortest; parts++)
        if (channels % parts == 0)
            return channels / parts;
    return channels;
}

/// The sizes of everything, and the weights as products read them.
struct form {
    explicit form(const rnn_problem &p)
        : steps(p.steps()), batch(p.batch()), inputs(p.inputs()), channels(p.channels()),
          state_channels(p.state_channels()), gates(p.gates()), block(block_of(channels)),
          sum_type(p.is_int8() ? data_type::s32 : data_type::f32),
          weights_layer(packed_form_of(p.weights_layer, gates)),
          weights_iter(packed_form_of(p.weights_iter, p.cell == algorithm::vanilla_gru ? 2 : gates)),
          projection(packed_form_of(p.weights_projection, 1)) {}

    dim_t steps, batch, inputs, channels, state_channels, gates, block;
    data_type sum_type;
    memory_desc weights_layer, weights_iter, projection;
};

matmul_problem product_of(const rnn_problem &p, const form &f, dim_t rows, const memory_desc &packed,
                          int part) {
    matmul_problem m;
    m.weights = part_of_layer(packed, 0, 0, part).weights;
    m.src = memory::desc({1, rows, m.weights.dims[1]}, p.src_layer.data_type, format_tag::abc).data;
    m.dst = memory::desc({m.weights.dims[0], rows, m.weights.dims[2]}, f.sum_type, format_tag::abc).data;
    m.out_stage.rule = unchanged(!p.is_int8());
    m.out_stage.dst = m.dst;
    return m;
}

eltwise_problem function_of(algorithm alg, float alpha, dim_t count) {
    eltwise_problem e;
    e.alg = alg;
    e.alpha = alpha;
    e.src = e.dst = e.out_stage.dst = memory::desc({count}, data_type::f32, format_tag::a).data;
    e.out_stage.rule = unchanged(true);
    return e;
}

/// Kernels of other families that make up the network; null where its cell has no use for them.
struct parts {
    std::shared_ptr<const kernel> layer, iter, candidate, projection;
    std::shared_ptr<const kernel> logistic, two_logistics, three_logistics, tanh, activation; ///< of a block
};

void run(const kernel &k, const void *src, const void *weights, void *dst) {
    const primitive::argument args[] = {{OCTET_ARG_SRC, const_cast<void *>(src)}, // kernels only read sources
                                        {OCTET_ARG_WEIGHTS, const_cast<void *>(weights)},
                                        {OCTET_ARG_DST, dst}};
    k.execute(arguments(args, 3));
}
/// In place.
void apply(const kernel &k, float *x) {
    const primitive::argument args[] = {{OCTET_ARG_SRC, x}, {OCTET_ARG_DST, x}};
    k.execute(arguments(args, 2));
}

/// The buffers of an execution, cut from one piece.
class buffers {
public:
    template <typename T> T *take(dim_t count) {
        T *at = reinterpret_cast<T *>(base_ + used_);
        used_ += div_up(count * static_cast<dim_t>(sizeof(T)), 64) * 64;
        return at;
    }
    dim_t used() const { return used_; }
    void set_base(void *base) {
        base_ = static_cast<std::uint8_t *>(base);
        used_ = 0;
    }

private:
    std::uint8_t *base_ = nullptr;
    dim_t used_ = 0;
};

/// `Number`: states, codes of either sign as u8; `Sum`: of products.
template <typename Number, typename Sum> struct workspace {
    workspace(const rnn_problem &p, const form &f, buffers &b) {
        const dim_t rows = f.steps * f.batch, all = f.batch * f.channels, widest = p.bias_gates();
        x = b.take<Number>(rows * f.inputs);
        first_state = b.take<Number>(f.batch * p.state_inputs());
        for (Number *&layer : of_layer)
            layer = b.take<Number>(rows * f.state_channels);
        unprojected = b.take<Number>(all);
        x_sums = b.take<Sum>(f.gates * rows * f.channels);
        h_sums = b.take<Sum>(f.gates * all);
        projected = b.take<Sum>(f.batch * f.state_channels);
        update = b.take<float>(p.cell == algorithm::vanilla_gru ? all : 0);
        c = b.take<float>(all);
        factors = b.take<float>(f.gates * f.channels);
        bias = b.take<float>(widest * f.channels);
        peephole = b.take<float>(3 * f.channels);
        projection_sums = b.take<float>(f.state_channels);
        projection_factors = b.take<float>(f.state_channels);
    }
    Number *x, *first_state, *of_layer[3], *unprojected;
    Sum *x_sums, *h_sums, *projected;
    float *update, *c, *factors, *bias, *peephole, *projection_sums, *projection_factors;
};

/// Working memory of a block, each thread's own.
struct block_buffers {
    explicit block_buffers(dim_t width)
        : width(width), gates(scratch_of<float>(scratch_slot::recurrent_block, 5 * width)),
          other(gates + 4 * width) {}
    float *gate(dim_t g) const { return gates + g * width; }

    dim_t width;
    float *gates, *other;
};

/// The weights of a layer and direction.
struct bound_weights {
    const std::int8_t *layer, *iter, *candidate, *projection;
};

template <typename Number, typename Sum> class execution {
    static constexpr bool is_int8 = std::is_same_v<Sum, std::int32_t>;

public:
    execution(const rnn_problem &p, const form &f, const parts &k, const arguments &args,
              const workspace<Number, Sum> &w, const std::array<const std::int8_t *, 3> &weights)
        : p_(p), f_(f), k_(k), args_(args), w_(w), weights_(weights), states_(p), results_(p, args),
          count_(f.batch * f.channels), state_count_(f.batch * f.state_channels) {}

    void run_network() const {
        const Number *first = results_.input(w_.x);
        for (dim_t g = 0; g < f_.gates; g++)
            for (dim_t k = 0; k < f_.channels; k++)
                w_.factors[g * f_.channels + k] = p_.weights_factor(g, k);
        for (dim_t d = 0; d < p_.directions(); d++) {
            const Number *x = first;
            for (dim_t l = 0; l < p_.layers(); l++) {
                // Layers take turns, so that the last one has the direction's own place.
                Number *h = w_.of_layer[(p_.layers() - 1 - l) % 2 == 0 ? d : 2];
                run_layer(l, d, x, h);
                x = h;
            }
        }
        results_.store_layer(w_.of_layer[0], w_.of_layer[1]);
    }

private:
    bound_weights weights_of(dim_t l, dim_t d) const {
        const auto at = [&](int tensor, const memory_desc &md, int part) -> const std::int8_t * {
            return md.ndims == 0 || part >= parts_per_layer(md)
                       ? nullptr
                       : weights_[static_cast<std::size_t>(tensor)] + part_of_layer(md, l, d, part).offset;
        };
        return {at(0, f_.weights_layer, 0), at(1, f_.weights_iter, 0), at(1, f_.weights_iter, 1),
                at(2, f_.projection, 0)};
    }

    void run_layer(dim_t l, dim_t d, const Number *x, Number *h) const {
        const bound_weights weights = weights_of(l, d);
        prepare(l, d, weights);
        run(*k_.layer, x, weights.layer, w_.x_sums);
        results_.first_states(l, d, w_.first_state, w_.c);
        const Number *before = w_.first_state;
        for (dim_t i = 0; i < f_.steps; i++) {
            const dim_t t = p_.is_reverse(d) ? f_.steps - 1 - i : i;
            Number *after = h + t * state_count_;
            run_step(weights, t, before, after);
            before = after;
        }
        results_.store_last(l, d, before, w_.c);
    }

    // ---- what holds for all steps

    void prepare(dim_t l, dim_t d, const bound_weights &weights) const {
        results_.bias(l, d, w_.bias);
        if (p_.weights_peephole.ndims != 0)
            results_.peephole(l, d, w_.peephole);
        if constexpr (is_int8) {
            if (p_.src_layer.data_type == data_type::u8)
                shift_bias(weights);
            if (weights.projection) {
                const std::int32_t *sums = sums_of(f_.projection, 0, weights.projection, 0);
                for (dim_t k = 0; k < f_.state_channels; k++) {
                    w_.projection_sums[k] = static_cast<float>(sums[k]);
                    w_.projection_factors[k] = p_.projection_factor(k);
                }
            }
        }
    }

    /// Of a gate's weights, by channel.
    static const std::int32_t *sums_of(const memory_desc &packed, int part, const std::int8_t *weights,
                                       dim_t gate) {
        const packed_geometry g = packed_geometry_of(part_of_layer(packed, 0, 0, part).weights);
        return packed_sums(g, weights) + gate * g.line_sums();
    }

    /// Subtracts the shift's part of sums of codes. The candidate of lbr_gru has a bias for each of its sums.
    void shift_bias(const bound_weights &w) const {
        const dim_t first = f_.weights_iter.packed_steps[0];
        for (dim_t g = 0; g < f_.gates; g++) {
            const std::int32_t *of_x = sums_of(f_.weights_layer, 0, w.layer, g),
                               *of_h = g < first ? sums_of(f_.weights_iter, 0, w.iter, g)
                                                 : sums_of(f_.weights_iter, 1, w.candidate, g - first);
            const float *factor = w_.factors + g * f_.channels;
            const bool is_apart = p_.cell == algorithm::lbr_gru && g == 2;
            float *bias = w_.bias + g * f_.channels, *bias_h = is_apart ? bias + f_.channels : nullptr;
            shift_biases(of_x, of_h, factor, p_.shift, bias, bias_h, f_.channels);
        }
    }

    // ---- steps

    /// body(place) for all blocks. A function of a channel takes tens of cycles.
    template <typename Body> void for_blocks(const Body &body) const {
        constexpr dim_t channels_per_task = 1024;
        const dim_t per_row = f_.channels / f_.block;
        parallel_for(f_.batch * per_row, div_up(channels_per_task, f_.block), [&](dim_t begin, dim_t end) {
            const sequential_scope until_all_are_done;
            const block_buffers b(f_.block);
            for (dim_t i = begin; i < end; i++)
                body(b, i * f_.block, i % per_row * f_.block);
        });
    }

    /// `at`: the block's first element in a gate of all rows; `channel`: in its row.
    void add(const block_buffers &b, dim_t g, dim_t t, dim_t at, dim_t channel, float *to) const {
        add_gates(x_sums(g, t) + at, h_sums(g) + at, params(g, channel), to, b.width);
    }
    const Sum *x_sums(dim_t g, dim_t t) const { return w_.x_sums + (g * f_.steps + t) * count_; }
    Sum *h_sums(dim_t g) const { return w_.h_sums + g * count_; }
    gate_params params(dim_t g, dim_t channel) const {
        return {w_.factors + g * f_.channels + channel, w_.bias + g * f_.channels + channel};
    }

    void run_step(const bound_weights &weights, dim_t t, const Number *before, Number *after) const {
        run(*k_.iter, before, weights.iter, w_.h_sums);
        switch (p_.cell) {
        case algorithm::vanilla_lstm:
            return run_lstm(weights, t, after);
        case algorithm::vanilla_gru:
            return run_gru(weights, t, before, after);
        case algorithm::lbr_gru:
            return run_lbr_gru(t, before, after);
        default:
            for_blocks([&](const block_buffers &b, dim_t at, dim_t channel) {
                add(b, 0, t, at, channel, b.gate(0));
                apply(*k_.activation, b.gate(0));
                states_.store(b.gate(0), after + at, b.width);
            });
        }
    }

    void run_lstm(const bound_weights &weights, dim_t t, Number *after) const {
        Number *h = weights.projection ? w_.unprojected : after;
        for_blocks(
            [&](const block_buffers &b, dim_t at, dim_t channel) { run_lstm_block(b, t, at, channel, h); });
        if (!weights.projection)
            return;
        if constexpr (is_int8) {
            run(*k_.projection, h, weights.projection, w_.projected);
            states_.store_projected(w_.projected, w_.projection_sums, w_.projection_factors, after, f_.batch,
                                    f_.state_channels);
        } else {
            run(*k_.projection, h, weights.projection, after);
        }
    }

    /// i, f and o lie side by side. With peepholes o has to wait for c.
    void run_lstm_block(const block_buffers &b, dim_t t, dim_t at, dim_t channel, Number *h) const {
        float *const i = b.gate(0), *const f = b.gate(1), *const o = b.gate(2), *const candidate = b.gate(3),
                     *const c = w_.c + at;
        add(b, 0, t, at, channel, i);
        add(b, 1, t, at, channel, f);
        add(b, 2, t, at, channel, candidate);
        add(b, 3, t, at, channel, o);
        const float *const peephole = p_.weights_peephole.ndims != 0 ? w_.peephole + channel : nullptr;
        if (peephole) {
            add_peephole(peephole, c, i, b.width);
            add_peephole(peephole + f_.channels, c, f, b.width);
        }
        apply(peephole ? *k_.two_logistics : *k_.three_logistics, i);
        apply(*k_.tanh, candidate);
        update_cells(i, f, candidate, c, b.other, b.width);
        if (peephole) {
            add_peephole(peephole + 2 * f_.channels, c, o, b.width);
            apply(*k_.logistic, o);
        }
        apply(*k_.tanh, b.other);
        states_.store_product(b.other, o, h + at, b.width);
    }

    void run_gru(const bound_weights &weights, dim_t t, const Number *before, Number *after) const {
        for_blocks([&](const block_buffers &b, dim_t at, dim_t channel) {
            add(b, 0, t, at, channel, b.gate(0));
            add(b, 1, t, at, channel, b.gate(1));
            apply(*k_.two_logistics, b.gate(0));
            std::copy_n(b.gate(0), b.width, w_.update + at);
            states_.load(before + at, b.other, b.width);
            states_.store_product(b.gate(1), b.other, w_.unprojected + at,
                                  b.width); // the state after its reset
        });
        run(*k_.candidate, w_.unprojected, weights.candidate, h_sums(2));
        for_blocks([&](const block_buffers &b, dim_t at, dim_t channel) {
            add(b, 2, t, at, channel, b.gate(2));
            apply(*k_.tanh, b.gate(2));
            states_.load(before + at, b.other, b.width);
            states_.store_gru(w_.update + at, b.gate(2), b.other, after + at, b.width);
        });
    }

    void run_lbr_gru(dim_t t, const Number *before, Number *after) const {
        for_blocks([&](const block_buffers &b, dim_t at, dim_t channel) {
            add(b, 0, t, at, channel, b.gate(0));
            add(b, 1, t, at, channel, b.gate(1));
            apply(*k_.two_logistics, b.gate(0));
            add_reset_gate(x_sums(2, t) + at, h_sums(2) + at, params(2, channel),
                           w_.bias + 3 * f_.channels + channel, b.gate(1), b.gate(2), b.width);
            apply(*k_.tanh, b.gate(2));
            states_.load(before + at, b.other, b.width);
            states_.store_gru(b.gate(0), b.gate(2), b.other, after + at, b.width);
        });
    }

    const rnn_problem &p_;
    const form &f_;
    const parts &k_;
    const arguments &args_;
    const workspace<Number, Sum> &w_;
    const std::array<const std::int8_t *, 3> weights_;
    const state_loops states_;
    const bound_results results_;
    const dim_t count_, state_count_;
};

class network_kernel : public kernel {
public:
    network_kernel(const rnn_problem &p, parts k, instruction_set isa)
        : p_(p), f_(p_), k_(std::move(k)), isa_(isa) {}

    void execute(const arguments &args) const override {
        if (p_.is_int8())
            run<std::uint8_t, std::int32_t>(args);
        else
            run<float, float>(args);
    }
    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this;
        for (const kernel *k : all())
            bytes += k->size_bytes();
        return bytes;
    }
    std::string plan() const override {
        std::string text = "the input of all steps: " + k_.layer->plan() + "; each step: " + k_.iter->plan();
        for (const kernel *k : all())
            if (k != k_.layer.get() && k != k_.iter.get())
                append_plan(text, *k);
        return text;
    }

private:
    std::vector<const kernel *> all() const {
        std::vector<const kernel *> kernels;
        for (const auto *k : {&k_.layer, &k_.iter, &k_.candidate, &k_.projection, &k_.logistic,
                              &k_.two_logistics, &k_.three_logistics, &k_.tanh, &k_.activation})
            if (*k)
                kernels.push_back(k->get());
        return kernels;
    }

    /// Weights of users who did not pack them are packed in each execution.
    std::array<const std::int8_t *, 3> packed_weights(const arguments &args) const {
        const std::tuple<const memory_desc &, const memory_desc &, int> tensors[] = {
            {p_.weights_layer, f_.weights_layer, OCTET_ARG_WEIGHTS_LAYER},
            {p_.weights_iter, f_.weights_iter, OCTET_ARG_WEIGHTS_ITER},
            {p_.weights_projection, f_.projection, OCTET_ARG_WEIGHTS_PROJECTION}};
        std::size_t bytes = 0;
        for (const auto &[given, packed, arg] : tensors)
            bytes += given.ndims == 0 || is_packed_recurrent(given) ? 0 : size_in_bytes(packed);
        auto *scratch = static_cast<std::int8_t *>(thread_scratch(scratch_slot::recurrent_weights, bytes));
        std::array<const std::int8_t *, 3> result{};
        std::size_t index = 0;
        for (const auto &[given, packed, arg] : tensors) {
            const void *weights = args.get<const void>(arg);
            if (given.ndims != 0 && !is_packed_recurrent(given)) {
                pack_weights(given, weights, packed, scratch, isa_);
                weights = scratch;
                scratch += size_in_bytes(packed);
            }
            result[index++] = static_cast<const std::int8_t *>(weights);
        }
        return result;
    }

    template <typename Number, typename Sum> void run(const arguments &args) const {
        buffers b;
        workspace<Number, Sum>(p_, f_, b); // for its size
        b.set_base(thread_scratch(scratch_slot::recurrent, static_cast<std::size_t>(b.used())));
        const workspace<Number, Sum> w(p_, f_, b);
        execution<Number, Sum>(p_, f_, k_, args, w, packed_weights(args)).run_network();
    }

    const rnn_problem p_;
    const form f_;
    const parts k_;
    const instruction_set isa_;
};

} // namespace

candidate plan(const rnn_problem &p, const machine &m) {
    for (const memory_desc *md : {&p.src_layer, &p.weights_layer, &p.weights_iter})
        if (element_count(*md) == 0)
            return candidate::refused("a tensor without elements");
    const form f(p);
    struct step {
        std::shared_ptr<const kernel> parts::*place;
        candidate answer;
    };
    std::vector<step> steps;
    const auto multiply = [&](auto place, dim_t rows, const memory_desc &packed, int part) {
        steps.push_back({place, dot::plan(product_of(p, f, rows, packed, part), m)});
    };
    const auto call = [&](auto place, algorithm alg, float alpha, dim_t n) {
        steps.push_back({place, stream::plan(function_of(alg, alpha, n), m)});
    };
    multiply(&parts::layer, f.steps * f.batch, f.weights_layer, 0);
    multiply(&parts::iter, f.batch, f.weights_iter, 0);
    if (p.cell == algorithm::vanilla_gru)
        multiply(&parts::candidate, f.batch, f.weights_iter, 1);
    if (p.has_projection())
        multiply(&parts::projection, f.batch, f.projection, 0);
    const auto logistic = [&](auto place, dim_t gates) {
        call(place, algorithm::eltwise_logistic, 0.f, gates * f.block);
    };
    if (p.cell == algorithm::vanilla_rnn) {
        call(&parts::activation, p.activation, p.alpha, f.block);
    } else {
        call(&parts::tanh, algorithm::eltwise_tanh, 0.f, f.block);
        if (p.cell != algorithm::vanilla_lstm || p.weights_peephole.ndims != 0)
            logistic(&parts::two_logistics, 2);
        else
            logistic(&parts::three_logistics, 3);
        if (p.weights_peephole.ndims != 0)
            logistic(&parts::logistic, 1);
    }
    for (const step &s : steps)
        if (s.answer.is_refused())
            return s.answer;
    return candidate([p, steps, isa = m.isa] {
        parts k;
        for (const step &s : steps)
            k.*s.place = s.answer.make();
        return std::make_shared<network_kernel>(p, std::move(k), isa);
    });
}

} // namespace octet::impl::recurrent
