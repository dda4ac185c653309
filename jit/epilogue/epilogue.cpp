// Emission of an epilogue, from accumulators to stores. The rule is in rules.cpp, the post-ops are in post_ops.cpp,
// what follows them in store.cpp. Start reading at epilogue_emitter::emit.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/epilogue.hpp"

#include <algorithm>
#include <optional>

#include "common/element.hpp"
#include "jit/epilogue/rounding.hpp"
#include "jit/epilogue/rules_emitter.hpp"

namespace octet::impl::jit {

using Xbyak::Reg64;

vec_operand epilogue_emitter::param(int index, int v) const {
    if (at_.params_are_invariant)
        return e_.invariant(at_.params, index * param_vector_bytes);
    const int vectors_per_block = columns_per_block / e_.lanes();
    const int block = v / vectors_per_block, part = v % vectors_per_block;
    return e_.ptr[at_.params + (block * plan_.params().count + index) * param_vector_bytes +
                  part * e_.vector_bytes()];
}

void epilogue_emitter::to_f32(const vec &x) {
    if (!is_f32_)
        e_.vcvtdq2ps(x, x);
    is_f32_ = true;
}

void epilogue_emitter::to_s32(const vec &x) {
    if (is_f32_)
        emit_saturating_to_s32(e_, x);
    is_f32_ = false;
}

/// Sets reg scratch and returns the displacement such that [scratch + displacement] is the element.
std::int64_t epilogue_emitter::address_of(const Reg64 &base, data_type type, dim_t element) {
    const int size = static_cast<int>(memory::data_type_size(type));
    e_.lea(at_.scratch, e_.ptr[base + at_.row * size]);
    return element * size;
}

/// The element of dst's tensor, or of the tensor of a post-op, that belongs to x.
void epilogue_emitter::load(const vec &y, data_type type, int tensor, const context &at) {
    if (tensor != no_tensor)
        e_.mov(at_.scratch, e_.ptr[at_.full + tensor * 8]);
    const std::int64_t offset = address_of(tensor == no_tensor ? at_.dst : at_.scratch, type, at.element);
    if (is_code(type))
        e_.load_bytes(y, at_.scratch, offset, at.valid, type == data_type::s8);
    else if (memory::data_type_size(type) == 2)
        e_.load_words(y, at_.scratch, offset, at.valid);
    else
        e_.load_dwords(y, at_.scratch, offset, at.valid);
}

void epilogue_emitter::load_as_f32(const vec &y, data_type type, int tensor, const context &at) {
    load(y, type, tensor, at);
    if (is_small_float(type))
        e_.words_to_f32(y, type == data_type::f16);
    else if (type != data_type::f32)
        e_.vcvtdq2ps(y, y);
}

void epilogue_emitter::load_row_value(const vec &y, data_type type, int tensor) {
    e_.mov(at_.scratch, e_.ptr[at_.full + tensor * 8]);
    const Xbyak::Reg32 value = at_.scratch.cvt32();
    if (memory::data_type_size(type) == 2) {
        e_.movsx(value, e_.word[at_.scratch]);
        e_.vmovd(e_.xmm_of(y), value);
        e_.vpbroadcastd(y, e_.xmm_of(y));
    } else if (memory::data_type_size(type) == 1) {
        type == data_type::s8 ? e_.movsx(value, e_.byte[at_.scratch]) : e_.movzx(value, e_.byte[at_.scratch]);
        e_.vmovd(e_.xmm_of(y), value);
        e_.vpbroadcastd(y, e_.xmm_of(y));
    } else {
        e_.vpbroadcastd(y, e_.dword[at_.scratch]);
    }
    if (is_small_float(type))
        e_.words_to_f32(y, type == data_type::f16);
    else if (type != data_type::f32)
        e_.vcvtdq2ps(y, y);
}

void epilogue_emitter::requantize(const vec &x, int v) {
    const epilogue_plan::param_indices &p = plan_.params();
    const requantization_rule rule = plan_.source().rule;
    if (!is_float(rule)) {
        emit_requantize(e_, plan_.rule(), x, [&](int i) { return param(p.rule + i, v); });
        return;
    }
    if (p.minus_magic_bias >= 0) {
        const emitter::temp minus_magic_bias(e_);
        e_.move(minus_magic_bias, param(p.minus_magic_bias, v));
        e_.vfmadd132ps(x, minus_magic_bias, param(p.scale, v));
        is_f32_ = true;
        return;
    }
    to_f32(x);
    const bool bias_first = !facts_of(rule).f32.adds_bias_after_scale;
    if (p.bias >= 0 && bias_first)
        e_.vaddps(x, x, param(p.bias, v));
    if (p.scale >= 0)
        e_.vmulps(x, x, param(p.scale, v));
    if (p.weights_scale >= 0)
        e_.vmulps(x, x, param(p.weights_scale, v));
    if (p.bias >= 0 && !bias_first)
        e_.vaddps(x, x, param(p.bias, v));
}

/// From an accumulator to what the first post-op finds.
void epilogue_emitter::apply_rule(const epilogue_result &r) {
    const epilogue_plan::param_indices &p = plan_.params();
    if (p.weights_zero_point >= 0) {
        const emitter::temp row_sum(e_);
        e_.vpbroadcastd(row_sum, e_.dword[at_.row_sums + 4 * r.row]);
        e_.vpmulld(row_sum, row_sum, param(p.weights_zero_point, r.column_vector));
        e_.vpsubd(r.acc, r.acc, row_sum);
    }
    is_f32_ = r.value == epilogue_stage::f32_accumulator || r.value == epilogue_stage::f32_value;
    if (r.value == epilogue_stage::accumulator || r.value == epilogue_stage::f32_accumulator)
        requantize(r.acc, r.column_vector);
}

/// Each step for all of them, before the next one.
void epilogue_emitter::compute(const epilogue_result *results, std::size_t count) {
    each(results, count, [&](const epilogue_result &r) { apply_rule(r); });
    for (int i = 0; i < plan_.emitted_post_ops(); i++)
        apply_post_op(i, results, count);
    each(results, count, [&](const epilogue_result &r) {
        finish({r.acc, 0, r.column_vector, r.element, r.valid});
    });
}

void epilogue_emitter::emit(const std::vector<epilogue_result> &results) {
    constexpr std::size_t vectors_per_store = 4;
    std::optional<emitter::temp> order; // the order of codes that are stored together
    if (plan_.bytes().is_used) {
        order.emplace(e_);
        e_.move(*order, e_.quarters_order());
    }
    const std::size_t at_a_time = vectors_side_by_side(), group = order ? vectors_per_store : at_a_time;
    for (std::size_t i = 0; i < results.size(); i += group) {
        const std::size_t end = std::min(i + group, results.size());
        for (std::size_t k = i; k < end; k += at_a_time)
            compute(&results[k], std::min(at_a_time, end - k));
        if (order)
            store_bytes(&results[i], static_cast<int>(end - i), *order);
        else
            for (std::size_t k = i; k < end; k++)
                store_vector(results[k]);
        between();
    }
}

} // namespace octet::impl::jit
