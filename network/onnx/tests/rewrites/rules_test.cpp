// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

const std::string rules = "L1.1 Level1_RuleBasedTransformer: ";

/// A node t between two others.
std::string between(const std::string &node, const std::string &constants = "float zero = {0}",
                    const std::string &dims = "4,8") {
    return filled("(float[$3] x) => (float[] y) <$2> { b = Tanh(x) t = $1 y = Neg(t) }",
                  {node, constants, dims});
}

TEST(NoopElimination, AddsZeroOfNoMoreDimensions) {
    EXPECT_EQ(rewritten(between("Add(zero, b)")), rules + "Tanh Neg");
    EXPECT_EQ(rewritten(between("Sub(b, zero)")), rules + "Tanh Neg");
    EXPECT_EQ(rewritten(between("Sub(zero, b)")), "Tanh Sub Neg");
    EXPECT_EQ(rewritten(between("Add(b, zero)", "float[1,1,1] zero = {0}")), "Tanh Add Neg");
}

TEST(NoopElimination, KeepsAnOutputOfTheNetwork) {
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) <float one = {1}> { b = Tanh(x) y = Mul(b, one) }"),
              "Tanh Mul");
}

TEST(IdentityElimination, HandsAnOutputToTheNodeBefore) {
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) { b = Tanh(x) y = Identity(b) }"), rules + "Tanh");
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y, float[] z) { b = Tanh(x) y = Identity(b) z = Neg(b) }"),
              "Tanh Identity Neg");
}

TEST(SliceElimination, WantsTheLargestEnd) {
    const auto slice = [](const std::string &end) {
        return between("Slice(b, start, end, axis)",
                       "int64[1] start = {0}, int64[1] axis = {1}, int64[1] end = {" + end + "}");
    };
    EXPECT_EQ(rewritten(slice("9223372036854775807")), rules + "Tanh Neg");
    EXPECT_EQ(rewritten(slice("8")), "Tanh Slice Neg");
}

TEST(ExpandElimination, WantsTheSourcesOwnDimensionsOrOnes) {
    EXPECT_EQ(rewritten(between("Expand(b, shape)", "int64[2] shape = {1, 8}")), rules + "Tanh Neg");
    EXPECT_EQ(rewritten(between("Expand(b, shape)", "int64[3] shape = {1, 4, 8}")), "Tanh Expand Neg");
    EXPECT_EQ(rewritten(between("Expand(b, shape)", "int64[2] shape = {3, 8}", "n,8")), "Tanh Expand Neg");
}

TEST(CastElimination, WantsTheSameType) {
    EXPECT_EQ(rewritten(between("Cast<to=1>(b)")), rules + "Tanh Neg");
    EXPECT_EQ(
        rewritten("(float[4] x) => (float[] y) { c = Cast<to=2>(x) b = Cast<to=9>(c) y = Cast<to=1>(b) }"),
        "Cast Cast Cast");
}

TEST(DropoutElimination, KeepsAnOutputOfTheNetwork) {
    EXPECT_EQ(rewritten(between("Dropout(b)")), rules + "Tanh Neg");
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) { b = Tanh(x) y = Dropout(b) }"), "Tanh Dropout");
}

TEST(UnsqueezeElimination, IsOfConstantsThatNameAxesAsAttribute) {
    const char *const sum =
        "(float[4,8] x) => (float[] y) <float[8] c, int64[1] axis = {0}> { t = Unsqueeze$1 y = Add(x, t) }";
    EXPECT_EQ(rewritten(filled(sum, {"<axes=[0]>(c)"}), 12), rules + "Add");
    EXPECT_EQ(rewritten(filled(sum, {"(c, axis)"}), 13), "L1.1 ConstantFolding: Add");
}

TEST(DivMulFusion, WantsOneAsDividend) {
    const char *const quotient =
        "(float[4] a, float[4] b) => (float[] y) <float one = {$1}> { d = Div(one, a) y = Mul(d, b) }";
    EXPECT_EQ(rewritten(filled(quotient, {"1"})), rules + "Div");
    EXPECT_EQ(rewritten(filled(quotient, {"2"})), "Div Mul");
}

TEST(ReluClipFusion, WantsAConstantLowerLimit) {
    const char *const limited = "(float[4] x, float limit) => (float[] y) <float low = {-1}, float high = "
                                "{6}> { r = Relu(x) y = Clip(r, $1) }";
    EXPECT_EQ(rewritten(filled(limited, {"low, high"})), rules + "Clip");
    EXPECT_EQ(rewritten(filled(limited, {"low, limit"})), rules + "Clip");
    EXPECT_EQ(rewritten(filled(limited, {"limit, high"})), "Relu Clip");
}

TEST(NotWhereFusion, WantsWheresAlone) {
    const char *const chosen = "(float[4] a, float[4] b) => (float[] y, float[] z) { c = Less(a, b) n = "
                               "Not(c) y = Where(n, a, b) z = $1 }";
    EXPECT_EQ(rewritten(filled(chosen, {"Where(n, b, a)"})), rules + "Less Where Where");
    EXPECT_EQ(rewritten(filled(chosen, {"Cast<to=1>(n)"})), "Less Not Where Cast");
}

} // namespace
} // namespace octet::tests
