// One loop over the columns of a line; a form decides how the neighbours of a position are mixed.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/resampling/positions.hpp"

#include <cstddef>

#include "common/element.hpp"
#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/epilogue/rounding.hpp"

namespace octet::impl::jit {

namespace {

constexpr int weight_bits = 20; ///< bits of a product of two 10-bit weights

const char *name_of(resampling_form form) {
    constexpr const char *names[] = {"copy",          "nearest",   "fused",    "fixed_half_away",
                                     "fixed_half_up", "truncated", "half_away"};
    return names[static_cast<int>(form)];
}

class resampling_kernel : public generated<const resampling_args> {
public:
    /// A copy has no epilogue.
    resampling_kernel(const resampling_spec &spec, const epilogue_plan *plan);

private:
    void generate();
    int sources() const;
    void load_pointers();
    void copy();
    void resample();
    void sum_products();
    void prefetch();
    void store_final(const vec &x, int v);
    void interpolate();
    void interpolate(const vec &x, int v, const vec (&weights)[4]);
    void between(const vec &x, const Xbyak::Reg64 &low, const Xbyak::Reg64 &high, int v,
                 const vec &low_weight, const vec &high_weight);
    int element_bytes() const;
    void mix(const vec &near, const vec &far, const vec &low_weight, const vec &high_weight);
    void load(const vec &x, const Xbyak::Reg64 &from, int v);
    bool is_fixed() const;
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : full_lanes(); }
    int full_lanes() const { return resampling_lanes(spec_.isa, spec_.form); }

    const resampling_spec spec_;
    const epilogue_plan *plan_;
    std::vector<vec> acc_;

    // Owners of general registers; rdi holds the arguments, r11 is the emitter's scratch.
    const Xbyak::Reg64 reg_low_line = rsi, reg_high_line = rdx, reg_dst = r8, reg_params = rcx;
    const Xbyak::Reg64 reg_full = rbp, reg_columns = r9, reg_count = r10, reg_row = r14, reg_address = r15;
    /// Pointers to the neighbours of the current position: low line at low and high column, high line at both.
    const Xbyak::Reg64 reg_source[4] = {rbx, r12, r13, rax};
};

} // namespace

int resampling_lanes(instruction_set isa, resampling_form form) {
    const int dwords = isa.lanes();
    return form == resampling_form::copy ? 4 * dwords : dwords;
}

int resampling_vectors(const resampling_spec &spec, const epilogue_plan &plan) {
    constexpr int most = 4; // with them, interpolation takes 12 registers at most
    if (spec.form == resampling_form::copy)
        return most;
    const int registers = spec.isa.registers();
    const int least = spec.isa.lanes() == 16 ? 1 : 2; // chunks have whole blocks of columns
    const int of_epilogue = plan.temps(spec.isa, resampled_stage(spec.form, spec.type));
    for (int vectors = most; vectors >= least; vectors /= 2)
        if (vectors + of_epilogue <= registers)
            return vectors;
    return 0;
}

epilogue_stage resampled_stage(resampling_form form, data_type src) {
    using stage = epilogue_stage;
    if (form == resampling_form::nearest)
        return is_integer(src) ? stage::s32_value : stage::f32_value;
    return form == resampling_form::fused || form == resampling_form::half_away ? stage::f32_value
                                                                                : stage::s32_value;
}

resampling_kernel::resampling_kernel(const resampling_spec &spec, const epilogue_plan *plan)
    : generated(spec.isa), spec_(spec), plan_(plan) {
    generate();
    finish([&] {
        return name("resampling", name_of(spec.form), to_string(spec.type),
                    spec.has_two_lines ? "2lines" : "", spec.is_final ? "final" : "",
                    spec.streams ? "nt" : "", spec.prefetches ? "prefetch" : "", text(spec.vectors, "v"),
                    spec.tail != full_lanes() ? text("tail", spec.tail) : "", plan ? plan->name() : "");
    });
}

bool resampling_kernel::is_fixed() const {
    return spec_.form == resampling_form::fixed_half_away || spec_.form == resampling_form::fixed_half_up;
}

