// Plans of the dot kernels are pure functions: checked without running anything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "cpu/dot/plan.hpp"
#include "support/levels.hpp"

using namespace octet;
using namespace octet::impl;

namespace {

constexpr int few_temps = 3;
constexpr machine one_thread{{cpu_isa::avx512_vnni}, 1 << 20, 1};

struct image_layer {
    dim_t ic, in, oc, out, kernel, stride, pad;
    dim_t groups = 1;
    data_type src = data_type::u8;
};

/// A square convolution, channels-last, with packed weights.
convolution_problem problem_of(const image_layer &l) {
    convolution_problem p;
    const auto plain = [](const memory::dims &dims, data_type type, format_tag tag) {
        return memory::desc(dims, type, tag).data;
    };
    p.src = plain({1, l.ic, l.in, l.in}, l.src, format_tag::nhwc);
    p.dst = plain({1, l.oc, l.out, l.out}, data_type::u8, format_tag::nhwc);
    p.weights = plain({l.groups, l.oc / l.groups, l.ic / l.groups, l.kernel, l.kernel}, data_type::s8,
                      format_tag::goihw);
    p.weights_have_groups = true;
    p.groups = l.groups;
    p.oc = l.oc / l.groups;
    p.ic = l.ic / l.groups;
    p.in = {1, l.in, l.in};
    p.out = {1, l.out, l.out};
    p.kernel = {1, l.kernel, l.kernel};
    p.stride = {1, l.stride, l.stride};
    p.pad = {0, l.pad, l.pad};
    p.spatial_ndims = 2;
    return p;
}

dot_plan plan_of(const image_layer &l, const machine &m = one_thread) {
    static std::vector<std::unique_ptr<convolution_problem>> problems; // geometries refer to them
    problems.push_back(std::make_unique<convolution_problem>(problem_of(l)));
    return plan_dot(dot_geometry_of(*problems.back()), m, few_temps);
}

TEST(plan_tiles, fit_the_registers_and_cover_the_line) {
    for (const instruction_set isa : all_instruction_sets())
        for (const dim_t length : {1, 2, 7, 13, 14, 28, 49, 56, 196, 1000})
            for (const dim_t columns : {1, 8, 15, 16, 17, 32, 48, 64, 100, 512, 1000})
                for (const dim_t quads : {1, 16, 600}) {
                    const tile_plan t = plan_tiles(isa, length, columns, quads, few_temps);
                    const int lanes = isa.lanes();
                    const auto text = ::testing::Message() << isa.name() << " " << length << " x " << columns;
                    EXPECT_GE(t.rows, 1) << text;
                    EXPECT_LE(t.rows, jit::max_rows(isa, t.vectors, few_temps)) << text;
                    EXPECT_EQ(t.tail_rows, length % t.rows) << text;
                    const dim_t vectors =
                        t.last_vectors ? (t.panels - 1) * t.vectors + t.last_vectors : t.panels * t.vectors;
                    EXPECT_EQ(vectors, div_up(columns, lanes)) << text;
                    EXPECT_EQ((vectors - 1) * lanes + t.tail, columns) << text;
                    EXPECT_GE(t.tail, 1) << text;
                    EXPECT_LE(t.tail, lanes) << text;
                }
}

TEST(plan_tiles, leave_no_tails_of_a_few_rows_in_usual_images) {
    for (const dim_t length : {7, 14, 28, 56, 112, 49, 196})
        for (const dim_t columns : {64, 128, 256, 512}) {
            const tile_plan t = plan_tiles({cpu_isa::avx512_vnni}, length, columns, 144, few_temps);
            EXPECT_TRUE(t.tail_rows == 0 || t.tail_rows * 2 >= t.rows)
                << length << " rows in tiles of " << t.rows << ", " << columns << " columns";
        }
}

TEST(plan_dot, reads_1x1_layers_in_place_as_one_line) {
    const dot_plan p = plan_of({64, 56, 256, 56, 1, 1, 0});
    EXPECT_EQ(p.source, row_source::in_place);
    EXPECT_TRUE(p.is_flat);
    EXPECT_EQ(p.line_length, 56 * 56);
    EXPECT_EQ(p.taps, 1);
    EXPECT_EQ(p.quads, 16);
    EXPECT_EQ(p.scratch_bytes, 0);
}

TEST(plan_dot, widens_codes_without_a_dot_product_instruction) {
    using jit::dot_products;
    for (const cpu_isa level : {cpu_isa::avx2, cpu_isa::avx512_core}) {
        const machine m{{level}, 1 << 20, 1};
        const dot_plan point = plan_of({64, 56, 256, 56, 1, 1, 0}, m);
        EXPECT_EQ(point.products, dot_products::wide_words);
        EXPECT_EQ(point.source, row_source::copied_rows);
        EXPECT_EQ(point.row_stride, 2 * 64);
        EXPECT_GE(point.scratch_bytes, point.tiles.rows * point.row_stride);
        // Few rows are not worth words of weights. Quads of an image of 3 channels begin anywhere; rows that are copied
        // one by one begin with one.
        EXPECT_EQ(plan_of({64, 5, 256, 5, 1, 1, 0}, m).products, dot_products::split_words);
        EXPECT_EQ(plan_of({3, 9, 64, 4, 3, 2, 0}, m).products, dot_products::words);
        EXPECT_EQ(plan_of({30, 5, 64, 5, 1, 1, 0}, m).products, dot_products::split_words);
        EXPECT_EQ(plan_of({30, 5, 64, 5, 3, 1, 1}, m).products, dot_products::words);
        EXPECT_EQ(plan_of({64, 56, 64, 56, 3, 1, 1, 16}, m).products, dot_products::split_words) << "groups";
    }
}

TEST(plan_dot, filters_neighbouring_taps_without_a_dot_product_instruction) {
    using jit::dot_products;
    for (const cpu_isa level : {cpu_isa::avx2, cpu_isa::avx512_core}) {
        const machine m{{level}, 1 << 20, 1};
        for (const dim_t size : {7, 14, 15, 56}) {
            const dot_plan p = plan_of({64, size, 64, size, 3, 1, 1}, m);
            EXPECT_EQ(p.products, dot_products::winograd_f43) << size;
            EXPECT_EQ(p.source, row_source::copied_image);
            EXPECT_EQ(p.taps, 3) << "lines of the kernel";
            EXPECT_EQ(p.quads, 16);
            EXPECT_EQ(p.tiles.rows % 4, 0) << "four rows together";
            EXPECT_EQ(p.tiles.tail_rows, size % p.tiles.rows);
            EXPECT_EQ(p.part_stride, (size + 3) / 4 * p.row_stride);
            EXPECT_EQ(p.ranges.size(), 3u) << "lines outside the image are skipped";
        }
        for (const image_layer &other :
             {image_layer{64, 56, 64, 28, 3, 2, 1}, {6, 56, 64, 56, 3, 1, 1}, {64, 56, 64, 56, 1, 1, 0}})
            EXPECT_EQ(plan_of(other, m).products, dot_products::wide_words);
        const dot_plan longer = plan_of({64, 14, 64, 14, 5, 1, 2}, m);
        EXPECT_EQ(longer.products, dot_products::winograd_f43);
        EXPECT_EQ(longer.taps, 2 * 5) << "5 taps of a line are three and two";
        // 9 * 255 * 128 * 913 is below 2^28, with one channel more it is not.
        EXPECT_EQ(plan_of({912, 14, 64, 14, 3, 1, 1}, m).products, dot_products::winograd_f43);
        EXPECT_EQ(plan_of({916, 14, 64, 14, 3, 1, 1}, m).products, dot_products::wide_words);
    }
    EXPECT_EQ(plan_of({64, 56, 64, 56, 3, 1, 1}).products, dot_products::codes);
}

TEST(plan_dot, multiplies_signed_codes_where_they_are) {
    for (const bool has_signed_dot4 : {false, true}) {
        const machine m{{cpu_isa::avx_vnni, false, has_signed_dot4}, 1 << 20, 1};
        image_layer of_signed{64, 56, 256, 56, 1, 1, 0};
        EXPECT_FALSE(plan_of(of_signed, m).flips_source);
        of_signed.src = data_type::s8;
        const dot_plan p = plan_of(of_signed, m);
        EXPECT_EQ(p.products, has_signed_dot4 ? jit::dot_products::signed_codes : jit::dot_products::codes);
        EXPECT_EQ(p.flips_source, !has_signed_dot4);
        EXPECT_EQ(p.source, has_signed_dot4 ? row_source::in_place : row_source::copied_rows);
    }
}

/// Columns of merged groups of 4 channels take one quad each, where bytes are multiplied.
TEST(plan_dot, gives_columns_of_small_groups_their_quads) {
    using jit::dot_products;
    image_layer l{128, 56, 128, 56, 3, 1, 1, 32};
    for (const instruction_set isa : all_instruction_sets()) {
        const machine m{isa, 1 << 20, 1};
        for (const data_type src : {data_type::u8, data_type::s8}) {
            l.src = src;
            const bool has_signed = isa.signed_dot4 && src == data_type::s8;
            const dot_plan p = plan_of(l, m);
            EXPECT_EQ(p.products == dot_products::grouped_codes, isa.has_dot4() && !has_signed) << isa.name();
            EXPECT_LE(p.tiles.rows, jit::max_rows(isa, p.tiles.vectors, few_temps, p.products)) << isa.name();
        }
    }
    l.src = data_type::u8;
    EXPECT_EQ(plan_of(l).taps, 9);
    EXPECT_EQ(plan_of(l).quads, 4);
    for (const image_layer &other : {image_layer{128, 56, 128, 56, 3, 1, 1, 16},
                                     {12, 56, 12, 56, 3, 1, 1, 3},
                                     {128, 56, 256, 56, 3, 1, 1, 32},
                                     {64, 56, 64, 56, 3, 1, 1, 1}})
        EXPECT_NE(plan_of(other).products, dot_products::grouped_codes) << other.ic << ", " << other.groups;
}

TEST(plan_dot, overlaps_tiles_of_short_reductions) {
    EXPECT_TRUE(plan_of({32, 56, 64, 56, 1, 1, 0}).tiles.overlap);
    EXPECT_FALSE(plan_of({256, 56, 64, 56, 1, 1, 0}).tiles.overlap);
    EXPECT_FALSE(plan_of({32, 56, 64, 56, 3, 1, 1}).tiles.overlap); // several taps
    EXPECT_FALSE(plan_of({32, 2, 64, 2, 1, 1, 0}).tiles.overlap);   // a tile or two
}

TEST(plan_dot, reads_strided_1x1_layers_in_place_line_by_line) {
    const dot_plan p = plan_of({64, 56, 128, 28, 1, 2, 0});
    EXPECT_EQ(p.source, row_source::in_place);
    EXPECT_FALSE(p.is_flat);
    EXPECT_EQ(p.row_stride, 2 * 64);
}

TEST(plan_dot, copies_only_the_edges_of_padded_images) {
    const dot_plan p = plan_of({64, 56, 64, 56, 3, 1, 1});
    EXPECT_EQ(p.source, row_source::copied_edges);
    EXPECT_GE(p.left_rows, 1);
    EXPECT_GE(p.right_rows, 1);
    EXPECT_LT(p.left_rows + p.right_rows, 56);
    EXPECT_EQ(p.left_rows % p.tiles.rows, 0);
    EXPECT_EQ(p.tap_offsets.size(), p.edge_tap_offsets.size());
}

TEST(plan_dot, copies_signed_sources_whose_sign_bit_must_flip) {
    EXPECT_EQ(plan_of({64, 56, 64, 56, 3, 1, 1, 1, data_type::s8}).source, row_source::copied_image);
    EXPECT_EQ(plan_of({64, 56, 64, 56, 1, 1, 0, 1, data_type::s8}).source, row_source::copied_rows);
}

TEST(plan_dot, merges_taps_that_are_neighbours_in_memory) {
    const dot_plan p = plan_of({64, 56, 64, 56, 3, 1, 1});
    EXPECT_EQ(p.taps, 3);
    EXPECT_EQ(p.quads, 3 * 16);
}

TEST(plan_dot, fuses_the_width_of_first_layers) {
    const dot_plan p = plan_of({3, 224, 64, 112, 7, 2, 3});
    EXPECT_EQ(p.taps, 7);
    EXPECT_EQ(p.quads, 6); // 7 * 3 bytes
}

TEST(plan_dot, fetches_weights_ahead_where_few_tiles_share_them) {
    const dot_plan late = plan_of({512, 7, 2048, 7, 1, 1, 0});
    ASSERT_GT(late.lines_ahead, 0);
    const dim_t tiles = div_up(late.line_length, late.tiles.rows), steps = late.quads / jit::quads_per_step;
    EXPECT_GE(tiles * late.lines_ahead * steps, late.quads * late.tiles.blocks_per_panel)
        << "the whole panel";
    EXPECT_GT(plan_of({512, 7, 512, 7, 3, 1, 1}).lines_ahead, 0);
    EXPECT_EQ(plan_of({512, 1, 2048, 1, 1, 1, 0}).lines_ahead, 0); // a row: nothing to hide it behind
    EXPECT_EQ(plan_of({256, 56, 64, 56, 1, 1, 0}).lines_ahead, 0); // 16 KiB of weights for 3136 rows
    EXPECT_EQ(plan_of({64, 56, 256, 56, 1, 1, 0}).lines_ahead, 0); // tiles overlap
}

TEST(plan_dot, reads_short_blocks_of_far_weights_as_they_lie) {
    const auto blocks = [](dim_t side, dim_t columns, dim_t k) { // blocks of side * side rows
        return plan_of({k, side, columns, side, 1, 1, 0}).tiles.blocks_per_panel;
    };
    EXPECT_EQ(blocks(2, 50257, 768), 1);
    EXPECT_GT(blocks(2, 3072, 768), 1);   // caches hold them
    EXPECT_GT(blocks(2, 16384, 4096), 1); // long blocks
    EXPECT_GT(blocks(1, 50257, 768), 1);  // a row has as many products as loads
}

TEST(plan_edges, are_whole_tiles_that_hold_all_rows_outside) {
    const auto edges = [](const image_layer &l, dim_t tile_rows) {
        const convolution_problem p = problem_of(l);
        const edge_rows e = plan_edges(dot_geometry_of(p), tile_rows);
        return std::pair<dim_t, dim_t>{e.left, e.right};
    };
    using pair = std::pair<dim_t, dim_t>;
    EXPECT_EQ(edges({64, 56, 64, 56, 3, 1, 1}, 14), pair(14, 14));
    EXPECT_EQ(edges({64, 56, 64, 56, 3, 1, 1}, 6), pair(6, 2)); // the last row is in a tail tile
    EXPECT_EQ(edges({64, 58, 64, 56, 3, 1, 0}, 14), pair(0, 0));
    EXPECT_EQ(edges({64, 56, 64, 28, 3, 2, 0}, 14), pair(0, 14)); // padding at the right only
    EXPECT_EQ(edges({64, 56, 64, 28, 3, 2, 1}, 14), pair(14, 0)); // at the left only
    EXPECT_EQ(edges({64, 56, 64, 56, 5, 1, 2}, 1), pair(2, 2));
    // Quads of 3 * 3 bytes reach 3 bytes further, which the last row has not got.
    EXPECT_EQ(edges({3, 58, 64, 56, 3, 1, 0}, 8), pair(0, 8));
}

TEST(plan_rows_of_tap, leave_out_columns_of_padding_where_a_tile_is_a_line) {
    const auto rows = [](const dot_plan &p) {
        std::vector<std::pair<int, int>> ranges;
        for (const jit::row_range &r : p.rows_of_tap)
            ranges.emplace_back(r.first, r.end);
        return ranges;
    };
    using ranges = std::vector<std::pair<int, int>>;
    const dot_plan p = plan_of({64, 14, 64, 14, 3, 1, 1});
    ASSERT_EQ(p.tiles.rows, 14);
    EXPECT_EQ(rows(p), (ranges{{1, 14}, {0, 14}, {0, 13}}));
    EXPECT_EQ(p.source, row_source::copied_edges);
    EXPECT_EQ(p.left_rows + p.right_rows, 0) << "nothing is copied";
    EXPECT_EQ(p.taps, 9);
    EXPECT_EQ(p.quads, 16) << "neighbouring taps meet other rows";
    EXPECT_EQ(rows(plan_of({64, 14, 64, 14, 5, 1, 2})),
              (ranges{{2, 14}, {1, 14}, {0, 14}, {0, 13}, {0, 12}}));
    EXPECT_EQ(rows(plan_of({64, 14, 64, 7, 3, 2, 1})), (ranges{{1, 7}, {0, 7}, {0, 7}}));
    EXPECT_EQ(rows(plan_of({64, 1, 64, 1, 3, 1, 1})), (ranges{{1, 1}, {0, 1}, {0, 0}}));
    EXPECT_EQ(rows(plan_of({64, 16, 64, 14, 3, 1, 0})), ranges{}) << "no padding";
    EXPECT_EQ(rows(plan_of({64, 56, 64, 56, 3, 1, 1})), ranges{}) << "several tiles";
    EXPECT_EQ(rows(plan_of({64, 14, 64, 14, 3, 1, 1}, {{cpu_isa::avx2}, 1 << 20, 1})), ranges{});

    EXPECT_EQ(rows(plan_of({64, 14, 64, 14, 3, 1, 1, 1, data_type::s8})), ranges{}) << "0 becomes 128";
    convolution_problem with_zero_point = problem_of({64, 14, 64, 14, 3, 1, 1, 1, data_type::s8});
    with_zero_point.src_zero_points.values.values = {-128};
    const auto plan = [&] { return plan_dot(dot_geometry_of(with_zero_point), one_thread, few_temps); };
    EXPECT_EQ(rows(plan()).size(), 3u) << "-128 becomes 0";
    EXPECT_EQ(plan().source, row_source::copied_image);
    with_zero_point.src_zero_points.values.values = {-127};
    EXPECT_EQ(rows(plan()), ranges{});
    with_zero_point.src_zero_points.values = {};
    with_zero_point.src_zero_points.values.runtime = true;
    EXPECT_EQ(rows(plan()), ranges{}) << "not known yet";
}

TEST(plan_lines, skip_the_kernel_lines_outside_the_image) {
    const dot_plan p = plan_of({64, 14, 64, 14, 3, 1, 1});
    ASSERT_EQ(p.range_of_line.size(), 14u);
    const auto range = [&](std::size_t line) { return p.ranges[p.range_of_line[line]]; };
    EXPECT_EQ(range(0), (line_range{1, 2}));
    EXPECT_EQ(range(1), (line_range{0, 3}));
    EXPECT_EQ(range(12), (line_range{0, 3}));
    EXPECT_EQ(range(13), (line_range{0, 2}));
    EXPECT_EQ(p.ranges.size(), 3u);
}

TEST(useful_threads, are_few_for_little_work) {
    const convolution_problem tiny = problem_of({64, 7, 64, 7, 1, 1, 0}),
                              usual = problem_of({64, 56, 64, 56, 3, 1, 1});
    EXPECT_EQ(useful_threads(dot_geometry_of(tiny), {{cpu_isa::avx512_vnni}, 1 << 20, 8}), 1);
    EXPECT_EQ(useful_threads(dot_geometry_of(usual), {{cpu_isa::avx512_vnni}, 1 << 20, 8}), 8);
    EXPECT_EQ(useful_threads(dot_geometry_of(usual), {{cpu_isa::avx512_vnni}, 1 << 20, 1}), 1);
}

/// Layers of ResNet-50, VGG-16, YOLOv3, ResNeXt-50 and MobileNet v2, and products of BERT as 1x1 layers.
constexpr image_layer usual_layers[] = {
    {3, 224, 64, 112, 7, 2, 3},      {64, 56, 64, 56, 1, 1, 0},       {64, 56, 64, 56, 3, 1, 1},
    {256, 56, 64, 56, 1, 1, 0},      {256, 56, 512, 28, 1, 2, 0},     {128, 28, 512, 28, 1, 1, 0},
    {128, 28, 128, 28, 3, 1, 1},     {512, 28, 1024, 14, 1, 2, 0},    {256, 14, 256, 14, 3, 1, 1},
    {1024, 14, 256, 14, 1, 1, 0},    {1024, 14, 2048, 7, 1, 2, 0},    {512, 7, 512, 7, 3, 1, 1},
    {512, 7, 2048, 7, 1, 1, 0},      {64, 224, 64, 224, 3, 1, 1},     {512, 28, 512, 28, 3, 1, 1},
    {32, 416, 64, 208, 3, 2, 1},     {1024, 13, 255, 13, 1, 1, 0},    {512, 13, 1024, 13, 3, 1, 1},
    {128, 56, 128, 56, 3, 1, 1, 32}, {1024, 7, 1024, 7, 3, 1, 1, 32}, {24, 56, 144, 56, 1, 1, 0},
    {960, 7, 160, 7, 1, 1, 0},       {768, 8, 3072, 8, 1, 1, 0},      {3072, 16, 768, 16, 1, 1, 0},
};

TEST(plan_work, gives_no_thread_more_than_its_share) {
    for (const image_layer &l : usual_layers)
        for (int threads = 2; threads <= 64; threads++) {
            const convolution_problem problem = problem_of(l);
            const dot_geometry g = dot_geometry_of(problem);
            const dot_plan p = plan_dot(g, {{cpu_isa::avx512_vnni}, 1 << 20, threads}, few_temps);
            const work_costs costs = costs_of_work(p, g, p.work);
            const double even = 1.0 / p.work.threads;
            const double cell = 1 / (costs.units.all() * costs.panels.all());
            EXPECT_LE(busiest_share(costs.units, costs.panels, p.work.shares),
                      std::max(1.04 * even, even + cell))
                << threads << " threads, " << l.ic << "x" << l.in << " to " << l.oc << ", kernel " << l.kernel
                << ": " << text_of(p);
        }
}

TEST(plan_work, halves_all_layers_that_are_worth_two_threads) {
    for (const image_layer &l : usual_layers) {
        const convolution_problem problem = problem_of(l);
        const dot_geometry g = dot_geometry_of(problem);
        const dot_plan p = plan_dot(g, {{cpu_isa::avx512_vnni}, 1 << 20, 2}, few_temps);
        const work_costs costs = costs_of_work(p, g, p.work);
        if (p.work.threads == 2) {
            EXPECT_LE(busiest_share(costs.units, costs.panels, p.work.shares), 0.52) << text_of(p);
        }
    }
}

} // namespace
