// The kernel of tile registers by itself against sums in C++: every number of rows and column vectors, whole
// and partial last vectors, reductions of equal steps and with a last one, one tap and ranges of several, in
// one call or with sums kept from call to call, calls of one tile and of many, which lie below each other,
// side by side or both; tiles of several lines of an image, in registers of their own or with the rows
// between them; rows that are gathered from an image. What lies around the results stays as it was, and
// sources, weights and sums end at an unmapped page.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "amx/emulator.hpp"
#include "jit/base/tile_registers.hpp"
#include "jit/epilogue/epilogue.hpp"
#include "jit/kernels/dot_amx.hpp"
#include "primitives/guarded_memory.hpp"

using namespace octet;
using namespace octet::impl;

namespace {

constexpr int columns_of_vector = 16, quad_bytes = 4;
constexpr std::size_t margin = 256;

/// A call and what it reads, drawn at random.
struct kernel_call {
    jit::dot_spec spec;
    data_type dst_type = data_type::s32;
    bool adds_dst = false, subtracts_row_sums = false;
    dim_t down = 1, across = 1; ///< tiles below each other and, with weights of their own, side by side
    dim_t src_across = 0;       ///< bytes of the source from a tile to the one beside it
    dim_t first_tap = 0, taps = 1;
    dim_t first_position = 0; ///< gathered rows: of the first one in its line
    std::vector<std::int64_t> tap_offsets;
    std::vector<std::uint8_t> src, dst;
    std::vector<std::int8_t> weights;
    std::vector<std::int32_t> initial, row_sums, zero_points;

    bool has_signed_src() const { return spec.products == jit::dot_products::signed_tiles; }
    dim_t columns() const { return (spec.vectors - 1) * columns_of_vector + spec.tail; }
    dim_t padded_columns() const { return dim_t{spec.vectors} * columns_of_vector; }
    dim_t block_bytes() const { return spec.taps * spec.quads * columns_of_vector * quad_bytes; }
    dim_t tiles() const { return down * across; }
    dim_t group_of(dim_t tile) const { return tile % across; }
    dim_t first_row(dim_t tile) const { return tile / across * spec.rows; }
    dim_t src_offset(dim_t tile) const {
        return first_row(tile) * spec.row_stride + group_of(tile) * src_across;
    }
    dim_t dst_offset(dim_t tile) const {
        return first_row(tile) * spec.dst_row_stride + group_of(tile) * padded_columns();
    }
    dim_t row_offset(dim_t row) const {
        const dim_t length = spec.rows / spec.tiling.lines;
        return row / length * spec.tiling.line_stride + row % length * spec.row_stride;
    }
    bool gathers() const { return spec.tiling.gathered.pieces > 0; }
    /// Bytes of the image in front of a row's first piece, if rows are gathered; `row` counts from the first line on.
    dim_t image_offset(dim_t row) const {
        const jit::gathered_rows &g = spec.tiling.gathered;
        return row * g.row_step + row / g.line_rows * g.line_step;
    }
    /// From the beginning of the source, of a byte of the reduction.
    dim_t source_offset(dim_t tile, dim_t row, dim_t tap, dim_t k) const {
        if (!gathers())
            return src_offset(tile) + row_offset(row) + tap_offsets[static_cast<std::size_t>(tap)] + k;
        const dim_t piece_bytes = spec.quads * quad_bytes / spec.tiling.gathered.pieces;
        return image_offset(first_position + first_row(tile) + row) +
               k / piece_bytes * spec.tiling.gathered.piece_stride + k % piece_bytes;
    }
    dim_t element_bytes() const { return static_cast<dim_t>(memory::data_type_size(dst_type)); }
};

class drawing {
public:
    explicit drawing(unsigned seed) : random_(seed) {}

    kernel_call call(int rows, int vectors) {
        kernel_call c;
        c.spec.rows = rows;
        c.spec.vectors = vectors;
        c.spec.tiling.rows = rows > jit::amx_rows ? (rows + 1) / 2 : rows;
        draw(c);
        fill(c);
        return c;
    }

