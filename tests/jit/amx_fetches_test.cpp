// What products in tile registers fetch ahead: the instructions in the code, and the parts of threads and calls.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "cpu/dot/next_bytes.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {
namespace {

constexpr int line = 64;

/// How often the code has a prefetcht1 with each displacement from r13, and an addition of each number to r13.
struct fetching_code {
    std::map<std::int32_t, int> fetches, advances;
};

fetching_code read(const std::uint8_t *code, std::size_t bytes) {
    fetching_code found;
    for (std::size_t i = 0; i + 8 < bytes; i++) {
        const auto is = [&](std::initializer_list<int> wanted) {
            return std::equal(wanted.begin(), wanted.end(), code + i);
        };
        const auto number = [&](std::size_t at, bool is_long) {
            std::int32_t n = static_cast<std::int8_t>(code[i + at]);
            if (is_long)
                std::memcpy(&n, code + i + at, sizeof n);
            return n;
        };
        if (is({0x41, 0x0f, 0x18, 0x55}) || is({0x41, 0x0f, 0x18, 0x95}))
            found.fetches[number(4, code[i + 3] == 0x95)]++;
        if (is({0x49, 0x83, 0xc5}) || is({0x49, 0x81, 0xc5}))
            found.advances[number(3, code[i + 1] == 0x81)]++;
    }
    return found;
}

fetching_code code_of(jit::dot_spec spec) {
    spec.isa = {cpu_isa::avx512_amx};
    spec.products = jit::dot_products::tiles;
    epilogue out;
    out.rule = requantization_rule::none;
    out.dst = memory::desc({4, 64}, data_type::s32, format_tag::ab).data;
    const jit::epilogue_plan plan(out, {1, 64, jit::any_s32}, false);
    const auto code = jit::amx_dot_code(spec, plan);
    const auto function = code->function();
    const std::uint8_t *first;
    std::memcpy(&first, &function, sizeof first);
    return read(first, code->code_bytes());
}

jit::dot_spec tile(int rows, int vectors, std::int64_t taps, std::int64_t quads) {
    jit::dot_spec s;
    s.rows = rows;
    s.tiling.rows = rows > jit::amx_rows ? (rows + 1) / 2 : rows;
    s.vectors = vectors;
    s.tail = 16;
    s.taps = taps;
    s.quads = quads;
    s.row_stride = quads * 4;
    s.dst_row_stride = vectors * 16;
    return s;
}

TEST(amx_fetches, have_places_in_each_step) {
    for (const int rows : {14, 28})
        for (const int vectors : {1, 2})
            for (const int lines : {1, 2, 4})
                for (const auto &[taps, quads] : {std::pair{9, 32}, {1, 64}, {1, 40}}) {
                    jit::dot_spec s = tile(rows, vectors, taps, quads);
                    EXPECT_TRUE(code_of(s).fetches.empty());
                    EXPECT_TRUE(code_of(s).advances.empty());
                    s.lines_ahead = lines;
                    const std::int32_t block = static_cast<std::int32_t>(taps * quads) * line;
                    for (const bool dense : {false, true}) {
                        SCOPED_TRACE(testing::Message()
                                     << rows << " x " << vectors << ", " << lines << " lines, " << taps
                                     << " taps of " << quads << " quads, " << dense);
                        s.order.fetches_on = dense;
                        const fetching_code code = code_of(s);
                        std::map<std::int32_t, int>
                            fetches; // a step is emitted twice: among results and alone
                        for (int v = 0; v < vectors; v++)
                            for (int i = 0; i < lines; i++)
                                fetches[dense ? (v * lines + i) * line : v * block + i * line] += 2;
                        EXPECT_EQ(code.fetches, fetches);
                        const std::int32_t advance = lines * line * (dense ? vectors : 1);
                        EXPECT_EQ(code.advances, (std::map<std::int32_t, int>{{advance, 2}}));
                    }
                }
}

TEST(amx_fetches, parts_of_threads_are_all_there_is) {
    const std::vector<std::uint8_t> next(64 * 1000);
    for (const dim_t lines : {1, 7, 999, 1000})
        for (const dim_t parts : {1, 2, 7, 64}) {
            const std::uint8_t *end = next.data();
            for (dim_t i = 0; i < parts; i++) {
                const next_bytes part = part_of_next(next.data(), lines, i, parts);
                EXPECT_EQ(part.begin, end);
                EXPECT_EQ(part.at, part.begin);
                end = part.end;
            }
            EXPECT_EQ(end, next.data() + lines * line);
        }
}

/// Calls of random numbers of tiles, which fetch random numbers of lines.
TEST(amx_fetches, lie_in_the_part_and_cover_it_where_there_are_places) {
    std::mt19937 random(3);
    const std::uint8_t there = 0;
    for (int i = 0; i < 2000; i++) {
        const dim_t lines = 1 + static_cast<dim_t>(random() % 500);
        const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(lines * line));
        next_bytes part = part_of_next(bytes.data(), lines, 0, 1);
        std::vector<bool> are_fetched(static_cast<std::size_t>(lines));
        dim_t places = 0;
        for (int calls = static_cast<int>(random() % 6); calls > 0; calls--) {
            const dim_t tiles = 1 + static_cast<dim_t>(random() % 20), most = std::min<dim_t>(lines, 30),
                        of_tile = 1 + static_cast<dim_t>(random() % static_cast<unsigned>(most));
            const bool is_done = part.at == part.end;
            const tile_fetches f = part.of_call(tiles, of_tile * line, &there);
            EXPECT_EQ(is_done, f.first == &there);
            if (is_done) {
                EXPECT_EQ(f.step, 0);
                continue;
            }
            places += tiles * of_tile;
            for (dim_t t = 0; t < tiles; t++)
                for (dim_t l = 0; l < of_tile; l++) {
                    const dim_t at = f.first - bytes.data() + t * f.step + l * line;
                    ASSERT_GE(at, 0);
                    ASSERT_LE(at, (lines - 1) * line);
                    are_fetched[static_cast<std::size_t>(at / line)] = true;
                }
        }
        const auto fetched = std::count(are_fetched.begin(), are_fetched.end(), true);
        EXPECT_GE(fetched, std::min(lines, places) - 1) << "but for a rest of the distance";
        if (places < lines) {
            EXPECT_EQ(fetched, places) << "each line once";
        }
    }
}

TEST(amx_fetches, have_nothing_to_fetch_without_a_place) {
    next_bytes unknown;
    const int there = 0;
    EXPECT_EQ(static_cast<const void *>(unknown.of_call(7, 640, &there).first), &there);
}

} // namespace
} // namespace octet::impl
