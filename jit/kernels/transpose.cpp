// Loads a piece of each row, interleaves in steps of doubled width, and stores a vector for each column.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/transpose.hpp"

#include <cstddef>
#include <vector>

#include "common/text.hpp"
#include "jit/base/generated.hpp"

namespace octet::impl::jit {

using Xbyak::Address;
using Xbyak::Reg64;
using Xbyak::RegExp;
using Xbyak::Zmm;

namespace {

constexpr int group = 4; // rows that one address register reaches

class transpose_kernel : public generated<const transpose_args> {
public:
    explicit transpose_kernel(const transpose_spec &spec);

private:
    void generate();
    void loop(int steps, bool prefetches);
    void step(int prefetched_part);
    void load(std::vector<vec> &v, int prefetched_part);
    void load_part(std::vector<vec> &v, int i, int part, const Xbyak::Address &from);
    void interleave(std::vector<vec> &v);
    void store(const std::vector<vec> &v);
    void store_row(const Xbyak::RegExp &to, const vec &row);
    void interleave_halves(bool high, const vec &dst, const vec &a, const Xbyak::Operand &b);

    const transpose_spec spec_;
    const int count_;                                      ///< rows of a part
    const Xbyak::Reg64 reg_part[4] = {rsi, rbx, rbp, r12}; ///< rows of each part
    const Xbyak::Reg64 reg_stride = rdx, reg_stride3 = r13, reg_next_step = r14, reg_prefetch = rax;
    const Xbyak::Reg64 reg_dst = r8, reg_dst_stride = r9, reg_dst_stride3 = r15, reg_steps = rcx;
    const Xbyak::Reg64 reg_ahead = rdi; ///< in place of the arguments
};

} // namespace

int max_transpose_parts(instruction_set isa) { return isa.lanes() == 16 ? 4 : 2; }

transpose_kernel::transpose_kernel(const transpose_spec &spec)
    : generated(spec.isa), spec_(spec), count_(elements_per_part(spec.element_bytes)) {
    generate();
    finish([&] {
        return name("transpose", text(8 * spec.element_bytes, "bit"), text(spec.parts, "x", count_, "rows"),
                    spec.is_nontemporal ? "nt" : "");
    });
}

void transpose_kernel::generate() {
    preamble();
    mov(reg_part[0], arg(&transpose_args::src));
    mov(reg_dst, arg(&transpose_args::dst));
    mov(reg_stride, arg(&transpose_args::src_stride));
    mov(reg_dst_stride, arg(&transpose_args::dst_stride));
    mov(reg_steps, arg(&transpose_args::steps));
    mov(reg_ahead, arg(&transpose_args::ahead));
    lea(reg_stride3, ptr[reg_stride + reg_stride * 2]);
    lea(reg_dst_stride3, ptr[reg_dst_stride + reg_dst_stride * 2]);
    imul(reg_prefetch, reg_stride, count_);
    for (int part = 1; part < spec_.parts; part++)
        lea(reg_part[part], ptr[reg_part[part - 1] + reg_prefetch]);
    mov(reg_next_step, transpose_part_bytes);
    sub(reg_next_step, reg_prefetch);
    loop(transpose_line_steps, true);
    loop(1, false);
    postamble();
}

void transpose_kernel::loop(int steps, bool prefetches) {
    Xbyak::Label next, done;
    cmp(reg_steps, steps);
    jl(done, T_NEAR);
    L(next);
    for (int i = 0; i < steps; i++)
        step(prefetches ? i : spec_.parts);
    sub(reg_steps, steps);
    cmp(reg_steps, steps);
    jge(next, T_NEAR);
    L(done);
}

void transpose_kernel::step(int prefetched_part) {
    std::vector<vec> v;
    load(v, prefetched_part);
    interleave(v);
    store(v);
    for (const vec &row : v)
        give_vec(row);
}

/// Row i of each part, for each i.
void transpose_kernel::load(std::vector<vec> &v, int prefetched_part) {
    for (int first = 0; first < count_; first += group) {
        const auto row = [&](const Reg64 &base, int i) -> RegExp {
            return i == 3 ? base + reg_stride3 : i == 0 ? RegExp(base) : base + reg_stride * i;
        };
        if (prefetched_part < spec_.parts) {
            lea(reg_prefetch, ptr[reg_part[prefetched_part] + reg_ahead]);
            for (int i = 0; i < group; i++)
                prefetcht0(ptr[row(reg_prefetch, i)]);
        }
        for (int part = 0; part < spec_.parts; part++) // parts of a register wait for each other
            for (int i = 0; i < group; i++)
                load_part(v, first + i, part, ptr[row(reg_part[part], i)]);
        for (int part = 0; part < spec_.parts; part++)
            lea(reg_part[part], ptr[reg_part[part] + reg_stride * group]);
    }
    for (int part = 0; part < spec_.parts; part++)
        add(reg_part[part], reg_next_step);
}

void transpose_kernel::load_part(std::vector<vec> &v, int i, int part, const Address &from) {
    if (part == 0)
        v.push_back(take_vec());
    const vec &row = v[static_cast<std::size_t>(i)];
    if (part == 0)
        vmovups(xmm_of(row), from);
    else if (lanes() == 16)
        vinserti32x4(Zmm(row.getIdx()), Zmm(row.getIdx()), from, part);
    else
        vinserti128(ymm_of(row), ymm_of(row), from, part);
}

void transpose_kernel::interleave_halves(bool high, const vec &dst, const vec &a, const Xbyak::Operand &b) {
    switch (spec_.element_bytes) {
    case 1:
        return high ? vpunpckhbw(dst, a, b) : vpunpcklbw(dst, a, b);
    case 2:
        return high ? vpunpckhwd(dst, a, b) : vpunpcklwd(dst, a, b);
    default:
        return high ? vpunpckhdq(dst, a, b) : vpunpckldq(dst, a, b);
    }
}

/// Interleaving row i with row i + n/2 of all n rows, log2(n) times, transposes the block of each part.
void transpose_kernel::interleave(std::vector<vec> &v) {
    const std::size_t half = v.size() / 2;
    // n rows are in n registers, and interleaving needs one more: where n is all there are, a row waits in
    // memory.
    const Address spilled = ptr[rsp - 64]; // in the red zone: nothing is called
    for (std::size_t done = 1; done < v.size(); done *= 2) {
        const bool spills = free_vecs() == 0;
        if (spills) {
            vmovups(spilled, v.back());
            give_vec(v.back());
        }
        std::vector<vec> interleaved;
        for (std::size_t i = 0; i < half; i++) {
            const vec a = v[i], b = v[i + half], low = take_vec();
            const bool is_spilled = spills && i + 1 == half;
            const Xbyak::Operand &second = is_spilled ? static_cast<const Xbyak::Operand &>(spilled) : b;
            const vec high = is_spilled ? a : b;
            interleave_halves(false, low, a, second);
            interleave_halves(true, high, a, second);
            if (!is_spilled)
                give_vec(a);
            interleaved.push_back(low);
            interleaved.push_back(high);
        }
        v = interleaved;
    }
}

void transpose_kernel::store(const std::vector<vec> &v) {
    for (std::size_t i = 0; i < v.size(); i++) {
        const auto within = static_cast<int>(i % group);
        const RegExp to = within == 3   ? reg_dst + reg_dst_stride3
                          : within == 0 ? RegExp(reg_dst)
                                        : reg_dst + reg_dst_stride * within;
        store_row(to, v[i]);
        if (within == group - 1)
            lea(reg_dst, ptr[reg_dst + reg_dst_stride * group]);
    }
}

void transpose_kernel::store_row(const RegExp &to, const vec &row) {
    const bool is_whole = spec_.parts == max_transpose_parts(spec_.isa);
    if (is_whole && spec_.is_nontemporal)
        vmovntps(ptr[to], row);
    else if (is_whole)
        vmovups(ptr[to], row);
    else if (spec_.parts == 1)
        vmovups(ptr[to], xmm_of(row));
    else
        vmovups(ptr[to], ymm_of(row));
    if (!is_whole && spec_.parts == 3)
        vextracti32x4(ptr[to + 2 * transpose_part_bytes], Zmm(row.getIdx()), 2);
}

shared_code<const transpose_args> transpose_code(const transpose_spec &spec) {
    return shared_kernel<transpose_kernel>(spec);
}

} // namespace octet::impl::jit
