// Plans of products for tile registers: which products are taken, their tiles, and the shapes that registers
// get. All are pure functions.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/dot/plan.hpp"
#include "cpu/machine/isa.hpp"
#include "jit/kernels/dot_amx.hpp"

using namespace octet;
using namespace octet::impl;

namespace {

constexpr instruction_set amx{cpu_isa::avx512_amx};
constexpr int few_temps = 3;

struct layer {
    dim_t ic, in, oc, kernel = 1;
    data_type src = data_type::u8;
    dim_t next = 0; ///< bytes that the program reads next
};

/// A square convolution that keeps the size, channels-last, with packed weights.
dot_plan plan_of(const layer &l, instruction_set isa = amx, dim_t l2_bytes = 1 << 20) {
    convolution_problem p;
    const auto plain = [](const memory::dims &dims, data_type type, format_tag tag) {
        return memory::desc(dims, type, tag).data;
    };
    p.src = plain({1, l.ic, l.in, l.in}, l.src, format_tag::nhwc);
    p.dst = plain({1, l.oc, l.in, l.in}, data_type::u8, format_tag::nhwc);
    p.weights = plain({1, l.oc, l.ic, l.kernel, l.kernel}, data_type::s8, format_tag::goihw);
    p.weights_have_groups = true;
    p.oc = l.oc;
    p.ic = l.ic;
    p.in = p.out = {1, l.in, l.in};
    p.kernel = {1, l.kernel, l.kernel};
    p.pad = {0, l.kernel / 2, l.kernel / 2};
    p.spatial_ndims = 2;
    p.prefetched_bytes = l.next;
    return plan_dot(dot_geometry_of(p), {isa, l2_bytes, 1}, few_temps);
}

TEST(amx_plan, takes_tile_registers_where_they_pay) {
    using jit::dot_products;
    EXPECT_EQ(plan_of({256, 14, 256}).products, dot_products::tiles);
    EXPECT_EQ(plan_of({64, 28, 64, 3}).products, dot_products::tiles);
    EXPECT_EQ(plan_of({512, 7, 512, 3}).products, dot_products::tiles);
    EXPECT_EQ(plan_of({256, 14, 256, 1, data_type::s8}).products, dot_products::signed_tiles);
    EXPECT_EQ(plan_of({1024, 1, 1000}).products, dot_products::codes) << "one row";
    EXPECT_EQ(plan_of({16, 56, 64}).products, dot_products::codes) << "a short reduction";
    EXPECT_EQ(plan_of({256, 14, 256}, {cpu_isa::avx512_vnni}).products, dot_products::codes);
}

TEST(amx_plan, little_work_stays_with_vectors) {
    using jit::dot_products;
    const auto products = [](const layer &l) { return plan_of(l).products; };
    EXPECT_EQ(products({256, 4, 16}), dot_products::tiles) << "as tests with the emulator want it";
    ignore_gap_of_tiles(false);
    EXPECT_EQ(products({256, 4, 16}), dot_products::codes) << "less than 1,040 cycles are saved";
    EXPECT_EQ(products({256, 4, 256}), dot_products::tiles);
    EXPECT_EQ(products({256, 14, 256}), dot_products::tiles);
    EXPECT_EQ(products({3, 8, 16, 3}), dot_products::codes);
    EXPECT_EQ(products({3, 112, 64, 7}), dot_products::tiles);
    ignore_gap_of_tiles(true);
}

TEST(amx_plan, signed_sources_need_no_copy) {
    const dot_plan p = plan_of({256, 14, 256, 1, data_type::s8});
    EXPECT_EQ(p.source, row_source::in_place);
    EXPECT_FALSE(p.flips_source);
    EXPECT_TRUE(plan_of({16, 14, 256, 1, data_type::s8}).flips_source);
    EXPECT_EQ(plan_of({64, 112, 64, 3, data_type::s8}).source, row_source::copied_edges);
}

TEST(amx_plan, large_layers_have_four_accumulators) {
    for (const dim_t size : {14, 28, 56})
        for (const dim_t channels : {256, 512, 1024}) {
            const tile_plan t = plan_of({channels, size, 256}).tiles;
            EXPECT_EQ(t.vectors * (t.rows > t.register_rows ? 2 : 1), jit::amx_accumulators) << size;
        }
    EXPECT_EQ(plan_of({1024, 28, 256}).tiles.vectors, 2)
        << "weights that are read from the second-level cache";
}

TEST(amx_plan, short_lines_share_a_tile) {
    const auto tiles = [](dim_t channels, dim_t size) {
        return plan_of({channels, size, channels, 3}).tiles;
    };
    for (const dim_t size : {9, 13, 14, 16}) {
        const tile_plan t = tiles(256, size);
        const int registers = t.lines; // a line in each
        EXPECT_GE(registers, 2) << size;
        EXPECT_GE(registers * t.vectors, 3) << size;
        EXPECT_LE(registers * t.vectors, jit::amx_accumulators) << size;
        EXPECT_EQ(t.register_rows, size);
        EXPECT_EQ(t.rows, t.lines * size);
        EXPECT_EQ(t.tail_rows, size % t.lines * size);
    }
    const tile_plan seven = tiles(512, 7); // all of the image: weights are read once
    EXPECT_EQ(seven.lines, 7);
    EXPECT_EQ(seven.register_rows, 7 + 2 + 7);
    EXPECT_EQ(seven.vectors, 1);
    EXPECT_EQ(tiles(256, 28).lines, 1);
}

TEST(amx_plan, lines_of_a_tile_have_one_range) {
    const dot_plan p = plan_of({256, 13, 256, 3});
    ASSERT_EQ(p.range_of_line.size(), 13u);
    const auto range = [&](std::size_t line) { return p.ranges[p.range_of_line[line]]; };
    EXPECT_EQ(range(0), (line_range{0, 3})) << "as line 1, which reads all lines of the kernel";
    EXPECT_EQ(range(11), (line_range{0, 3}));
    EXPECT_EQ(range(12), (line_range{0, 2})) << "alone in its tile";
    EXPECT_EQ(p.work.unit, p.tiles.lines);
    EXPECT_EQ(p.work.units_per_slice, div_up(dim_t{13}, p.work.unit));
}

TEST(amx_plan, last_tiles_of_lines_fit_their_registers) {
    for (dim_t width = 1; width <= jit::amx_rows; width++)
        for (dim_t distance : {dim_t{0}, width, width + 1, width + 2, 2 * width + 1})
            for (dim_t height = 2; height <= 20; height++) {
                const tile_plan line =
                    plan_tiles(amx, width, 64, 144, few_temps, {}, {}, jit::dot_products::tiles);
                const short_lines lines{height, width, distance, 3, height, true};
                const tile_plan t = join_lines(line, lines, 64, 144, {1, height, 1});
                SCOPED_TRACE(testing::Message() << height << " lines of " << width << ", " << distance);
                EXPECT_EQ(t.rows % width, 0);
                EXPECT_EQ(t.tail_rows, t.lines > 1 ? height % t.lines * width : 0);
                for (const int rows : {t.rows, t.tail_rows}) {
                    if (rows == 0)
                        continue;
                    const auto in =
                        jit::amx_row_tiles(rows, t.register_rows_of(rows), t.lines_of(rows), t.line_distance);
                    EXPECT_LE(t.register_rows_of(rows), jit::amx_rows);
                    EXPECT_LE(in.count * t.vectors, jit::amx_accumulators);
                    EXPECT_GE(in.count * in.lines, t.lines_of(rows));
                    EXPECT_EQ(t.register_rows_of(rows), width + (in.lines - 1) * t.line_distance);
                }
            }
}

TEST(amx_plan, rows_stay_while_weights_pass) {
    const dot_plan p = plan_of({512, 11, 512}); // 256 KiB of weights, 121 rows of 512 bytes
    EXPECT_EQ(p.chunk, p.tiles.panels);
    EXPECT_EQ(p.order.streams, jit::streamed::weights);
    EXPECT_EQ(p.lines_ahead, 0);
    const dot_plan small = plan_of({64, 28, 64}); // both stay
    EXPECT_EQ(small.chunk, small.tiles.panels);
    EXPECT_EQ(small.order.streams, jit::streamed::nothing);
    const dot_plan few = plan_of({256, 4, 64}); // read once
    EXPECT_EQ(few.order.streams, jit::streamed::weights);
    EXPECT_EQ(few.chunk, 1);
}

TEST(amx_plan, panels_stay_where_rows_do_not) {
    const dot_plan p = plan_of({1168, 11, 256}); // no whole steps in equal parts of up to 1,024 bytes
    EXPECT_EQ(p.chunk, 1);
    EXPECT_EQ(p.order.streams, jit::streamed::rows);
    EXPECT_FALSE(p.order.keeps_sums);
    const dot_plan image = plan_of({64, 56, 64, 3}); // a panel and the lines that a tile reads stay
    EXPECT_EQ(image.chunk, 1);
    EXPECT_EQ(image.order.streams, jit::streamed::nothing);
}

TEST(amx_plan, lines_stay_while_weights_pass) {
    const dot_plan p = plan_of({256, 14, 256, 3});
    EXPECT_EQ(p.chunk, p.tiles.panels);
    EXPECT_EQ(p.order.streams, jit::streamed::weights);
}

TEST(amx_plan, weights_beyond_the_second_level_cache_are_taken_in_chunks) {
    const dot_plan p = plan_of({768, 11, 3072});
    EXPECT_EQ(p.chunk * p.tiles.vectors * 16, 256);
    EXPECT_EQ(p.order.streams, jit::streamed::weights);
    const dim_t row_tiles = div_up(dim_t{121}, dim_t{p.tiles.rows}), steps = 768 / 64 - 1;
    EXPECT_GE(p.lines_ahead * row_tiles * steps, p.quads) << "all of a vector's weights";
    EXPECT_LT((p.lines_ahead - 1) * row_tiles * steps, p.quads);
    EXPECT_GT(plan_of({512, 7, 512, 3}).order.own_lines_ahead, 0) << "one tile reads them all";
}

TEST(amx_plan, fetches_what_is_next) {
    const auto plan = [](layer l, dim_t next, instruction_set isa = amx) {
        l.next = next;
        return plan_of(l, isa);
    };
    const layer image{128, 28, 128, 3};
    constexpr dim_t same = dim_t{128} * 128 * 9;
    const dot_plan p = plan(image, same);
    EXPECT_TRUE(p.order.fetches_on);
    EXPECT_EQ(p.lines_ahead, 1);
    EXPECT_EQ(p.next_lines, same / 64);
    const dim_t steps = 9 * 128 / 64 - 1, tiles = 28 * p.tiles.panels;
    EXPECT_GE(tiles * steps * p.tiles.vectors, p.next_lines) << "a place for each line";
    EXPECT_EQ(plan(image, 3 * same).lines_ahead, 2);
    EXPECT_EQ(plan(image, dim_t{1} << 30).next_lines, (1 << 19) / 64) << "half of the cache";
    EXPECT_LE(plan(image, dim_t{1} << 30).lines_ahead * p.tiles.vectors, 4) << "as fast as memory gives them";

    const auto expect_as_without = [&](const layer &l, dim_t next, instruction_set isa = amx) {
        const dot_plan with = plan(l, next, isa), without = plan(l, 0, isa);
        EXPECT_EQ(with.next_lines, 0);
        EXPECT_FALSE(with.order.fetches_on);
        EXPECT_EQ(with.lines_ahead, without.lines_ahead);
    };
    expect_as_without(image, 60000);                        // stays in some cache
    expect_as_without(image, same, {cpu_isa::avx512_vnni}); // vectors
    expect_as_without({512, 7, 512, 3}, same); // one tile, which reads its own weights from memory
    expect_as_without({64, 56, 64}, same);     // tiles of one step
    expect_as_without({3, 112, 64, 7}, same);  // gathered rows
    expect_as_without({768, 11, 3072}, dim_t{100} * 1024); // less than a chunk

    const dot_plan chunks = plan({768, 11, 3072}, dim_t{768} * 768);
    EXPECT_EQ(chunks.lines_ahead, plan_of({768, 11, 3072}).lines_ahead) << "the kernel is the same";
    EXPECT_FALSE(chunks.order.fetches_on);
    EXPECT_EQ(chunks.next_lines, 768 * 768 / 64);
    const dot_plan parts = plan({3072, 5, 512}, same); // 25 rows in one tile
    EXPECT_EQ(parts.next_lines, 0);
}

TEST(amx_plan, long_reductions_are_divided) {
    const dot_plan p = plan_of({3072, 11, 768});
    EXPECT_TRUE(p.order.keeps_sums);
    EXPECT_EQ(p.taps, 3);
    EXPECT_EQ(p.quads, 256);
    EXPECT_EQ(p.tap_offsets, (std::vector<std::int64_t>{0, 1024, 2048}));
    EXPECT_EQ(p.order.streams, jit::streamed::weights);
    EXPECT_FALSE(plan_of({3072, 4, 768}).order.keeps_sums) << "16 rows read weights once";
}

TEST(amx_plan, rows_that_conflict_are_copied) {
    const dot_plan p = plan_of({4096, 11, 1024});
    EXPECT_EQ(p.source, row_source::copied_rows);
    EXPECT_EQ(p.row_stride, 4160);
    EXPECT_EQ(p.taps, 4);
    EXPECT_EQ(plan_of({4096, 11, 64}).source, row_source::in_place) << "for few columns";
    EXPECT_EQ(plan_of({4096, 4, 1024}).source, row_source::in_place) << "for few rows";
}

TEST(amx_plan, rows_of_few_channels_are_gathered) {
    const dot_plan p = plan_of({3, 30, 64, 7});
    EXPECT_EQ(p.products, jit::dot_products::tiles);
    EXPECT_EQ(p.source, row_source::gathered);
    EXPECT_TRUE(p.is_flat) << "tiles go on over the ends of lines";
    EXPECT_EQ(p.taps, 1);
    EXPECT_EQ(p.quads, 7 * 6);
    EXPECT_EQ(p.tiles.vectors, 4);
    EXPECT_EQ(p.tiles.rows, p.tiles.register_rows);
    const jit::tile_shapes steps = jit::amx_shapes_of_gathered(16, p.quads);
    EXPECT_EQ(steps.quads, 16) << "a cache line";
    EXPECT_EQ(steps.last_quads, 10);
    EXPECT_EQ(plan_of({3, 30, 100, 7}).tiles.panels, 2) << "7 vectors, each half of which gathers the rows";
    EXPECT_EQ(plan_of({3, 32, 32, 3}).source, row_source::gathered) << "one step instead of three";
    EXPECT_EQ(plan_of({4, 32, 64, 5, data_type::s8}).source, row_source::gathered);
    EXPECT_NE(plan_of({16, 32, 64, 3}).source, row_source::gathered) << "three steps either way";
    EXPECT_NE(plan_of({64, 32, 64, 3}).source, row_source::gathered);
    EXPECT_NE(plan_of({3, 30, 64, 7}, {cpu_isa::avx512_vnni}).source, row_source::gathered);
}

TEST(amx_plan, copied_images_reach_to_the_rows_that_are_gathered_ahead) {
    for (const dim_t size : {1, 2, 5, 17, 40, 112})
        for (const dim_t l2 : {dim_t{1} << 12, dim_t{1} << 20}) {
            const dot_plan p = plan_of({3, size, 64, 7}, amx, l2);
            if (p.source != row_source::gathered)
                continue;
            const dim_t lines = (p.scratch_bytes - ring_bytes(p) - 64) / p.copied_line_bytes;
            for (dim_t first = 0; first < p.line_length; first += p.tiles.rows) {
                const dim_t end = std::min(first + p.band_lines, p.line_length);
                EXPECT_LE((end - 1) / size - first / size + 7, p.copy[1]) << size << ", row " << first;
                const dim_t last = end + jit::rows_gathered_ahead(p.tiles.rows) - 1;
                EXPECT_LE(last / size - first / size + 7, lines) << size << ", row " << first;
            }
        }
}

TEST(amx_plan, tiles_cover_the_line_and_fit_the_registers) {
    for (const auto products : {jit::dot_products::tiles, jit::dot_products::signed_tiles})
        for (dim_t length = 1; length <= 300; length++)
            for (const dim_t columns : {1, 16, 17, 33, 64, 100, 1000}) {
                const tile_plan t = plan_tiles(amx, length, columns, 64, few_temps, {}, {}, products);
                const auto text = ::testing::Message() << length << " x " << columns;
                ASSERT_GE(t.rows, 1) << text;
                ASSERT_EQ(t.tail_rows, length % t.rows) << text;
                ASSERT_LE(t.register_rows, jit::amx_rows) << text;
                ASSERT_LE(t.rows, 2 * t.register_rows) << text;
                ASSERT_LE(t.vectors * (t.rows > t.register_rows ? 2 : 1), jit::amx_accumulators) << text;
                const dim_t vectors =
                    t.last_vectors ? (t.panels - 1) * t.vectors + t.last_vectors : t.panels * t.vectors;
                ASSERT_EQ((vectors - 1) * 16 + t.tail, columns) << text;
            }
}

TEST(amx_plan, lines_of_images_are_done_with_one_configuration) {
    for (const dim_t width : {7, 13, 14, 17, 26, 28, 33, 52, 56, 65, 100, 104, 112, 208, 224, 416}) {
        const tile_plan t = plan_tiles(amx, width, 64, 144, few_temps, {}, {}, jit::dot_products::tiles);
        EXPECT_TRUE(t.tail_rows == 0 || t.tail_rows >= t.register_rows) << width;
    }
}

TEST(amx_shapes, divide_a_reduction_into_steps) {
    for (std::int64_t quads = 1; quads <= 2000; quads++) {
        const jit::tile_shapes s = jit::amx_shapes(16, quads);
        ASSERT_GE(s.quads, 1);
        ASSERT_LE(s.quads, jit::most_amx_quads);
        ASSERT_EQ(quads % s.quads, s.last_quads) << quads;
        const std::int64_t steps = quads / s.quads + (s.last_quads > 0);
        ASSERT_LE(4 * steps, 5 * ((quads + 15) / 16)) << quads;
    }
    EXPECT_EQ(jit::amx_shapes(16, 64).quads, 16);
    EXPECT_EQ(jit::amx_shapes(16, 24).quads, 12); // 96 channels: two equal steps
    EXPECT_EQ(jit::amx_shapes(16, 17).last_quads, 1);
}

TEST(amx_shapes, have_keys_of_their_own) {
    const jit::tile_shapes shapes[] = {{16, 16, 0}, {15, 16, 0}, {16, 15, 0}, {16, 16, 1}, {1, 1, 0}};
    for (const auto &a : shapes) {
        EXPECT_NE(a.key(), 0u);
        for (const auto &b : shapes)
            EXPECT_EQ(a.key() == b.key(), &a == &b);
    }
}

} // namespace