void resampling_kernel::generate() {
    preamble();
    mov(reg_low_line, arg(&resampling_args::low_line));
    mov(reg_high_line, arg(&resampling_args::high_line));
    mov(reg_dst, arg(&resampling_args::dst));
    mov(reg_params, arg(&resampling_args::params));
    mov(reg_full, arg(&resampling_args::full));
    mov(reg_columns, arg(&resampling_args::columns));
    mov(reg_count, arg(&resampling_args::count));
    xor_(reg_row, reg_row);
    if (spec_.tail != full_lanes())
        spec_.form == resampling_form::copy ? set_byte_tail(spec_.tail) : set_tail(spec_.tail);
    for (int v = 0; v < (spec_.is_final ? 1 : spec_.vectors); v++)
        acc_.push_back(take_vec());

    Xbyak::Label next;
    align(32);
    L(next);
    load_pointers();
    if (spec_.prefetches)
        prefetch();
    spec_.form == resampling_form::copy ? copy() : resample();
    add(reg_columns, static_cast<int>(sizeof(resampling_column)));
    add(reg_row, arg(&resampling_args::dst_step));
    dec(reg_count);
    jnz(next, T_NEAR);
    postamble();
}

int resampling_kernel::sources() const {
    const bool has_one = spec_.form == resampling_form::copy || spec_.form == resampling_form::nearest;
    return has_one ? 1 : spec_.has_two_lines ? 4 : 2;
}

void resampling_kernel::load_pointers() {
    for (int i = 0; i < sources(); i++) {
        mov(reg_source[i],
            field(reg_columns, i % 2 == 0 ? &resampling_column::low : &resampling_column::high));
        add(reg_source[i], i < 2 ? reg_low_line : reg_high_line);
    }
}

void resampling_kernel::copy() {
    lea(reg_address, ptr[reg_dst + reg_row]);
    for (int v = 0; v < spec_.vectors; v++)
        load_byte_vector(acc_[static_cast<std::size_t>(v)], reg_source[0], v * full_lanes(), valid(v));
    for (int v = 0; v < spec_.vectors; v++) {
        const vec &x = acc_[static_cast<std::size_t>(v)];
        spec_.streams ? stream_vector(reg_address, v * full_lanes(), x)
                      : store_byte_vector(reg_address, v * full_lanes(), x, valid(v));
    }
}

int resampling_kernel::element_bytes() const {
    return spec_.form == resampling_form::copy ? 1 : static_cast<int>(memory::data_type_size(spec_.type));
}

/// Prefetches the place of the last of the neighbours in the next line.
void resampling_kernel::prefetch() {
    mov(reg_address, arg(&resampling_args::to_next_line));
    prefetch_lines(reg_address + reg_source[sources() - 1], spec_.vectors * full_lanes() * element_bytes());
}

void resampling_kernel::store_final(const vec &x, int v) {
    spec_.streams ? stream_vector(reg_address, v * vector_bytes(), x)
                  : store_dwords(reg_address, v * vector_bytes(), x, valid(v));
}

void resampling_kernel::resample() {
    switch (spec_.form) {
    case resampling_form::nearest:
        for (int v = 0; v < spec_.vectors; v++)
            load(acc_[static_cast<std::size_t>(v)], reg_source[0], v);
        break;
    case resampling_form::fused:
    case resampling_form::half_away:
        interpolate();
        break;
    default:
        sum_products();
    }
    if (spec_.is_final)
        return;
    std::vector<epilogue_result> results;
    for (int v = 0; v < spec_.vectors; v++)
        results.push_back({acc_[static_cast<std::size_t>(v)], 0, v, v * full_lanes(), valid(v),
                           resampled_stage(spec_.form, spec_.type)});
    epilogue_emitter(*this, *plan_, {reg_params, reg_dst, reg_row, reg_full, reg_count, reg_address})
        .emit(results);
}

/// An element of the source: f32, but s32 where the form works on codes.
void resampling_kernel::load(const vec &x, const Xbyak::Reg64 &from, int v) {
    const bool is_signed = spec_.type == data_type::s8;
    const auto size = static_cast<int>(memory::data_type_size(spec_.type));
    if (size == 1)
        load_bytes(x, from, v * full_lanes(), valid(v), is_signed);
    else
        load_dwords(x, from, std::int64_t{v} * full_lanes() * size, valid(v));
    if (is_integer(spec_.type) && spec_.form != resampling_form::nearest && !is_fixed())
        vcvtdq2ps(x, x);
}

