// Patterns that ONNX Runtime's transformers leave alone because of who reads a tensor, or may replace it, as
// other exporters write files. Each case was found with the runtime itself;
// tests/onnxruntime/unusual_graphs.cjs compares the bytes of such graphs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "network/onnx/tests/ort_left.hpp"

namespace octet::tests {
namespace {

using names = onnx_builder::names;
using dims = onnx_builder::dims;

/// Gelu of x in parts, the tensors erf and y.
void add_gelu(onnx_builder &m, const std::string &x) {
    m.scalar<float>("root", std::sqrt(2.f)), m.scalar<float>("one", 1.f), m.scalar<float>("half", 0.5f);
    m.node("Div", {x, "root"}, {"quotient"});
    m.node("Erf", {"quotient"}, {"erf"});
    m.node("Add", {"erf", "one"}, {"sum"});
    m.node("Mul", {x, "sum"}, {"product"});
    m.node("Mul", {"product", "half"}, {"y"});
}
const names parts = {"Add", "Div", "Erf", "Mul", "Mul"};

TEST(OrtReaders, ANodeThatNobodyReadsIsOne) {
    for (const bool has_reader : {false, true}) {
        onnx_builder m(17);
        m.input<float>("x", {2, 8});
        add_gelu(m, "x");
        if (has_reader)
            m.node("Neg", {"erf"}, {"unread"});
        m.output("y");
        EXPECT_EQ(sorted_operators(m), has_reader ? parts : names{"Gelu"});
    }
}

TEST(OrtReaders, AShapeOfAnOpenSizeIsOneUnlessItsSourceIsReshaped) {
    const struct {
        std::int64_t size;
        const char *source;
        bool is_gelu;
    } cases[] = {{-1, "erf", false}, {2, "erf", true}, {-1, "y", true}};
    for (const auto &c : cases) {
        onnx_builder m(17);
        m.input<float>("x", {c.size, 8});
        add_gelu(m, "x");
        m.node("Shape", {c.source}, {"sizes"});
        m.node("Reshape", {"y", "sizes"}, {"out"});
        m.output("out");
        names expected = c.is_gelu ? names{"Gelu"} : parts;
        expected.push_back("Reshape");
        EXPECT_EQ(sorted_operators(m), expected) << c.source << ", " << c.size;
    }
}

TEST(OrtReaders, AnInitializerThatIsAnInputIsNoConstantFromVersion4On) {
    for (const std::int64_t version : {3, 4}) {
        onnx_builder m(11);
        m.model.set_ir_version(version);
        m.input<float>("x", {2, 8});
        add_gelu(m, "x");
        m.input<float>("root", {});
        m.output("y");
        EXPECT_EQ(sorted_operators(m), version == 3 ? names{"Gelu"} : parts);
    }
}

TEST(OrtReaders, AResizeBetweenCodesStaysOnFloatsIfItMixesThem) {
    for (const bool mixes : {false, true}) {
        onnx_builder m(13);
        m.input<float>("x", {1, 1, 3, 3});
        m.scalar<float>("scale", 0.1f), m.scalar<std::uint8_t>("zero", 128);
        m.constant<std::int64_t>("sizes", {4}, {1, 1, 5, 5});
        m.node("QuantizeLinear", {"x", "scale", "zero"}, {"codes"});
        m.node("DequantizeLinear", {"codes", "scale", "zero"}, {"numbers"});
        onnx_builder::set(m.node("Resize", {"numbers", "", "", "sizes"}, {"larger"}), "mode",
                          mixes ? "linear" : "nearest");
        m.node("QuantizeLinear", {"larger", "scale", "zero"}, {"larger_codes"});
        m.node("DequantizeLinear", {"larger_codes", "scale", "zero"}, {"y"});
        m.output("y");
        names expected = {"DequantizeLinear", "QuantizeLinear", "Resize"};
        if (mixes)
            expected = {"DequantizeLinear", "DequantizeLinear", "QuantizeLinear", "QuantizeLinear", "Resize"};
        EXPECT_EQ(sorted_operators(m), expected);
    }
}

TEST(OrtReaders, BatchNormalizationJoinsAProductPastMovesThatOneNodeReads) {
    for (const bool has_reader : {false, true}) {
        onnx_builder m(13);
        m.input<float>("x", {4, 4});
        m.constant<float>("w", {4, 4}, std::vector<float>(16, 0.5f));
        m.constant<float>("row", {4}, {1, 2, 3, 4});
        m.node("MatMul", {"x", "w"}, {"product"});
        m.node("Transpose", {"product"}, {"moved"});
        m.node("BatchNormalization", {"moved", "row", "row", "row", "row"}, {"y"});
        m.output("y");
        if (has_reader)
            m.node("Exp", {"moved"}, {"other"}), m.output("other");
        EXPECT_EQ(sorted_operators(m), has_reader
                                           ? (names{"BatchNormalization", "Exp", "MatMul", "Transpose"})
                                           : (names{"Gemm", "Transpose"}));
    }
}

} // namespace
} // namespace octet::tests
