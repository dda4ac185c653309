// Products of a group in registers. What groups add up to lies on the stack, in the first-level cache: a load and a
// store per vector and group, for twice as many accumulators; few rows have it in registers, too.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/group_dot.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/text.hpp"
#include "jit/base/generated.hpp"

namespace octet::impl::jit {

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Reg64;

namespace {

constexpr int quads_of_step = 8; ///< so many products of nibbles and bytes, 2 * 15 * 128 each, fit a word
constexpr std::int64_t bytes_ahead = 2560;
constexpr std::uint32_t low_nibbles = 0x0f0f0f0f, low_bytes = 0x00ff00ff, word_ones = 0x00010001,
                        sign_bits = 0x80000000;

class group_dot_kernel : public generated<const group_dot_args> {
public:
    explicit group_dot_kernel(const group_dot_spec &spec);

private:
    void generate();
    void begin();
    void start_results();
    void group(int lane);
    void start_sums();
    void reduce();
    void step(int quads);
    void both_halves(int i);
    void fetch_ahead(int v, std::int64_t offset);
    void multiply_half(const vec &w, const std::vector<vec> &x, int v, bool is_first);
    void quad_of_bytes(int q);
    void quad_of_words(int q);
    void quad_of_nibbles(int q);
    void load_nibbles(const vec &w, int v, int q);
    void multiply_bytes(const std::vector<vec> &w, int q);
    void multiply_into_words(const std::vector<vec> &w, int q);
    void add_words();
    void finish_group(int lane);
    void add_product_of(std::int32_t group_row::*of_row, std::int64_t of_columns);
    void combine(const vec &a, const vec &scales, const Address &row, const Operand &into);
    void results();
    void result(int r, int v, const vec &bias);
    void move_to(const Operand &to, const vec &from) {
        to.isMEM() ? vmovups(static_cast<const Address &>(to), from)
                   : move(static_cast<const vec &>(to), from);
    }

    const vec &acc(int r, int v) const { return acc_[static_cast<std::size_t>(r * spec_.vectors + v)]; }
    /// Vectors of weights for one scope.
    std::vector<vec> take_weights();
    void give_weights(const std::vector<vec> &w);
    /// Sums of 16-bit words are moved to 32 bits after each step.
    bool sums_words() const { return layout_.codes == group_codes::nibbles && !has_dot4(); }
    /// Vectors of weights hold two operands each, which are multiplied with codes of rows in registers.
    bool splits_vectors() const {
        return layout_.codes != group_codes::bytes &&
               spec_.rows * spec_.vectors + registers_of_halves() <= vector_count();
    }
    int registers_of_halves() const { return 2 * spec_.rows + 3; }
    bool keeps_results() const {
        return order_.lanes == 1 &&
               2 * spec_.rows * spec_.vectors + std::max(registers_of_halves(), spec_.vectors + 2) <=
                   vector_count();
    }
    bool has_integers() const { return sums_words() && layout_.quads() > quads_of_step; }
    bool adds_bias() const { return (spec_.has_bias && !order_.begins_with_bias) || order_.adds_absent_bias; }
    int valid(int v) const { return v == spec_.vectors - 1 ? spec_.tail : lanes(); }
    std::int64_t row_bytes() const { return layout_.row_bytes(spec_.groups); }
    /// From the cursors.
    Address source(int r, std::int64_t offset) {
        return ptr[reg_src + static_cast<int>(r * row_bytes() + offset)];
    }
    Address weights(int v, std::int64_t offset) {
        const int vectors_of_block = group_layout::columns / lanes();
        const std::int64_t block_bytes = layout_.block_bytes(spec_.groups);
        return ptr[reg_weights + static_cast<int>(v / vectors_of_block * block_bytes + offset +
                                                  v % vectors_of_block * vector_bytes())];
    }
    Address slot(int r, int v, int set) {
        return ptr[rsp + ((set * spec_.rows + r) * spec_.vectors + v) * vector_bytes()];
    }
    /// What groups add up to.
    const Operand &sum(int r, int v, int lane) {
        if (keeps_results())
            return results_[static_cast<std::size_t>(r * spec_.vectors + v)];
        in_memory_ = slot(r, v, lane);
        return in_memory_;
    }
    Address integer(int r, int v) { return slot(r, v, order_.lanes); }

