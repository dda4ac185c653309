// The steps of a program, each a few instructions on the topmost vectors of its stack.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/stream_program_emitter.hpp"

#include "jit/base/dry_run.hpp"
#include "jit/base/key.hpp"
#include "jit/epilogue/code_sum_emitter.hpp"
#include "jit/epilogue/eltwise.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/epilogue/rounding.hpp"
#include "jit/epilogue/rules_emitter.hpp"

namespace octet::impl::jit {

namespace {

/// From a wide source to codes, reading is what takes time, and prefetchers of the hardware stop at the end
/// of a page.
constexpr int bytes_ahead = 4096;

bool is_byte(data_type type) { return memory::data_type_size(type) == 1; }

} // namespace

int stream_program_registers(const stream_spec &spec) {
    const std::string key = key_writer().add(spec.sources, spec.program).key();
    return count_registers(spec.isa, key, [&](emitter &e) {
        const Xbyak::Reg64 any[max_stream_sources] = {e.rsi, e.rdx, e.rbx, e.r12};
        stream_program_emitter program(e, spec, {any, e.r13, e.r15, e.qword[e.rdi], false});
        for (const int valid : {e.lanes(), e.lanes() - 1})
            e.give_vec(program.run(0, valid));
    });
}

vec stream_program_emitter::pop() {
    const vec x = stack_.back();
    stack_.pop_back();
    return x;
}

vec_operand stream_program_emitter::param(int index, int v) {
    if (!spec_.varies_in_row)
        return e_.invariant(at_.program_params, index * param_vector_bytes);
    const int column_vector = v;
    const int vectors_per_block = columns_per_block / e_.lanes();
    const int block = column_vector / vectors_per_block, part = column_vector % vectors_per_block;
    return e_.ptr[at_.program_params + (block * spec_.program_params + index) * param_vector_bytes +
                  part * e_.vector_bytes()];
}

vec stream_program_emitter::run(int v, int valid) {
    for (const stream_step &step : spec_.program) {
        if (step.op == stream_op::load)
            load(step.operand, v, valid);
        else
            step.op >= stream_op::binary ? pair(step, v) : unary(step, v);
    }
    return pop();
}

void stream_program_emitter::load(int source, int v, int valid) {
    const stream_source &s = spec_.sources[static_cast<std::size_t>(source)];
    const Xbyak::Reg64 &from = at_.src[source];
    const vec x = e_.take_vec();
    stack_.push_back(x);
    const bool is_signed = s.type == data_type::s8, is_wide = memory::data_type_size(s.type) == 4;
    if (!s.is_constant_in_row) {
        const std::int64_t offset =
            static_cast<std::int64_t>(memory::data_type_size(s.type)) * v * e_.lanes();
        if (is_byte(s.type))
            e_.load_bytes(x, from, offset, valid, is_signed);
        else if (!is_wide)
            e_.load_words(x, from, offset, valid);
        else
            e_.load_dwords(x, from, offset, valid);
        if (is_wide && at_.prefetches_wide)
            e_.prefetcht0(e_.ptr[from + static_cast<int>(offset) + bytes_ahead]);
    } else if (is_byte(s.type)) {
        is_signed ? e_.movsx(at_.scratch.cvt32(), e_.byte[from])
                  : e_.movzx(at_.scratch.cvt32(), e_.byte[from]);
        e_.vmovd(e_.xmm_of(x), at_.scratch.cvt32());
        e_.vpbroadcastd(x, e_.xmm_of(x));
    } else if (!is_wide) {
        e_.movsx(at_.scratch.cvt32(), e_.word[from]);
        e_.vmovd(e_.xmm_of(x), at_.scratch.cvt32());
        e_.vpbroadcastd(x, e_.xmm_of(x));
    } else {
        e_.vpbroadcastd(x, e_.dword[from]);
    }
    if (s.type == data_type::bf16 || s.type == data_type::f16)
        e_.words_to_f32(x, s.type == data_type::f16);
}

void stream_program_emitter::unary(const stream_step &step, int v) {
    const vec &x = stack_.back();
    const auto number = [&](int i = 0) { return param(step.operand + i, v); };
    switch (step.op) {
    case stream_op::to_f32:
        return e_.vcvtdq2ps(x, x);
    case stream_op::to_s32:
        return emit_saturating_to_s32(e_, x);
    case stream_op::convert_to_s32:
        return e_.vcvtps2dq(x, x);
    case stream_op::subtract_s32:
        return e_.vpsubd(x, x, number());
    case stream_op::subtract_s16:
        return e_.vpsubw(x, x, number());
    case stream_op::multiply_s32:
        return e_.vpmulld(x, x, number());
    case stream_op::scale_code: {
        const emitter::temp rest(e_);
        e_.vpmulld(rest, x, number(1));
        e_.vpaddd(rest, rest, e_.constant(std::uint32_t{1} << (scale_code_bits - 1)));
        e_.vpsrad(rest, rest, scale_code_bits);
        e_.vpmulld(x, x, number());
        return e_.vpaddd(x, x, rest);
    }
    case stream_op::shift_left:
        return e_.vpslld(x, x, static_cast<std::uint8_t>(step.operand));
    case stream_op::divide_by_pot:
        return emit_divide_by_pot(e_, x, step.operand);
    case stream_op::shift_right_up:
        e_.vpaddd(x, x, e_.constant(std::uint32_t{1} << (step.operand - 1)));
        return e_.vpsrad(x, x, static_cast<std::uint8_t>(step.operand));
    case stream_op::requantize:
        return emit_requantize(e_, step.rule, x, number);
    case stream_op::subtract:
        return e_.vsubps(x, x, number());
    case stream_op::add:
        return e_.vaddps(x, x, number());
    case stream_op::multiply:
        return e_.vmulps(x, x, number());
    case stream_op::multiply_add: {
        const emitter::temp factor(e_);
        e_.move(factor, number());
        return e_.vfmadd213ps(x, factor, number(1));
    }
    case stream_op::multiply_add_symmetric: {
        const emitter::temp term(e_);
        e_.vpand_(term, x, e_.constant(0x80000000u));
        e_.vpor_(term, term, number(1));
        return e_.vfmadd132ps(x, term, number());
    }
    case stream_op::divide:
        return e_.vdivps(x, x, number());
    case stream_op::divide_in_range:
        return divide_in_range(x, step.operand, v);
    case stream_op::round_half_away:
        return emit_round_half_away(e_, x);
    case stream_op::code_table: {
        const emitter::temp entry(e_);
        e_.mov(at_.scratch, at_.table);
        e_.gather_dwords(entry, at_.scratch, x, 4);
        return e_.move(x, entry);
    }
    default:
        return emit_eltwise(e_, step.alg, step.alpha, step.beta, x);
    }
}

/// The quotient by multiplications, as much faster as division is slow. The first one is off by less than 2
/// ulp; each correction adds the remainder, which a fused multiply-add gives exactly, times the reciprocal:
/// once for less than 1 ulp, and from there, by Markstein's theorem, correctly rounded if the reciprocal is.
void stream_program_emitter::divide_in_range(const vec &x, int first, int v) {
    const emitter::temp quotient(e_), remainder(e_);
    const vec_operand reciprocal = param(first, v), divisor = param(first + 1, v);
    e_.vmaxps(x, x, param(first + 2, v));
    e_.vminps(x, x, param(first + 3, v));
    e_.vmulps(quotient, x, reciprocal);
    for (int correction = 0; correction < 2; correction++) {
        e_.move(remainder, x);
        e_.vfnmadd231ps(remainder, quotient, divisor);
        e_.vfmadd231ps(quotient, remainder, reciprocal);
    }
    e_.move(x, quotient);
}

void stream_program_emitter::pair(const stream_step &step, int v) {
    const vec top = pop(), lower = stack_.back();
    switch (step.op) {
    case stream_op::binary:
        emit_binary(e_, step.alg, lower, top);
        break;
    case stream_op::add_pair:
        e_.vpaddd(lower, lower, top);
        break;
    case stream_op::subtract_pair:
        e_.vpsubd(lower, lower, top);
        break;
    case stream_op::multiply_pair:
        e_.vpmulld(lower, lower, top);
        break;
    case stream_op::multiply_pair_s16:
        e_.vpmaddwd(lower, lower, top);
        break;
    case stream_op::code_sum_pair:
    case stream_op::code_sum_away_pair:
        emit_code_sum(e_, step.op == stream_op::code_sum_away_pair, lower, top,
                      [&](int i) { return param(step.operand + i, v); });
        break;
    case stream_op::multiply_high_pair:
        emit_multiply_high(e_, lower, top);
        break;
    case stream_op::divide_by_pot_pair:
        emit_divide_by_pot(e_, lower, top);
        break;
    case stream_op::multiply_add_pair:
        e_.vfmadd132ps(lower, top, param(step.operand, v));
        break;
    default: {
        const emitter::temp zeros(e_);
        const emitter::mask is_positive(e_);
        e_.zero(zeros);
        e_.compare_f32(is_positive, lower, zeros, emitter::gt);
        e_.vmulps(top, lower, top);
        e_.blend(lower, is_positive, top, lower);
    }
    }
    e_.give_vec(top);
}

} // namespace octet::impl::jit
