// Pooling against its formulas over an explicitly listed window.
// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include "support/expect_error.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

struct pooling_case {
    dims src, dst, kernel, stride, pad_l, pad_r;
};

pooling_case random_case(inputs &in) {
    pooling_case c{{in.between(1, 3), in.between(1, 20)}, {}, {}, {}, {}, {}};
    c.dst = c.src;
    for (std::int64_t d = in.between(1, 3); d > 0; d--) {
        const dim_t kernel = in.between(1, 4), stride = in.between(1, 3), pad_l = in.between(0, kernel - 1);
        const dim_t size = in.between(kernel, kernel + 6);
        const dim_t pad_r = in.between(std::max<dim_t>(-1, kernel - size - pad_l), kernel - 1);
        c.src.push_back(size);
        c.kernel.push_back(kernel);
        c.stride.push_back(stride);
        c.pad_l.push_back(pad_l);
        c.pad_r.push_back(pad_r);
        c.dst.push_back((size + pad_l + pad_r - kernel) / stride + 1);
    }
    return c;
}

/// The codes of a window that lie inside the image.
std::vector<std::int64_t> window(const pooling_case &c, const memory &src, const dims &at) {
    std::vector<std::int64_t> codes;
    for_each(c.kernel, [&](const dims &tap) {
        dims from{at[0], at[1]};
        for (std::size_t d = 0; d < c.kernel.size(); d++) {
            from.push_back(at[d + 2] * c.stride[d] + tap[d] - c.pad_l[d]);
            if (from.back() < 0 || from.back() >= c.src[d + 2])
                return;
        }
        codes.push_back(static_cast<std::int64_t>(element(src.get_desc(), src.get_data_handle(), from)));
    });
    return codes;
}

std::int64_t sum(const std::vector<std::int64_t> &codes) {
    std::int64_t total = 0;
    for (const std::int64_t code : codes)
        total += code;
    return total;
}

using formula = std::function<double(const std::vector<std::int64_t> &codes, const dims &at)>;

void check(inputs &in, const pooling_case &c, algorithm alg, const primitive_attr &attr, const memory &src,
           const memory::desc &dst_md, const formula &value) {
    const auto pd = [&] {
        const pooling_forward::desc d(prop_kind::forward_inference, alg, src.get_desc(), dst_md, c.stride,
                                      c.kernel, c.pad_l, c.pad_r);
        return pooling_forward::primitive_desc(d, attr, cpu);
    };
    expect_execution([&] { return pooling_forward(pd()); },
                     {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, random_memory(in, dst_md)}},
                     [&](const dims &at) { return value(window(c, src, at), at); }, pd().problem_str());
}

/// Every window must hold at least one position of the image.
bool is_allowed(const pooling_case &c) {
    for (std::size_t d = 0; d < c.kernel.size(); d++)
        if ((c.dst[d + 2] - 1) * c.stride[d] >= c.src[d + 2] + c.pad_l[d])
            return false;
    return true;
}

TEST(pooling, equals_the_formulas_on_random_problems) {
    inputs in(141);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        const pooling_case c = random_case(in);
        if (!is_allowed(c))
            continue;
        const data_type type = in.one_in(2) ? data_type::u8 : data_type::s8;
        const memory::desc src_md = any_layout(in, c.src, type), dst_md = any_layout(in, c.dst, type);
        const memory src = random_memory(in, src_md);
        const auto all_taps = static_cast<std::int64_t>(product(c.kernel));

        check(in, c, algorithm::pooling_max, {}, src, dst_md, [](const auto &codes, const dims &) {
            return static_cast<double>(*std::max_element(codes.begin(), codes.end()));
        });

        for (const algorithm alg :
             {algorithm::pooling_avg_include_padding, algorithm::pooling_avg_exclude_padding}) {
            const auto count = [&](const auto &codes) {
                return alg == algorithm::pooling_avg_include_padding
                           ? all_taps
                           : static_cast<std::int64_t>(codes.size());
            };
            check(in, c, alg, {}, src, dst_md, [&](const auto &codes, const dims &) { // oneDNN
                return saturate_and_round(
                    f32(static_cast<double>(sum(codes)) / static_cast<double>(count(codes))), type);
            });
            primitive_attr tflite;
            tflite.set_requantization(requantization_rule::tflite_2step);
            check(in, c, alg, tflite, src, dst_md,
                  [&](const auto &codes, const dims &) { // ties away from code 0
                      const std::int64_t n = count(codes), s = sum(codes),
                                         magnitude = (2 * std::abs(s) + n) / (2 * n);
                      return static_cast<double>(s < 0 ? -magnitude : magnitude);
                  });
        }
    }
}