    const group_dot_spec spec_;
    const group_layout &layout_ = spec_.layout;
    const group_order &order_ = spec_.order;
    std::vector<vec> acc_, results_;
    Address in_memory_{0};

    const Reg64 reg_src = rsi, reg_weights = rdx, reg_groups = rcx, reg_steps = rax, reg_bias = r8,
                reg_dst = r9;
    const Reg64 reg_dst_stride = r10, reg_frame = rbp;
};

} // namespace

/// Accumulators, weights, a source and, without a dot-product instruction, a product. Few rows take more columns, whose
/// weights come as more streams and whose sums wait less for each other.
group_tile largest_group_tile(instruction_set isa, std::int64_t rows) {
    const int temps = isa.has_dot4() ? 1 : 2;
    const auto most_rows = [&](int vectors) { return (isa.registers() - temps - vectors) / vectors; };
    for (const int vectors : {4, 2})
        if (rows <= most_rows(vectors))
            return {static_cast<int>(rows), vectors};
    return {most_rows(2), 2};
}

group_dot_kernel::group_dot_kernel(const group_dot_spec &spec) : generated(spec.isa), spec_(spec) {
    generate();
    start_again(); // masks are read most, by kernels of few rows
    generate();
    finish([&] {
        constexpr const char *codes[] = {"bytes", "words", "nibbles"};
        return name("group_dot", codes[static_cast<int>(layout_.codes)], text(spec.rows, "x", spec.vectors),
                    text("g", spec.groups), text("q", layout_.quads()),
                    spec.tail != lanes() ? text("tail", spec.tail) : "", layout_.has_sums ? "sums" : "",
                    layout_.has_zero_points ? "zero_points" : "",
                    layout_.has_scaled_sums ? "scaled_sums" : "",
                    order_.lanes > 1 ? text("lanes", order_.lanes) : "");
    });
}

void group_dot_kernel::generate() {
    acc_.clear();
    results_.clear();
    begin();
    Xbyak::Label next;
    mov(reg_groups, spec_.groups / order_.lanes);
    align(64);
    L(next);
    for (int lane = 0; lane < order_.lanes; lane++)
        group(lane);
    dec(reg_groups);
    jnz(next, T_NEAR);
    for (const vec &a : acc_)
        give_vec(a);
    results();
    for (const vec &a : results_)
        give_vec(a);
    mov(rsp, reg_frame);
    postamble();
}

void group_dot_kernel::begin() {
    preamble();
    mov(reg_frame, rsp);
    sub(rsp, (order_.lanes + has_integers()) * spec_.rows * spec_.vectors * vector_bytes());
    and_(rsp, -64);
    mov(reg_src, arg(&group_dot_args::src));
    mov(reg_weights, arg(&group_dot_args::weights));
    mov(reg_bias, arg(&group_dot_args::bias));
    mov(reg_dst, arg(&group_dot_args::dst));
    mov(reg_dst_stride, arg(&group_dot_args::dst_stride));
    if (valid(spec_.vectors - 1) != lanes())
        set_tail(spec_.tail);
    hold_reads();
    for (int i = 0; i < spec_.rows * spec_.vectors; i++) {
        acc_.push_back(take_vec());
        if (keeps_results())
            results_.push_back(take_vec());
    }
    start_results();
}

/// A product without a bias is added to -0, so that its zero keeps its sign.
void group_dot_kernel::start_results() {
    const bool has_zero_points = order_.zero_point == zero_point_term::first;
    const std::int64_t behind_groups = spec_.groups * layout_.source_bytes();
    const vec &start = acc_[0];
    for (int v = 0; v < spec_.vectors; v++)
        for (int lane = 0; lane < order_.lanes; lane++) {
            if (order_.begins_with_bias && spec_.has_bias)
                load_dwords(start, reg_bias, v * vector_bytes(), valid(v));
            else if (order_.begins_with_bias)
                move(start, constant(sign_bits));
            else if (!has_zero_points)
                zero(start);
            for (int r = 0; r < spec_.rows; r++) {
                if (has_zero_points) {
                    const temp weights_sum(*this);
                    vbroadcastss(start, source(r, behind_groups));
                    lane == 0 ? move(weights_sum, weights(v, spec_.groups * layout_.record_bytes()))
                              : zero(weights_sum);
                    vmulps(start, start, weights_sum);
                }
                move_to(sum(r, v, lane), start);
            }
        }
}

void group_dot_kernel::group(int lane) {
    start_sums();
    reduce();
    finish_group(lane);
    add(reg_src, static_cast<int>(sizeof(group_row)));
    add(reg_weights, static_cast<int>(layout_.record_bytes() - layout_.scales()));
}

/// What columns share begins the sums, so that it costs no addition.
void group_dot_kernel::start_sums() {
    if (sums_words() && !has_integers())
        return;
    for (int r = 0; r < spec_.rows; r++) {
        const vec &first = acc(r, 0);
        if (spec_.has_initial)
            vpbroadcastd(first, source(r, layout_.source_row() + offset_of(&group_row::initial)));
        else
            zero(first);
        for (int v = 0; v < spec_.vectors; v++)
            if (has_integers())
                move_to(integer(r, v), first);
            else if (v > 0)
                move(acc(r, v), first);
    }
}

/// Leaves the cursors behind the codes.
void group_dot_kernel::reduce() {
    const std::int64_t steps = layout_.quads() / quads_of_step;
    const auto rest = static_cast<int>(layout_.quads() % quads_of_step);
    Xbyak::Label next;
    if (steps > 1) {
        mov(reg_steps, steps);
        align(32);
        L(next);
    }
    if (steps > 0)
        step(quads_of_step);
    if (steps > 1) {
        dec(reg_steps);
        jnz(next, T_NEAR);
    }
    if (rest > 0)
        step(rest);
}

void group_dot_kernel::step(int quads) {
    const auto vectors = static_cast<int>(quads * layout_.quad_bytes() / group_layout::vector_bytes);
    for (int i = 0; i < vectors && splits_vectors(); i++)
        both_halves(i);
    for (int q = 0; q < quads && !splits_vectors(); q++) {
        switch (layout_.codes) {
        case group_codes::bytes:
            quad_of_bytes(q);
            break;
        case group_codes::words:
            quad_of_words(q);
            break;
        case group_codes::nibbles:
            quad_of_nibbles(q);
            break;
        }
    }
    if (sums_words())
        add_words();
    add(reg_src, static_cast<int>(quads * layout_.source_quad_bytes()));
    add(reg_weights, static_cast<int>(quads * layout_.quad_bytes()));
}

std::vector<vec> group_dot_kernel::take_weights() {
    std::vector<vec> w;
    for (int v = 0; v < spec_.vectors; v++)
        w.push_back(take_vec());
    return w;
}
void group_dot_kernel::give_weights(const std::vector<vec> &w) {
    for (auto v = w.rbegin(); v != w.rend(); ++v)
        give_vec(*v);
}

/// Quads in the lower and the upper halves of bytes, or the even and the odd bytes of a quad.
void group_dot_kernel::both_halves(int i) {
    std::vector<vec> low, high;
    for (int r = 0; r < spec_.rows; r++)
        for (std::vector<vec> *x : {&low, &high}) {
            x->push_back(take_vec());
            vpbroadcastd(x->back(), source(r, 8 * i + (x == &low ? 0 : 4)));
        }
    const bool are_nibbles = layout_.codes == group_codes::nibbles;
    const std::uint32_t lower = are_nibbles ? low_nibbles : low_bytes;
    for (int v = 0; v < spec_.vectors; v++) {
        const temp both(*this), w(*this);
        fetch_ahead(v, i * group_layout::vector_bytes);
        move(both, weights(v, i * group_layout::vector_bytes));
        vpand_(w, both, constant(lower));
        multiply_half(w, low, v, i == 0);
        vpsrlw(w, both, are_nibbles ? 4 : 8);
        if (are_nibbles)
            vpand_(w, w, constant(lower));
        multiply_half(w, high, v, false);
    }
    for (int r = 0; r < spec_.rows; r++) {
        give_vec(low[static_cast<std::size_t>(r)]);
        give_vec(high[static_cast<std::size_t>(r)]);
    }
}

/// Weights that few rows read come from memory, whose prefetchers follow two blocks too late: the first-level cache
/// gets the line behind some records, or behind the last one.
void group_dot_kernel::fetch_ahead(int v, std::int64_t offset) {
    if (v % (group_layout::columns / lanes()) == 0)
        prefetcht0(weights(v, offset + bytes_ahead));
}

void group_dot_kernel::multiply_half(const vec &w, const std::vector<vec> &x, int v, bool is_first) {
    for (int r = 0; r < spec_.rows; r++) {
        const vec &a = acc(r, v), &codes = x[static_cast<std::size_t>(r)];
        if (layout_.codes == group_codes::nibbles && has_dot4()) {
            dot4(a, w, codes);
        } else if (layout_.codes == group_codes::nibbles && is_first) {
            vpmaddubsw(a, w, codes);
        } else if (layout_.codes == group_codes::nibbles) {
            const temp product(*this);
            vpmaddubsw(product, w, codes);
            vpaddw(a, a, product);
        } else {
            const temp product(*this);
            vpmaddwd(product, w, codes);
            vpaddd(a, a, product);
        }
    }
}

void group_dot_kernel::quad_of_bytes(int q) {
    const std::vector<vec> w = take_weights();
    for (int v = 0; v < spec_.vectors; v++)
        move(w[static_cast<std::size_t>(v)], weights(v, q * layout_.quad_bytes()));
    multiply_bytes(w, q);
    give_weights(w);
}

/// The unsigned operand is the weights.
void group_dot_kernel::multiply_bytes(const std::vector<vec> &w, int q) {
    const temp x(*this);
    for (int r = 0; r < spec_.rows; r++) {
        vpbroadcastd(x, source(r, q * layout_.source_quad_bytes()));
        for (int v = 0; v < spec_.vectors; v++)
            dot4(acc(r, v), w[static_cast<std::size_t>(v)], x);
    }
}

/// Bytes 0 and 2 of a quad, then 1 and 3.
void group_dot_kernel::quad_of_words(int q) {
    const std::vector<vec> w = take_weights();
    {
        const temp x(*this), product(*this);
        for (int pair = 0; pair < 2; pair++) {
            for (int v = 0; v < spec_.vectors; v++) {
                const vec &words = w[static_cast<std::size_t>(v)];
                move(words, weights(v, q * layout_.quad_bytes()));
                pair == 0 ? vpand_(words, words, constant(low_bytes)) : vpsrlw(words, words, 8);
            }
            for (int r = 0; r < spec_.rows; r++) {
                vpbroadcastd(x, source(r, q * layout_.source_quad_bytes() + 4 * pair));
                for (int v = 0; v < spec_.vectors; v++) {
                    vpmaddwd(product, x, w[static_cast<std::size_t>(v)]);
                    vpaddd(acc(r, v), acc(r, v), product);
                }
            }
        }
    }
    give_weights(w);
}

void group_dot_kernel::load_nibbles(const vec &w, int v, int q) {
    move(w, weights(v, q / 2 * 2 * layout_.quad_bytes()));
    if (q % 2 == 1)
        vpsrlw(w, w, 4);
    vpand_(w, w, constant(low_nibbles));
}

void group_dot_kernel::quad_of_nibbles(int q) {
    const std::vector<vec> w = take_weights();
    for (int v = 0; v < spec_.vectors; v++)
        load_nibbles(w[static_cast<std::size_t>(v)], v, q);
    has_dot4() ? multiply_bytes(w, q) : multiply_into_words(w, q);
    give_weights(w);
}

void group_dot_kernel::multiply_into_words(const std::vector<vec> &w, int q) {
    const temp x(*this), product(*this);
    for (int r = 0; r < spec_.rows; r++) {
        vpbroadcastd(x, source(r, q * layout_.source_quad_bytes()));
        for (int v = 0; v < spec_.vectors; v++) {
            const vec &into = q == 0 ? acc(r, v) : product.get();
            vpmaddubsw(into, w[static_cast<std::size_t>(v)], x);
            if (q > 0)
                vpaddw(acc(r, v), acc(r, v), product);
        }
    }
}

/// The sums of a step, of the group where there are several.
void group_dot_kernel::add_words() {
    for (int r = 0; r < spec_.rows; r++)
        for (int v = 0; v < spec_.vectors; v++) {
            vpmaddwd(acc(r, v), acc(r, v), constant(word_ones));
            if (has_integers()) {
                vpaddd(acc(r, v), acc(r, v), integer(r, v));
                move_to(integer(r, v), acc(r, v));
            }
        }
}

void group_dot_kernel::finish_group(int lane) {
    if (sums_words() && !has_integers() && spec_.has_initial) {
        const temp initial(*this);
        for (int r = 0; r < spec_.rows; r++) {
            vpbroadcastd(initial, source(r, offset_of(&group_row::initial)));
            for (int v = 0; v < spec_.vectors; v++)
                vpaddd(acc(r, v), acc(r, v), initial);
        }
    }
    if (layout_.has_sums)
        add_product_of(&group_row::minus_zero_point, layout_.sums());
    if (layout_.has_zero_points)
        add_product_of(&group_row::minus_sum, layout_.zero_points());
    const temp scales(*this);
    for (int v = 0; v < spec_.vectors; v++) {
        move(scales, weights(v, 0));
        if (splits_vectors())
            fetch_ahead(v, 0);
        for (int r = 0; r < spec_.rows; r++)
            combine(acc(r, v), scales, source(r, offset_of(&group_row::scale)), sum(r, v, lane));
    }
}

/// Sums gain a number of the row times one of each column; the latter lies at an offset in the record.
void group_dot_kernel::add_product_of(std::int32_t group_row::*of_row, std::int64_t of_columns) {
    const temp product(*this);
    for (int r = 0; r < spec_.rows; r++)
        for (int v = 0; v < spec_.vectors; v++) {
            vpbroadcastd(product, source(r, offset_of(of_row)));
            vpmulld(product, product, weights(v, of_columns - layout_.scales()));
            vpaddd(acc(r, v), acc(r, v), product);
        }
}

/// Adds a scaled sum to a result; `row` is the row's scale.
void group_dot_kernel::combine(const vec &a, const vec &scales, const Address &row, const Operand &into) {
    vcvtdq2ps(a, a);
    const bool has_rows = order_.scale != group_scale::of_weights;
    const temp of_row(*this);
    if (has_rows)
        vbroadcastss(of_row, row);
    if (order_.scale == group_scale::product)
        vmulps(of_row, of_row, scales);
    if (order_.scale == group_scale::in_turn)
        vmulps(a, a, scales);
    const vec &factor = has_rows ? of_row.get() : scales;
    if (order_.is_fused && into.isMEM()) {
        vfmadd213ps(a, factor, into);
    } else if (order_.is_fused) {
        vfmadd231ps(static_cast<const vec &>(into), a, factor);
    } else {
        vmulps(a, a, factor);
        vaddps(a, a, into);
    }
    if (into.isMEM() || !order_.is_fused)
        move_to(into, a);
}

void group_dot_kernel::results() {
    const std::vector<vec> bias = take_weights();
    if (adds_bias())
        for (int v = 0; v < spec_.vectors; v++) {
            const vec &b = bias[static_cast<std::size_t>(v)];
            spec_.has_bias ? load_dwords(b, reg_bias, v * vector_bytes(), valid(v)) : zero(b);
        }
    for (int r = 0; r < spec_.rows; r++) {
        for (int v = 0; v < spec_.vectors; v++)
            result(r, v, bias[static_cast<std::size_t>(v)]);
        add(reg_dst, reg_dst_stride);
    }
    give_weights(bias);
}

/// The cursors stand behind the last group.
void group_dot_kernel::result(int r, int v, const vec &bias) {
    const temp y(*this), other(*this);
    move(y, sum(r, v, 0));
    if (order_.lanes == 4) {
        vaddps(y, y, sum(r, v, 1));
        move(other, sum(r, v, 2));
        vaddps(other, other, sum(r, v, 3));
        vaddps(y, y, other);
    }
    if (order_.zero_point == zero_point_term::last) {
        vbroadcastss(other, source(r, 0));
        vfmadd231ps(y, other, weights(v, 0));
    }
    if (order_.row != row_scale::none) {
        constexpr int behind_row = sizeof(group_row);
        vbroadcastss(other, source(r, offset_of(&group_row::scale) - behind_row));
        const bool is_fused = order_.row == row_scale::fused && adds_bias();
        is_fused ? vfmadd213ps(y, other, bias) : vmulps(y, y, other);
    }
    if (order_.row != row_scale::fused && adds_bias())
        vaddps(y, y, bias);
    store_dwords(reg_dst, v * vector_bytes(), y, valid(v));
}

shared_code<const group_dot_args> group_dot_code(const group_dot_spec &spec) {
    return shared_kernel<group_dot_kernel>(spec);
}

} // namespace octet::impl::jit