/// Σ of the four neighbours by the products of their weights, in order.
void resampling_kernel::sum_products() {
    const temp w0(*this), w1(*this), w2(*this), w3(*this), term(*this);
    const vec weights[] = {w0, w1, w2, w3};
    const auto multiply = [&](const vec &x, const vec &y) {
        is_fixed() ? vpmulld(x, x, y) : vmulps(x, x, y);
    };
    for (int i = 0; i < 4; i++) {
        vpbroadcastd(weights[i], field(reg_columns, i % 2 == 0 ? &resampling_column::low_weight
                                                               : &resampling_column::high_weight));
        vpbroadcastd(term, arg(i < 2 ? &resampling_args::low_weight : &resampling_args::high_weight));
        multiply(weights[i], term);
    }
    for (int v = 0; v < spec_.vectors; v++) {
        const vec &acc = acc_[static_cast<std::size_t>(v)];
        for (int i = 0; i < 4; i++) {
            const vec &x = i == 0 ? acc : term.get();
            load(x, reg_source[i], v);
            multiply(x, weights[i]);
            if (i > 0)
                is_fixed() ? vpaddd(acc, acc, term) : vaddps(acc, acc, term);
        }
    }
    for (const vec &acc : acc_) {
        if (spec_.form == resampling_form::truncated) {
            vcvttps2dq(acc, acc);
        } else if (spec_.form == resampling_form::fixed_half_up) {
            vpaddd(acc, acc, constant(std::uint32_t{1} << (weight_bits - 1)));
            vpsrad(acc, acc, weight_bits);
        } else {
            emit_divide_by_pot(*this, acc, weight_bits);
        }
    }
}

/// Along the width, then between the two lines.
void resampling_kernel::interpolate() {
    const temp low(*this), high(*this), low_of_lines(*this), high_of_lines(*this);
    vpbroadcastd(low, field(reg_columns, &resampling_column::low_weight));
    vpbroadcastd(high, field(reg_columns, &resampling_column::high_weight));
    vpbroadcastd(low_of_lines, arg(&resampling_args::low_weight));
    vpbroadcastd(high_of_lines, arg(&resampling_args::high_weight));
    const vec weights[] = {low, high, low_of_lines, high_of_lines};
    if (spec_.is_final)
        lea(reg_address, ptr[reg_dst + reg_row * 4]);
    for (int v = 0; v < spec_.vectors; v++) {
        const vec &x = acc_[static_cast<std::size_t>(spec_.is_final ? 0 : v)];
        interpolate(x, v, weights);
        if (spec_.is_final)
            store_final(x, v);
    }
    if (spec_.form == resampling_form::half_away)
        for (const vec &acc : acc_)
            emit_round_half_away(*this, acc);
}

void resampling_kernel::interpolate(const vec &x, int v, const vec (&weights)[4]) {
    between(x, reg_source[0], reg_source[1], v, weights[0], weights[1]);
    if (!spec_.has_two_lines)
        return;
    const temp other(*this);
    between(other, reg_source[2], reg_source[3], v, weights[0], weights[1]);
    mix(x, other, weights[2], weights[3]);
}

void resampling_kernel::between(const vec &x, const Xbyak::Reg64 &low, const Xbyak::Reg64 &high, int v,
                                const vec &low_weight, const vec &high_weight) {
    const temp far(*this);
    load(x, low, v);
    load(far, high, v);
    mix(x, far, low_weight, high_weight);
}

/// near = near and far by their weights. Clobbers far.
void resampling_kernel::mix(const vec &near, const vec &far, const vec &low_weight, const vec &high_weight) {
    if (spec_.form == resampling_form::fused) {
        vmulps(near, near, low_weight);
        vfmadd231ps(near, far, high_weight);
    } else {
        vsubps(far, far, near);
        vmulps(far, far, high_weight);
        vaddps(near, near, far);
    }
}

shared_code<const resampling_args> resampling_code(const resampling_spec &spec, const epilogue_plan *plan) {
    return shared_kernel<resampling_kernel>(spec, plan);
}

} // namespace octet::impl::jit
