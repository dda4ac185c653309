// For each row its results by distance, a vector at a time, then lookups by permutes or shuffles.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/softmax/codes.hpp"

#include <algorithm>
#include <cstddef>

#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/byte_lookup.hpp"
#include "jit/kernels/softmax/distance_permutes.hpp"

namespace octet::impl::jit {

namespace {

constexpr int block = 64;            // results that one byte permute looks up
constexpr int part = 16;             // and one shuffle
constexpr int parts_of_half = 8;     // parts of the distances whose bit 7 is equal
constexpr int vectors_in_flight = 4; // hides the latency of permutes

class softmax_codes_kernel : public generated<const softmax_codes_args> {
public:
    explicit softmax_codes_kernel(const softmax_codes_spec &spec);

private:
    void generate();
    void results();
    void four_results(const vec &to, int first);
    void result(const vec &to, int first);
    void prepare_shuffles();
    void columns();
    void vectors(int count);
    void tail();
    void look_up(const vec &x);
    void look_up_by_shuffles(const vec &x);
    void bytes();

    const softmax_codes_spec spec_;
    std::vector<vec> tables_; ///< operands of byte permutes
    vec highest_, offset_, number_, rounding_, shift_, limit_;

    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_row = rdx, reg_exponentials = r9, reg_rows = r10;
    const Xbyak::Reg64 reg_columns = rcx, reg_row_src = rbx, reg_row_dst = rbp, reg_work = r12;
    const Xbyak::Reg64 reg_code = rax, reg_highest = r13, reg_offset = r14;
    const Xbyak::Reg64 reg_batch = r15; ///< bytes to the next batch of rows, which is prefetched
    // The emitter's masks are not taken here, its tail mask is not set.
    const Xbyak::Opmask k_below_64 = k1, k_below_128 = k2, k_valid = k7;
};

} // namespace

softmax_codes_kernel::softmax_codes_kernel(const softmax_codes_spec &spec)
    : generated(spec.isa), spec_(spec) {
    generate();
    finish([&] {
        return name("softmax_codes",
                    spec.results == softmax_results::fixed  ? "fixed"
                    : spec.results == softmax_results::real ? "real"
                                                            : "share",
                    spec.isa.byte_permutes ? "permutes" : "shuffles", text(spec.blocks * block, "results"));
    });
}

void softmax_codes_kernel::generate() {
    preamble();
    mov(reg_src, arg(&softmax_codes_args::src));
    mov(reg_dst, arg(&softmax_codes_args::dst));
    mov(reg_row, arg(&softmax_codes_args::numbers));
    mov(reg_exponentials, arg(&softmax_codes_args::exponentials));
    mov(reg_work, arg(&softmax_codes_args::work));
    mov(reg_rows, arg(&softmax_codes_args::rows));
    mov(reg_batch, arg(&softmax_codes_args::src_step));
    imul(reg_batch, reg_rows);
    for (vec *v : {&highest_, &offset_, &number_, &rounding_, &shift_, &limit_})
        *v = take_vec();
    vpbroadcastb(offset_, arg(&softmax_codes_args::offset));
    vpbroadcastd(limit_, arg(&softmax_codes_args::limit));
    mov(reg_offset.cvt32(), arg(&softmax_codes_args::offset));
    if (spec_.results == softmax_results::share)
        vpbroadcastd(rounding_, arg(&softmax_codes_args::half));

    Xbyak::Label next;
    L(next);
    results();
    columns();
    add(reg_src, arg(&softmax_codes_args::src_step));
    add(reg_dst, arg(&softmax_codes_args::dst_step));
    add(reg_row, static_cast<int>(sizeof(std::uint32_t)));
    dec(reg_rows);
    jnz(next, T_NEAR);
    postamble();
}

// ---- results of a row by distance

void softmax_codes_kernel::results() {
    using row = softmax_code_rows;
    mov(reg_highest.cvt32(), field(reg_row, &row::highest));
    vpbroadcastb(highest_, field(reg_row, &row::highest));
    vpbroadcastd(number_, field(reg_row, &row::number));
    if (spec_.results == softmax_results::fixed) {
        vmovd(xmm_of(shift_), field(reg_row, &row::shift));
        move(rounding_, constant64(std::uint64_t{1} << 31));
        vpsllq(rounding_, rounding_, xmm_of(shift_));
        vpaddq(rounding_, rounding_, constant64(std::uint64_t{1} << 30));
    }
    const bool keeps = isa().byte_permutes;
    for (int first = 0; first < spec_.blocks * block; first += vector_bytes()) {
        if (keeps && first / block == static_cast<int>(tables_.size()))
            tables_.push_back(take_vec());
        if (keeps) {
            four_results(tables_[static_cast<std::size_t>(first / block)], first);
        } else {
            const temp to(*this);
            four_results(to, first);
            vmovups(field(reg_work, &softmax_code_work::results, first), to.get());
        }
    }
    if (!keeps)
        prepare_shuffles();
}

/// Four vectors as bytes.
void softmax_codes_kernel::four_results(const vec &to, int first) {
    const temp b(*this), c(*this), d(*this);
    int at = first;
    for (const vec &v : {to, b.get(), c.get(), d.get()}) {
        result(v, at);
        at += lanes();
    }
    vpackssdw(to, to, b);
    vpackssdw(c, c, d);
    vpminsw(to, to, limit_);
    vpminsw(c, c, limit_);
    vpackuswb(to, to, c); // numbers that overflowed are negative and become 0
    move(b, quarters_order());
    permute_dwords(to, b, to);
}

void softmax_codes_kernel::result(const vec &to, int first) {
    const Xbyak::Address by_distance = field(reg_exponentials, &softmax_exponentials::by_distance, first);
    if (spec_.results == softmax_results::real) {
        move(to, by_distance);
        vdivps(to, to, number_);
        vcvtps2dq(to, to);
        return;
    }
    if (spec_.results == softmax_results::share) {
        vmulps(to, number_, by_distance);
        vaddps(to, to, rounding_);
        vcvttps2dq(to, to);
        return;
    }
    const temp even(*this);
    vpmuludq(even, number_, by_distance);
    vpmuludq(to, number_, field(reg_exponentials, &softmax_exponentials::odd, first));
    vpaddq(even, even, rounding_);
    vpaddq(to, to, rounding_);
    merge_high_dwords(to, even);
    vpsrld(to, to, xmm_of(shift_));
}

/// Shuffles add up differences from part to part; in each half of the distances the first part has none.
void softmax_codes_kernel::prepare_shuffles() {
    const auto results = [this](int i) { return field(reg_work, &softmax_code_work::results, i); };
    const auto differences = [this](int i) { return field(reg_work, &softmax_code_work::differences, i); };
    const temp x(*this);
    for (int i = 0; i < spec_.blocks * block + (spec_.blocks == 1 ? part : 0); i += vector_bytes()) {
        move(x, results(i));
        vpxor_(x, x, results(i - part));
        vmovups(differences(i), x.get());
    }
    if (spec_.blocks == 4) {
        vmovups(xmm_of(x), results(parts_of_half * part));
        vmovups(differences(parts_of_half * part), xmm_of(x));
    }
}

// ---- lookups

void softmax_codes_kernel::columns() {
    mov(reg_row_src, reg_src);
    mov(reg_row_dst, reg_dst);
    mov(reg_columns, arg(&softmax_codes_args::columns));
    while_left(reg_columns, vector_bytes(), {reg_row_src, reg_row_dst}, vector_bytes(), vectors_in_flight,
               [this](int count) { vectors(count); });
    tail();
}

void softmax_codes_kernel::vectors(int count) {
    for (int v = 0; v < count; v++) {
        const temp x(*this);
        prefetcht1(ptr[reg_row_src + reg_batch + v * vector_bytes()]);
        vpsubb(x, highest_, ptr[reg_row_src + v * vector_bytes()]);
        look_up(x);
        vmovups(ptr[reg_row_dst + v * vector_bytes()], x.get());
    }
}

void softmax_codes_kernel::tail() {
    Xbyak::Label done;
    test(reg_columns, reg_columns);
    jz(done, T_NEAR);
    if (lanes() == 16) {
        const temp x(*this);
        mov(reg_code, -1);
        bzhi(reg_code, reg_code, reg_columns);
        kmovq(k_valid, reg_code);
        vpsubb(x.get() | k_valid | T_z, highest_, ptr[reg_row_src]);
        look_up(x);
        vmovdqu8(ptr[reg_row_dst] | k_valid, x);
    } else {
        bytes();
    }
    L(done);
}

void softmax_codes_kernel::bytes() {
    Xbyak::Label next;
    L(next);
    mov(reg_code.cvt32(), reg_highest.cvt32());
    sub(reg_code.cvt8(), byte[reg_row_src]);
    movzx(reg_code.cvt32(), reg_code.cvt8());
    movzx(reg_code.cvt32(), byte[reg_work + reg_code + offset_of(&softmax_code_work::results)]);
    add(reg_code.cvt8(), reg_offset.cvt8());
    mov(byte[reg_row_dst], reg_code.cvt8());
    inc(reg_row_src);
    inc(reg_row_dst);
    dec(reg_columns);
    jnz(next);
}

void softmax_codes_kernel::look_up(const vec &x) {
    if (isa().byte_permutes) {
        const temp to(*this);
        if (spec_.blocks == 1)
            vptestnmb(k_below_64, x, constant(0xc0c0c0c0u));
        else
            vptestnmb(k_below_128, x, constant(0x80808080u));
        emit_distance_permutes(*this, to, x, tables_, k_below_64, k_below_128);
        vpaddb(x, to, offset_);
    } else {
        look_up_by_shuffles(x);
        vpaddb(x, x, offset_);
    }
}

/// As emit_byte_shuffles, with no more parts than there are results, and one of zeros behind them.
void softmax_codes_kernel::look_up_by_shuffles(const vec &x) {
    const int parts = spec_.blocks == 1 ? block / part + 1 : spec_.blocks * block / part;
    const temp upper(*this), y(*this), found(*this), differences(*this);
    if (parts > parts_of_half)
        vpxor_(upper, x, constant(0x80808080u));
    for (int i = 0; i < parts; i++) {
        const vec &index = i < parts_of_half ? x : upper;
        const vec &to = i == 0 ? y : found;
        load_byte_part(*this, differences, field(reg_work, &softmax_code_work::differences, i * part));
        vpshufb(to, differences, index);
        if (i > 0)
            vpxor_(y, y, found);
        if (i % parts_of_half != parts_of_half - 1)
            vpsubsb(index, index, constant(0x10101010u));
    }
    move(x, y);
}

shared_code<const softmax_codes_args> softmax_codes_code(const softmax_codes_spec &spec) {
    return shared_kernel<softmax_codes_kernel>(spec);
}

} // namespace octet::impl::jit
