// Recurrent networks, as octet/rnn.hpp states them: one batch row after the other, since rows do not meet.
// Numbers are f32, or codes as s32; what differs between the two is in sums and at the ends of a cell.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/rnn.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// A tensor of an execution, or none.
struct bound_tensor {
    const memory_desc &md;
    void *data;

    explicit operator bool() const { return md.ndims != 0; }
    float f32(const coordinates &at) const {
        return static_cast<const float *>(data)[element_offset(md, at)];
    }
    std::int32_t code(const coordinates &at) const {
        return load_s32(data, md.data_type, element_offset(md, at));
    }
    void set(const coordinates &at, float x) const { static_cast<float *>(data)[plain_offset(md, at)] = x; }
    void set_code(const coordinates &at, std::int32_t c) const {
        store_s32(data, md.data_type, plain_offset(md, at), c);
    }
};

template <typename Number> class network {
    static constexpr bool is_int8 = std::is_same_v<Number, std::int32_t>;
    using numbers = std::vector<Number>;

public:
    network(const rnn_problem &p, const arguments &args)
        : p_(p), codes_(p), src_layer_{p.src_layer, args.get(OCTET_ARG_SRC_LAYER)},
          src_iter_{p.src_iter, args.get(OCTET_ARG_SRC_ITER)}, src_iter_c_{p.src_iter_c,
                                                                           args.get(OCTET_ARG_SRC_ITER_C)},
          weights_layer_{p.weights_layer, args.get(OCTET_ARG_WEIGHTS_LAYER)},
          weights_iter_{p.weights_iter, args.get(OCTET_ARG_WEIGHTS_ITER)},
          peephole_{p.weights_peephole, args.get(OCTET_ARG_WEIGHTS_PEEPHOLE)},
          projection_{p.weights_projection, args.get(OCTET_ARG_WEIGHTS_PROJECTION)},
          bias_{p.bias, args.get(OCTET_ARG_BIAS)}, dst_layer_{p.dst_layer, args.get(OCTET_ARG_DST_LAYER)},
          dst_iter_{p.dst_iter, args.get(OCTET_ARG_DST_ITER)}, dst_iter_c_{p.dst_iter_c,
                                                                           args.get(OCTET_ARG_DST_ITER_C)} {}

    /// Everything of one batch row.
    void run_row(dim_t n) const {
        const dim_t steps = p_.steps(), o = p_.state_channels();
        std::vector<numbers> of_direction(static_cast<std::size_t>(p_.directions()));
        for (dim_t d = 0; d < p_.directions(); d++) {
            numbers x = first_input(n);
            for (dim_t l = 0; l < p_.layers(); l++)
                x = run_layer(l, d, n, x);
            of_direction[static_cast<std::size_t>(d)] = std::move(x);
        }
        for (dim_t t = 0; t < steps; t++)
            for (dim_t k = 0; k < o; k++)
                store_step(t, n, k, of_direction);
    }

private:
    static Number number(const bound_tensor &tensor, const coordinates &at) {
        if constexpr (is_int8)
            return tensor.code(at);
        else
            return tensor.f32(at);
    }

    numbers first_input(dim_t n) const {
        numbers x;
        for (dim_t t = 0; t < p_.steps(); t++)
            for (dim_t i = 0; i < p_.inputs(); i++)
                x.push_back(number(src_layer_, {t, n, i}));
        return x;
    }

    Number first_state(const coordinates &at) const {
        if constexpr (is_int8) {
            if (!src_iter_)
                return codes_.of_zero();
            return p_.src_iter.data_type == data_type::f32 ? codes_.of_first_state(src_iter_.f32(at))
                                                           : src_iter_.code(at);
        } else {
            return src_iter_ ? src_iter_.f32(at) : 0.f;
        }
    }

    /// Gives the states of all steps, and the last ones as dst_iter and dst_iter_c.
    numbers run_layer(dim_t l, dim_t d, dim_t n, const numbers &x) const {
        const dim_t steps = p_.steps(), o = p_.state_channels();
        numbers h, all(static_cast<std::size_t>(steps * o));
        std::vector<float> c;
        for (dim_t k = 0; k < p_.state_inputs(); k++)
            h.push_back(first_state({l, d, n, k}));
        for (dim_t k = 0; k < p_.channels(); k++)
            c.push_back(src_iter_c_ ? src_iter_c_.f32({l, d, n, k}) : 0.f);
        for (dim_t i = 0; i < steps; i++) {
            const dim_t t = p_.is_reverse(d) ? steps - 1 - i : i;
            h = run_cell(l, d, x.data() + t * p_.inputs(), h, c);
            std::copy(h.begin(), h.end(), all.begin() + t * o);
        }
        if (dst_iter_)
            for (dim_t k = 0; k < o; k++)
                store(dst_iter_, {l, d, n, k}, h[static_cast<std::size_t>(k)]);
        if (dst_iter_c_)
            for (dim_t k = 0; k < p_.channels(); k++)
                dst_iter_c_.set({l, d, n, k}, c[static_cast<std::size_t>(k)]);
        return all;
    }

    // ---- sums

    /// Σ x(i) * w(i, gate, k).
    Number sum(const bound_tensor &w, dim_t l, dim_t d, const Number *x, dim_t count, dim_t gate,
               dim_t k) const {
        Number total = 0;
        for (dim_t i = 0; i < count; i++) {
            const Number weight = number(w, {l, d, i, gate, k});
            if constexpr (is_int8)
                total = wrapping_add(total, x[i] * weight);
            else
                total = std::fma(x[i], weight, total);
        }
        return total;
    }
    Number layer_sum(dim_t l, dim_t d, const Number *x, dim_t gate, dim_t k) const {
        return sum(weights_layer_, l, d, x, p_.inputs(), gate, k);
    }
    Number iter_sum(dim_t l, dim_t d, const Number *h, dim_t gate, dim_t k) const {
        return sum(weights_iter_, l, d, h, p_.state_inputs(), gate, k);
    }
    float weights_sum(const bound_tensor &w, dim_t l, dim_t d, dim_t gate, dim_t k) const {
        std::int32_t total = 0;
        for (dim_t i = 0; i < w.md.dims[2]; i++)
            total += w.code({l, d, i, gate, k});
        return static_cast<float>(total);
    }

    float bias(dim_t l, dim_t d, dim_t gate, dim_t k) const {
        return bias_ ? bias_.f32({l, d, gate, k}) : 0.f;
    }
    /// The bias less the part of the shift that is in the sums of weights.
    float shifted(float bias, float sum_of_weights, dim_t gate, dim_t k) const {
        return p_.src_layer.data_type == data_type::u8
                   ? bias - (sum_of_weights * p_.shift) / p_.weights_factor(gate, k)
                   : bias;
    }

    /// A gate before its function, of both sums.
    float gate(dim_t l, dim_t d, const Number *x, const Number *h, dim_t g, dim_t k) const {
        const Number a = layer_sum(l, d, x, g, k), b = iter_sum(l, d, h, g, k);
        if constexpr (is_int8)
            return static_cast<float>(wrapping_add(a, b)) / p_.weights_factor(g, k) +
                   shifted(bias(l, d, g, k),
                           weights_sum(weights_iter_, l, d, g, k) + weights_sum(weights_layer_, l, d, g, k),
                           g, k);
        else
            return (a + b) + bias(l, d, g, k);
    }

    // ---- cells

    Number state(float h) const {
        if constexpr (is_int8)
            return codes_.of(h);
        else
            return h;
    }
    /// As cells that multiply it read it.
    float value(Number h) const {
        if constexpr (is_int8)
            return codes_.value(h & 0xff);
        else
            return h;
    }

    numbers run_cell(dim_t l, dim_t d, const Number *x, const numbers &h, std::vector<float> &c) const {
        if (p_.cell == algorithm::vanilla_lstm)
            return run_lstm(l, d, x, h, c);
        if (p_.cell == algorithm::vanilla_gru)
            return run_gru(l, d, x, h);
        numbers next;
        for (dim_t k = 0; k < p_.channels(); k++)
            next.push_back(state(p_.cell == algorithm::lbr_gru
                                     ? lbr_gru_cell(l, d, x, h, k)
                                     : eltwise(p_.activation, p_.alpha, 0.f, gate(l, d, x, h.data(), 0, k))));
        return next;
    }

    numbers run_lstm(dim_t l, dim_t d, const Number *x, const numbers &h, std::vector<float> &c) const {
        numbers next;
        for (dim_t k = 0; k < p_.channels(); k++) {
            float &cell = c[static_cast<std::size_t>(k)];
            const auto with_peephole = [&](float g, dim_t index) {
                return peephole_ ? std::fma(peephole_.f32({l, d, index, k}), cell, g) : g;
            };
            const auto of_gate = [&](dim_t index) { return gate(l, d, x, h.data(), index, k); };
            const float i = logistic(with_peephole(of_gate(0), 0)),
                        f = logistic(with_peephole(of_gate(1), 1));
            cell = lstm_cell(i, f, tanh(of_gate(2)), cell);
            next.push_back(state(tanh(cell) * logistic(with_peephole(of_gate(3), 2))));
        }
        return projection_ ? project(l, d, next) : next;
    }

    numbers project(dim_t l, dim_t d, const numbers &h) const {
        numbers result;
        for (dim_t k = 0; k < p_.state_channels(); k++) {
            Number total = 0;
            std::int32_t weights = 0;
            for (dim_t i = 0; i < p_.channels(); i++) {
                const Number w = number(projection_, {l, d, i, k}), x = h[static_cast<std::size_t>(i)];
                if constexpr (is_int8) {
                    total = wrapping_add(total, x * w);
                    weights += w;
                } else {
                    total = std::fma(x, w, total);
                }
            }
            if constexpr (is_int8)
                total = codes_.of((static_cast<float>(total) - static_cast<float>(weights) * p_.shift) /
                                  p_.projection_factor(k));
            result.push_back(total);
        }
        return result;
    }

    numbers run_gru(dim_t l, dim_t d, const Number *x, const numbers &h) const {
        numbers reset, next;
        for (dim_t k = 0; k < p_.channels(); k++)
            reset.push_back(
                state(logistic(gate(l, d, x, h.data(), 1, k)) * value(h[static_cast<std::size_t>(k)])));
        for (dim_t k = 0; k < p_.channels(); k++)
            next.push_back(state(gru_cell(logistic(gate(l, d, x, h.data(), 0, k)),
                                          tanh(gate(l, d, x, reset.data(), 2, k)),
                                          value(h[static_cast<std::size_t>(k)]))));
        return next;
    }

    float lbr_gru_cell(dim_t l, dim_t d, const Number *x, const numbers &h, dim_t k) const {
        const float u = logistic(gate(l, d, x, h.data(), 0, k)), r = logistic(gate(l, d, x, h.data(), 1, k));
        float of_x = static_cast<float>(layer_sum(l, d, x, 2, k)),
              of_h = static_cast<float>(iter_sum(l, d, h.data(), 2, k));
        float bias_x = bias(l, d, 2, k), bias_h = bias(l, d, 3, k);
        if constexpr (is_int8) {
            of_x /= p_.weights_factor(2, k);
            of_h /= p_.weights_factor(2, k);
            bias_x = shifted(bias_x, weights_sum(weights_layer_, l, d, 2, k), 2, k);
            bias_h = shifted(bias_h, weights_sum(weights_iter_, l, d, 2, k), 2, k);
        }
        return gru_cell(u, tanh(std::fma(r, of_h + bias_h, of_x) + bias_x),
                        value(h[static_cast<std::size_t>(k)]));
    }

    // ---- results

    void store(const bound_tensor &to, const coordinates &at, Number h) const {
        if constexpr (is_int8) {
            if (to.md.data_type == data_type::f32)
                to.set(at, codes_.value(h));
            else
                to.set_code(at, h);
        } else {
            to.set(at, h);
        }
    }

    void store_step(dim_t t, dim_t n, dim_t k, const std::vector<numbers> &of_direction) const {
        const auto index = static_cast<std::size_t>(t * p_.state_channels() + k);
        if (p_.direction != rnn_direction::bidirectional_sum) {
            for (std::size_t d = 0; d < of_direction.size(); d++)
                store(dst_layer_, {t, n, static_cast<dim_t>(d) * p_.state_channels() + k},
                      of_direction[d][index]);
            return;
        }
        const Number a = of_direction[0][index], b = of_direction[1][index];
        if constexpr (is_int8) {
            const std::int32_t total = codes_.sum(a, b);
            if (p_.dst_layer.data_type == data_type::f32)
                dst_layer_.set({t, n, k}, codes_.value_of_sum(total));
            else
                dst_layer_.set_code({t, n, k}, total);
        } else {
            dst_layer_.set({t, n, k}, a + b);
        }
    }

    const rnn_problem &p_;
    const state_codes codes_;
    const bound_tensor src_layer_, src_iter_, src_iter_c_, weights_layer_, weights_iter_, peephole_,
        projection_, bias_, dst_layer_, dst_iter_, dst_iter_c_;
};

template <typename Number> void run_rows(const rnn_problem &p, const arguments &args) {
    const network<Number> whole(p, args);
    parallel_for(p.batch(), 1, [&](dim_t begin, dim_t end) {
        for (dim_t n = begin; n < end; n++)
            whole.run_row(n);
    });
}

void run(const rnn_problem &p, const arguments &args) {
    if (p.is_int8())
        run_rows<std::int32_t>(p, args);
    else
        run_rows<float>(p, args);
}

} // namespace

std::shared_ptr<const kernel> create(const rnn_problem &p) {
    return std::make_shared<reference_kernel<rnn_problem>>(p, run);
}

} // namespace octet::impl::ref