    /// Lines of `length` rows, `together` in a register.
    kernel_call call_of_lines(int length, int together, int lines, int vectors) {
        kernel_call c;
        jit::dot_spec &s = c.spec;
        s.rows = lines * length;
        s.vectors = vectors;
        const int distance =
            together > 1 ? between(length, (jit::amx_rows - length) / (together - 1)) : between(length, 20);
        s.tiling.rows = (together - 1) * distance + length;
        s.tiling.lines = lines;
        draw(c);
        s.tiling.line_stride = distance * s.row_stride;
        if (together == 1 && one_of(2))
            s.tiling.line_stride += between(0, 99);
        fill(c);
        return c;
    }

    /// Rows of several pieces, which are gathered.
    kernel_call call_of_gathered(int rows, int vectors) {
        kernel_call c;
        jit::dot_spec &s = c.spec;
        s.rows = s.tiling.rows = rows;
        s.vectors = vectors;
        draw(c);
        jit::gathered_rows &g = s.tiling.gathered;
        const int piece_quads = between(1, 16);
        g.pieces = between(2, 9);
        g.row_step = between(1, 99);
        g.line_rows = between(1, 40);
        g.piece_stride = between(0, 999);
        g.line_step = between(-static_cast<int>(g.row_step), 999);
        c.first_position = between(0, static_cast<int>(g.line_rows) - 1);
        s.taps = c.taps = c.across = 1;
        c.first_tap = 0;
        c.down = between(1, 6);
        c.subtracts_row_sums = s.order.keeps_sums = false;
        s.lines_ahead = s.order.own_lines_ahead = 0;
        s.quads = g.pieces * piece_quads;
        s.row_stride = jit::gathered_row_bytes(s.quads);
        fill(c);
        return c;
    }

private:
    void draw(kernel_call &c) {
        jit::dot_spec &s = c.spec;
        s.isa = {cpu_isa::avx512_amx};
        s.products = one_of(3) ? jit::dot_products::tiles : jit::dot_products::signed_tiles;
        s.tail = one_of(2) ? columns_of_vector : between(1, columns_of_vector);
        s.taps = one_of(3) ? 1 : between(2, 9);
        constexpr int quads[] = {1, 8, 16, 17, 24, 32, 33, 48, 75, 128};
        s.quads = quads[between(0, s.taps > 1 ? 6 : 9)];
        s.row_stride = s.quads * quad_bytes + (one_of(2) ? 0 : between(0, 100));
        c.taps = s.taps > 1 && one_of(2) ? between(1, static_cast<int>(s.taps)) : s.taps;
        c.first_tap = between(0, static_cast<int>(s.taps - c.taps));
        constexpr data_type types[] = {data_type::s32, data_type::u8, data_type::s8};
        c.dst_type = types[between(0, 2)];
        c.adds_dst = c.dst_type != data_type::s32 && !one_of(3);
        c.subtracts_row_sums = !one_of(4);
        c.down = one_of(4) ? between(1, 4) : 1;
        c.across = one_of(2) ? 1 : between(2, 3);
        c.src_across = one_of(3) ? 0 : between(1, 64);
        s.order.streams = static_cast<jit::streamed>(between(0, 2));
        s.order.keeps_sums = c.taps > 1 && s.tiling.lines == 1 && one_of(2);
        s.order.own_lines_ahead = one_of(3) ? 0 : 32;
        s.lines_ahead = one_of(3) ? 0 : between(1, 5);
        s.order.fetches_on = one_of(2);
    }

    int between(int low, int high) { return low + static_cast<int>(random_() % unsigned(high - low + 1)); }
    bool one_of(unsigned n) { return random_() % n != 0; } ///< false once in n times

