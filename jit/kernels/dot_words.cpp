// The dot kernel without a dot-product instruction: pairs of 16-bit words, whose products are summed exactly.
//
// Three neighbouring taps over positions a step apart (stride and dilation 1) are filtered: four results take
// six products per channel instead of twelve, by Winograd's F(4, 3) with its fractions made whole. A longer
// row of the kernel is several such taps, the last ones filled up with zeros. Of d0 to d5, the positions that
// they read, and g0 to g2, the weights, a source row has the parts p and the weights the parts w,
//
//   p0 = d4 + d3 - 4 (d2 + d1)   w0 = -4 (g0 + g1 + g2)       p3 = d4 - d2 - 2 (d3 - d1)   w3 = g0 - 2 g1 + 4 g2
//   p1 = d4 - d3 - 4 (d2 - d1)   w1 = -4 (g0 - g1 + g2)       p4 = d4 - 5 d2 + 4 d0        w4 = 6 g0
//   p2 = d4 - d2 + 2 (d3 - d1)   w2 = g0 + 2 g1 + 4 g2        p5 = d5 - 5 d3 + 4 d1        w5 = 24 g2
//
// whose products m = p w, summed over channels and taps, give
//
//   24 y0 = m4 + m0 + m1 + m2 + m3           24 y2 = m0 + m1 + 4 (m2 + m3)
//   24 y1 = m0 - m1 + 2 (m2 - m3)            24 y3 = m0 - m1 + 8 (m2 - m3) + m5
//
// One pass over all taps sums m0 to m3 where the results will be, a second one goes on from there with m4 and
// m5: no more accumulators than results. All is exact: |p| <= 2,040 and |w| <= 3,072 are words, pairs of
// their products far from 32 bits, sums are modulo 2^32; a third of 24 y is a product with the inverse of 3,
// and who plans sees to it that 8 y stays below 2^31.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot_generator.hpp"

