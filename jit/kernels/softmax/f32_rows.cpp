// Three passes over a row that is in the first-level cache: maximum, exponentials with their sum, products.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/softmax/f32_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "common/softmax.hpp"
#include "common/text.hpp"
#include "jit/base/generated.hpp"
#include "jit/epilogue/eltwise.hpp"
#include "jit/epilogue/eltwise_ort.hpp"

namespace octet::impl::jit {

namespace {

constexpr int group_columns = static_cast<int>(softmax_lanes);
constexpr int element = static_cast<int>(sizeof(float));
constexpr int groups_at_a_time = 4;    // hides latencies
constexpr int prefetched_bytes = 2048; // ahead of what is read and written

class softmax_f32_kernel : public generated<const softmax_f32_args> {
public:
    explicit softmax_f32_kernel(const softmax_f32_spec &spec);

private:
    void generate();
    void maximum();
    void exponentials();
    void exponentials(int columns);
    void reciprocal();
    void products();
    void products(int columns);
    /// add(a, b): a += b for whatever width; leaves the result of all lanes in lane 0 of v.
    template <typename Add> void add_lanes(const vec &v, const Add &add);
    void add_neighbours(const vec &v);
    template <typename Groups> void for_each_group(int at_a_time, const Groups &groups);
    /// vector(offset in bytes, valid lanes)
    template <typename Vector> void for_each_vector(int columns, const Vector &vector);

    const softmax_f32_spec spec_;
    vec highest_, reciprocal_;
    std::vector<vec> sums_; ///< sums of the 16 lanes
    std::vector<vec> factors_;

