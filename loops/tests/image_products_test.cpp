// Codes of images and results from sums, against the definitions, at every level and for every number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "common/combination.hpp"
#include "loops/image_products.hpp"
#include "loops/tests/every_form.hpp"

namespace octet::tests {
namespace {

TEST(ImageProducts, CodesAreThoseOfTheDefinition) {
    for (const source_quantization &q :
         {source_quantization{source_quantizer::xnnpack, source_mode::asymmetric},
          source_quantization{source_quantizer::litert, source_mode::asymmetric},
          source_quantization{source_quantizer::litert, source_mode::symmetric}})
        for (const std::int64_t count : {1, 7, 33, 70001}) {
            floats x = numbers(count, 3.f, 9);
            x[0] = 127.f / 32; // ties where the range is that of codes
            for (std::int64_t i = 1; i < count; i += 3)
                x[static_cast<std::size_t>(i)] = static_cast<float>(i % 253 - 126) / 32 + 1.f / 64;
            if (count == 7)
                x.assign(7, 0.f);
            const auto run = [&] {
                const loops::image_codes image(q, count);
                std::vector<std::int8_t> codes(x.size());
                floats scratch(static_cast<std::size_t>(image.scratch_size()));
                const loops::image_parameters p = image.run(x.data(), codes.data(), scratch.data());
                codes.push_back(static_cast<std::int8_t>(p.zero_point));
                return codes;
            };
            std::vector<std::int8_t> expected(x.size());
            impl::source_parameters p;
            impl::quantize_source(q, x.data(), 1, count, count, expected.data(), &p);
            expected.push_back(static_cast<std::int8_t>(p.zero_point));
            EXPECT_EQ(same_everywhere(run), expected) << to_string(q.by) << ", " << count;
        }
}

template <combination order> void expect_results() {
    constexpr std::int64_t pixels = 301, channels = 37;
    const floats scales = numbers(channels, 0.01f, 3), bias = numbers(channels, 2.f, 4);
    std::vector<std::int32_t> sums;
    for (const float v : numbers(pixels * channels, 100000.f))
        sums.push_back(static_cast<std::int32_t>(v));
    for (const bool has_one_scale : {false, true})
        for (const bool has_bias : {false, true}) {
            const float *const b = has_bias ? bias.data() : nullptr;
            floats expected;
            for (std::size_t i = 0; i < sums.size(); i++) {
                const std::size_t c = i % channels;
                const float none = 0.f, y = impl::combine_sum<order>({static_cast<float>(sums[i]), 0.3f,
                                                                      scales[has_one_scale ? 0 : c]},
                                                                     has_bias ? &bias[c] : &none);
                expected.push_back(std::min(std::max(y, -50.f), 60.f));
            }
            EXPECT_EQ(same_everywhere([&] {
                          floats y(sums.size());
                          loops::pixel_results_loop({order, pixels, channels, has_one_scale, -50.f, 60.f})
                              .run(sums.data(), 0.3f, scales.data(), b, y.data());
                          return y;
                      }),
                      expected)
                << to_string(order);
        }
}

TEST(ImageProducts, ResultsAreThoseOfTheDefinition) {
    expect_results<combination::xnnpack>();
    expect_results<combination::xnnpack_unfused>();
    expect_results<combination::litert>();
}

/// NaN is no number that an activation limits.
TEST(ImageProducts, NanPasses) {
    const std::int32_t sum = 1;
    const float scale = std::nanf("");
    float y = 0.f;
    loops::pixel_results_loop({combination::litert, 1, 1, true, 0.f, 6.f})
        .run(&sum, 1.f, &scale, nullptr, &y);
    EXPECT_TRUE(std::isnan(y));
}

} // namespace
} // namespace octet::tests
