// One loop over runs of positions between the same columns, whose blended lines stay in registers.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/resampling/codes.hpp"

#include <cstddef>

#include "common/text.hpp"
#include "jit/base/generated.hpp"

namespace octet::impl::jit {

namespace {

/// A word twice, or a dword.
std::uint32_t lane(bool has_words, std::int32_t value) {
    const auto bits = static_cast<std::uint32_t>(value);
    return has_words ? (bits & 0xffffu) * 0x10001u : bits;
}

class code_resampling_kernel : public generated<const code_resampling_args> {
public:
    explicit code_resampling_kernel(const code_resampling_spec &spec);

private:
    void generate();
    void load_line_weights();
    void load_columns();
    void blend_lines(const std::vector<vec> &sums, const Xbyak::Reg64 &column);
    void make_words(const vec *sums, const vec &low, const vec &high);
    void make_dwords(const vec *sums, const vec &low, const vec &high);
    void blend_columns();
    void blend_columns(const vec &x, int index);
    void multiply(const vec &to, const vec &x, const vec &y);
    void divide(const vec &x);
    void divide_and_round(const vec &x);
    std::int32_t added_to_columns() const;
    void store(const vec &x, int v);

    int sums_per_vector() const { return spec_.has_words() ? 2 : 4; }
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : vector_bytes(); }

    const code_resampling_spec spec_;
    const vec line_weights_, zero_, low_weight_, high_weight_;
    std::vector<vec> low_, high_; ///< sums of the two columns, by vector
    const Xbyak::Reg64 reg_low_line = rsi, reg_high_line = rdx, reg_runs = r9, reg_count = r10, reg_dst = r8;
    const Xbyak::Reg64 reg_weights = rcx, reg_column = rbx, reg_other = r12, reg_positions = r13,
                       reg_step = rax, reg_to_next_line = r14;
};

} // namespace

int code_resampling_spec::most_vectors() const {
    return (vector_bytes() == 64 ? 2 : 1) * (has_words() ? 2 : 1);
}

code_resampling_kernel::code_resampling_kernel(const code_resampling_spec &spec)
    : generated(spec.isa), spec_(spec), line_weights_(take_vec()), zero_(take_vec()), low_weight_(take_vec()),
      high_weight_(take_vec()) {
    constexpr const char *roundings[] = {"half_up", "half_away", "half_even", "towards_zero"};
    generate();
    finish([&] {
        return name("code_resampling", spec.is_signed ? "s8" : "u8",
                    roundings[static_cast<int>(spec.rounding)],
                    text("bits", spec.line_bits, "+", spec.column_bits), spec.streams ? "nt" : "",
                    spec.prefetches ? "prefetch" : "", text(spec.vectors, "v"),
                    spec.tail != vector_bytes() ? text("tail", spec.tail) : "");
    });
}

void code_resampling_kernel::generate() {
    preamble();
    mov(reg_low_line, arg(&code_resampling_args::low_line));
    mov(reg_high_line, arg(&code_resampling_args::high_line));
    mov(reg_runs, arg(&code_resampling_args::runs));
    mov(reg_count, arg(&code_resampling_args::count));
    mov(reg_weights, arg(&code_resampling_args::weights));
    mov(reg_dst, arg(&code_resampling_args::dst));
    mov(reg_step, arg(&code_resampling_args::dst_step));
    mov(reg_to_next_line, arg(&code_resampling_args::to_next_line));
    load_line_weights();
    if (spec_.tail != vector_bytes())
        set_byte_tail(spec_.tail);
    for (int i = 0; i < spec_.vectors * sums_per_vector(); i++) {
        low_.push_back(take_vec());
        high_.push_back(take_vec());
    }

    Xbyak::Label next, position;
    align(32);
    L(next);
    load_columns();
    movsxd(reg_positions, field(reg_runs, &code_run::positions));
    align(32);
    L(position);
    blend_columns();
    add(reg_weights, static_cast<int>(sizeof(code_weights)));
    add(reg_dst, reg_step);
    dec(reg_positions);
    jnz(position, T_NEAR);
    add(reg_runs, static_cast<int>(sizeof(code_run)));
    dec(reg_count);
    jnz(next, T_NEAR);
    postamble();
}

