// Sums of floats against oneDNN's, which has another order of products: where all sums are exact, the bytes are equal;
// elsewhere both are close to the sum.
// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

namespace peers {
namespace {

struct numbers {
    const char *name;
    bool are_integers; ///< small ones: products and sums are exact
};
constexpr numbers integers{"integers", true}, reals{"reals", false};

class values {
public:
    values(unsigned seed, const numbers &n) : engine_(seed), numbers_(n) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }
    tensor floats(const dims &shape, const char *layout) {
        tensor t;
        t.shape = shape;
        t.element = type::f32;
        t.layout = layout;
        std::int64_t count = 1;
        for (const std::int64_t d : shape)
            count *= d;
        t.data.resize(static_cast<std::size_t>(count) * sizeof(float));
        for (std::int64_t i = 0; i < count; i++) {
            const auto x = static_cast<float>(between(-50, 50));
            const float value = numbers_.are_integers ? x : x / 37;
            std::memcpy(t.data.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
        }
        return t;
    }

private:
    std::mt19937 engine_;
    const numbers numbers_;
};

void compare(const problem &p, const numbers &n, std::int64_t products) {
    const answers expected = onednn::ask(p), actual = octet::ask(p);
    ASSERT_FALSE(expected.list.empty()) << to_string(p) << ": " << expected.refusal;
    ASSERT_FALSE(actual.list.empty()) << to_string(p) << ": " << actual.refusal;
    const answer &a = expected.list.front(), &b = actual.list.front();
    // Each of the sums is off by at most as many roundings of its largest partial sum.
    const double bound = n.are_integers ? 0 : static_cast<double>(products * products) * 2 * 2 * 0x1p-24;
    for (std::size_t i = 0; i < a.dst.size() / sizeof(float); i++)
        ASSERT_NEAR(element<float>(a.dst, i), element<float>(b.dst, i), bound)
            << to_string(p) << ": element " << i << ", " << a.implementation << ", " << b.implementation;
}

class f32_products : public ::testing::TestWithParam<numbers> {};

TEST_P(f32_products, are_close_to_onednns) {
    for (unsigned seed = 1; seed <= 25 && !HasFailure(); seed++) {
        values v(seed, GetParam());
        problem p;
        const std::int64_t ic = v.between(1, 40), oc = v.between(1, 70), groups = v.between(1, 2),
                           size = v.between(5, 14), kernel = v.between(1, 3), stride = v.between(1, 2);
        const std::int64_t pad = v.between(0, 1), out = (size + 2 * pad - kernel) / stride + 1;
        p.op = operation::convolution;
        p.src = v.floats({2, groups * ic, size, size}, "channels_last");
        p.weights = groups > 1 ? v.floats({groups, oc, ic, kernel, kernel}, "any")
                               : v.floats({oc, ic, kernel, kernel}, "any");
        p.bias = v.floats({groups * oc}, "");
        p.dst = v.floats({2, groups * oc, out, out}, "channels_last");
        p.strides = {stride, stride};
        p.dilates = {0, 0};
        p.padding_l = {pad, pad};
        p.padding_r = {(out - 1) * stride + kernel - size - pad, (out - 1) * stride + kernel - size - pad};
        compare(p, GetParam(), ic * kernel * kernel + 1);

        problem depthwise = p;
        depthwise.src = v.floats({2, oc + 1, size, size}, "channels_last");
        depthwise.weights = v.floats({oc + 1, 1, 1, kernel, kernel}, "any");
        depthwise.bias = tensor();
        depthwise.dst = v.floats({2, oc + 1, out, out}, "channels_last");
        compare(depthwise, GetParam(), kernel * kernel);

        problem product;
        product.op = operation::inner_product;
        product.src = v.floats({v.between(1, 20), ic}, "");
        product.weights = v.floats({oc, ic}, "any");
        product.dst = v.floats({product.src.shape[0], oc}, "");
        compare(product, GetParam(), ic);
        product.op = operation::matmul;
        product.weights = v.floats({ic, oc}, "any");
        compare(product, GetParam(), ic);
    }
}

INSTANTIATE_TEST_SUITE_P(of, f32_products, ::testing::Values(integers, reals),
                         [](const auto &which) { return std::string(which.param.name); });

} // namespace
} // namespace peers