    void fill(kernel_call &c) {
        jit::dot_spec &s = c.spec;
        const dim_t groups = c.across;
        s.dst_row_stride = (groups - 1) * c.padded_columns() + c.columns() + between(0, 20);
        constexpr int most_tap_offset = 200;
        for (dim_t t = 0; t < s.taps; t++)
            c.tap_offsets.push_back(s.taps == 1 ? 0 : between(0, most_tap_offset));
        const bool are_codes = c.dst_type != data_type::s32; // whose sums should not all saturate
        const auto offsets = c.tap_offsets.begin() + c.first_tap;
        const dim_t reach = *std::max_element(offsets, offsets + c.taps); // nothing behind it is read
        c.src.resize(static_cast<std::size_t>(c.src_offset(c.tiles() - 1) + c.row_offset(s.rows - 1) + reach +
                                              s.quads * quad_bytes));
        if (c.gathers()) { // vectors of up to 64 bytes, also for the rows of later tiles
            const dim_t last_row = c.first_position + c.down * s.rows + jit::rows_gathered_ahead(s.rows) - 1;
            dim_t last = 0;
            for (dim_t row = 0; row <= last_row; row++)
                last = std::max(last, c.image_offset(row));
            const dim_t last_piece = (s.tiling.gathered.pieces - 1) * s.tiling.gathered.piece_stride;
            c.src.resize(static_cast<std::size_t>(last + last_piece + 64));
        }
        for (auto &x : c.src)
            x = static_cast<std::uint8_t>(one_of(4) ? between(0, 255) : 255 * between(0, 1));
        c.weights.resize(static_cast<std::size_t>(groups * s.vectors * c.block_bytes()));
        for (auto &x : c.weights)
            x = static_cast<std::int8_t>(are_codes ? between(0, 9) / 9 - between(0, 9) / 9
                                                   : between(-128, 127));
        c.initial.resize(static_cast<std::size_t>(groups * c.padded_columns()));
        for (auto &x : c.initial)
            x = between(-100, 100);
        c.zero_points.resize(c.initial.size());
        for (auto &x : c.zero_points)
            x = c.subtracts_row_sums ? between(-3, 3) : 0;
        c.row_sums.resize(static_cast<std::size_t>(c.down * s.rows));
        for (auto &x : c.row_sums)
            x = between(-9, 9);
        c.dst.resize(2 * margin +
                     static_cast<std::size_t>(c.down * s.rows * s.dst_row_stride * c.element_bytes()));
        for (auto &x : c.dst)
            x = static_cast<std::uint8_t>(between(0, 255));
    }

