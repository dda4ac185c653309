#pragma once // SPDX-License-Identifier: Apache-2.0

// The tensors of an execution to and from the contiguous rows of cpu/recurrent: any layout, codes or floats.

#include <algorithm>

#include "common/layout/layout.hpp"
#include "common/rnn.hpp"

namespace octet::impl::recurrent {

class bound_results {
public:
    bound_results(const rnn_problem &p, const arguments &args) : p_(p), codes_(p), args_(args) {}

    /// src_layer as [step][row][channel]: where it lies, or copied into `dense`.
    template <typename Number> const Number *input(Number *dense) const {
        memory_desc row_major = p_.src_layer;
        row_major.offset0 = 0;
        set_row_major(row_major);
        const auto *src = args_.get<const Number>(OCTET_ARG_SRC_LAYER);
        if (memory::desc(row_major) == memory::desc(p_.src_layer))
            return src;
        for_each(p_.src_layer,
                 [&](const coordinates &, dim_t offset, dim_t index) { dense[index] = src[offset]; });
        return dense;
    }

    /// The states [row][channel] before the first step.
    template <typename Number> void first_states(dim_t l, dim_t d, Number *h, float *c) const {
        const memory_desc &md = p_.src_iter;
        const dim_t count = p_.batch() * p_.state_inputs();
        if (md.ndims == 0)
            std::fill(h, h + count, zero<Number>());
        else if (md.data_type == data_type::f32)
            for_each(layer_of(md, l, d), [&](const coordinates &, dim_t offset, dim_t index) {
                h[index] = first<Number>(args_.get<const float>(OCTET_ARG_SRC_ITER)[offset]);
            });
        else
            for_each(layer_of(md, l, d), [&](const coordinates &, dim_t offset, dim_t index) {
                h[index] = args_.get<const Number>(OCTET_ARG_SRC_ITER)[offset];
            });
        if (p_.src_iter_c.ndims == 0)
            std::fill(c, c + p_.batch() * p_.channels(), 0.f);
        else
            gather(layer_of(p_.src_iter_c, l, d), OCTET_ARG_SRC_ITER_C, c);
    }

    template <typename Number> void store_last(dim_t l, dim_t d, const Number *h, const float *c) const {
        if (p_.dst_iter.ndims != 0)
            for_each(layer_of(p_.dst_iter, l, d), [&](const coordinates &, dim_t offset, dim_t index) {
                store(p_.dst_iter, OCTET_ARG_DST_ITER, offset, h[index]);
            });
        if (p_.dst_iter_c.ndims != 0)
            for_each(layer_of(p_.dst_iter_c, l, d), [&](const coordinates &, dim_t offset, dim_t index) {
                args_.get<float>(OCTET_ARG_DST_ITER_C)[offset] = c[index];
            });
    }

    /// Of each direction the states [step][row][channel] of its last layer.
    template <typename Number> void store_layer(const Number *first, const Number *second) const {
        const bool is_sum = p_.direction == rnn_direction::bidirectional_sum;
        const dim_t o = p_.state_channels();
        if (!is_sum && p_.dst_layer.strides[2] == 1 && holds<Number>(p_.dst_layer.data_type))
            return copy_rows(first, second);
        for_each(p_.dst_layer, [&](const coordinates &at, dim_t offset, dim_t) {
            const dim_t index = (at[0] * p_.batch() + at[1]) * o + at[2] % o;
            if (is_sum)
                store_sum(offset, first[index], second[index]);
            else
                store(p_.dst_layer, OCTET_ARG_DST_LAYER, offset, (at[2] < o ? first : second)[index]);
        });
    }

