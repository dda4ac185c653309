// Reorders of s4, u4, s2 and u2 against codes that are packed here: every pair of types, saturation, scales and zero
// points, layouts, bytes that are shared with elements outside of the tensor, threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/small_floats.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

const engine &cpu() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

struct packed_type {
    data_type type;
    int bits, low, high;
};
constexpr packed_type packed_types[] = {{data_type::s4, 4, -8, 7},
                                        {data_type::u4, 4, 0, 15},
                                        {data_type::s2, 2, -2, 1},
                                        {data_type::u2, 2, 0, 3}};

int code_at(const packed_type &t, const std::vector<std::uint8_t> &bytes, dim_t i) {
    const int word =
        bytes[static_cast<std::size_t>(i * t.bits / 8)] >> (i * t.bits % 8) & ((1 << t.bits) - 1);
    return word > t.high ? word - (1 << t.bits) : word;
}
void set_code(const packed_type &t, std::vector<std::uint8_t> &bytes, dim_t i, int code) {
    std::uint8_t &byte = bytes[static_cast<std::size_t>(i * t.bits / 8)];
    for (int b = 0; b < t.bits; b++) {
        const auto mask = static_cast<std::uint8_t>(1 << (i * t.bits % 8 + b));
        byte = static_cast<std::uint8_t>(code >> b & 1 ? byte | mask : byte & ~mask);
    }
}

void run(const memory::desc &from, const void *src, const memory::desc &to, void *dst,
         const primitive_attr &attr = {}) {
    const memory x(from, cpu(), const_cast<void *>(src)), y(to, cpu(), dst);
    reorder(x, y, attr).execute(stream(cpu()), x, y);
}

memory::desc vector_of(dim_t count, data_type type) { return {{count}, type, format_tag::a}; }

/// Every code, on its way to a byte or wider type and back.
TEST(SharedBytesReorder, EveryCodeThroughEveryType) {
    constexpr dim_t count = 4099; // no multiple of what shares a byte
    for (const packed_type &t : packed_types)
        for (const data_type wide : {data_type::s8, data_type::u8, data_type::s16, data_type::s32,
                                     data_type::f32, data_type::f16, data_type::bf16}) {
            SCOPED_TRACE(std::string(to_string(t.type)) + " through " + to_string(wide));
            std::vector<std::uint8_t> packed(vector_of(count, t.type).get_size()), back(packed.size());
            for (dim_t i = 0; i < count; i++)
                set_code(t, packed, i, t.low + static_cast<int>(i * 7 % (1 << t.bits)));
            std::vector<std::uint8_t> between(vector_of(count, wide).get_size());
            run(vector_of(count, t.type), packed.data(), vector_of(count, wide), between.data());
            std::vector<std::int32_t> read(count);
            run(vector_of(count, wide), between.data(), vector_of(count, data_type::s32), read.data());
            const int least = wide == data_type::u8 ? 0 : t.low;
            for (dim_t i = 0; i < count; i++)
                ASSERT_EQ(read[static_cast<std::size_t>(i)], std::max(least, code_at(t, packed, i))) << i;
            run(vector_of(count, wide), between.data(), vector_of(count, t.type), back.data());
            for (dim_t i = 0; i < count; i++)
                ASSERT_EQ(code_at(t, back, i), std::max(least, code_at(t, packed, i))) << i;
        }
}

TEST(SharedBytesReorder, BetweenThemSaturates) {
    for (const packed_type &from : packed_types)
        for (const packed_type &to : packed_types) {
            SCOPED_TRACE(std::string(to_string(from.type)) + " to " + to_string(to.type));
            const dim_t count = 37;
            std::vector<std::uint8_t> src(vector_of(count, from.type).get_size()),
                dst(vector_of(count, to.type).get_size());
            for (dim_t i = 0; i < count; i++)
                set_code(from, src, i, from.low + static_cast<int>(i % (1 << from.bits)));
            run(vector_of(count, from.type), src.data(), vector_of(count, to.type), dst.data());
            for (dim_t i = 0; i < count; i++)
                EXPECT_EQ(code_at(to, dst, i), std::clamp(code_at(from, src, i), to.low, to.high)) << i;
        }
}

