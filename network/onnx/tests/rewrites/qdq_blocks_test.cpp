// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// A product with dequantized weights.
const char *const product = R"(
    (float[$1] x) => (float[] y) <int8[4,3] c, float$2 s = {$3}, float[3] row, float[1,3] matrix> {
        w = DequantizeLinear<axis=1>(c, s)  p = MatMul(x, w)  y = $4
    })";
const std::string units = "L2.1 QDQSelectorActionTransformer";

TEST(QdqActions, RoundTheSourceForWeightsAloneInCodes) {
    EXPECT_EQ(rewritten(filled(product, {"2,4", "", "0.1", "Neg(p)"})), units + ": MatMulNBits Neg");
    EXPECT_EQ(rewritten(filled(product, {"2,4", "[3]", "0.1, 0.2, 0.3", "Neg(p)"})),
              units + ": MatMulNBits Neg");
    EXPECT_EQ(rewritten(filled(product, {"2,4", "[1]", "0.1", "Neg(p)"})),
              "DequantizeLinear MatMul Neg"); // a list of one
}

TEST(MatmulNbitsFusion, TakesARowOfOneDimension) {
    EXPECT_EQ(rewritten(filled(product, {"n,5,4", "", "0.1", "Add(p, row)"})),
              units + ", L2.1 MatMulNBitsFusion: MatMulNBits");
    EXPECT_EQ(rewritten(filled(product, {"n,5,4", "", "0.1", "Add(p, matrix)"})),
              units + ": MatMulNBits Add");
}

} // namespace
} // namespace octet::tests
