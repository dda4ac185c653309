// Orders of sums of floats that ONNX Runtime has for some products alone: of a row, of a column, of rows that
// it reads transposed, of blocks that a factor multiplies, and of convolutions of one pixel. The expected
// values are those of ONNX Runtime 1.30.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

struct product_case {
    const char *op;
    dims a, b;
    bool is_constant;
    std::vector<float> expected;
    std::string attribute = {};
};

TEST(FloatProductOrders, AreThoseOfOnnxRuntime) {
    const product_case cases[] = {
        {"MatMul", {1, 21}, {21, 1}, false, {2.51575541f}},
        {"MatMul",
         {7, 21},
         {21, 1},
         false,
         {2.51575541f, -0.345594227f, -2.05286360f, 3.43301511f, -1.88456440f, -3.40717077f, -1.14680672f}},
        {"MatMul",
         {2, 3, 21},
         {21, 1},
         false,
         {2.51575541f, -0.345594227f, -2.05286360f, 3.43301511f, -1.88456440f, -3.40717077f}},
        {"MatMul",
         {2, 3, 21},
         {2, 21, 1},
         false,
         {2.51575541f, -0.345594227f, -2.05286360f, -0.236064434f, 2.39842129f, -0.886543810f}},
        {"MatMul", {3, 21}, {21}, false, {2.51575541f, -0.345594227f, -2.05286360f}},
        {"MatMul", {3, 21}, {21}, true, {2.51575541f, -0.345594227f, -2.05286360f}},
        {"MatMul", {21}, {21, 3}, false, {-0.640162051f, 1.61076283f, 0.478413016f}},
        {"MatMul", {1, 21}, {21, 3}, false, {-0.640162051f, 1.61076283f, 0.478413016f}},
        {"MatMul",
         {2, 1, 21},
         {2, 21, 2},
         false,
         {-0.223707184f, -0.604543447f, -0.987635851f, -0.980582833f}},
        {"Gemm", {21, 3}, {21, 1}, false, {2.32795930f, -1.71129560f, -0.502261519f}, "transA"},
        {"Gemm", {300, 2}, {300, 2}, false, {-5.94900370f, 2.01291227f, -1.85549378f, 2.68203092f}, "transA"},
        {"Gemm", {2, 300}, {300, 2}, true, {-1.51749015f, -10.6906900f, -6.15793467f, 5.67212152f}, "alpha"},
        {"ConvTranspose",
         {1, 21, 1},
         {21, 2, 3},
         true,
         {0.339613497f, -1.11703634f, 0.481045544f, -3.16205645f, -0.347282588f, -0.151925743f}},
        {"ConvTranspose",
         {1, 21, 1},
         {21, 2, 3},
         false,
         {0.339613438f, -1.11703646f, 0.481045544f, -3.16205668f, -0.347282529f, -0.151925743f}},
        {"ConvTranspose", {1, 300, 2}, {300, 1, 2}, true, {-5.94900274f, 0.157419086f, 2.68202734f}},
        {"ConvTranspose", {1, 300, 2}, {300, 1, 1}, true, {2.58745217f, 3.29306388f}},
        {"Conv", {1, 1, 7, 5}, {1, 1, 5, 5}, false, {2.57062030f, -1.93658340f, 2.20161390f}},
        {"Conv", {1, 48, 5, 5}, {3, 48, 5, 5}, false, {-5.33530426f, 1.74886131f, -3.40263796f}},
        {"ConvTranspose", {1, 300, 2}, {300, 1, 2}, false, {-5.94900370f, 0.157418489f, 2.68203092f}},
    };
    for (const product_case &c : cases) {
        one_node n(c.op);
        n.input(c.a, numbers(count_of(c.a), 1.f));
        n.add(c.b, numbers(count_of(c.b), 1.f, 7), c.is_constant);
        if (c.attribute == "transA")
            n.set("transA", std::int64_t{1});
        else if (c.attribute == "alpha")
            n.set("alpha", 0.75f);
        EXPECT_EQ(n.run<float>(), c.expected)
            << c.op << " of " << testing::PrintToString(c.a) << " and " << testing::PrintToString(c.b);
    }
}

} // namespace
} // namespace octet::tests