/// QuantizeLinear: a quotient, ties to even, the zero point, saturation; and oneDNN's factor.
TEST(SharedBytesReorder, FloatsAreRoundedAndSaturate) {
    std::vector<float> reals;
    for (int i = -60; i <= 60; i++)
        reals.push_back(static_cast<float>(i) * 0.25f);
    reals.insert(reals.end(), {1e30f, -1e30f, -0.f});
    const auto count = static_cast<dim_t>(reals.size());
    for (const packed_type &t : packed_types)
        for (const bool as_onnx : {true, false}) {
            SCOPED_TRACE(std::string(to_string(t.type)) + (as_onnx ? " ort_f32" : " f32"));
            const int zero_point = t.low + 2;
            primitive_attr attr;
            if (as_onnx) {
                attr.set_requantization(requantization_rule::ort_f32);
                attr.set_scales(OCTET_ARG_DST, 0, {0.5f});
            } else {
                attr.set_output_scales(0, {2.f});
            }
            attr.set_zero_points(OCTET_ARG_DST, 0, {zero_point});
            std::vector<std::uint8_t> dst(vector_of(count, t.type).get_size());
            run(vector_of(count, data_type::f32), reals.data(), vector_of(count, t.type), dst.data(), attr);
            for (dim_t i = 0; i < count; i++) {
                const double x = std::clamp(2. * double{reals[static_cast<std::size_t>(i)]}, -1000., 1000.);
                const double rounded =
                    as_onnx ? std::nearbyint(x) + zero_point : std::nearbyint(x + zero_point);
                EXPECT_EQ(code_at(t, dst, i),
                          static_cast<int>(std::clamp(rounded, double(t.low), double(t.high))))
                    << reals[static_cast<std::size_t>(i)];
            }
        }
}

/// DequantizeLinear with a scale and a zero point per row.
TEST(SharedBytesReorder, RowsHaveScalesAndZeroPoints) {
    const dim_t rows = 3, columns = 12;
    for (const packed_type &t : packed_types) {
        const memory::desc from({rows, columns}, t.type, format_tag::ab),
            to({rows, columns}, data_type::f32, format_tag::ab);
        std::vector<std::uint8_t> src(from.get_size());
        for (dim_t i = 0; i < rows * columns; i++)
            set_code(t, src, i, t.low + static_cast<int>(i * 5 % (1 << t.bits)));
        const std::vector<float> scales = {0.3f, 1.f, 7e-3f};
        const std::vector<std::int32_t> zero_points = {1, -2, 3};
        primitive_attr attr;
        attr.set_requantization(requantization_rule::ort_f32);
        attr.set_scales(OCTET_ARG_SRC, 1, scales);
        attr.set_zero_points(OCTET_ARG_SRC, 1, zero_points);
        std::vector<float> reals(rows * columns);
        run(from, src.data(), to, reals.data(), attr);
        for (dim_t i = 0; i < rows * columns; i++) {
            const auto row = static_cast<std::size_t>(i / columns);
            EXPECT_EQ(reals[static_cast<std::size_t>(i)],
                      static_cast<float>(code_at(t, src, i) - zero_points[row]) * scales[row])
                << to_string(t.type) << ' ' << i;
        }
    }
}

/// A transposed copy of a part, in place among other elements, which stay as they are.
TEST(SharedBytesReorder, TransposesAPartAndKeepsItsSurroundings) {
    const packed_type &t = packed_types[1];
    const memory::desc whole({9, 8}, t.type, format_tag::ab), part = whole.submemory_desc({5, 3}, {2, 4});
    const memory::desc from({5, 3}, data_type::u8, format_tag::ba);
    std::vector<std::uint8_t> codes(15), dst(whole.get_size(), 0xa5);
    for (std::size_t i = 0; i < codes.size(); i++)
        codes[i] = static_cast<std::uint8_t>(i);
    run(from, codes.data(), part, dst.data());
    for (dim_t row = 0; row < 9; row++)
        for (dim_t column = 0; column < 8; column++) {
            const bool is_inside = row >= 2 && row < 7 && column >= 4 && column < 7;
            const int expected = is_inside ? codes[static_cast<std::size_t>((column - 4) * 5 + row - 2)]
                                           : (column % 2 ? 0xa : 0x5);
            EXPECT_EQ(code_at(t, dst, row * 8 + column), expected) << row << ' ' << column;
        }
    std::vector<std::uint8_t> back(15);
    run(part, dst.data(), from, back.data());
    EXPECT_EQ(back, codes);
}