    const Xbyak::Reg64 reg_src = rsi, reg_dst = r8, reg_rows = r10, reg_groups = rcx;
    const Xbyak::Reg64 reg_from = rbx, reg_to = rbp;
};

} // namespace

softmax_f32_kernel::softmax_f32_kernel(const softmax_f32_spec &spec) : generated(spec.isa), spec_(spec) {
    generate();
    finish([&] {
        return name("softmax_f32", spec.rest != 0 ? text("rest", spec.rest) : "",
                    spec.factors != 0 ? text("factors", spec.factors) : "", spec.is_ort ? "ort" : "");
    });
}

void softmax_f32_kernel::generate() {
    preamble();
    if (spec_.rest % lanes() != 0)
        set_tail(spec_.rest % lanes());
    mov(reg_src, arg(&softmax_f32_args::src));
    mov(reg_dst, arg(&softmax_f32_args::dst));
    mov(reg_rows, arg(&softmax_f32_args::rows));
    highest_ = take_vec();
    reciprocal_ = take_vec();
    for (int i = 0; i < group_columns / lanes(); i++)
        sums_.push_back(take_vec());
    for (int i = 0; i < spec_.factors; i++) {
        factors_.push_back(take_vec());
        vbroadcastss(factors_.back(), arg(&softmax_f32_args::factors, i));
    }
    // The next row's maximum is taken while this one's sum is on its way.
    Xbyak::Label next, last;
    maximum();
    L(next);
    exponentials();
    add(reg_src, arg(&softmax_f32_args::src_step));
    cmp(reg_rows, 1);
    je(last, T_NEAR);
    maximum();
    L(last);
    reciprocal();
    products();
    add(reg_dst, arg(&softmax_f32_args::dst_step));
    dec(reg_rows);
    jnz(next, T_NEAR);
    postamble();
}

// ---- loops

/// groups(count) for all whole groups of a row; afterwards reg_from and reg_to point behind them.
template <typename Groups> void softmax_f32_kernel::for_each_group(int at_a_time, const Groups &groups) {
    mov(reg_from, reg_src);
    mov(reg_to, reg_dst);
    mov(reg_groups, arg(&softmax_f32_args::groups));
    while_left(reg_groups, 1, {reg_from, reg_to}, group_columns * element, at_a_time, groups);
}

template <typename Vector> void softmax_f32_kernel::for_each_vector(int columns, const Vector &vector) {
    for (int first = 0; first < columns; first += lanes())
        vector(first * element, std::min(columns - first, lanes()));
}

template <typename Add> void softmax_f32_kernel::add_lanes(const vec &v, const Add &add) {
    const temp other(*this);
    if (lanes() == 16) {
        vextractf64x4(ymm_of(other), Xbyak::Zmm(v.getIdx()), 1);
        add(ymm_of(v), ymm_of(other));
        vextractf32x4(xmm_of(other), ymm_of(v), 1);
    } else {
        vextractf128(xmm_of(other), ymm_of(v), 1);
    }
    add(xmm_of(v), xmm_of(other));
    vmovhlps(xmm_of(other), xmm_of(other), xmm_of(v));
    add(xmm_of(v), xmm_of(other));
    vmovshdup(xmm_of(other), xmm_of(v));
    add(xmm_of(v), xmm_of(other));
}

/// By halves once, then neighbours, pairs and fours, as common/softmax.hpp has it for ort_f32.
void softmax_f32_kernel::add_neighbours(const vec &v) {
    const temp other(*this);
    const Xbyak::Ymm sum = ymm_of(v), part = ymm_of(other);
    if (lanes() == 16) {
        vextractf64x4(part, Xbyak::Zmm(v.getIdx()), 1);
        vaddps(sum, sum, part);
    }
    vmovshdup(part, sum);
    vaddps(sum, sum, part);
    vshufps(part, sum, sum, 2);
    vaddps(sum, sum, part);
    if (lanes() == 16)
        vextractf32x4(xmm_of(other), sum, 1);
    else
        vextractf128(xmm_of(other), sum, 1);
    vaddss(xmm_of(v), xmm_of(v), xmm_of(other));
}

// ---- a row

/// The second operand of vmaxps wins over a NaN, as in the definition.
void softmax_f32_kernel::maximum() {
    const vec &highest = highest_;
    const auto raise = [this](const vec &to, const vec &by) { vmaxps(to, by, to); };
    const temp b(*this), c(*this), d(*this), x(*this);
    const vec partial[] = {highest, b, c, d};
    for (const vec &v : partial)
        move(v, constant(-std::numeric_limits<float>::infinity()));
    int used = 0;
    for_each_group(groups_at_a_time, [&](int count) {
        for_each_vector(count * group_columns, [&](int at, int) {
            move(x, ptr[reg_from + at]);
            raise(partial[used++ % 4], x);
        });
    });
    for (int i = 0; i < spec_.rest; i++) {
        vbroadcastss(x, ptr[reg_from + i * element]);
        raise(partial[i % 4], x);
    }
    raise(highest, b);
    raise(c, d);
    raise(highest, c);
    add_lanes(highest, raise);
    vbroadcastss(highest, xmm_of(highest));
}

/// Written to dst, and added up.
void softmax_f32_kernel::exponentials() {
    for (const vec &sum : sums_)
        zero(sum);
    for_each_group(lanes() == 16 ? groups_at_a_time : 1,
                   [&](int count) { exponentials(count * group_columns); });
    if (spec_.rest > 0)
        exponentials(spec_.rest);
}

void softmax_f32_kernel::exponentials(int columns) {
    std::vector<vec> x;
    for_each_vector(columns, [&](int at, int valid) {
        prefetcht0(ptr[reg_from + at + prefetched_bytes]);
        prefetchw(ptr[reg_to + at + prefetched_bytes]);
        x.push_back(take_vec());
        load_dwords(x.back(), reg_from, at, valid);
        vsubps(x.back(), x.back(), highest_);
    });
    spec_.is_ort ? emit_ort_exp(*this, x) : emit_exp(*this, x);
    std::size_t v = 0;
    for_each_vector(columns, [&](int at, int valid) {
        store_dwords(reg_to, at, x[v], valid);
        if (valid != lanes())
            load_dwords(x[v], reg_to, at, valid); // zeros in other lanes
        const vec &sum = sums_[v % sums_.size()];
        vaddps(sum, sum, x[v]);
        give_vec(x[v++]);
    });
}

void softmax_f32_kernel::reciprocal() {
    const auto add = [this](const vec &to, const vec &by) { vaddps(to, to, by); };
    for (std::size_t i = 1; i < sums_.size(); i++)
        add(sums_[0], sums_[i]);
    if (spec_.is_ort)
        add_neighbours(sums_[0]);
    else
        add_lanes(sums_[0], add);
    vmovups(xmm_of(reciprocal_), constant(1.f));
    vdivss(xmm_of(reciprocal_), xmm_of(reciprocal_), xmm_of(sums_[0]));
    vbroadcastss(reciprocal_, xmm_of(reciprocal_));
}

void softmax_f32_kernel::products() {
    for_each_group(groups_at_a_time, [&](int count) { products(count * group_columns); });
    products(spec_.rest);
}

void softmax_f32_kernel::products(int columns) {
    const temp x(*this);
    for_each_vector(columns, [&](int at, int valid) {
        load_dwords(x, reg_to, at, valid);
        vmulps(x, x, reciprocal_);
        for (const vec &factor : factors_)
            vmulps(x, x, factor);
        store_dwords(reg_to, at, x, valid);
    });
}

shared_code<const softmax_f32_args> softmax_f32_code(const softmax_f32_spec &spec) {
    return shared_kernel<softmax_f32_kernel>(spec);
}

} // namespace octet::impl::jit
