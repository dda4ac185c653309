// Products in tile registers against the reference, at the sizes where their code differs: rows that fill one
// or two registers or not, reductions in equal steps or with a last one, one to four column vectors, signed
// sources with the sums that weights zero points need, taps, groups, images whose edges are copied. Buffers
// end at unmapped pages. Random problems of all kinds are compared in tests/primitives and tests/oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "amx/emulator.hpp"
#include "jit/base/tile_registers.hpp"
#include "primitives/guarded_memory.hpp"

using namespace octet;
using namespace octet::test;

namespace {

const engine cpu(engine::kind::cpu, 0);

struct image {
    dim_t ic, oc, height, width, kernel = 1, stride = 1, dilation = 1, groups = 1;
};

class amx_dot : public testing::Test {
protected:
    static void SetUpTestSuite() {
        std::cout << "tile registers are executed by " << executor_of_amx() << '\n';
        RecordProperty("executor", executor_of_amx());
    }
    void SetUp() override {
        if (get_available_cpu_isas().back() != cpu_isa::avx512_amx)
            GTEST_SKIP() << "neither tile registers nor AVX512-VNNI to stand under their emulation";
    }
    void TearDown() override {
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }

    /// All codes, the extremes more often.
    memory random_codes(const memory::desc &md) {
        const memory m(md, cpu);
        auto *bytes = static_cast<std::uint8_t *>(m.get_data_handle());
        for (std::size_t i = 0; i < md.get_size(); i++) {
            const unsigned x = static_cast<unsigned>(random_());
            constexpr std::uint8_t extremes[] = {0, 127, 128, 255};
            bytes[i] = x % 4 == 0 ? extremes[x >> 8 & 3] : static_cast<std::uint8_t>(x >> 16);
        }
        return m;
    }

    /// The destination's bytes at a level.
    template <typename Make>
    std::vector<std::uint8_t> run(cpu_isa level, int threads, const memory &src, const memory &weights,
                                  const memory &before, const Make &make) {
        set_max_cpu_isa(level);
        set_num_threads(threads);
        const auto pd = make();
        const guarded_memory in(src.get_desc(), cpu), out(before.get_desc(), cpu),
            packed(pd.weights_desc(), cpu);
        in.copy_from(src);
        out.copy_from(before);
        reorder(weights, packed.get()).execute(stream(cpu), weights, packed.get());
        primitive(pd).execute(
            stream(cpu),
            {{OCTET_ARG_SRC, in.get()}, {OCTET_ARG_WEIGHTS, packed.get()}, {OCTET_ARG_DST, out.get()}});
        implementation_ = pd.impl_info_str();
        return {out.bytes(), out.bytes() + out.size()};
    }

    /// Equal bytes, and whether tile registers had a part in them.
    template <typename Make>
    bool expect_equal(const memory::desc &src_md, const memory::desc &weights_md, const memory::desc &dst_md,
                      const Make &make) {
        const memory src = random_codes(src_md), weights = random_codes(weights_md),
                     dst = random_codes(dst_md);
        const auto expected = run(cpu_isa::ref, 1, src, weights, dst, make);
        const std::uint64_t before = emulated_products();
        const auto got =
            run(cpu_isa::avx512_amx, 1 + static_cast<int>(random_() % 3), src, weights, dst, make);
        EXPECT_EQ(implementation_, "jit:dot/avx512_amx");
        EXPECT_TRUE(got == expected);
        return !emulates_amx() || emulated_products() > before;
    }

    /// Zero points and a post-op that reads the destination, in turns.
    primitive_attr attributes(int variant, int channel_mask, dim_t channels, data_type src) {
        primitive_attr attr;
        std::vector<float> scales(static_cast<std::size_t>(channels));
        for (float &s : scales)
            s = static_cast<float>(random_() % 1000 + 1) * 1e-6f;
        attr.set_output_scales(channel_mask, scales);
        if (variant % 2 == 1) {
            attr.set_zero_points(OCTET_ARG_SRC, 0, {src == data_type::u8 ? 133 : -77});
            attr.set_zero_points(OCTET_ARG_DST, 0, {3});
        }
        if (variant / 2 % 2 == 1)
            attr.set_zero_points(OCTET_ARG_WEIGHTS, 0, {-5});
        if (variant / 4 % 2 == 1) {
            post_ops ops;
            ops.append_sum(0.5f);
            attr.set_post_ops(ops);
        }
        return attr;
    }

    /// Convolutions that keep the size if their stride is 1: equal bytes by tile registers.
    void expect_tiles(const std::vector<image> &images, const std::vector<int> &variants) {
        for (const image &i : images)
            for (const data_type type : {data_type::u8, data_type::s8})
                for (const int v : variants) {
                    if (testing::Test::HasFailure())
                        return;
                    SCOPED_TRACE(testing::Message() << "image " << &i - images.data() << ", variant " << v
                                                    << ", " << (type == data_type::u8 ? "u8" : "s8"));
                    EXPECT_TRUE(expect_equal(i, type, v));
                }
    }

