// ConvTranspose on floats against a plain loop in binary64: each input element is scattered over the output.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

struct transposed_case {
    list strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, 0}, added = {0, 0};
    std::int64_t groups = 1;
    bool has_bias = false;
    const char *auto_pad = nullptr;
    list output_shape = {};
    list expected_pads = {}; ///< found for auto_pad or output_shape
};

void check(const transposed_case &c) {
    const dims x_dims = {2, 6, 4, 5}, kernel = {3, 2};
    const dim_t per_group = 2;
    const dims w_dims = {6, per_group, kernel[0], kernel[1]};
    const std::vector<float> x = numbers(count_of(x_dims), 1.f), w = numbers(count_of(w_dims), 1.f, 7),
                             bias = numbers(static_cast<std::size_t>(per_group * c.groups), 1.f, 9);
    one_node n("ConvTranspose");
    n.input(x_dims, x).constant(w_dims, w).set("strides", c.strides).set("dilations", c.dilations);
    n.set("group", c.groups).set("output_padding", c.added);
    if (c.has_bias)
        n.constant({per_group * c.groups}, bias);
    if (c.auto_pad)
        n.set("auto_pad", std::string(c.auto_pad));
    else if (c.output_shape.empty())
        n.set("pads", c.pads);
    if (!c.output_shape.empty())
        n.set("output_shape", c.output_shape);
    const std::vector<float> y = n.run<float>();
    const list &pads = c.expected_pads.empty() ? c.pads : c.expected_pads;
    dims shape = {2, per_group * c.groups, 0, 0};
    for (std::size_t i = 0; i < 2; i++)
        shape[i + 2] = !c.output_shape.empty()
                           ? c.output_shape[i]
                           : (x_dims[i + 2] - 1) * c.strides[i] + (kernel[i] - 1) * c.dilations[i] + 1 +
                                 c.added[i] - pads[i] - pads[i + 2];
    ASSERT_EQ(n.shape, shape);
    std::vector<double> expected(count_of(shape));
    const dim_t inputs = 6 / c.groups;
    std::size_t i = 0;
    for (dim_t b = 0; b < 2; b++)
        for (dim_t ic = 0; ic < 6; ic++)
            for (dim_t h = 0; h < 4; h++)
                for (dim_t v = 0; v < 5; v++, i++)
                    for (dim_t o = 0; o < per_group; o++)
                        for (dim_t kh = 0; kh < kernel[0]; kh++)
                            for (dim_t kw = 0; kw < kernel[1]; kw++) {
                                const dim_t oh = h * c.strides[0] - pads[0] + kh * c.dilations[0],
                                            ow = v * c.strides[1] - pads[1] + kw * c.dilations[1],
                                            oc = ic / inputs * per_group + o;
                                if (oh < 0 || oh >= shape[2] || ow < 0 || ow >= shape[3])
                                    continue;
                                const auto at = static_cast<std::size_t>(
                                    ((b * shape[1] + oc) * shape[2] + oh) * shape[3] + ow);
                                const auto tap = static_cast<std::size_t>(
                                    ((ic * per_group + o) * kernel[0] + kh) * kernel[1] + kw);
                                expected[at] += static_cast<double>(x[i]) * static_cast<double>(w[tap]);
                            }
    for (std::size_t k = 0; k < y.size(); k++) {
        const auto plane = static_cast<std::size_t>(shape[2] * shape[3]);
        const double sum =
            expected[k] + (c.has_bias ? static_cast<double>(bias[k / plane % bias.size()]) : 0.);
        ASSERT_NEAR(static_cast<double>(y[k]), sum, 1e-5) << k;
    }
}

TEST(Deconvolution, ScattersTheInput) {
    check({});
    check({{2, 3}, {1, 1}, {0, 1, 1, 0}, {0, 0}, 1, true});
    check({{2, 3}, {1, 2}, {1, 0, 0, 1}, {1, 2}, 1, false});
    check({{2, 2}, {1, 1}, {1, 0, 1, 1}, {1, 1}, 3, true});
    check({{2, 1}, {2, 2}, {0, 0, 0, 0}, {1, 0}, 2, false});
    check({{1, 2}, {1, 1}, {2, 1, 0, 0}, {0, 0}, 6, false});
}

TEST(Deconvolution, PaddingOfWordsAndShapes) {
    const list any = {0, 0, 0, 0}, none = {0, 0};
    check({{2, 1}, {1, 1}, any, none, 1, false, "SAME_UPPER", {}, {0, 0, 1, 1}});
    check({{2, 1}, {1, 1}, any, none, 1, false, "SAME_LOWER", {}, {1, 1, 0, 0}});
    check({{2, 1}, {1, 1}, any, none, 1, false, "VALID", {}, any});
    check({{2, 1}, {1, 1}, any, none, 1, false, nullptr, {8, 4}, {1, 1, 0, 1}});
    check({{3, 2},
           {1, 1},
           any,
           none,
           1,
           true,
           nullptr,
           {14, 11},
           any}); // more than the kernel reaches: 12 and 10
}

TEST(Deconvolution, Refusals) {
    const auto refusal = [](const dims &w, const char *name, const attribute &value) {
        one_node n("ConvTranspose");
        n.input({1, 2, 3, 3}, numbers(18, 1.f)).constant(w, numbers(count_of(w), 1.f));
        return n.set(name, value).refusal();
    };
    const dims fitting = {2, 1, 2, 2};
    EXPECT_NE(refusal({3, 1, 2, 2}, "group", std::int64_t{1}), "");
    EXPECT_NE(refusal(fitting, "group", std::int64_t{0}), "");
    EXPECT_NE(refusal(fitting, "pads", list{4, 0, 4, 0}), "");
    EXPECT_NE(refusal(fitting, "pads", list{-1, 0, 0, 0}), "");
    EXPECT_NE(refusal(fitting, "strides", list{0, 1}), "");
    EXPECT_NE(refusal(fitting, "output_padding", list{1, 0}), "");
    EXPECT_NE(refusal(fitting, "auto_pad", std::string("SAME")), "");
    EXPECT_NE(refusal(fitting, "output_shape", list{3}), "");
    EXPECT_EQ(refusal(fitting, "output_shape", list{4, 4}), "");
    EXPECT_NE(refusal(fitting, "output_shape", list{5, 4}).find("has an entry of 5, allowed is up to 4"),
              std::string::npos);
}

} // namespace
} // namespace octet::tests