/// Two threads never write one byte: more of them change nothing, however the tensor lies.
TEST(SharedBytesReorder, ThreadsChangeNothing) {
    const int before = get_num_threads();
    for (const format_tag tag : {format_tag::ab, format_tag::ba})
        for (const packed_type &t : packed_types) {
            const memory::desc to({260, 132}, t.type, tag), from({260, 132}, data_type::f32, format_tag::ab);
            std::vector<float> reals(260 * 132);
            for (std::size_t i = 0; i < reals.size(); i++)
                reals[i] = static_cast<float>(i * 2654435761U % 40) - 20.f;
            std::vector<std::uint8_t> one(to.get_size()), many(to.get_size());
            set_num_threads(1);
            run(from, reals.data(), to, one.data());
            for (int repeat = 0; repeat < 20; repeat++) {
                set_num_threads(2 + repeat % 7);
                std::fill(many.begin(), many.end(), std::uint8_t{0});
                run(from, reals.data(), to, many.data());
                ASSERT_EQ(one, many) << to_string(t.type);
            }
        }
    set_num_threads(before);
}

/// One primitive for any number of rows; sizes that would split a byte are refused where they come.
TEST(SharedBytesReorder, SizesMayComeWithTheExecution) {
    constexpr dim_t open = OCTET_RUNTIME_DIM_VAL;
    const packed_type &t = packed_types[1];
    const reorder any(reorder::primitive_desc(cpu(), {{open, open}, t.type, format_tag::ab}, cpu(),
                                              {{open, open}, data_type::u8, format_tag::ab}));
    const std::vector<std::uint8_t> src = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba};
    for (const dim_t rows : {1, 3, 6}) {
        std::vector<std::uint8_t> dst(12);
        const memory x({{rows, 12 / rows}, t.type, format_tag::ab}, cpu(),
                       const_cast<std::uint8_t *>(src.data())),
            y({{rows, 12 / rows}, data_type::u8, format_tag::ab}, cpu(), dst.data());
        any.execute(stream(cpu()), x, y);
        for (std::size_t i = 0; i < 12; i++)
            EXPECT_EQ(dst[i], i);
    }
    expect_invalid([&] { memory({{4, 3}, t.type, format_tag::ab}, cpu(), nullptr); }, {"stride 0 is 3"});
}

/// Into the layout that a product packs its 8-bit weights in.
TEST(SharedBytesReorder, PacksWeights) {
    const packed_type &t = packed_types[0];
    const memory::desc shared({40, 22}, t.type, format_tag::ab),
        plain({40, 22}, data_type::s8, format_tag::ab);
    const matmul::primitive_desc product(matmul::desc({{3, 40}, data_type::u8, format_tag::ab},
                                                      {{40, 22}, data_type::s8, format_tag::any},
                                                      {{3, 22}, data_type::s32, format_tag::ab}),
                                         cpu());
    const memory::desc packed = product.weights_desc();
    ASSERT_EQ(packed.get_format_kind(), format_kind::packed);
    std::vector<std::uint8_t> src(shared.get_size()), codes(plain.get_size()), got(packed.get_size()),
        expected(packed.get_size());
    for (std::size_t i = 0; i < src.size(); i++)
        src[i] = static_cast<std::uint8_t>(i * 37 + 5);
    for (std::size_t i = 0; i < codes.size(); i++)
        codes[i] = static_cast<std::uint8_t>(code_at(t, src, static_cast<dim_t>(i)));
    run(shared, src.data(), packed, got.data());
    run(plain, codes.data(), packed, expected.data());
    EXPECT_EQ(got, expected);
}

TEST(SharedBytesReorder, GeneratedCodeSaysWhyItRefuses) {
    const reorder::primitive_desc pd(cpu(), vector_of(8, data_type::s4), cpu(), vector_of(8, data_type::s4));
    EXPECT_STREQ(pd.impl_info_str(), "ref");
    std::string refusals;
    for (const std::string &refusal : pd.refusals())
        refusals += refusal + '\n';
    EXPECT_NE(refusals.find("elements that share bytes, s4 8"), std::string::npos) << refusals;
}

} // namespace
} // namespace octet::test
