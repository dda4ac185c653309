// Quantizers of dynamic sources on cases worked out by hand: special rows, ties, zero points at both ends, groups.
// `octet check` compares them with what the libraries computed.
// SPDX-License-Identifier: Apache-2.0
#include "common/source_quantizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/expect_error.hpp"

namespace octet::impl {
namespace {

using by = source_quantizer;
constexpr auto symmetric = source_mode::symmetric, asymmetric = source_mode::asymmetric;

struct quantized {
    std::vector<int> codes;
    source_parameters parameters;
};

quantized quantize(const source_quantization &q, const std::vector<float> &x) {
    const auto count = static_cast<dim_t>(x.size());
    quantized result;
    std::vector<std::uint8_t> codes(x.size());
    quantize_source(q, x.data(), 1, count, count, codes.data(), &result.parameters);
    for (const std::uint8_t code : codes)
        result.codes.push_back(q.code == data_type::s8 ? static_cast<std::int8_t>(code) : int{code});
    return result;
}

using ints = std::vector<int>;

TEST(SourceQuantizer, DynamicSymmetric) {
    const std::vector<float> x = {-127.f, 0.5f, 1.5f, 2.5f, -0.5f, -0.f, 126.5f}; // scale and factor 1
    const quantized s8 = quantize({by::dynamic, symmetric, data_type::s8}, x);
    EXPECT_EQ(s8.codes, (ints{-127, 0, 2, 2, 0, 0, 126}));
    EXPECT_EQ(s8.parameters.scale, 1.f);
    EXPECT_EQ(s8.parameters.zero_point, 0);
    const quantized u8 = quantize({by::dynamic, symmetric, data_type::u8}, x);
    EXPECT_EQ(u8.codes, (ints{1, 128, 130, 130, 128, 128, 254}));
    EXPECT_EQ(u8.parameters.zero_point, 128);
}

TEST(SourceQuantizer, DynamicAsymmetric) {
    const std::vector<float> x = {-55.f, 200.f, 0.f, 0.5f, 1.5f}; // 255 steps of 1
    const quantized s8 = quantize({by::dynamic, asymmetric, data_type::s8}, x);
    EXPECT_EQ(s8.parameters.scale, 1.f);
    EXPECT_EQ(s8.parameters.zero_point, -73);
    EXPECT_EQ(s8.codes, (ints{-128, 127, -73, -73, -71}));
    const quantized u8 = quantize({by::dynamic, asymmetric, data_type::u8}, x);
    EXPECT_EQ(u8.parameters.zero_point, 55);
    EXPECT_EQ(u8.codes, (ints{0, 255, 55, 55, 57}));
    // Zero is always in the range.
    EXPECT_EQ(quantize({by::dynamic, asymmetric, data_type::s8}, {51.f, 255.f}).codes, (ints{-77, 127}));
}

/// Zeros, subnormals; NaN and infinities; the largest float.
TEST(SourceQuantizer, DynamicSpecialRows) {
    constexpr float infinity = std::numeric_limits<float>::infinity(),
                    nan = std::numeric_limits<float>::quiet_NaN(),
                    largest = std::numeric_limits<float>::max();
    for (const source_mode mode : {symmetric, asymmetric})
        for (const data_type code : {data_type::s8, data_type::u8}) {
            const int middle = code == data_type::u8 ? 128 : 0;
            for (const std::vector<float> &x :
                 {std::vector<float>{0.f, -0.f, 0.f}, {1e-40f, -1e-45f, 0.f}, {0.f, 0x1.fffffep-121f, 0.f}}) {
                const quantized q = quantize({by::dynamic, mode, code}, x);
                EXPECT_EQ(q.codes, (ints{middle, middle, middle}));
                EXPECT_EQ(q.parameters.scale, 1.f);
                EXPECT_EQ(q.parameters.zero_point, middle);
            }
            for (const float poison : {nan, infinity, -infinity}) {
                const quantized q = quantize({by::dynamic, mode, code}, {1.f, poison, -3.f});
                EXPECT_EQ(q.codes, (ints{middle, middle, middle}));
                EXPECT_TRUE(std::isnan(q.parameters.scale));
                EXPECT_EQ(q.parameters.zero_point, middle);
            }
            EXPECT_EQ(quantize({by::dynamic, mode, code}, {largest, -largest, 0.f}).codes[0], middle + 127);
            const quantized least = quantize({by::dynamic, mode, code}, {0x1p-120f, 0.f, 0.f});
            EXPECT_EQ(least.codes[0], code == data_type::u8 ? 255 : 127);
            EXPECT_TRUE(std::isfinite(least.parameters.inverse));
        }
}

/// A row of zeros has zero point 127; the scale is the reciprocal of the reciprocal.
TEST(SourceQuantizer, XnnpackAndKleidiai) {
    for (const source_quantizer q : {by::xnnpack, by::kleidiai}) {
        const quantized zero = quantize({q, asymmetric, data_type::s8}, {0.f, -0.f});
        EXPECT_EQ(zero.codes, (ints{127, 127}));
        EXPECT_EQ(zero.parameters.scale, 1.f);
        EXPECT_EQ(zero.parameters.zero_point, 127);
        const quantized thirds = quantize({q, asymmetric, data_type::s8}, {0.f, 3.f});
        EXPECT_EQ(thirds.parameters.inverse, 85.f);
        EXPECT_EQ(thirds.parameters.scale, 1.f / 85.f);
        EXPECT_EQ(thirds.codes, (ints{-128, 127}));
    }
    const std::vector<float> ties = {-128.f, 127.f, 0.5f, 1.5f, -0.5f, -1.5f};
    EXPECT_EQ(quantize({by::xnnpack, asymmetric, data_type::s8}, ties).codes, (ints{-128, 127, 0, 2, 0, -2}));
    EXPECT_EQ(quantize({by::kleidiai, asymmetric, data_type::s8}, ties).codes,
              (ints{-128, 127, 1, 2, -1, -2}));
}

TEST(SourceQuantizer, Litert) {
    const quantized zero = quantize({by::litert, asymmetric, data_type::s8}, {0.f, 0.f});
    EXPECT_EQ(zero.codes, (ints{0, 0}));
    EXPECT_EQ(zero.parameters.scale, 1.f);
    EXPECT_EQ(quantize({by::litert, symmetric, data_type::s8}, {127.f, 0.5f, -0.5f, -127.f}).codes,
              (ints{127, 1, -1, -127}));
    // Ties away from zero after the zero point of -73 is added: -72.5 and -71.5 go down.
    const quantized shifted = quantize({by::litert, asymmetric, data_type::s8}, {-55.f, 200.f, 0.5f, 1.5f});
    EXPECT_EQ(shifted.parameters.zero_point, -73);
    EXPECT_EQ(shifted.codes, (ints{-128, 127, -73, -72}));
}

TEST(SourceQuantizer, OnnxruntimeAndQnnpack) {
    const quantized zero = quantize({by::onnxruntime, asymmetric, data_type::u8}, {0.f, 0.f});
    EXPECT_EQ(zero.codes, (ints{0, 0}));
    EXPECT_EQ(zero.parameters.scale, 1.f);
    const std::vector<float> x = {-55.f, 200.f, 0.5f, 1.5f};
    for (const source_quantizer q : {by::onnxruntime, by::qnnpack}) {
        EXPECT_EQ(quantize({q, asymmetric, data_type::u8}, x).parameters.zero_point, 55);
        EXPECT_EQ(quantize({q, asymmetric, data_type::u8}, x).codes, (ints{0, 255, 55, 57}));
    }
    // Small tensors are not scaled up.
    const quantized small = quantize({by::qnnpack, asymmetric, data_type::u8}, {0.f, 6.1e-4f});
    EXPECT_EQ(small.parameters.scale, 6.1e-5f);
    EXPECT_EQ(small.codes, (ints{0, 10}));
    EXPECT_EQ(quantize({by::qnnpack, asymmetric, data_type::u8}, {-6.1e-4f, 0.f}).codes, (ints{245, 255}));
    EXPECT_EQ(quantize({by::qnnpack, asymmetric, data_type::u8}, {0.f}).parameters.scale, 0.1f);
}

TEST(SourceQuantizer, GgmlRoundsAwayInCAndToEvenInAvx2) {
    const std::vector<float> x = {127.f, 0.5f, -1.5f, -2.5f};
    EXPECT_EQ(quantize({by::ggml, symmetric, data_type::s8}, x).codes, (ints{127, 1, -2, -3}));
    EXPECT_EQ(quantize({by::ggml_avx2, symmetric, data_type::s8}, x).codes, (ints{127, 0, -2, -2}));
    for (const source_quantizer q : {by::ggml, by::ggml_avx2}) {
        const quantized zero = quantize({q, symmetric, data_type::s8}, {0.f, -0.f});
        EXPECT_EQ(zero.codes, (ints{0, 0}));
        EXPECT_EQ(zero.parameters.scale, 0.f);
    }
}

/// Two rows of 5 in groups of 2: the third group has one element, and no group sees another one.
TEST(SourceQuantizer, GroupsOfRows) {
    const std::vector<float> x = {127.f, -1.f, 254.f, 2.f, 0.f, -12.7f, 0.1f, 1.f, 1.f, 1270.f};
    std::vector<std::int8_t> codes(x.size());
    std::vector<source_parameters> parameters(6);
    const source_quantization q{by::dynamic, symmetric, data_type::s8};
    quantize_source(q, x.data(), 2, 5, 2, codes.data(), parameters.data());
    EXPECT_EQ(codes, (std::vector<std::int8_t>{127, -1, 127, 1, 0, -127, 1, 127, 127, 127}));
    const float scales[] = {1.f, 2.f, 1.f, 12.7f / 127, 1.f / 127, 10.f};
    for (std::size_t i = 0; i < 6; i++)
        EXPECT_EQ(parameters[i].scale, scales[i]) << i;
}

TEST(SourceQuantizer, RefusesWhatALibraryDoesNotHave) {
    const float x = 1.f;
    std::int8_t code;
    source_parameters p;
    const auto run = [&](const source_quantization &q, dim_t group) {
        return [&, q, group] { quantize_source(q, &x, 1, 1, group, &code, &p); };
    };
    test::expect_invalid(run({by::xnnpack, symmetric, data_type::s8}, 1),
                         {"quantizer xnnpack: mode symmetric, allowed: asymmetric"});
    test::expect_invalid(run({by::ggml, asymmetric, data_type::s8}, 1),
                         {"quantizer ggml: mode asymmetric, allowed: symmetric"});
    test::expect_invalid(run({by::onnxruntime, asymmetric, data_type::s8}, 1),
                         {"quantizer onnxruntime: codes of type s8, allowed: u8"});
    test::expect_invalid(run({by::dynamic, symmetric, data_type::s4}, 1),
                         {"quantizer dynamic: codes of type s4, allowed: s8, u8"});
    test::expect_invalid(run({by::dynamic, symmetric, data_type::s8}, 0),
                         {"quantizer dynamic: groups of 0 elements, allowed: 1 and above"});
}

} // namespace
} // namespace octet::impl