    bool expect_equal(const image &i, data_type type, int variant) {
        const dim_t pad = i.kernel / 2 * i.dilation;
        const auto out = [&](dim_t in) {
            return (in + 2 * pad - ((i.kernel - 1) * i.dilation + 1)) / i.stride + 1;
        };
        const memory::desc src({1, i.ic, i.height, i.width}, type, format_tag::nhwc),
            dst({1, i.oc, out(i.height), out(i.width)}, data_type::s8, format_tag::nhwc);
        const memory::dims sizes{i.groups, i.oc / i.groups, i.ic / i.groups, i.kernel, i.kernel};
        const primitive_attr attr = attributes(variant, 1 << 1, i.oc, type);
        return expect_equal(src, memory::desc(sizes, data_type::s8, format_tag::goihw), dst, [&] {
            const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                              src, memory::desc(sizes, data_type::s8, format_tag::any), dst,
                                              {i.stride, i.stride}, {i.dilation - 1, i.dilation - 1},
                                              {pad, pad}, {pad, pad});
            return convolution_forward::primitive_desc(d, attr, cpu);
        });
    }

    std::mt19937 random_{1};
    std::string implementation_;
};

TEST_F(amx_dot, matmul_of_all_tails) {
    int variant = 0;
    for (const dim_t m : {4, 15, 16, 17, 31, 32, 33, 47, 70})
        for (const dim_t k : {64, 68, 96, 100, 132, 256, 300})
            for (const dim_t n : {16, 17, 32, 48, 63, 64, 100}) {
                if (testing::Test::HasFailure())
                    return;
                const data_type type = variant % 3 == 0 ? data_type::s8 : data_type::u8;
                SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", variant " << variant);
                const memory::desc src({m, k}, type, format_tag::ab),
                    dst({m, n}, data_type::u8, format_tag::ab),
                    weights({k, n}, data_type::s8, format_tag::ab);
                const primitive_attr attr = attributes(variant++, 1 << 1, n, type);
                const bool used = expect_equal(src, weights, dst, [&] {
                    const memory::desc any({k, n}, data_type::s8, format_tag::any);
                    return matmul::primitive_desc(matmul::desc(src, any, dst), attr, cpu);
                });
                // Plans may leave small products to vectors.
                EXPECT_TRUE(used || m < 15 || m * k * n < 100'000);
            }
}

TEST_F(amx_dot, convolution_of_all_kinds) {
    const std::vector<image> images = {
        {64, 64, 9, 9},            // one line of rows
        {64, 96, 13, 14, 1, 2},    // a line each
        {128, 48, 5, 33, 3},       // copied edges, or all of the image
        {64, 32, 4, 100, 3},       // longer lines, edges beside a middle
        {72, 40, 7, 7, 3},         // taps that end within a quad's tile
        {68, 80, 6, 20, 3, 2},     // steps and a last one, in each tap
        {64, 64, 12, 12, 3, 1, 2}, // taps apart
        {3, 64, 20, 40, 7, 2},     // fused taps of a row: gathered,
        {3, 70, 9, 23, 3, 2},      // over the ends of lines, in two panels,
        {4, 40, 11, 13, 5},        // of whole quads
        {1, 64, 6, 5, 7},
        {256, 128, 6, 15, 1, 1, 1, 2}, // groups
        {128, 64, 8, 24, 3, 1, 1, 2},
        {65, 33, 11, 10, 3},
        {64, 48, 9, 6, 3},   // several short lines in a tile: with positions between them,
        {64, 64, 11, 7, 3},  // and a last tile of fewer,
        {128, 32, 10, 4, 3}, // three in a register,
        {96, 48, 7, 14, 3},  // a line in each register,
        {96, 40, 11, 25, 3, 2},
        {96, 96, 12, 20, 1, 2},     // in the user's memory,
        {64, 64, 8, 7, 3, 1, 1, 2}, // of groups
    };
    expect_tiles(images, {3, 4, 7});
}

TEST_F(amx_dot, convolution_of_gathered_rows) {
    expect_tiles(
        {
            {3, 64, 20, 40, 7, 2},
            {3, 70, 9, 23, 3, 2}, // tiles go on over the ends of lines, in two panels
            {4, 40, 11, 13, 5},   // lines of the kernel are whole quads
            {1, 64, 6, 5, 7},     // fewer positions in a line than rows in a tile
            {3, 48, 31, 9, 11, 4},
        },
        {0, 1, 4, 5});
}

TEST_F(amx_dot, threads_leave_no_configuration_behind) {
    const memory::desc weights({256, 64}, data_type::s8, format_tag::ab);
    for (int i = 0; i < 3; i++) // kernels of other shapes come in between
        for (const dim_t rows : {40, 9}) {
            const memory::desc part({rows, 256}, data_type::u8, format_tag::ab),
                out({rows, 64}, data_type::u8, format_tag::ab);
            const primitive_attr attr = attributes(i, 1 << 1, 64, data_type::u8);
            EXPECT_TRUE(expect_equal(part, weights, out, [&] {
                const memory::desc any({256, 64}, data_type::s8, format_tag::any);
                return matmul::primitive_desc(matmul::desc(part, any, out), attr, cpu);
            }));
            EXPECT_EQ(*impl::jit::tile_registers_scope::configured(), 0u);
        }
}

} // namespace