    /// [gate][channel]
    void bias(dim_t l, dim_t d, float *to) const {
        if (p_.bias.ndims == 0)
            std::fill(to, to + p_.bias_gates() * p_.channels(), 0.f);
        else
            gather(layer_of(p_.bias, l, d), OCTET_ARG_BIAS, to);
    }
    void peephole(dim_t l, dim_t d, float *to) const {
        gather(layer_of(p_.weights_peephole, l, d), OCTET_ARG_WEIGHTS_PEEPHOLE, to);
    }

private:
    template <typename Number> static bool holds(data_type type) {
        return (type == data_type::f32) == std::is_same_v<Number, float>;
    }
    /// Of results that keep their numbers, row by row.
    template <typename Number> void copy_rows(const Number *first, const Number *second) const {
        const dim_t o = p_.state_channels();
        auto *const dst = args_.get<Number>(OCTET_ARG_DST_LAYER);
        for (dim_t t = 0; t < p_.steps(); t++)
            for (dim_t n = 0; n < p_.batch(); n++) {
                Number *const row = dst + plain_offset(p_.dst_layer, {t, n, 0});
                std::copy_n(first + (t * p_.batch() + n) * o, o, row);
                if (p_.directions() == 2)
                    std::copy_n(second + (t * p_.batch() + n) * o, o, row + o);
            }
    }

    /// The two last dimensions of a tensor {L, D, …}.
    static memory_desc layer_of(const memory_desc &md, dim_t l, dim_t d) {
        memory_desc part = md;
        part.offset0 += l * md.strides[0] + d * md.strides[1];
        part.ndims = 2;
        std::copy(md.dims + 2, md.dims + 4, part.dims);
        std::copy(md.strides + 2, md.strides + 4, part.strides);
        return part;
    }
    /// body(coordinates, offset, row-major index) for each element.
    template <typename Body> static void for_each(const memory_desc &md, const Body &body) {
        const dim_t count = element_count(md), inner = md.dims[md.ndims - 1];
        for (dim_t row = 0; row < count; row += inner) {
            coordinates at = coordinates_of(row, md);
            dim_t &last = at[static_cast<std::size_t>(md.ndims - 1)];
            dim_t offset = plain_offset(md, at);
            for (; last < inner; last++, offset += md.strides[md.ndims - 1])
                body(at, offset, row + last);
        }
    }
    void gather(const memory_desc &md, int arg, float *to) const {
        const auto *from = args_.get<const float>(arg);
        for_each(md, [&](const coordinates &, dim_t offset, dim_t index) { to[index] = from[offset]; });
    }

    template <typename Number> Number zero() const {
        if constexpr (std::is_same_v<Number, float>)
            return 0.f;
        else
            return static_cast<Number>(codes_.of_zero());
    }
    template <typename Number> Number first(float h) const {
        if constexpr (std::is_same_v<Number, float>)
            return h;
        else
            return static_cast<Number>(codes_.of_first_state(h));
    }

    /// A first state that no step follows may be negative.
    std::int32_t code_of(std::uint8_t h) const {
        return p_.src_layer.data_type == data_type::s8 ? static_cast<std::int8_t>(h) : h;
    }
    void store(const memory_desc &, int arg, dim_t offset, float h) const {
        args_.get<float>(arg)[offset] = h;
    }
    void store(const memory_desc &md, int arg, dim_t offset, std::uint8_t h) const {
        if (md.data_type == data_type::f32)
            args_.get<float>(arg)[offset] = codes_.value(code_of(h));
        else
            args_.get<std::uint8_t>(arg)[offset] = h;
    }
    void store_sum(dim_t offset, float a, float b) const {
        args_.get<float>(OCTET_ARG_DST_LAYER)[offset] = a + b;
    }
    void store_sum(dim_t offset, std::uint8_t a, std::uint8_t b) const {
        const std::int32_t sum = codes_.sum(code_of(a), code_of(b));
        if (p_.dst_layer.data_type == data_type::f32)
            args_.get<float>(OCTET_ARG_DST_LAYER)[offset] = codes_.value_of_sum(sum);
        else
            args_.get<std::uint8_t>(OCTET_ARG_DST_LAYER)[offset] = static_cast<std::uint8_t>(sum);
    }

    const rnn_problem &p_;
    const state_codes codes_;
    const arguments &args_;
};

} // namespace octet::impl::recurrent
