// One loop over positions, one over the taps of a window, then the mean that the form asks for.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/pool.hpp"

#include <cstddef>

#include "common/element.hpp"
#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"

namespace octet::impl::jit {

namespace {

const char *name_of(pooling_form form) {
    constexpr const char *names[] = {"maximum",         "average_of_codes", "rounded_average",
                                     "requantized_sum", "rescaled_average", "dequantized",
                                     "scaled_sum"};
    return names[static_cast<int>(form)];
}

class pool_kernel : public generated<const pool_args> {
public:
    /// A maximum has no epilogue.
    pool_kernel(const pool_spec &spec, const epilogue_plan *plan);

private:
    void generate();
    void initialise();
    void add_tap();
    void take_mean();
    void finish_position();
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : full_lanes(); }
    int full_lanes() const { return pool_lanes(spec_.isa, spec_.form); }

    const pool_spec spec_;
    const epilogue_plan *plan_;
    std::vector<vec> acc_;

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_params = rcx, reg_full = rbp, reg_positions = r9;
    const Xbyak::Reg64 reg_offsets = rbx, reg_taps = r12, reg_tap = rax, reg_row = r14, reg_row_sums = r10,
                       reg_address = r15;
};

} // namespace

int pool_lanes(instruction_set isa, pooling_form form) {
    const int dwords = isa.lanes();
    return form == pooling_form::maximum ? 4 * dwords : dwords;
}

pool_kernel::pool_kernel(const pool_spec &spec, const epilogue_plan *plan)
    : generated(spec.isa), spec_(spec), plan_(plan) {
    generate();
    finish([&] {
        return name("pool", name_of(spec.form), spec.is_signed ? "s8" : "u8", text(spec.vectors, "v"),
                    spec.tail != full_lanes() ? text("tail", spec.tail) : "", plan ? plan->name() : "");
    });
}

void pool_kernel::generate() {
    preamble();
    mov(reg_src, arg(&pool_args::src));
    mov(reg_dst, arg(&pool_args::dst));
    mov(reg_params, arg(&pool_args::params));
    mov(reg_full, arg(&pool_args::full));
    mov(reg_positions, arg(&pool_args::positions));
    xor_(reg_row, reg_row);
    if (spec_.tail != full_lanes())
        spec_.form == pooling_form::maximum ? set_byte_tail(spec_.tail) : set_tail(spec_.tail);
    for (int v = 0; v < spec_.vectors; v++)
        acc_.push_back(take_vec());

    Xbyak::Label position, tap;
    L(position);
    mov(reg_offsets, arg(&pool_args::tap_offsets));
    mov(reg_taps, arg(&pool_args::taps));
    initialise();
    align(32);
    L(tap);
    mov(reg_tap, ptr[reg_offsets]);
    add(reg_tap, reg_src);
    add_tap();
    add(reg_offsets, sizeof(std::int64_t));
    dec(reg_taps);
    jnz(tap, T_NEAR);
    finish_position();
    add(reg_src, arg(&pool_args::src_step));
    add(reg_row, arg(&pool_args::dst_step));
    dec(reg_positions);
    jnz(position, T_NEAR);
    postamble();
}

void pool_kernel::initialise() {
    for (const vec &acc : acc_) {
        if (spec_.form == pooling_form::maximum && spec_.is_signed) // the lowest code, which no tap is below
            move(acc, constant(0x80808080u));
        else if (spec_.form == pooling_form::requantized_sum)
            vpbroadcastd(acc, arg(&pool_args::initial));
        else
            zero(acc);
    }
}

/// One tap of all vectors; its first channel is at reg_tap.
void pool_kernel::add_tap() {
    const temp x(*this), y(*this);
    for (int v = 0; v < spec_.vectors; v++) {
        const vec &acc = acc_[static_cast<std::size_t>(v)];
        const int offset = v * full_lanes();
        if (spec_.form == pooling_form::maximum) {
            load_byte_vector(x, reg_tap, offset, valid(v));
            spec_.is_signed ? vpmaxsb(acc, acc, x) : vpmaxub(acc, acc, x);
            continue;
        }
        load_bytes(x, reg_tap, offset, valid(v), spec_.is_signed);
        if (spec_.form != pooling_form::dequantized) {
            vpaddd(acc, acc, x);
            continue;
        }
        vpbroadcastd(y, arg(&pool_args::src_zero_point));
        vpsubd(x, x, y);
        vcvtdq2ps(x, x);
        vpbroadcastd(y, arg(&pool_args::src_scale));
        vmulps(x, x, y);
        vaddps(acc, acc, x);
    }
}

/// From sums to what the epilogue goes on with.
void pool_kernel::take_mean() {
    const temp y(*this), sign(*this);
    for (const vec &acc : acc_) {
        if (spec_.form == pooling_form::requantized_sum)
            continue;
        if (spec_.form ==
            pooling_form::rounded_average) { // half of n with the sign of the sum: ties away from 0
            vpbroadcastd(y, arg(&pool_args::half_count));
            vpsrad(sign, acc, 31);
            vpxor_(y, y, sign);
            vpsubd(y, y, sign);
            vpaddd(acc, acc, y);
        }
        if (spec_.form != pooling_form::dequantized)
            vcvtdq2ps(acc, acc);
        vpbroadcastd(y, arg(&pool_args::count));
        vdivps(acc, acc, y);
        if (spec_.form == pooling_form::rounded_average)
            vcvttps2dq(acc, acc); // exact: sums below 2^23 divide to the integer below or to it
        if (spec_.form == pooling_form::dequantized) {
            vpbroadcastd(y, arg(&pool_args::dst_scale));
            vdivps(acc, acc, y);
        }
    }
}

void pool_kernel::finish_position() {
    if (spec_.form != pooling_form::maximum) {
        take_mean();
        const epilogue_operands operands{reg_params, reg_dst, reg_row, reg_full, reg_row_sums, reg_address};
        const epilogue_stage value = spec_.form == pooling_form::requantized_sum ? epilogue_stage::accumulator
                                     : spec_.form == pooling_form::rounded_average
                                         ? epilogue_stage::s32_value
                                         : epilogue_stage::f32_value;
        std::vector<epilogue_result> results;
        for (int v = 0; v < spec_.vectors; v++)
            results.push_back({acc_[static_cast<std::size_t>(v)], 0, v, v * lanes(), valid(v), value});
        epilogue_emitter(*this, *plan_, operands).emit(results);
        return;
    }
    const auto clamp = [&](int code) {
        return constant(static_cast<std::uint32_t>(code & 0xff) * 0x01010101u);
    };
    lea(reg_address, ptr[reg_dst + reg_row]);
    for (int v = 0; v < spec_.vectors; v++) {
        const vec &acc = acc_[static_cast<std::size_t>(v)];
        if (spec_.is_signed) {
            vpmaxsb(acc, acc, clamp(spec_.low));
            vpminsb(acc, acc, clamp(spec_.high));
        } else {
            vpmaxub(acc, acc, clamp(spec_.low));
            vpminub(acc, acc, clamp(spec_.high));
        }
        store_byte_vector(reg_address, v * full_lanes(), acc, valid(v));
    }
}

shared_code<const pool_args> pool_code(const pool_spec &spec, const epilogue_plan *plan) {
    return shared_kernel<pool_kernel>(spec, plan);
}

} // namespace octet::impl::jit
