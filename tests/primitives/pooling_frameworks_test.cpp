// Poolings of single frameworks: dilated maxima, and averages with scales, over an explicitly listed window.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/elementwise.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;

struct setting {
    dims kernel, stride, dilates, pad_l, pad_r;
    memory src, dst;
    quantized x, y;

    /// A window may be wholly in the padding; then the setting is not allowed.
    explicit setting(inputs &in, bool dilated) {
        dims from{in.between(1, 2), in.between(1, 9)}, to = from;
        for (std::int64_t d = in.between(1, 3); d > 0; d--) {
            kernel.push_back(in.between(1, 4));
            stride.push_back(in.between(1, 3));
            dilates.push_back(dilated && in.one_in(2) ? in.between(1, 2) : 0);
            const dim_t covered = (kernel.back() - 1) * (dilates.back() + 1) + 1;
            pad_l.push_back(in.between(0, kernel.back() - 1));
            pad_r.push_back(in.between(0, kernel.back() - 1));
            from.push_back(covered + in.between(0, 5));
            to.push_back((from.back() + pad_l.back() + pad_r.back() - covered) / stride.back() + 1);
        }
        const data_type type = code_type(in);
        x = random_quantization(in, type);
        y = random_quantization(in, type);
        src = random_memory(in, any_layout(in, from, type));
        dst = random_memory(in, any_layout(in, to, type));
    }

    bool is_allowed() const {
        bool allowed = true;
        for_each(dst.get_desc().dims(), [&](const dims &at) { allowed = allowed && !window(at).empty(); });
        return allowed;
    }
    std::vector<std::int32_t> window(const dims &at) const {
        std::vector<std::int32_t> codes;
        for_each(kernel, [&](const dims &tap) {
            dims from{at[0], at[1]};
            for (std::size_t d = 0; d < kernel.size(); d++) {
                from.push_back(at[d + 2] * stride[d] + tap[d] * (dilates[d] + 1) - pad_l[d]);
                if (from.back() < 0 || from.back() >= src.get_desc().dims()[d + 2])
                    return;
            }
            codes.push_back(code_at(src, from));
        });
        return codes;
    }
    data_type type() const { return dst.get_desc().data_type(); }

    void check(algorithm alg, const primitive_attr &a,
               const std::function<double(const std::vector<std::int32_t> &, std::int64_t n)> &value) const {
        const auto pd = [&] {
            return pooling_forward::primitive_desc(cpu, prop_kind::forward_inference, alg, src.get_desc(),
                                                   dst.get_desc(), stride, kernel, dilates, pad_l, pad_r, a);
        };
        const bool counts_padding = alg == algorithm::pooling_avg_include_padding;
        expect_execution([&] { return pooling_forward(pd()); }, {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}},
                         [&](const dims &at) {
                             const auto codes = window(at);
                             return value(codes, counts_padding ? product(kernel)
                                                                : static_cast<std::int64_t>(codes.size()));
                         },
                         pd().problem_str());
    }
    primitive_attr attr(rule r) const {
        primitive_attr a;
        a.set_requantization(r);
        set_quantization(a, OCTET_ARG_SRC, x);
        set_quantization(a, OCTET_ARG_DST, y);
        return a;
    }
};

template <typename Body> void for_random_settings(std::uint32_t seed, bool dilated, const Body &body) {
    inputs in(seed);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const setting s(in, dilated);
        if (s.is_allowed())
            body(in, s);
    }
}

constexpr algorithm averages[] = {algorithm::pooling_avg_include_padding,
                                  algorithm::pooling_avg_exclude_padding};

TEST(pooling, dilated_windows) {
    for_random_settings(1431, true, [](inputs &, const setting &s) {
        s.check(algorithm::pooling_max, {}, [](const auto &codes, std::int64_t) {
            return static_cast<double>(*std::max_element(codes.begin(), codes.end()));
        });
    });
}

TEST(pooling, averages_real_values_as_onnx_runtime_does) {
    for_random_settings(1432, true, [](inputs &, const setting &s) {
        for (const algorithm alg : averages)
            s.check(alg, s.attr(rule::ort_f32), [&](const auto &codes, std::int64_t n) {
                float sum = 0;
                for (const std::int32_t code : codes)
                    sum = add_f32(sum, multiply_f32(s.x.scale, f32(code - s.x.zero_point)));
                const float mean = divide_f32(sum, f32(static_cast<double>(n)));
                return saturate_and_round(add_f32(divide_f32(mean, s.y.scale), f32(s.y.zero_point)),
                                          s.type());
            });
    });
}

TEST(pooling, averages_as_snps_caffe_does) {
    for_random_settings(1433, false, [](inputs &, const setting &s) {
        for (const algorithm alg : averages) {
            s.check(alg, s.attr(rule::caffe_double_round), [&](const auto &codes, std::int64_t n) {
                std::int64_t sum = -s.x.zero_point * n;
                for (const std::int32_t code : codes)
                    sum += code;
                const float factor =
                    divide_f32(s.x.scale, multiply_f32(s.y.scale, f32(static_cast<double>(n))));
                const float scaled = multiply_f32(f32(static_cast<double>(sum)), factor);
                return saturated_code(half_away(scaled) + s.y.zero_point, s.type());
            });

            const fixed_point_multiplier m = from_double(
                rule::tflite_2step, static_cast<double>(s.x.scale) / static_cast<double>(s.y.scale));
            primitive_attr older; // TFLite's former MEAN: the factor first, then the division
            older.set_requantization(rule::tflite_2step);
            older.set_input_multiplier(OCTET_ARG_SRC, m);
            older.set_zero_points(OCTET_ARG_SRC, 0, {s.x.zero_point});
            older.set_zero_points(OCTET_ARG_DST, 0, {s.y.zero_point});
            s.check(alg, older, [&](const auto &codes, std::int64_t n) {
                std::int64_t sum = -s.x.zero_point * n;
                for (const std::int32_t code : codes)
                    sum += code;
                const std::int64_t t = exact::requantize(rule::tflite_2step, wrapped(sum), m);
                const std::int64_t magnitude = (2 * std::abs(t) + n) / (2 * n); // ties away from 0
                return saturated_code(static_cast<double>((t < 0 ? -magnitude : magnitude) + s.y.zero_point),
                                      s.type());
            });
        }
    });
}

TEST(pooling, refuses_dilated_windows_without_a_pixel) {
    const memory::desc src({1, 1, 1}, data_type::u8, format_tag::ncw),
        dst({1, 1, 1}, data_type::u8, format_tag::ncw);
    const pooling_forward::desc d(prop_kind::forward_inference, algorithm::pooling_max, src, dst, {1}, {2},
                                  {1}, {1}, {1}); // taps at -1 and 1
    expect_invalid([&] { pooling_forward::primitive_desc(d, cpu); },
                   {"pooling: a window of dimension 2 lies in the padding"});
}

} // namespace
} // namespace octet::test
