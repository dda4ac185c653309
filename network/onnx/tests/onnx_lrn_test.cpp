// LRN: bytes of ONNX Runtime, and refusals.
// SPDX-License-Identifier: Apache-2.0
#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

one_node lrn(const dims &d, std::int64_t size, float beta = 0.75f) {
    one_node node("LRN");
    std::vector<float> x;
    for (std::size_t i = 0; i < count_of(d); i++)
        x.push_back(static_cast<float>(7 * i % 11) / 4 - 1.25f);
    return node.input<float>(d, x).set("size", size).set("alpha", 0.5f).set("beta", beta).set("bias", 1.5f);
}

void expect_refusal(one_node node, const std::string &sentence) {
    const std::string refusal = node.refusal();
    EXPECT_NE(refusal.find(sentence), std::string::npos) << refusal;
}

/// What ONNX Runtime 1.30 gives.
TEST(OnnxLrn, HasTheBytesOfOnnxRuntime) {
    EXPECT_EQ(lrn({1, 4, 1, 3}, 3).run<float>(),
              (std::vector<float>{-0x1.7999ap-1f, 0x1.70332ep-2f, -0x1.62097ap-2f, 0x1.63cf82p-1f,
                                  0x1.70332ep-3f, -0x1.edc6bp-2f, 0x1.2e148p-1f, 0x0p+0f, -0x1.2e148p-1f,
                                  0x1.f68404p-2f, -0x1.77cabap-3f, -0x1.874b98p-1f}));
    EXPECT_EQ(lrn({1, 4, 1, 3}, 3, 3.f).run<float>(),
              (std::vector<float>{-0x1.363468p-3f, 0x1.11e068p-3f, -0x1.d436ep-4f, 0x1.e921aap-4f,
                                  0x1.11e068p-4f, -0x1.067652p-3f, 0x1.f053dap-4f, 0x0p+0f, -0x1.f053e6p-4f,
                                  0x1.198bp-3f, -0x1.292c56p-4f, -0x1.65b752p-3f}));
}

TEST(OnnxLrn, RefusesWhatOnnxRuntimeDoes) {
    expect_refusal(lrn({1, 3, 2, 2}, 2), "attribute 'size' is 2, allowed are odd numbers from 1 on");
    expect_refusal(lrn({1, 3, 2}, 3), "the input has dimensions 1x3x2, allowed are four, as in ONNX Runtime");
    expect_refusal(lrn({1, 3, 2, 2}, 3, 0.f), "attribute 'beta' is 0.000000, allowed are numbers above 0");
    expect_refusal(lrn({1, 3, 2, 2}, 3).set("alpha", -1.f),
                   "attribute 'alpha' is -1.000000, allowed are numbers above 0");
}

} // namespace
} // namespace octet::tests