namespace octet::impl::jit {

using Xbyak::Reg64;

namespace {

constexpr int bytes_per_pair = 4; // of words
constexpr int block_pair_bytes = 64;
constexpr int pairs_per_quad = 2;
constexpr int row_of_second_pass[] = {0, 3}; // m4 and m5

/// For vpshufb: bytes 2 * pair and the next one of each dword into the upper halves of its words.
std::vector<std::uint32_t> pair_bytes(int pair) {
    std::vector<std::uint32_t> dwords;
    for (std::uint32_t column = 0; column < 16; column++) {
        const std::uint32_t first = column % 4 * 4 + 2 * static_cast<std::uint32_t>(pair);
        dwords.push_back(0x00800080u | first << 8 | (first + 1) << 24);
    }
    return dwords;
}

} // namespace

/// Two pairs of words. What is fewer stays in registers, vectors of weights or rows; wide weights are many rows' alone.
void dot_kernel::quad_of_words(const Reg64 &src, int q) {
    if (2 * spec_.rows < spec_.vectors && !have_wide_weights(spec_.products)) {
        few_rows_of_words(src, q);
        return;
    }
    std::vector<vec> weights;
    for (int v = first_vector_; v < end_vector(); v++)
        weights.push_back(take_vec());
    const auto weights_of = [&](int v) -> const vec & {
        return weights[static_cast<std::size_t>(v - first_vector_)];
    };
    const int together = rows_together(spec_.products);
    const int parts = spec_.products == dot_products::winograd_f43 ? winograd_parts_of_pass[pass_] : 1;
    {
        const temp source(*this), product(*this);
        for (int part = 0; part < parts; part++)
            for (int pair = 0; pair < pairs_per_quad; pair++) {
                for (int v = first_vector_; v < end_vector(); v++)
                    load_pair(weights_of(v), v, q, part, pair);
                const int first_row = pass_ == 0 ? part : row_of_second_pass[part];
                for (int r = first_row; r < accumulated_rows(); r += together) {
                    vpbroadcastd(source, source_pair(src, r / together, part, q, pair));
                    for (int v = first_vector_; v < end_vector(); v++)
                        multiply_words(acc(r, v), source, weights_of(v), product);
                }
            }
    }
    for (auto w = weights.rbegin(); w != weights.rend(); ++w)
        give_vec(*w);
}

void dot_kernel::few_rows_of_words(const Reg64 &src, int q) {
    std::vector<vec> sources;
    for (int r = 0; r < spec_.rows; r++)
        for (int pair = 0; pair < pairs_per_quad; pair++) {
            sources.push_back(take_vec());
            vpbroadcastd(sources.back(), source_pair(src, r, 0, q, pair));
        }
    {
        const temp weights(*this), words(*this), product(*this);
        for (int v = 0; v < spec_.vectors; v++) {
            move(weights, ptr[reg_weights + weights_offset(v, q)]);
            for (int pair = 0; pair < pairs_per_quad; pair++) {
                widen_pair(words, weights, pair);
                for (int r = 0; r < spec_.rows; r++)
                    multiply_words(acc(r, v), sources[static_cast<std::size_t>(2 * r + pair)], words,
                                   product);
            }
        }
    }
    for (auto s = sources.rbegin(); s != sources.rend(); ++s)
        give_vec(*s);
}

/// The address of a pair of words of a source row and its part of this pass.
Xbyak::Address dot_kernel::source_pair(const Reg64 &src, int row, int part, int q, int pair) {
    const int parts_before = pass_ == 0 ? 0 : winograd_parts_of_pass[0];
    return ptr[src + row * spec_.row_stride + (parts_before + part) * spec_.part_stride +
               q * source_quad_bytes() + pair * bytes_per_pair];
}

void dot_kernel::multiply_words(const vec &acc, const vec &source, const vec &words, const vec &product) {
    vpmaddwd(product, source, words);
    vpaddd(acc, acc, product);
}

/// Words of a pair of the q-th quad from the cursor, for the rows of this part.
void dot_kernel::load_pair(const vec &words, int v, int q, int part, int pair) {
    const std::int64_t quad = weights_offset(v, q);
    if (spec_.products == dot_products::winograd_f43)
        move(words, ptr[reg_weights + quad + (part * pairs_per_quad + pair) * vector_bytes()]);
    else if (spec_.products == dot_products::wide_words)
        move(words, ptr[reg_weights + quad + pair * block_pair_bytes]);
    else {
        move(words, ptr[reg_weights + quad]);
        widen_pair(words, words, pair);
    }
}

/// Two weights of each column as words: bytes 2 * pair and the next one, or bytes `pair` and `pair` + 2, which are the
/// upper and lower halves of words as they lie in memory.
void dot_kernel::widen_pair(const vec &words, const vec &weights, int pair) {
    constexpr int byte_bits = 8;
    const bool is_shifted = spec_.products == dot_products::split_words && pair == 1;
    if (spec_.products == dot_products::words)
        vpshufb(words, weights, table(pair_bytes(pair)));
    else if (pair == 0)
        vpsllw(words, weights, byte_bits);
    vpsraw(words, is_shifted ? weights : words, byte_bits);
}

/// Bytes of weights that the cursor moves on by.
int dot_kernel::quad_bytes() const {
    return spec_.products == dot_products::winograd_f43
               ? winograd_parts_of_pass[pass_] * pairs_per_quad * vector_bytes()
               : weights_quad_bytes(spec_.products, lanes());
}

/// Weights of a tap are those of the first pass, then those of the second.
void dot_kernel::skip_pass(int pass) {
    add(reg_weights, static_cast<std::uint32_t>(spec_.quads * winograd_parts_of_pass[pass] * pairs_per_quad *
                                                vector_bytes()));
}

/// Both passes over all taps.
void dot_kernel::filter() {
    for (const vec &x : acc_)
        zero(x);
    pass_ = 0;
    reduce();
    results_of_parts();
    mov(reg_weights, arg(&dot_args::weights));
    skip_pass(0);
    pass_ = 1;
    reduce();
    divide();
}

/// m0 to m3 become what they add to the results.
void dot_kernel::results_of_parts() {
    const temp difference(*this);
    const auto sum_and_difference = [&](const vec &a, const vec &b) {
        vpsubd(difference, a, b);
        vpaddd(a, a, b);
        move(b, difference);
    };
    for (int r = 0; r < accumulated_rows(); r += rows_together(dot_products::winograd_f43))
        for (int v = first_vector_; v < end_vector(); v++) {
            const vec &y0 = acc(r, v), &y1 = acc(r + 1, v), &y2 = acc(r + 2, v), &y3 = acc(r + 3, v);
            sum_and_difference(y0, y1); // m0 + m1, m0 - m1
            sum_and_difference(y2, y3); // m2 + m3, m2 - m3
            move(difference, y2);
            vpslld(y2, y2, 2);
            vpaddd(y2, y2, y0);
            vpaddd(y0, y0, difference);
            move(difference, y3);
            vpslld(y3, y3, 3);
            vpaddd(y3, y3, y1);
            vpaddd(difference, difference, difference);
            vpaddd(y1, y1, difference);
        }
}

/// 24 y becomes y, on top of the folded bias. The product with the inverse of 3 is 8 y modulo 2^32, as for the exact
/// 24 y, and the shift drops zeros alone.
void dot_kernel::divide() {
    constexpr std::uint32_t inverse_of_3 = 0xaaaaaaab; // modulo 2^32
    mov(reg_address, arg(&dot_args::initial));
    for (int v = first_vector_; v < end_vector(); v++)
        for (int r = 0; r < spec_.rows; r++) {
            vpmulld(acc(r, v), acc(r, v), constant(inverse_of_3));
            vpsrad(acc(r, v), acc(r, v), 3);
            vpaddd(acc(r, v), acc(r, v), ptr[reg_address + v * vector_bytes()]);
        }
}

} // namespace octet::impl::jit