/// Both side by side, bytes or words.
void code_resampling_kernel::load_line_weights() {
    const Xbyak::Reg32 both = reg_column.cvt32();
    mov(both, arg(&code_resampling_args::high_weight));
    shl(both, spec_.has_words() ? 8 : 16);
    or_(both, arg(&code_resampling_args::low_weight));
    const Xbyak::Xmm x = xmm_of(line_weights_);
    vmovd(x, both);
    spec_.has_words() ? vpbroadcastw(line_weights_, x) : vpbroadcastd(line_weights_, x);
    zero(zero_);
}

void code_resampling_kernel::load_columns() {
    Xbyak::Label is_other, loaded;
    cmp(field(reg_runs, &code_run::follows), 0);
    je(is_other, T_NEAR);
    for (std::size_t i = 0; i < low_.size(); i++)
        move(low_[i], high_[i]);
    jmp(loaded, T_NEAR);
    L(is_other);
    mov(reg_column, field(reg_runs, &code_run::low));
    blend_lines(low_, reg_column);
    L(loaded);
    mov(reg_column, field(reg_runs, &code_run::high));
    blend_lines(high_, reg_column);
    if (spec_.prefetches)
        prefetch_lines(reg_other + reg_to_next_line, spec_.vectors * vector_bytes());
}

void code_resampling_kernel::blend_lines(const std::vector<vec> &sums, const Xbyak::Reg64 &column) {
    lea(reg_other, ptr[column + reg_high_line]);
    add(column, reg_low_line);
    for (int v = 0; v < spec_.vectors; v++) {
        const temp low(*this), high(*this);
        load_byte_vector(low, column, v * vector_bytes(), valid(v));
        load_byte_vector(high, reg_other, v * vector_bytes(), valid(v));
        if (spec_.is_signed && !spec_.has_words())
            for (const vec &x : {low.get(), high.get()})
                vpxor_(x, x, constant(0x80808080u));
        const vec *of_vector = &sums[static_cast<std::size_t>(v * sums_per_vector())];
        spec_.has_words() ? make_words(of_vector, low, high) : make_dwords(of_vector, low, high);
    }
    if (const std::int32_t added = added_to_columns(); added != 0)
        for (const vec &x : sums)
            spec_.has_words() ? vpaddw(x, x, constant(lane(true, added)))
                              : vpaddd(x, x, constant(lane(false, added)));
}

/// Half of the sum of all weights, as columns will multiply it; 128 times their weights off signed codes.
std::int32_t code_resampling_kernel::added_to_columns() const {
    if (spec_.has_signed_words())
        return 0;
    const bool adds_half =
        spec_.rounding == code_rounding::half_up || spec_.rounding == code_rounding::half_away;
    return (adds_half ? 1 << (spec_.line_bits - 1) : 0) - (spec_.is_signed ? 128 << spec_.line_bits : 0);
}

/// Sums of pairs of bytes.
void code_resampling_kernel::make_words(const vec *sums, const vec &low, const vec &high) {
    vpunpcklbw(sums[0], low, high);
    vpunpckhbw(sums[1], low, high);
    for (int i = 0; i < 2; i++)
        spec_.is_signed ? vpmaddubsw(sums[i], line_weights_, sums[i])
                        : vpmaddubsw(sums[i], sums[i], line_weights_);
}

void code_resampling_kernel::make_dwords(const vec *sums, const vec &low, const vec &high) {
    vpunpcklbw(sums[0], low, high);
    vpunpckhbw(sums[2], low, high);
    for (int i = 0; i < 4; i += 2) {
        vpunpckhbw(sums[i + 1], sums[i], zero_);
        vpunpcklbw(sums[i], sums[i], zero_);
    }
    for (int i = 0; i < 4; i++)
        vpmaddwd(sums[i], sums[i], line_weights_);
}