    std::mt19937 random_;
};

std::int64_t sum_of(const kernel_call &c, dim_t tile, dim_t row, dim_t column) {
    const jit::dot_spec &s = c.spec;
    const dim_t group = c.group_of(tile), parameter = group * c.padded_columns() + column;
    const auto at = [](const auto &v, dim_t i) { return v[static_cast<std::size_t>(i)]; };
    std::int64_t sum = at(c.initial, parameter);
    for (dim_t tap = c.first_tap; tap < c.first_tap + c.taps; tap++)
        for (dim_t k = 0; k < s.quads * quad_bytes; k++) {
            const std::uint8_t code = at(c.src, c.source_offset(tile, row, tap, k));
            const dim_t block = group * s.vectors + column / columns_of_vector;
            const dim_t quad = tap * s.quads + k / quad_bytes;
            const std::int8_t weight = at(
                c.weights, block * c.block_bytes() +
                               (quad * columns_of_vector + column % columns_of_vector) * quad_bytes + k % 4);
            sum += (c.has_signed_src() ? static_cast<std::int8_t>(code) : code) * weight;
        }
    return sum - at(c.row_sums, c.first_row(tile) + row) * at(c.zero_points, parameter);
}

std::vector<std::uint8_t> expected(const kernel_call &c) {
    std::vector<std::uint8_t> dst = c.dst;
    for (dim_t tile = 0; tile < c.tiles(); tile++)
        for (dim_t row = 0; row < c.spec.rows; row++)
            for (dim_t column = 0; column < c.columns(); column++) {
                const dim_t element = c.dst_offset(tile) + row * c.spec.dst_row_stride + column;
                std::uint8_t *at = &dst[margin + static_cast<std::size_t>(element * c.element_bytes())];
                const auto sum = static_cast<std::int32_t>(sum_of(c, tile, row, column));
                const bool is_signed = c.dst_type == data_type::s8;
                if (c.dst_type == data_type::s32)
                    std::memcpy(at, &sum, sizeof sum);
                else
                    *at = static_cast<std::uint8_t>(
                        std::clamp(sum + (c.adds_dst ? (is_signed ? static_cast<std::int8_t>(*at) : *at) : 0),
                                   is_signed ? -128 : 0, is_signed ? 127 : 255));
            }
    return dst;
}

std::vector<std::uint8_t> got(kernel_call c) {
    const jit::dot_spec &s = c.spec;
    epilogue out;
    out.rule = c.adds_dst ? requantization_rule::f32 : requantization_rule::none;
    out.dst = memory::desc({4, 64}, c.dst_type, format_tag::ab).data;
    if (c.adds_dst)
        out.post_ops = {post_op::sum{1.f, 0, data_type::undef}};
    const jit::epilogue_plan plan(out, {1, 64, jit::any_s32}, c.subtracts_row_sums);
    std::vector<std::uint32_t> params(c.zero_points.begin(), c.zero_points.end());
    const auto params_bytes =
        c.subtracts_row_sums ? c.padded_columns() * static_cast<dim_t>(sizeof params[0]) : 0;
    EXPECT_EQ(plan.params().count, c.subtracts_row_sums ? 1 : 0);

    const void *full[max_post_ops] = {};
    jit::dot_args args{};
    const jit::tile_registers_scope scope;
    args.configured_tiles = jit::tile_registers_scope::configured();
    const auto guarded = [](const auto &from) {
        const auto bytes = from.size() * sizeof(from[0]);
        auto memory = std::make_unique<test::guarded_memory>(
            memory::desc({static_cast<dim_t>(bytes)}, data_type::u8, format_tag::a),
            engine(engine::kind::cpu, 0));
        std::memcpy(memory->bytes(), from.data(), bytes);
        return memory;
    };
    const auto src = guarded(c.src), weights = guarded(c.weights);
    const auto sums = guarded(
        std::vector<std::int32_t>(static_cast<std::size_t>(c.tiles() * s.rows * c.padded_columns()), -1));
    const auto ring = guarded(std::vector<std::uint8_t>(
        c.gathers() ? static_cast<std::size_t>(jit::tiles_of_ring * jit::gathered_tile_bytes(s.rows, s.quads))
                    : 64));
    args.params = params.data();
    args.full = full;
    args.row_sums = c.row_sums.data();
    const auto set = [&](std::int64_t jit::dot_args::*step, std::int64_t jit::dot_args::*turn, dim_t across,
                         dim_t down) {
        args.*step = c.across > 1 ? across : down;
        args.*turn = down - (c.across - 1) * across;
    };
    const auto set_all = [&](dim_t initial_across, dim_t initial_down) {
        using a = jit::dot_args;
        const dim_t rows_down = static_cast<dim_t>(sizeof c.row_sums[0]) * s.rows;
        set(&a::src_step, &a::src_turn, c.src_across, s.rows * s.row_stride);
        set(&a::weights_step, &a::weights_turn, s.vectors * c.block_bytes(), 0);
        set(&a::initial_step, &a::initial_turn, initial_across, initial_down);
        set(&a::params_step, &a::params_turn, params_bytes, 0);
        set(&a::dst_step, &a::dst_turn, c.padded_columns(), s.rows * s.dst_row_stride);
        set(&a::row_sums_step, &a::row_sums_turn, 0, rows_down);
        args.tiles_per_turn = c.across > 1 && c.down > 1 ? c.across : 0;
    };
    const auto code = jit::amx_dot_code(s, plan);
    for (dim_t tap = 0, count = 0; tap < c.taps; tap += count) {
        count = s.order.keeps_sums ? 1 + (c.taps - tap - 1) / 2 : c.taps;
        args.src = src->bytes() + (c.gathers() ? c.image_offset(c.first_position) : 0);
        args.ring = ring->bytes();
        args.rows_of_line = s.tiling.gathered.line_rows - c.first_position;
        args.weights = reinterpret_cast<const std::int8_t *>(weights->bytes()) +
                       (c.first_tap + tap) * s.quads * columns_of_vector * quad_bytes;
        args.dst = c.dst.data() + margin;
        args.tap_offsets = c.tap_offsets.data() + c.first_tap + tap;
        args.taps = count;
        args.tiles = c.tiles();
        args.ahead = weights->bytes();
        args.ahead_step = 64;
        args.ahead_turn = -128;
        const dim_t sum_row = c.padded_columns() * static_cast<dim_t>(sizeof c.initial[0]);
        if (tap == 0) {
            args.initial = c.initial.data();
            set_all(sum_row, 0);
        } else { // sums of the call before, tile behind tile
            args.initial = reinterpret_cast<const std::int32_t *>(sums->bytes());
            args.initial_row_stride = sum_row;
            set_all(s.rows * sum_row, s.rows * sum_row * c.across);
        }
        args.sums = tap + count < c.taps ? sums->bytes() : nullptr;
        code->function()(&args);
    }
    return c.dst;
}

TEST(amx_kernel, gives_the_sums_of_all_tiles) {
    if (get_available_cpu_isas().back() != cpu_isa::avx512_amx)
        GTEST_SKIP() << test::executor_of_amx();
    drawing draw(1);
    for (int rows = 1; rows <= jit::most_amx_rows; rows++)
        for (int vectors = 1; vectors <= (rows > jit::amx_rows ? 2 : jit::amx_accumulators); vectors++)
            for (int i = 0; i < 8; i++) {
                const kernel_call c = draw.call(rows, vectors);
                ASSERT_EQ(got(c), expected(c))
                    << rows << " x " << vectors << ", tail " << c.spec.tail << ", " << c.taps << " of "
                    << c.spec.taps << " taps of " << c.spec.quads << " quads, " << c.down << " x " << c.across
                    << " tiles";
            }
}

TEST(amx_kernel, gives_the_sums_of_gathered_rows) {
    if (get_available_cpu_isas().back() != cpu_isa::avx512_amx)
        GTEST_SKIP() << test::executor_of_amx();
    drawing draw(3);
    for (int rows = 1; rows <= jit::amx_rows; rows++)
        for (int vectors = 1; vectors <= jit::amx_accumulators; vectors++)
            for (int i = 0; i < 8; i++) {
                const kernel_call c = draw.call_of_gathered(rows, vectors);
                const jit::gathered_rows &g = c.spec.tiling.gathered;
                ASSERT_EQ(got(c), expected(c))
                    << rows << " x " << vectors << ", tail " << c.spec.tail << ", " << g.pieces
                    << " pieces in " << c.spec.quads << " quads, lines of " << g.line_rows << ", " << c.down
                    << " tiles";
            }
}

TEST(amx_kernel, gives_the_sums_of_tiles_of_several_lines) {
    if (get_available_cpu_isas().back() != cpu_isa::avx512_amx)
        GTEST_SKIP() << test::executor_of_amx();
    drawing draw(2);
    for (int length = 1; length <= jit::amx_rows; length++)
        for (int together = 1; together * length <= jit::amx_rows && together <= 3; together++)
            for (int lines = std::max(2, together); lines <= together * jit::amx_accumulators; lines++) {
                const int registers = (lines + together - 1) / together;
                const int vectors = 1 + (lines + length) % (jit::amx_accumulators / registers);
                const kernel_call c = draw.call_of_lines(length, together, lines, vectors);
                ASSERT_EQ(got(c), expected(c))
                    << lines << " lines of " << length << " rows x " << vectors << ", " << together
                    << " in a register, tail " << c.spec.tail << ", " << c.taps << " of " << c.spec.taps
                    << " taps of " << c.spec.quads << " quads, " << c.down << " x " << c.across << " tiles";
            }
}

} // namespace
