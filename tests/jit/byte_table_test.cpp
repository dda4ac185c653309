// Tables of bytes: every level, with and without permutes of bytes, at every length around a vector.

#include <gtest/gtest.h>

#include <random>

#include "cpu/isa.hpp"
#include "jit/byte_table.hpp"

namespace octet::impl::jit {
namespace {

bool is_wide(cpu_isa level) { return level == cpu_isa::avx512_core || level == cpu_isa::avx512_vnni; }

void expect_lookups(cpu_isa level, byte_lookup lookup) {
    std::mt19937 random(1);
    std::uint8_t entries[256];
    for (std::uint8_t &entry : entries)
        entry = static_cast<std::uint8_t>(random());
    const byte_table table(entries);
    const auto kernel = shared_byte_table_kernel(level, lookup);
    for (std::size_t columns = 1; columns < 400; columns += columns < 140 ? 1 : 37) {
        constexpr std::size_t rows = 3, gap = 5;
        std::vector<std::uint8_t> src(rows * (columns + gap)), dst(rows * columns + 64, 7), expected = dst;
        for (std::uint8_t &x : src)
            x = static_cast<std::uint8_t>(random());
        for (std::size_t row = 0; row < rows; row++)
            for (std::size_t c = 0; c < columns; c++)
                expected[row * columns + c] = lookup == byte_lookup::none
                                                  ? src[row * (columns + gap) + c]
                                                  : entries[src[row * (columns + gap) + c]];
        const auto n = static_cast<std::int64_t>(columns);
        const byte_table_args args{src.data(), dst.data(), &table, rows, n, n + static_cast<int>(gap), n};
        kernel->function()(&args);
        ASSERT_EQ(expected, dst) << to_string(level) << " lookup " << static_cast<int>(lookup) << " "
                                 << columns << " columns";
    }
}

TEST(ByteTable, LooksUpEveryByte) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        expect_lookups(level, byte_lookup::none);
        expect_lookups(level, byte_lookup::shuffles);
        if (is_wide(level) && has_byte_permutes())
            expect_lookups(level, byte_lookup::permutes);
    }
}

} // namespace
} // namespace octet::impl::jit
