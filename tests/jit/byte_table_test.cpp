// Tables of bytes: every level, with and without permutes of bytes, at every length around a vector.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cpu/machine/isa.hpp"
#include "jit/kernels/byte_table.hpp"

namespace octet::impl::jit {
namespace {

bool is_wide(cpu_isa level) { return level == cpu_isa::avx512_core || level == cpu_isa::avx512_vnni; }

void expect_lookups(cpu_isa level, byte_lookup lookup, bool is_nontemporal) {
    std::mt19937 random(1);
    std::uint8_t entries[256];
    for (std::uint8_t &entry : entries)
        entry = static_cast<std::uint8_t>(random());
    const byte_table table(entries);
    const auto kernel = shared_kernel<byte_table_kernel>(byte_table_spec{level, lookup, is_nontemporal});
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
                expected[row * step + c] = lookup == byte_lookup::none
                                               ? src[row * (columns + gap) + c]
                                               : entries[src[row * (columns + gap) + c]];
        const auto n = static_cast<std::int64_t>(columns);
        const byte_table_args args{
            src.data(), dst, &table, rows, n, n + static_cast<int>(gap), static_cast<std::int64_t>(step)};
        kernel->function()(&args);
        ASSERT_EQ(expected, std::vector<std::uint8_t>(dst, dst + most))
            << to_string(level) << " lookup " << static_cast<int>(lookup) << " " << columns << " columns";
    }
}

TEST(ByteTable, LooksUpEveryByte) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        for (const bool is_nontemporal : {false, true}) {
            expect_lookups(level, byte_lookup::none, is_nontemporal);
            expect_lookups(level, byte_lookup::shuffles, is_nontemporal);
            if (is_wide(level) && has_byte_permutes())
                expect_lookups(level, byte_lookup::permutes, is_nontemporal);
        }
    }
}

} // namespace
} // namespace octet::impl::jit
