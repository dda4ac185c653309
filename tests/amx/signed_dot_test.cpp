// vpdpbssd at the level avx_vnni: the emulator's view of it against the assembler's and a formula, and
// products of signed codes against the reference. The program that this belongs to also has the random
// problems of tests/primitives.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <xbyak/xbyak.h>

#include "amx/emulator.hpp"
#include "amx/instructions.hpp"
#include "cpu/machine/isa.hpp"
#include "primitives/guarded_memory.hpp"

using namespace octet;
using namespace octet::test;
using namespace octet::test::amx;

namespace {

const engine cpu(engine::kind::cpu, 0);

TEST(signed_dot4, is_decoded_in_every_form) {
    constexpr int rsp = 4;
    const auto decoded = [](const auto &emit) {
        Xbyak::CodeGenerator code;
        emit(code);
        const std::size_t length = code.getSize();
        code.nop(16);
        const auto found = decode_vector_product(code.getCode());
        EXPECT_TRUE(found && found->length == length);
        return found.value_or(vector_product{});
    };
    for (int r = 0; r < 16; r++) {
        const Xbyak::Ymm sums(r), source((r + 7) % 16), other((r + 11) % 16);
        const vector_product p = decoded([&](auto &c) { c.vpdpbssd(sums, source, other); });
        EXPECT_EQ(p.sums, sums.getIdx());
        EXPECT_EQ(p.source1, source.getIdx());
        EXPECT_EQ(p.source2, other.getIdx());
        for (int index = 0; index < 16; index++)
            for (const std::int32_t displacement : {0, 127, -129}) {
                if (index == rsp)
                    continue;
                const vector_product m = decoded([&](auto &c) {
                    c.vpdpbssd(sums, source, c.ptr[Xbyak::Reg64(r) + Xbyak::Reg64(index) * 4 + displacement]);
                });
                EXPECT_EQ(m.source2, vector_product::in_memory);
                EXPECT_EQ(m.memory.base, r);
                EXPECT_EQ(m.memory.index, index);
                EXPECT_EQ(m.memory.scale, 4);
                EXPECT_EQ(m.memory.displacement, displacement);
            }
    }
    const auto is_taken = [](const auto &emit) {
        Xbyak::CodeGenerator code;
        emit(code);
        code.nop(16);
        return decode_vector_product(code.getCode()).has_value();
    };
    EXPECT_FALSE(is_taken([](auto &c) { c.vpdpbusd(c.ymm0, c.ymm1, c.ymm2, Xbyak::VexEncoding); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.vpdpbsud(c.ymm0, c.ymm1, c.ymm2); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.vpdpbssd(c.xmm0, c.xmm1, c.xmm2); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.tdpbssd(c.tmm0, c.tmm1, c.tmm2); }));
    EXPECT_FALSE(is_taken([](auto &c) { c.ud2(); }));
}

/// Executed by the CPU or by the signal handler: every register, upper halves included, and memory.
TEST(signed_dot4, adds_four_products_per_lane) {
    if (!have_signed_dot4())
        GTEST_SKIP() << "no AVX-VNNI";
    std::mt19937 random(1);
    for (int r = 0; r < 16; r++)
        for (const bool is_in_memory : {false, true}) {
            struct {
                std::int32_t sums[8];
                std::int8_t x[32], y[32];
            } data;
            std::int32_t expected[8];
            for (int i = 0; i < 32; i++) {
                data.x[i] =
                    static_cast<std::int8_t>(i % 5 == 0 ? -128 : static_cast<int>(random() % 256) - 128);
                data.y[i] =
                    static_cast<std::int8_t>(i % 3 == 0 ? -128 : static_cast<int>(random() % 256) - 128);
            }
            for (int i = 0; i < 8; i++) {
                expected[i] = data.sums[i] = static_cast<std::int32_t>(random() % 1000);
                for (int k = 4 * i; k < 4 * i + 4; k++)
                    expected[i] += data.x[k] * data.y[k];
            }
            Xbyak::CodeGenerator code;
            const Xbyak::Ymm sums(r), x((r + 5) % 16), y((r + 9) % 16);
            code.vmovups(sums, code.ptr[code.rdi]);
            code.vmovups(x, code.ptr[code.rdi + 32]);
            code.vmovups(y, code.ptr[code.rdi + 64]);
            is_in_memory ? code.vpdpbssd(sums, x, code.ptr[code.rdi + 64]) : code.vpdpbssd(sums, x, y);
            code.vmovups(code.ptr[code.rdi], sums);
            code.vzeroupper();
            code.ret();
            code.getCode<void (*)(void *)>()(&data);
            for (int i = 0; i < 8; i++)
                EXPECT_EQ(data.sums[i], expected[i]) << "register " << r << ", lane " << i;
        }
}

class signed_sources : public testing::Test {
protected:
    void SetUp() override {
        if (!have_signed_dot4())
            GTEST_SKIP() << "no AVX-VNNI";
    }
    void TearDown() override {
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }

    memory random_codes(const memory::desc &md) {
        const memory m(md, cpu);
        auto *bytes = static_cast<std::uint8_t *>(m.get_data_handle());
        for (std::size_t i = 0; i < md.get_size(); i++)
            bytes[i] = static_cast<std::uint8_t>(random_() % 3 == 0 ? 128 : random_());
        return m;
    }

