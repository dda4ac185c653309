// Destinations of f16 and bf16 on every level against the definitions: roundings of any f32, and products whose
// post-ops read such tensors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "common/small_floats.hpp"
#include "octet/octet.hpp"
#include "primitives/random_problem.hpp"

namespace octet::test {
namespace {

const engine &cpu() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

std::vector<std::uint16_t> words_of(const memory &m) {
    std::vector<std::uint16_t> words(m.get_desc().get_size() / 2);
    std::memcpy(words.data(), m.get_data_handle(), words.size() * 2);
    return words;
}

TEST(SmallFloats, ReordersRoundAnyFloat) {
    const dim_t count = 40003;
    const memory src({{count}, data_type::f32, format_tag::a}, cpu());
    auto *floats = static_cast<float *>(src.get_data_handle());
    std::uint32_t state = 7;
    for (dim_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        const std::uint32_t bits = i % 2 ? state : 0x37000000u + state % 0x11000000u; // the range of f16
        std::memcpy(floats + i, &bits, 4);
    }
    for (const data_type type : {data_type::f16, data_type::bf16})
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            const memory dst({{count}, type, format_tag::a}, cpu()),
                back({{count}, data_type::f32, format_tag::a}, cpu());
            reorder(src, dst).execute(stream(cpu()), src, dst);
            reorder(dst, back).execute(stream(cpu()), dst, back);
            const std::vector<std::uint16_t> got = words_of(dst);
            for (dim_t i = 0; i < count; i++) {
                const auto at = static_cast<std::size_t>(i);
                const std::uint16_t expected =
                    type == data_type::f16 ? impl::to_f16(floats[i]) : impl::to_bf16(floats[i]);
                ASSERT_EQ(expected, got[at])
                    << to_string(type) << " " << to_string(level) << " of " << floats[i];
                const float widened =
                    type == data_type::f16 ? impl::from_f16(expected) : impl::from_bf16(expected);
                ASSERT_EQ(0,
                          std::memcmp(&widened, static_cast<const float *>(back.get_data_handle()) + i, 4));
            }
        }
    set_max_cpu_isa(cpu_isa::all);
}

/// Without attributes 16-bit floats become integers as f32 does: they saturate, then round to nearest even.
TEST(SmallFloats, ReordersToIntegers) {
    const std::vector<float> reals = {0.f,    -0.f,  0.5f,   1.5f,    -2.5f,
                                      127.5f, 300.f, -300.f, 65504.f, 0.0078125f};
    const auto count = static_cast<dim_t>(reals.size());
    for (const data_type type : {data_type::f16, data_type::bf16})
        for (const data_type to : {data_type::s8, data_type::u8, data_type::s16, data_type::s32})
            for (const cpu_isa level : get_available_cpu_isas()) {
                set_max_cpu_isa(level);
                const memory f32({{count}, data_type::f32, format_tag::a}, cpu()),
                    words({{count}, type, format_tag::a}, cpu()), got({{count}, to, format_tag::a}, cpu()),
                    rounded({{count}, data_type::f32, format_tag::a}, cpu()),
                    expected({{count}, to, format_tag::a}, cpu());
                std::memcpy(f32.get_data_handle(), reals.data(), reals.size() * sizeof(float));
                reorder(f32, words).execute(stream(cpu()), f32, words);
                reorder(words, got).execute(stream(cpu()), words, got);
                reorder(words, rounded).execute(stream(cpu()), words, rounded);
                reorder(rounded, expected).execute(stream(cpu()), rounded, expected);
                EXPECT_EQ(0, std::memcmp(got.get_data_handle(), expected.get_data_handle(),
                                         got.get_desc().get_size()))
                    << to_string(type) << " to " << to_string(to) << ' ' << to_string(level);
            }
    set_max_cpu_isa(cpu_isa::all);
}

/// Σ, a bias in 16 bits, a scale, a sum with the destination and an operand in 16 bits: each written out here.
TEST(SmallFloats, ProductsWithBiasSumAndOperand) {
    const dim_t m = 5, k = 37, n = 70;
    for (const data_type type : {data_type::f16, data_type::bf16}) {
        random_source r(static_cast<std::uint32_t>(type));
        const auto widen = [&](std::uint16_t x) {
            return type == data_type::f16 ? impl::from_f16(x) : impl::from_bf16(x);
        };
        const auto round = [&](float x) {
            return type == data_type::f16 ? impl::to_f16(x) : impl::to_bf16(x);
        };
        const auto filled = [&](const memory::dims &dims) {
            const memory x({dims, type, memory::dims{}}, cpu());
            auto *words = static_cast<std::uint16_t *>(x.get_data_handle());
            for (std::size_t i = 0; i < x.get_desc().get_size() / 2; i++)
                words[i] = round(r.real(-20.f, 20.f));
            return x;
        };
        const memory src({{m, k}, data_type::u8, format_tag::ab}, cpu()),
            weights({{k, n}, data_type::s8, format_tag::ab}, cpu()),
            bias = filled({1, n}), before = filled({m, n}), operand = filled({m, n});
        r.fill(src);
        r.fill(weights);
        primitive_attr attr;
        attr.set_output_scales(0, {0.01f});
        post_ops ops;
        ops.append_sum(0.5f);
        ops.append_binary(algorithm::binary_add, operand.get_desc());
        attr.set_post_ops(ops);
        const auto code = [](const memory &x, dim_t i) {
            return static_cast<const std::uint8_t *>(x.get_data_handle())[i];
        };
        const auto word = [](const memory &x, dim_t i) {
            return static_cast<const std::uint16_t *>(x.get_data_handle())[i];
        };
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            const matmul::primitive_desc here(
                {src.get_desc(), weights.get_desc(), bias.get_desc(), before.get_desc()}, attr, cpu());
            EXPECT_EQ(std::string(here.impl_info_str()) == "ref", level == cpu_isa::ref);
            const memory dst(before.get_desc(), cpu());
            std::memcpy(dst.get_data_handle(), before.get_data_handle(), before.get_desc().get_size());
            primitive(here).execute(stream(cpu()),
                                    {{OCTET_ARG_SRC, src},
                                     {OCTET_ARG_WEIGHTS, weights},
                                     {OCTET_ARG_BIAS, bias},
                                     {OCTET_ARG_DST, dst},
                                     {OCTET_ARG_ATTR_MULTIPLE_POST_OP(1) | OCTET_ARG_SRC_1, operand}});
            for (dim_t i = 0; i < m; i++)
                for (dim_t j = 0; j < n; j++) {
                    std::int32_t acc = 0;
                    for (dim_t l = 0; l < k; l++)
                        acc += code(src, i * k + l) * static_cast<std::int8_t>(code(weights, l * n + j));
                    const float scaled = (static_cast<float>(acc) + widen(word(bias, j))) * 0.01f;
                    const float summed = std::fma(widen(word(before, i * n + j)), 0.5f, scaled);
                    ASSERT_EQ(round(summed + widen(word(operand, i * n + j))), word(dst, i * n + j))
                        << to_string(type) << " " << to_string(level) << " at " << i << ", " << j;
                }
        }
    }
    set_max_cpu_isa(cpu_isa::all);
}

} // namespace
} // namespace octet::test
