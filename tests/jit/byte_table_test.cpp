// Tables of bytes: every level, with and without permutes of bytes, at every length around a vector.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "jit/kernels/byte_table.hpp"
#include "support/levels.hpp"

namespace octet::impl::jit {
namespace {

void expect_lookups(instruction_set isa, bool looks_up, bool is_nontemporal) {
    std::mt19937 random(1);
    std::uint8_t entries[256];
    for (std::uint8_t &entry : entries)
        entry = static_cast<std::uint8_t>(random());
    const byte_table table(entries);
    const auto kernel = byte_table_code(byte_table_spec{isa, looks_up, is_nontemporal});
    for (std::size_t columns = 1; columns < 400; columns += columns < 140 ? 1 : 37) {
        constexpr std::size_t rows = 3, gap = 5;
        const std::size_t step = is_nontemporal ? (columns + 63) / 64 * 64 : columns;
        constexpr std::size_t most = 3 * 448 + 64;
        alignas(64) std::uint8_t dst[most];
        std::fill(dst, dst + most, std::uint8_t{7});
        std::vector<std::uint8_t> src(rows * (columns + gap)), expected(dst, dst + most);
        for (std::uint8_t &x : src)
            x = static_cast<std::uint8_t>(random());
        for (std::size_t row = 0; row < rows; row++)
            for (std::size_t c = 0; c < columns; c++)
                expected[row * step + c] =
                    looks_up ? entries[src[row * (columns + gap) + c]] : src[row * (columns + gap) + c];
        const auto n = static_cast<std::int64_t>(columns);
        const byte_table_args args{
            src.data(), dst, &table, rows, n, n + static_cast<int>(gap), static_cast<std::int64_t>(step)};
        kernel->function()(&args);
        ASSERT_EQ(expected, std::vector<std::uint8_t>(dst, dst + most))
            << isa.name() << (isa.byte_permutes ? " with permutes" : "") << ", looks up " << looks_up << ", "
            << columns << " columns";
    }
}

TEST(ByteTable, LooksUpEveryByte) {
    for (const instruction_set isa : usable_instruction_sets())
        for (const bool is_nontemporal : {false, true})
            for (const bool looks_up : {false, true})
                expect_lookups(isa, looks_up, is_nontemporal);
}

} // namespace
} // namespace octet::impl::jit
