#include "jit/kernels/stream.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/rounding.hpp"
#include "common/text.hpp"
#include "jit/epilogue/code_sum.hpp"
#include "jit/epilogue/eltwise.hpp"
#include "jit/epilogue/rounding.hpp"

namespace octet::impl::jit {

namespace {

bool is_wide(cpu_isa level) { return level == cpu_isa::avx512_vnni || level == cpu_isa::avx512_core; }

/// From a wide source to codes, reading is what takes time, and prefetchers of the hardware stop at the end
/// of a page.
constexpr int bytes_ahead = 4096;

bool is_byte(data_type type) { return memory::data_type_size(type) == 1; }

/// "u8+s32c": types of the sources; c where one element serves a row.
std::string name_of(const std::vector<stream_source> &sources) {
    std::string name;
    for (const stream_source &s : sources)
        name += text(name.empty() ? "" : "+", jit::name_of(s.type), s.is_constant_in_row ? "c" : "");
    return name;
}

/// "load.subtract_s32.to_f32": its steps.
std::string name_of(const stream_program &program) {
    constexpr const char *names[] = {"load",
                                     "to_f32",
                                     "to_s32",
                                     "convert_to_s32",
                                     "subtract_s32",
                                     "subtract_s16",
                                     "multiply_s32",
                                     "scale_code",
                                     "shift_left",
                                     "divide_by_pot",
                                     "requantize",
                                     "subtract",
                                     "add",
                                     "multiply",
                                     "multiply_add",
                                     "divide",
                                     "divide_in_range",
                                     "round_half_away",
                                     "eltwise",
                                     "look_up",
                                     "binary",
                                     "add_pair",
                                     "subtract_pair",
                                     "multiply_pair",
                                     "multiply_pair_s16",
                                     "code_sum_pair",
                                     "code_sum_away_pair",
                                     "multiply_high_pair",
                                     "divide_by_pot_pair",
                                     "multiply_add_pair",
                                     "prelu"};
    static_assert(std::size(names) == static_cast<std::size_t>(stream_op::prelu) + 1);
    std::string name;
    for (const stream_step &s : program)
        name += text(name.empty() ? "" : ".", names[static_cast<int>(s.op)]);
    return name;
}

/// Vectors of the stack at its deepest, and the temporaries of the step that takes most.
int registers_of(cpu_isa level, const stream_program &program) {
    int depth = 0, deepest = 0, temps = 2; // small steps: a bound or a constant, and a mask
    for (const stream_step &step : program) {
        depth += step.op == stream_op::load ? 1 : step.op >= stream_op::binary ? -1 : 0;
        deepest = std::max(deepest, depth);
        if (step.op == stream_op::eltwise)
            temps = std::max(temps, eltwise_temps(step.alg, step.alpha, step.beta, level));
        if (step.op == stream_op::requantize)
            temps = std::max(temps, requantize_temps(step.rule, level));
    }
    return deepest + temps;
}

/// Registers that a group takes besides its results.
int other_registers(cpu_isa level, const stream_program &program, const epilogue_plan &plan) {
    return std::max(registers_of(level, program), plan.temps(level) + 1);
}

} // namespace

int stream_vectors(cpu_isa level, const stream_program &program, const epilogue_plan &plan) {
    const int registers = is_wide(level) ? 32 : 16;
    const int least = is_wide(level) ? 1 : 2; // a group has whole blocks of columns
    const int others = other_registers(level, program, plan);
    for (int vectors = 4; vectors >= least; vectors /= 2)
        if (vectors + others <= registers)
            return vectors;
    return 0;
}

stream_kernel::stream_kernel(const stream_spec &spec, const epilogue_plan &plan)
    : generated(spec.level), spec_(spec), plan_(plan) {
    generate();
    start_again(); // reads are what short programs have most of
    generate();
    finish("stream", name_of(spec.sources), name_of(spec.program), text(spec.vectors, "v"),
           spec.rest != 0 ? text("rest", spec.rest) : "", spec.stores_past_caches ? "nt" : "", plan.name());
}

void stream_kernel::generate() {
    preamble();
    for (std::size_t i = 0; i < spec_.sources.size(); i++)
        mov(reg_src[i], arg(&stream_args::src, static_cast<int>(i)));
    mov(reg_dst, arg(&stream_args::dst));
    mov(reg_planes, arg(&stream_args::planes));
    mov(reg_params, arg(&stream_args::params));
    mov(reg_full, arg(&stream_args::full));
    mov(reg_rows, arg(&stream_args::rows));
    xor_(reg_row, reg_row);
    hold_reads();
    if (spec_.stores_past_caches)
        store_past_caches();
    if (spec_.rest % lanes() != 0)
        set_tail(spec_.rest % lanes());

    Xbyak::Label next;
    L(next);
    row();
    for (std::size_t i = 0; i < spec_.sources.size(); i++)
        add(reg_src[i], arg(&stream_args::src_step, static_cast<int>(i)));
    add(reg_row, arg(&stream_args::dst_step));
    if (spec_.varies_in_row) {
        mov(reg_planes, arg(&stream_args::planes));
        mov(reg_params, arg(&stream_args::params));
    }
    dec(reg_rows);
    jnz(next, T_NEAR);
    if (spec_.stores_past_caches)
        sfence(); // other threads see these stores as they see others
    postamble();
}

void stream_kernel::row() {
    Xbyak::Label whole, rest, done;
    const int columns = spec_.vectors * lanes();
    mov(reg_groups, arg(&stream_args::groups));
    test(reg_groups, reg_groups);
    jz(rest, T_NEAR);
    align(32);
    L(whole);
    group(columns);
    dec(reg_groups);
    jnz(whole, T_NEAR);
    L(rest);
    if (spec_.rest == 0)
        return;
    cmp(arg(&stream_args::has_rest), 0);
    je(done, T_NEAR);
    group(spec_.rest);
    L(done);
}

void stream_kernel::group(int columns) {
    const epilogue_operands operands{reg_params, reg_dst,     reg_row, reg_full,
                                     reg_rows,   reg_address, false,   !spec_.varies_in_row};
    std::vector<epilogue_result> results;
    for (int v = 0; v * lanes() < columns; v++) {
        const int valid = std::min(columns - v * lanes(), lanes());
        run_program(v, valid);
        results.push_back({pop(), 0, spec_.varies_in_row ? v : 0, v * lanes(), valid, spec_.value});
    }
    epilogue_emitter(*this, plan_, operands).emit(results);
    for (auto r = results.rbegin(); r != results.rend(); ++r)
        give_vec(r->acc);
    advance(columns);
}

void stream_kernel::advance(int columns) {
    for (std::size_t i = 0; i < spec_.sources.size(); i++)
        if (!spec_.sources[i].is_constant_in_row)
            add(reg_src[i], columns * static_cast<int>(memory::data_type_size(spec_.sources[i].type)));
    add(reg_row, columns);
    if (spec_.varies_in_row) {
        const int blocks = columns / columns_per_block;
        add(reg_planes, blocks * spec_.planes * plane_bytes);
        add(reg_params, blocks * plan_.planes().count * plane_bytes);
    }
}

// ---- programs

vec stream_kernel::pop() {
    const vec x = stack_.back();
    stack_.pop_back();
    return x;
}

vec_operand stream_kernel::plane(int index, int v) {
    if (!spec_.varies_in_row)
        return invariant(reg_planes, index * plane_bytes);
    const int column_vector = v;
    const int vectors_per_block = columns_per_block / lanes();
    const int block = column_vector / vectors_per_block, part = column_vector % vectors_per_block;
    return ptr[reg_planes + (block * spec_.planes + index) * plane_bytes + part * vector_bytes()];
}

void stream_kernel::run_program(int v, int valid) {
    for (const stream_step &step : spec_.program) {
        if (step.op == stream_op::load)
            load(step.operand, v, valid);
        else
            step.op >= stream_op::binary ? pair(step, v) : unary(step, v);
    }
}

void stream_kernel::load(int source, int v, int valid) {
    const stream_source &s = spec_.sources[static_cast<std::size_t>(source)];
    const Xbyak::Reg64 &from = reg_src[source];
    const vec x = take_vec();
    stack_.push_back(x);
    const bool is_signed = s.type == data_type::s8;
    if (!s.is_constant_in_row) {
        const std::int64_t offset = static_cast<std::int64_t>(memory::data_type_size(s.type)) * v * lanes();
        if (is_byte(s.type))
            load_bytes(x, from, offset, valid, is_signed);
        else if (s.type == data_type::s16)
            load_words(x, from, offset, valid);
        else
            load_dwords(x, from, offset, valid);
        if (memory::data_type_size(s.type) == 4 && plan_.bytes().is_used)
            prefetcht0(ptr[from + static_cast<int>(offset) + bytes_ahead]);
    } else if (s.type == data_type::s16) {
        movsx(reg_address.cvt32(), word[from]);
        vmovd(xmm_of(x), reg_address.cvt32());
        vpbroadcastd(x, xmm_of(x));
    } else if (is_byte(s.type)) {
        is_signed ? movsx(reg_address.cvt32(), byte[from]) : movzx(reg_address.cvt32(), byte[from]);
        vmovd(xmm_of(x), reg_address.cvt32());
        vpbroadcastd(x, xmm_of(x));
    } else {
        vpbroadcastd(x, dword[from]);
    }
}

void stream_kernel::unary(const stream_step &step, int v) {
    const vec &x = stack_.back();
    const auto number = [&](int i = 0) { return plane(step.operand + i, v); };
    switch (step.op) {
    case stream_op::to_f32:
        return vcvtdq2ps(x, x);
    case stream_op::to_s32:
        return emit_saturating_to_s32(*this, x);
    case stream_op::convert_to_s32:
        return vcvtps2dq(x, x);
    case stream_op::subtract_s32:
        return vpsubd(x, x, number());
    case stream_op::subtract_s16:
        return vpsubw(x, x, number());
    case stream_op::multiply_s32:
        return vpmulld(x, x, number());
    case stream_op::scale_code: {
        const temp rest(*this);
        vpmulld(rest, x, number(1));
        vpaddd(rest, rest, constant(std::uint32_t{1} << (scale_code_bits - 1)));
        vpsrad(rest, rest, scale_code_bits);
        vpmulld(x, x, number());
        return vpaddd(x, x, rest);
    }
    case stream_op::shift_left:
        return vpslld(x, x, static_cast<std::uint8_t>(step.operand));
    case stream_op::divide_by_pot:
        return emit_divide_by_pot(*this, x, step.operand);
    case stream_op::requantize:
        return emit_requantize(*this, step.rule, x, number);
    case stream_op::subtract:
        return vsubps(x, x, number());
    case stream_op::add:
        return vaddps(x, x, number());
    case stream_op::multiply:
        return vmulps(x, x, number());
    case stream_op::multiply_add: {
        const temp factor(*this);
        move(factor, number());
        return vfmadd213ps(x, factor, number(1));
    }
    case stream_op::divide:
        return vdivps(x, x, number());
    case stream_op::divide_in_range:
        return divide_in_range(x, step.operand, v);
    case stream_op::round_half_away:
        return emit_round_half_away(*this, x);
    case stream_op::look_up: {
        const temp entry(*this);
        mov(reg_address, arg(&stream_args::table));
        gather_dwords(entry, reg_address, x, 4);
        return move(x, entry);
    }
    default:
        return emit_eltwise(*this, step.alg, step.alpha, step.beta, x);
    }
}

/// The quotient by multiplications, as much faster as division is slow. The first one is off by less than 2
/// ulp; each correction adds the remainder, which a fused multiply-add gives exactly, times the reciprocal:
/// once for less than 1 ulp, and from there, by Markstein's theorem, correctly rounded if the reciprocal is.
void stream_kernel::divide_in_range(const vec &x, int first, int v) {
    const temp quotient(*this), remainder(*this);
    const vec_operand reciprocal = plane(first, v), divisor = plane(first + 1, v);
    vmaxps(x, x, plane(first + 2, v));
    vminps(x, x, plane(first + 3, v));
    vmulps(quotient, x, reciprocal);
    for (int correction = 0; correction < 2; correction++) {
        move(remainder, x);
        vfnmadd231ps(remainder, quotient, divisor);
        vfmadd231ps(quotient, remainder, reciprocal);
    }
    move(x, quotient);
}

void stream_kernel::pair(const stream_step &step, int v) {
    const vec top = pop(), lower = stack_.back();
    switch (step.op) {
    case stream_op::binary:
        emit_binary(*this, step.alg, lower, top);
        break;
    case stream_op::add_pair:
        vpaddd(lower, lower, top);
        break;
    case stream_op::subtract_pair:
        vpsubd(lower, lower, top);
        break;
    case stream_op::multiply_pair:
        vpmulld(lower, lower, top);
        break;
    case stream_op::multiply_pair_s16:
        vpmaddwd(lower, lower, top);
        break;
    case stream_op::code_sum_pair:
    case stream_op::code_sum_away_pair:
        emit_code_sum(*this, step.op == stream_op::code_sum_away_pair, lower, top,
                      [&](int i) { return plane(step.operand + i, v); });
        break;
    case stream_op::multiply_high_pair:
        emit_multiply_high(*this, lower, top);
        break;
    case stream_op::divide_by_pot_pair:
        emit_divide_by_pot(*this, lower, top);
        break;
    case stream_op::multiply_add_pair:
        vfmadd132ps(lower, top, plane(step.operand, v));
        break;
    default: {
        const temp zeros(*this);
        const mask is_positive(*this);
        zero(zeros);
        compare_f32(is_positive, lower, zeros, gt);
        vmulps(top, top, lower);
        blend(lower, is_positive, top, lower);
    }
    }
    give_vec(top);
}

} // namespace octet::impl::jit
