// Results of softmax on codes by distance from the maximum: every level, with and without permutes of bytes,
// at every length around a vector.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "jit/kernels/softmax/codes.hpp"
#include "support/levels.hpp"

namespace octet::impl::jit {
namespace {

constexpr std::uint8_t offset = 0x80;
constexpr float half = 0.25f;
constexpr std::size_t rows = 3, gap = 5;

/// The formulas of softmax_results; the real ones are chosen to be exact.
std::uint8_t expected(const softmax_codes_spec &spec, const softmax_exponentials &e,
                      const softmax_code_rows &numbers, std::size_t row, std::uint8_t x) {
    const auto d = static_cast<std::uint8_t>(numbers.highest[row] - x);
    if (d >= 64 * spec.blocks)
        return offset;
    std::uint64_t y;
    if (spec.results == softmax_results::fixed) {
        const std::uint64_t product = std::uint64_t{e.by_distance[d]} * numbers.number[row];
        y = (product + (1u << 30) + (std::uint64_t{1} << (31 + numbers.shift[row]))) >>
            (32 + numbers.shift[row]);
        y = std::min<std::uint64_t>(y, 200);
    } else {
        float numerator, denominator;
        std::memcpy(&numerator, &e.by_distance[d], sizeof numerator);
        std::memcpy(&denominator, &numbers.number[row], sizeof denominator);
        const float share = spec.results == softmax_results::real
                                ? std::nearbyint(numerator / denominator)
                                : std::floor(numerator * denominator + half);
        y = share >= 0x1p31f ? 0 : static_cast<std::uint64_t>(std::min(share, 200.f));
    }
    return static_cast<std::uint8_t>(y + offset);
}

void expect_results(const softmax_codes_spec &spec) {
    std::mt19937 random(1);
    const bool is_fixed = spec.results == softmax_results::fixed;
    softmax_exponentials e{};
    for (int d = 0; d < 256; d++) {
        const float real = d == 3 ? 0x1p40f : 0.37f * static_cast<float>(random() % 4000);
        e.by_distance[d] = static_cast<std::uint32_t>(random() >> 1);
        if (!is_fixed)
            std::memcpy(&e.by_distance[d], &real, sizeof real);
        if (d % 2 == 1)
            e.odd[d - 1] = e.by_distance[d];
    }
    softmax_code_rows numbers{};
    for (std::size_t row = 0; row < rows; row++) {
        const float real = 1.f + 3.3f * static_cast<float>(row);
        numbers.highest[row] = 255 - 90 * static_cast<std::uint32_t>(row);
        numbers.number[row] = 0x7fffffffu >> row;
        numbers.shift[row] = static_cast<std::uint32_t>(21 + row);
        if (!is_fixed)
            std::memcpy(&numbers.number[row], &real, sizeof real);
    }
    const auto kernel = softmax_codes_code(spec);
    softmax_code_work work{};
    for (std::size_t columns = 1; columns < 400; columns += columns < 140 ? 1 : 37) {
        std::vector<std::uint8_t> src(rows * (columns + gap)), dst(rows * columns + 64, 7), wanted = dst;
        for (std::uint8_t &x : src)
            x = static_cast<std::uint8_t>(random());
        for (std::size_t row = 0; row < rows; row++)
            for (std::size_t c = 0; c < columns; c++)
                wanted[row * columns + c] = expected(spec, e, numbers, row, src[row * (columns + gap) + c]);
        const auto n = static_cast<std::int64_t>(columns);
        const softmax_codes_args args{src.data(), dst.data(),     &numbers, &e,
                                      &work,      rows,           n,        n + static_cast<int>(gap),
                                      n,          200 * 0x10001u, offset,   half};
        kernel->function()(&args);
        ASSERT_EQ(wanted, dst) << testing::PrintToString(spec.results) << ", " << spec.blocks << " blocks, "
                               << columns << " columns";
    }
}

TEST(SoftmaxCodes, EqualTheirFormulas) {
    for (const instruction_set isa : usable_instruction_sets())
        for (const softmax_results results :
             {softmax_results::fixed, softmax_results::real, softmax_results::share})
            for (const int blocks : {1, 2, 4})
                expect_results({isa, results, blocks});
}

} // namespace
} // namespace octet::impl::jit