void code_resampling_kernel::blend_columns() {
    vpbroadcastd(low_weight_, field(reg_weights, &code_weights::low));
    vpbroadcastd(high_weight_, field(reg_weights, &code_weights::high));
    for (int v = 0; v < spec_.vectors; v++) {
        const int first = v * sums_per_vector();
        const temp x(*this), y(*this);
        blend_columns(x, first);
        blend_columns(y, first + 1);
        if (!spec_.has_words()) {
            vpackssdw(x, x, y);
            blend_columns(y, first + 2);
            const temp z(*this);
            blend_columns(z, first + 3);
            vpackssdw(y, y, z);
        }
        spec_.is_signed ? vpacksswb(x, x, y) : vpackuswb(x, x, y);
        store(x, v);
    }
}

void code_resampling_kernel::blend_columns(const vec &x, int index) {
    multiply(x, low_[static_cast<std::size_t>(index)], low_weight_);
    {
        const temp t(*this);
        multiply(t, high_[static_cast<std::size_t>(index)], high_weight_);
        spec_.has_words() ? vpaddw(x, x, t) : vpaddd(x, x, t);
    }
    divide(x);
}

void code_resampling_kernel::multiply(const vec &to, const vec &x, const vec &y) {
    spec_.has_words() ? vpmullw(to, x, y) : vpmulld(to, x, y);
}

/// Shifts down. Ties of half_away are too high where the sum, to which half was added, is 0 or less.
void code_resampling_kernel::divide(const vec &x) {
    const bool has_words = spec_.has_words();
    if (spec_.has_signed_words() &&
        (spec_.rounding == code_rounding::half_up || spec_.rounding == code_rounding::half_away))
        return divide_and_round(x);
    const int bits = spec_.bits(), sign = has_words ? 15 : 31;
    const temp t(*this);
    const auto shift_right = [&](const vec &to, const vec &from, int by) {
        has_words ? vpsrlw(to, from, by) : vpsrld(to, from, by);
    };
    const auto shift_right_signed = [&](const vec &to, const vec &from, int by) {
        has_words ? vpsraw(to, from, by) : vpsrad(to, from, by);
    };
    const auto add = [&](const vec &to, const vec &from, const Xbyak::Operand &by) {
        has_words ? vpaddw(to, from, by) : vpaddd(to, from, by);
    };
    if (spec_.rounding == code_rounding::half_away && spec_.is_signed) {
        add(t, x, constant(lane(has_words, -1)));
        shift_right_signed(t, t, sign);
        add(x, x, t);
    } else if (spec_.rounding == code_rounding::towards_zero && spec_.is_signed) {
        shift_right_signed(t, x, sign);
        shift_right(t, t, sign + 1 - bits);
        add(x, x, t);
    } else if (spec_.rounding == code_rounding::half_even) {
        shift_right(t, x, bits);
        vpand_(t, t, constant(lane(has_words, 1)));
        add(x, x, constant(lane(has_words, (1 << (bits - 1)) - 1)));
        add(x, x, t);
    }
    spec_.is_signed ? shift_right_signed(x, x, bits) : shift_right(x, x, bits);
}

/// Signed words, by a product that rounds half up; one less where negative makes it half away.
void code_resampling_kernel::divide_and_round(const vec &x) {
    if (spec_.rounding == code_rounding::half_away) {
        const temp sign(*this);
        vpsraw(sign, x, 15);
        vpaddsw(x, x, sign);
    }
    vpmulhrsw(x, x, constant(lane(true, 1 << (15 - spec_.bits()))));
}

void code_resampling_kernel::store(const vec &x, int v) {
    if (spec_.streams)
        stream_vector(reg_dst, v * vector_bytes(), x);
    else
        store_byte_vector(reg_dst, v * vector_bytes(), x, valid(v));
}

shared_code<const code_resampling_args> code_resampling_code(const code_resampling_spec &spec) {
    return shared_kernel<code_resampling_kernel>(spec);
}

} // namespace octet::impl::jit