TEST(pooling, with_a_factor_requantizes_the_sum) {
    inputs in(142);
    int checked = 0;
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        const pooling_case c = random_case(in);
        if (!is_allowed(c))
            continue;
        const data_type type = in.one_in(2) ? data_type::u8 : data_type::s8;
        const memory::desc src_md = any_layout(in, c.src, type), dst_md = any_layout(in, c.dst, type);
        const output_stage out(in, {dst_md, 1, 0, false, product(c.kernel)});
        if (out.rule() == requantization_rule::none || out.rule() == requantization_rule::f32 ||
            out.rule() == requantization_rule::f32_v3)
            continue; // no factor
        checked++;
        primitive_attr attr = out.attr();
        const auto src_zp = random_zero_points(in, src_md, {0, 1, 2, 3});
        set_zero_points(attr, OCTET_ARG_SRC, src_zp);
        check(in, c, algorithm::pooling_avg_exclude_padding, attr, random_memory(in, src_md), dst_md,
              [&](const auto &codes, const dims &at) {
                  const dims n_c{at[0], at[1]}, sizes{c.src[0], c.src[1]};
                  return out.stored(
                      sum(codes) - src_zp.at(sizes, n_c, 0) * static_cast<std::int64_t>(codes.size()), 0, at);
              });
    }
    EXPECT_GT(checked, 100);
}

TEST(pooling, a_clip_holds_the_range_of_a_fused_activation) {
    inputs in(143);
    const pooling_case c{{1, 3, 6, 6}, {1, 3, 3, 3}, {2, 2}, {2, 2}, {0, 0}, {0, 0}};
    const memory::desc src_md(c.src, data_type::s8, format_tag::nhwc),
        dst_md(c.dst, data_type::s8, format_tag::nhwc);
    primitive_attr attr;
    post_ops ops;
    ops.append_clip(-20, 30);
    attr.set_post_ops(ops);
    check(in, c, algorithm::pooling_max, attr, random_memory(in, src_md), dst_md,
          [](const auto &codes, const dims &) {
              return static_cast<double>(
                  std::clamp<std::int64_t>(*std::max_element(codes.begin(), codes.end()), -20, 30));
          });
}

TEST(pooling, zero_points_of_spatial_dimensions_are_refused) {
    const memory::desc src({1, 2, 4}, data_type::u8, format_tag::ncw),
        dst({1, 2, 1}, data_type::u8, format_tag::ncw);
    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step, 0,
                            std::vector<fixed_point_multiplier>{{1 << 30, -1, 0}});
    attr.set_zero_points(OCTET_ARG_SRC, 4, {1, 2, 3, 4});
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding, src,
                                  dst, {1}, {4}, {0}, {0});
    expect_invalid([&] { pooling_forward::primitive_desc(d, attr, cpu); },
                   {"pooling", "src zero points mask is 4", "allowed"});
}