    /// Bytes at avx_vnni, on 1 to 3 threads, equal to those of the reference, and by vpdpbssd.
    template <typename Make>
    void expect_equal(const memory::desc &src_md, const memory::desc &weights_md, const memory::desc &dst_md,
                      const std::string &implementation, const Make &make) {
        const memory src = random_codes(src_md), weights = random_codes(weights_md);
        std::vector<std::uint8_t> expected;
        for (const int threads : {0, 1, 2, 3}) {
            set_max_cpu_isa(threads == 0 ? cpu_isa::ref : cpu_isa::avx_vnni);
            set_num_threads(threads);
            const auto pd = make();
            const guarded_memory in(src_md, cpu), out(dst_md, cpu), packed(pd.weights_desc(), cpu);
            in.copy_from(src);
            reorder(weights, packed.get()).execute(stream(cpu), weights, packed.get());
            const std::uint64_t before = emulated_vector_products();
            primitive(pd).execute(
                stream(cpu),
                {{OCTET_ARG_SRC, in.get()}, {OCTET_ARG_WEIGHTS, packed.get()}, {OCTET_ARG_DST, out.get()}});
            const std::vector<std::uint8_t> got(out.bytes(), out.bytes() + out.size());
            if (threads == 0) {
                expected = got;
                continue;
            }
            EXPECT_EQ(std::string(pd.impl_info_str()), implementation);
            EXPECT_TRUE(got == expected) << threads << " threads";
            EXPECT_TRUE(!emulates_signed_dot4() || emulated_vector_products() > before);
        }
    }

    primitive_attr attributes(int variant, int channel_mask, dim_t channels) {
        primitive_attr attr;
        std::vector<float> scales(static_cast<std::size_t>(channels));
        for (float &s : scales)
            s = static_cast<float>(random_() % 1000 + 1) * 1e-6f;
        attr.set_output_scales(channel_mask, scales);
        if (variant % 2 == 1)
            attr.set_zero_points(OCTET_ARG_SRC, 0, {-77});
        if (variant / 2 % 2 == 1)
            attr.set_zero_points(OCTET_ARG_WEIGHTS, 0, {-5});
        return attr;
    }

    std::mt19937 random_{1};
};

TEST_F(signed_sources, matmul) {
    int variant = 0;
    for (const dim_t m : {1, 3, 7, 20})
        for (const dim_t k : {3, 16, 37, 72})
            for (const dim_t n : {1, 8, 17, 40}) {
                SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", variant " << variant);
                const memory::desc src({m, k}, data_type::s8, format_tag::ab),
                    dst({m, n}, data_type::s8, format_tag::ab),
                    weights({k, n}, data_type::s8, format_tag::ab);
                const primitive_attr attr = attributes(variant++, 1 << 1, n);
                expect_equal(src, weights, dst, "jit:dot/avx_vnni", [&] {
                    const memory::desc any({k, n}, data_type::s8, format_tag::any);
                    return matmul::primitive_desc(matmul::desc(src, any, dst), attr, cpu);
                });
            }
}

struct image {
    dim_t ic, oc, size, kernel, stride, groups;
    const char *implementation;
};

TEST_F(signed_sources, convolution) {
    const image images[] = {
        {8, 16, 5, 1, 1, 1, "jit:dot/avx_vnni"},         {3, 8, 9, 3, 2, 1, "jit:dot/avx_vnni"},
        {12, 20, 6, 3, 1, 1, "jit:dot/avx_vnni"},        {8, 32, 5, 3, 1, 2, "jit:dot/avx_vnni"},
        {24, 24, 9, 3, 1, 24, "jit:depthwise/avx_vnni"}, {17, 17, 8, 3, 2, 17, "jit:depthwise/avx_vnni"},
        {8, 8, 7, 5, 1, 8, "jit:depthwise/avx_vnni"},
    };
    for (const image &i : images)
        for (const int variant : {0, 3}) {
            SCOPED_TRACE(testing::Message() << "image " << &i - images << ", variant " << variant);
            const dim_t pad = i.kernel / 2, out = (i.size + 2 * pad - i.kernel) / i.stride + 1;
            const memory::desc src({1, i.ic, i.size, i.size}, data_type::s8, format_tag::nhwc),
                dst({1, i.oc, out, out}, data_type::u8, format_tag::nhwc);
            const memory::dims sizes{i.groups, i.oc / i.groups, i.ic / i.groups, i.kernel, i.kernel};
            const primitive_attr attr = attributes(variant, 1 << 1, i.oc);
            expect_equal(src, memory::desc(sizes, data_type::s8, format_tag::goihw), dst, i.implementation,
                         [&] {
                             const convolution_forward::desc d(
                                 prop_kind::forward_inference, algorithm::convolution_direct, src,
                                 memory::desc(sizes, data_type::s8, format_tag::any), dst,
                                 {i.stride, i.stride}, {0, 0}, {pad, pad}, {pad, pad});
                             return convolution_forward::primitive_desc(d, attr, cpu);
                         });
        }
}

} // namespace
