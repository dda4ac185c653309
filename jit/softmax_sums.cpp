#include "jit/softmax_sums.hpp"

#include <algorithm>
#include <cstddef>

#include "common/text.hpp"
#include "jit/shared_kernels.hpp"

namespace octet::impl::jit {

namespace {

constexpr int block = 64; // terms that one byte permute looks up

} // namespace

std::string softmax_sums_spec::key() const {
    return text(static_cast<int>(level), ",", is_signed, ",", blocks[0], ",", blocks[1], ",", blocks[2]);
}

softmax_sums_kernel::softmax_sums_kernel(const softmax_sums_spec &spec) : emitter(spec.level), spec_(spec) {
    generate();
    function_ = reinterpret_cast<softmax_sums_function>(
        reinterpret_cast<std::uintptr_t>(finish(text("softmax_sums_", to_string(spec.level)))));
}

void softmax_sums_kernel::generate() {
    preamble();
    mov(reg_src, field(offsetof(softmax_sums_args, src)));
    mov(reg_row, field(offsetof(softmax_sums_args, row)));
    mov(reg_terms, field(offsetof(softmax_sums_args, terms)));
    mov(reg_rows, field(offsetof(softmax_sums_args, rows)));
    load_terms();
    Xbyak::Label next;
    L(next);
    maximum();
    sum();
    add(reg_src, field(offsetof(softmax_sums_args, src_step)));
    add(reg_row, static_cast<int>(sizeof(softmax_code_row)));
    dec(reg_rows);
    jnz(next, T_NEAR);
    postamble();
}

void softmax_sums_kernel::load_terms() {
    highest_ = take_vec();
    none_ = take_vec();
    zero(none_);
    for (int b = 0; b < softmax_term_bytes; b++) {
        const auto byte = static_cast<std::size_t>(b);
        sums_[byte] = take_vec();
        for (int i = 0; i < spec_.blocks[byte]; i++) {
            tables_[byte].push_back(take_vec());
            move(tables_[byte].back(), ptr[reg_terms + b * 256 + i * block]);
        }
    }
}

/// The vectors of a row; `tail` with the mask of those bytes that are left.
template <typename Whole, typename Tail>
void softmax_sums_kernel::for_each_vector(const Whole &whole, const Tail &tail) {
    Xbyak::Label loop, rest, done;
    mov(reg_at, reg_src);
    mov(reg_columns, field(offsetof(softmax_sums_args, columns)));
    sub(reg_columns, vector_bytes());
    jl(rest, T_NEAR);
    L(loop);
    whole();
    add(reg_at, vector_bytes());
    sub(reg_columns, vector_bytes());
    jge(loop, T_NEAR);
    L(rest);
    add(reg_columns, vector_bytes());
    jz(done, T_NEAR);
    mov(reg_valid, -1);
    bzhi(reg_valid, reg_valid, reg_columns);
    kmovq(k_valid, reg_valid);
    tail();
    L(done);
}

void softmax_sums_kernel::raise(const vec &highest, const Xbyak::Operand &by) {
    spec_.is_signed ? vpmaxsb(highest, highest, by) : vpmaxub(highest, highest, by);
}

void softmax_sums_kernel::maximum() {
    const temp x(*this);
    move(highest_, constant(spec_.is_signed ? 0x80808080u : 0u));
    for_each_vector([&] { raise(highest_, ptr[reg_at]); },
                    [&] { raise(highest_ | k_valid, ptr[reg_at]); });
    const Xbyak::Zmm highest(highest_.getIdx());
    vextracti64x4(ymm_of(x), highest, 1);
    raise(ymm_of(highest_), ymm_of(x));
    vextracti32x4(xmm_of(x), ymm_of(highest_), 1);
    raise(xmm_of(highest_), xmm_of(x));
    for (const std::uint8_t distance : {8, 4, 2, 1}) {
        vpsrldq(xmm_of(x), xmm_of(highest_), distance);
        raise(xmm_of(highest_), xmm_of(x));
    }
    vpextrb(ptr[reg_row + static_cast<int>(offsetof(softmax_code_row, highest))], xmm_of(highest_), 0);
    vpbroadcastb(highest_, xmm_of(highest_));
}

void softmax_sums_kernel::sum() {
    for (const vec &s : sums_)
        zero(s);
    for_each_vector([&] { add_terms(false); }, [&] { add_terms(true); });
    add_lanes();
}

void softmax_sums_kernel::add_terms(bool is_tail) {
    const temp x(*this), bytes(*this);
    vpsubb(is_tail ? x.get() | k_valid | T_z : x.get(), highest_, ptr[reg_at]);
    const auto uses = [&](int blocks) {
        return std::find(spec_.blocks.begin(), spec_.blocks.end(), blocks) != spec_.blocks.end();
    };
    if (uses(1))
        vptestnmb(k_below_64, x, constant(0xc0c0c0c0u));
    if (uses(2) || uses(4))
        vptestnmb(k_below_128, x, constant(0x80808080u));
    for (std::size_t b = 0; b < softmax_term_bytes; b++) {
        if (spec_.blocks[b] == 0)
            continue;
        emit_distance_permutes(*this, bytes, x, tables_[b], k_below_64, k_below_128);
        if (is_tail)
            vmovdqu8(bytes.get() | k_valid | T_z, bytes);
        vpsadbw(bytes, bytes, none_);
        vpaddq(sums_[b], sums_[b], bytes);
    }
}

void softmax_sums_kernel::add_lanes() {
    const vec &sum = sums_[0];
    const temp x(*this);
    for (std::size_t b = 1; b < softmax_term_bytes; b++) {
        vpsllq(sums_[b], sums_[b], static_cast<std::uint8_t>(8 * b));
        vpaddq(sum, sum, sums_[b]);
    }
    vextracti64x4(ymm_of(x), Xbyak::Zmm(sum.getIdx()), 1);
    vpaddq(ymm_of(sum), ymm_of(sum), ymm_of(x));
    vextracti32x4(xmm_of(x), ymm_of(sum), 1);
    vpaddq(xmm_of(sum), xmm_of(sum), xmm_of(x));
    vpsrldq(xmm_of(x), xmm_of(sum), 8);
    vpaddq(xmm_of(sum), xmm_of(sum), xmm_of(x));
    vmovd(ptr[reg_row + static_cast<int>(offsetof(softmax_code_row, number))], xmm_of(sum));
}

std::shared_ptr<const softmax_sums_kernel> shared_softmax_sums_kernel(const softmax_sums_spec &spec) {
    static shared_kernels<softmax_sums_kernel> kernels;
    return kernels.get(spec.key(), [&] { return std::make_shared<const softmax_sums_kernel>(spec); });
}

} // namespace octet::impl::jit