/// In window order; where a window has no number, the last one that is none stays.
TEST(pooling, of_floats_is_in_window_order) {
    const dims src_dims{2, 3, 5, 4}, dst_dims{2, 3, 3, 2};
    for (const format_tag tag : {format_tag::nchw, format_tag::nhwc})
        for (const algorithm alg : {algorithm::pooling_max, algorithm::pooling_avg_include_padding,
                                    algorithm::pooling_avg_exclude_padding}) {
            memory src({src_dims, data_type::f32, tag}, cpu), dst({dst_dims, data_type::f32, tag}, cpu);
            for (std::size_t i = 0; i < 120; i++)
                src.map_data<float>()[i] =
                    std::ldexp(static_cast<float>(i * 7919 % 251) - 125.f, static_cast<int>(i % 19) - 9);
            const pooling_forward::desc d(prop_kind::forward_inference, alg, src.get_desc(), dst.get_desc(),
                                          {2, 2}, {3, 2}, {1, 0}, {1, 0});
            const pooling_forward::primitive_desc pd(d, cpu);
            EXPECT_STREQ(pd.impl_info_str(), "ref");
            pooling_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
            for_each(dst_dims, [&](const dims &at) {
                float sum = 0, largest = -std::numeric_limits<float>::infinity(), taps = 0;
                for (dim_t h = at[2] * 2 - 1; h < at[2] * 2 + 2; h++)
                    for (dim_t w = at[3] * 2; w < at[3] * 2 + 2; w++)
                        if (h >= 0 && h < 5) {
                            const auto x = static_cast<float>(
                                element(src.get_desc(), src.get_data_handle(), {at[0], at[1], h, w}));
                            sum += x, taps += 1, largest = std::max(largest, x);
                        }
                const float expected = alg == algorithm::pooling_max                   ? largest
                                       : alg == algorithm::pooling_avg_include_padding ? sum / 6
                                                                                       : sum / taps;
                EXPECT_EQ(static_cast<float>(element(dst.get_desc(), dst.get_data_handle(), at)), expected);
            });
        }
}

/// A file may name a window of any size: to visit 2^31 taps for each result takes minutes.
TEST(pooling, taps_beside_the_image_are_not_visited) {
    const dims size{1, 1, 2, 3}, kernel{1 << 10, 1 << 21}, before{1000, 1000};
    const dims after{kernel[0] - 1 - before[0], kernel[1] - 1 - before[1]};
    const auto average = [&](data_type type, const primitive_attr &attr) {
        memory src({size, type, format_tag::nchw}, cpu), dst({size, type, format_tag::nchw}, cpu);
        for (std::size_t i = 0; i < 6; i++)
            if (type == data_type::f32)
                src.map_data<float>()[i] = static_cast<float>(i);
            else
                src.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
        const std::clock_t begin = std::clock();
        pooling_forward(pooling_forward::primitive_desc({prop_kind::forward_inference,
                                                         algorithm::pooling_avg_exclude_padding,
                                                         src.get_desc(),
                                                         dst.get_desc(),
                                                         {1, 1},
                                                         kernel,
                                                         before,
                                                         after},
                                                        attr, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
        return element(dst.get_desc(), dst.get_data_handle(), {0, 0, 1, 2});
    };
    primitive_attr tflite;
    tflite.set_requantization(requantization_rule::tflite_2step);
    EXPECT_EQ(average(data_type::f32, {}), 2.5);
    EXPECT_EQ(average(data_type::u8, {}), 2.);
    EXPECT_EQ(average(data_type::u8, tflite), 3.);
}

TEST(pooling, refuses_windows_that_cannot_be_counted) {
    const memory::desc md({1, 1, 2, 3}, data_type::u8, format_tag::nchw);
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_max, md, md, {1, 1},
                                  {1 << 16, (1 << 15) + 1}, {9, 9}, {(1 << 16) - 10, (1 << 15) - 9});
    expect_error(status::invalid_arguments, [&] { pooling_forward::primitive_desc(d, cpu); },
                 {"the kernel has more than 2^31 elements"});
}

TEST(pooling, of_floats_takes_no_scales_and_zero_points) {
    const memory::desc src({1, 2, 4}, data_type::f32, format_tag::ncw),
        dst({1, 2, 1}, data_type::f32, format_tag::ncw);
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding, src,
                                  dst, {1}, {4}, {0}, {0});
    primitive_attr zero_point, scaled, other_rule;
    zero_point.set_zero_points(OCTET_ARG_SRC, 0, {3});
    scaled.set_requantization(requantization_rule::ort_f32);
    scaled.set_output_scales(0, {0.5f});
    other_rule.set_requantization(requantization_rule::tflite_2step);
    for (const primitive_attr &attr : {zero_point, scaled, other_rule})
        expect_invalid([&] { pooling_forward::primitive_desc(d, attr, cpu); }, {"pooling", "allowed"});
}

} // namespace
} // namespace octet::test
