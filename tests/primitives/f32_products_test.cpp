// Products of floats against their definition: one fused multiply-add per product, taps in row-major order, channels
// of a tap ascending, from 0. Written over coordinates, for the reference and for what is fastest here.
// SPDX-License-Identifier: Apache-2.0
#include "support/expect_error.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

float f32_at(const memory &m, const dims &at) {
    return static_cast<float>(element(m.get_desc(), m.get_data_handle(), at));
}

/// `any`, and any plain layout.
std::vector<memory::desc> weights_layouts(const memory::desc &plain) {
    return {plain, memory::desc(plain.dims(), data_type::f32, format_tag::any)};
}

memory reordered(const memory &from, const memory::desc &to) {
    const memory result(to, cpu);
    reorder(from, result).execute(stream(cpu), from, result);
    return result;
}

struct window {
    dim_t in, kernel, stride, dilation, pad, out; ///< dilation 1: adjacent taps
};

window random_window(inputs &in) {
    window w{0, in.between(1, 3), in.between(1, 2), in.between(1, 2), in.between(0, 3), 0};
    const dim_t covered = (w.kernel - 1) * w.dilation + 1;
    w.in = std::max<dim_t>(covered - w.pad, 1) + in.between(0, 6);
    w.out = (w.in + w.pad - covered) / w.stride + 1;
    return w;
}

TEST(f32_convolution, adds_products_tap_by_tap) {
    inputs in(131);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const dim_t groups = in.one_in(3) ? in.between(2, 5) : 1, ic = in.one_in(3) ? 1 : in.between(1, 9),
                    oc = in.one_in(3) ? in.between(15, 40) : in.between(1, 3);
        std::vector<window> windows;
        for (std::int64_t d = in.between(1, 3); d > 0; d--)
            windows.push_back(random_window(in));
        dims src_dims{in.between(1, 2), groups * ic}, dst_dims{src_dims[0], groups * oc},
            weights_dims{oc, ic};
        dims kernel, strides, dilates, pads, pads_r;
        const bool has_groups = groups > 1 || in.one_in(3);
        if (has_groups)
            weights_dims.insert(weights_dims.begin(), groups);
        for (const window &w : windows) {
            src_dims.push_back(w.in);
            weights_dims.push_back(w.kernel);
            dst_dims.push_back(w.out);
            kernel.push_back(w.kernel);
            strides.push_back(w.stride);
            dilates.push_back(w.dilation - 1);
            pads.push_back(w.pad);
            pads_r.push_back((w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1 - w.in - w.pad);
        }
        const memory::desc src_md = random_layout(in, src_dims, data_type::f32),
                           weights_md = random_layout(in, weights_dims, data_type::f32),
                           dst_md = random_layout(in, dst_dims, data_type::f32);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        const memory bias = random_memory(in, memory::desc({dst_dims[1]}, data_type::f32, format_tag::a));
        const bool has_bias = in.one_in(2);

        const auto expected = [&](const dims &at) {
            float acc = 0;
            for_each(kernel, [&](const dims &tap) {
                dims from{at[0], 0};
                bool is_inside = true;
                for (std::size_t d = 0; d < windows.size(); d++) {
                    const window &w = windows[d];
                    from.push_back(at[d + 2] * w.stride - w.pad + tap[d] * w.dilation);
                    is_inside = is_inside && from.back() >= 0 && from.back() < w.in;
                }
                for (dim_t c = 0; c < ic; c++) {
                    from[1] = at[1] / oc * ic + c;
                    dims weight{at[1] % oc, c};
                    weight.insert(weight.end(), tap.begin(), tap.end());
                    if (has_groups)
                        weight.insert(weight.begin(), at[1] / oc);
                    acc = std::fma(is_inside ? f32_at(src, from) : 0.f, f32_at(weights, weight), acc);
                }
            });
            return static_cast<double>(has_bias ? acc + f32_at(bias, {at[1]}) : acc);
        };
        std::unordered_map<int, memory> args{{OCTET_ARG_SRC, src},
                                             {OCTET_ARG_DST, random_memory(in, dst_md)}};
        if (has_bias)
            args[OCTET_ARG_BIAS] = bias;
        for (const memory::desc &w : weights_layouts(weights_md)) {
            const auto pd = [&] {
                return convolution_forward::primitive_desc(
                    convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct,
                                              src_md, w, has_bias ? bias.get_desc() : memory::desc(), dst_md,
                                              strides, dilates, pads, pads_r),
                    cpu);
            };
            args[OCTET_ARG_WEIGHTS] = reordered(weights, pd().weights_desc());
            expect_execution([&] { return convolution_forward(pd()); }, args, expected, pd().problem_str());
        }
    }
}

TEST(f32_inner_product, adds_products_position_by_position) {
    inputs in(132);
    for (int i = 0; i < 100 && !testing::Test::HasFailure(); i++) {
        dims src_dims{in.between(1, 20), in.between(1, 9)}, spatial;
        for (std::int64_t d = in.between(0, 3); d > 0; d--)
            spatial.push_back(in.between(1, 3));
        src_dims.insert(src_dims.end(), spatial.begin(), spatial.end());
        dims weights_dims = src_dims;
        weights_dims[0] = in.one_in(3) ? in.between(15, 70) : in.between(1, 5);
        const memory::desc src_md = random_layout(in, src_dims, data_type::f32),
                           weights_md = random_layout(in, weights_dims, data_type::f32),
                           dst_md = random_layout(in, {src_dims[0], weights_dims[0]}, data_type::f32);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);

        const auto expected = [&](const dims &at) {
            float acc = 0;
            for_each(spatial, [&](const dims &position) {
                for (dim_t c = 0; c < src_dims[1]; c++) {
                    dims s{at[0], c}, w{at[1], c};
                    s.insert(s.end(), position.begin(), position.end());
                    w.insert(w.end(), position.begin(), position.end());
                    acc = std::fma(f32_at(src, s), f32_at(weights, w), acc);
                }
            });
            return static_cast<double>(acc);
        };
        std::unordered_map<int, memory> args{{OCTET_ARG_SRC, src},
                                             {OCTET_ARG_DST, random_memory(in, dst_md)}};
        for (const memory::desc &w : weights_layouts(weights_md)) {
            const auto pd = [&] {
                return inner_product_forward::primitive_desc(
                    inner_product_forward::desc(prop_kind::forward_inference, src_md, w, dst_md), cpu);
            };
            args[OCTET_ARG_WEIGHTS] = reordered(weights, pd().weights_desc());
            expect_execution([&] { return inner_product_forward(pd()); }, args, expected, pd().problem_str());
        }
    }
}

/// Positions of the source that an output meets through each tap, the last tap first. Taps that lead beside
/// the image or between its positions are no products, which infinite weights would tell.
TEST(f32_deconvolution, adds_products_position_by_position) {
    inputs in(134);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const dim_t groups = in.one_in(3) ? in.between(2, 5) : 1, ic = in.one_in(3) ? 1 : in.between(1, 9),
                    oc = in.one_in(3) ? in.between(15, 40) : in.between(1, 3);
        struct axis {
            dim_t in, kernel, stride, dilation, pad_l, pad_r, out;
        };
        std::vector<axis> axes;
        for (std::int64_t d = in.between(1, 3); d > 0; d--) {
            axis a{in.between(1, 4), in.between(1, 4), in.between(1, 4), in.between(1, 3), 0, 0, 0};
            const dim_t covered = (a.kernel - 1) * a.dilation + 1;
            const dim_t full = (a.in - 1) * a.stride + covered + in.between(0, a.stride - 1);
            a.pad_l = std::min(in.between(0, covered - 1), full - 1);
            a.pad_r = in.between(-1, full - a.pad_l - 1);
            a.out = full - a.pad_l - a.pad_r;
            axes.push_back(a);
        }
        dims src_dims{in.between(1, 2), groups * ic}, dst_dims{src_dims[0], groups * oc},
            weights_dims{oc, ic};
        dims kernel, strides, dilates, pads, pads_r;
        const bool has_groups = groups > 1 || in.one_in(3);
        if (has_groups)
            weights_dims.insert(weights_dims.begin(), groups);
        for (const axis &a : axes) {
            src_dims.push_back(a.in);
            weights_dims.push_back(a.kernel);
            dst_dims.push_back(a.out);
            kernel.push_back(a.kernel);
            strides.push_back(a.stride);
            dilates.push_back(a.dilation - 1);
            pads.push_back(a.pad_l);
            pads_r.push_back(a.pad_r);
        }
        const memory::desc src_md = random_layout(in, src_dims, data_type::f32),
                           weights_md = random_layout(in, weights_dims, data_type::f32),
                           dst_md = random_layout(in, dst_dims, data_type::f32);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        if (in.one_in(3))
            for (std::size_t w = 0; w < weights_md.get_size() / sizeof(float); w++)
                if (in.one_in(4))
                    weights.map_data<float>()[w] = std::numeric_limits<float>::infinity();
        const memory bias = random_memory(in, memory::desc({dst_dims[1]}, data_type::f32, format_tag::a));

        const auto expected = [&](const dims &at) {
            float acc = 0;
            for_each(kernel, [&](const dims &from_last) {
                dims tap, from{at[0], 0};
                for (std::size_t d = 0; d < axes.size(); d++) {
                    const axis &a = axes[d];
                    tap.push_back(a.kernel - 1 - from_last[d]);
                    const dim_t scattered = at[d + 2] + a.pad_l - tap.back() * a.dilation;
                    if (scattered < 0 || scattered % a.stride != 0 || scattered / a.stride >= a.in)
                        return;
                    from.push_back(scattered / a.stride);
                }
                for (dim_t c = 0; c < ic; c++) {
                    from[1] = at[1] / oc * ic + c;
                    dims weight{at[1] % oc, c};
                    weight.insert(weight.end(), tap.begin(), tap.end());
                    if (has_groups)
                        weight.insert(weight.begin(), at[1] / oc);
                    acc = std::fma(f32_at(src, from), f32_at(weights, weight), acc);
                }
            });
            return static_cast<double>(acc + f32_at(bias, {at[1]}));
        };
        const std::unordered_map<int, memory> common{
            {OCTET_ARG_SRC, src}, {OCTET_ARG_BIAS, bias}, {OCTET_ARG_DST, random_memory(in, dst_md)}};
        for (const memory::desc &w : weights_layouts(weights_md)) {
            const auto pd = [&] {
                return deconvolution_forward::primitive_desc(
                    deconvolution_forward::desc(prop_kind::forward_inference, algorithm::deconvolution_direct,
                                                src_md, w, bias.get_desc(), dst_md, strides, dilates, pads,
                                                pads_r),
                    cpu);
            };
            std::unordered_map<int, memory> args = common;
            args[OCTET_ARG_WEIGHTS] = reordered(weights, pd().weights_desc());
            expect_execution([&] { return deconvolution_forward(pd()); }, args, expected, pd().problem_str());
        }
    }
}

TEST(f32_matmul, adds_products_k_ascending) {
    inputs in(133);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const dim_t b = in.between(1, 3), m = in.between(1, 40), k = in.between(1, 40), n = in.between(1, 70);
        const bool broadcasts = in.one_in(2);
        const memory::desc src_md = random_layout(in, {b, m, k}, data_type::f32),
                           weights_md = random_layout(in, {broadcasts ? 1 : b, k, n}, data_type::f32),
                           dst_md = random_layout(in, {b, m, n}, data_type::f32);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        const auto expected = [&](const dims &at) {
            float acc = 0;
            for (dim_t x = 0; x < k; x++)
                acc = std::fma(f32_at(src, {at[0], at[1], x}),
                               f32_at(weights, {broadcasts ? 0 : at[0], x, at[2]}), acc);
            return static_cast<double>(acc);
        };
        std::unordered_map<int, memory> args{{OCTET_ARG_SRC, src},
                                             {OCTET_ARG_DST, random_memory(in, dst_md)}};
        for (const memory::desc &w : weights_layouts(weights_md)) {
            const auto pd = [&] { return matmul::primitive_desc(matmul::desc(src_md, w, dst_md), cpu); };
            args[OCTET_ARG_WEIGHTS] = reordered(weights, pd().weights_desc());
            expect_execution([&] { return matmul(pd()); }, args, expected, pd().problem_str());
        }
    }
}

/// A padding tap multiplies +0: -0 becomes +0 again, and an infinite weight makes a NaN.
TEST(f32_convolution, padding_is_multiplied) {
    const memory::desc row({1, 1, 1}, data_type::f32, format_tag::ncw),
        taps({1, 1, 2}, data_type::f32, format_tag::oiw);
    const memory src(row, cpu), weights(taps, cpu), dst(row, cpu);
    const auto result = [&](float x, float inside, float outside) {
        src.map_data<float>()[0] = x;
        weights.map_data<float>()[0] = inside;
        weights.map_data<float>()[1] = outside;
        convolution_forward(
            convolution_forward::primitive_desc(
                convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, row,
                                          taps, row, dims{1}, dims{0}, dims{1}),
                cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
        return dst.map_data<float>()[0];
    };
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        const float tiny = std::numeric_limits<float>::denorm_min();
        EXPECT_TRUE(std::signbit(result(-tiny, 0.25f, -1.f))) << "-0 + 0 * -1";
        EXPECT_FALSE(std::signbit(result(-tiny, 0.25f, 1.f))) << "-0 + 0 * 1";
        EXPECT_TRUE(std::isnan(result(1.f, 1.f, std::numeric_limits<float>::infinity()))) << to_string(level);
    }
    set_max_cpu_isa(cpu_isa::all);
}

/// Beside the source there are no products: -0 stays -0, and an infinite weight makes no NaN. In the middle
/// both taps meet the source.
TEST(f32_deconvolution, has_no_products_beside_the_source) {
    const float tiny = std::numeric_limits<float>::denorm_min(), inf = std::numeric_limits<float>::infinity();
    for (const cpu_isa level : get_available_cpu_isas())
        for (const dim_t groups : {1, 3, 17}) { // 3, 17: depthwise
            SCOPED_TRACE(testing::Message() << to_string(level) << ", " << groups << " channels");
            const memory::desc src_md({1, groups, 2}, data_type::f32, format_tag::nwc),
                dst_md({1, groups, 3}, data_type::f32, format_tag::nwc),
                weights_md({groups, 1, 1, 2}, data_type::f32, format_tag::goiw);
            const memory src(src_md, cpu), weights(weights_md, cpu), dst(dst_md, cpu);
            for (dim_t g = 0; g < groups; g++) {
                src.map_data<float>()[g] = -tiny;
                src.map_data<float>()[groups + g] = 1;
                weights.map_data<float>()[2 * g] = 0.25f;
                weights.map_data<float>()[2 * g + 1] = inf;
            }
            set_max_cpu_isa(level);
            deconvolution_forward(
                deconvolution_forward::primitive_desc(
                    deconvolution_forward::desc(prop_kind::forward_inference, algorithm::deconvolution_direct,
                                                src_md, weights_md, dst_md, dims{1}, dims{0}, dims{0}),
                    cpu))
                .execute(stream(cpu),
                         {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
            set_max_cpu_isa(cpu_isa::all);
            const float *result = dst.map_data<float>();
            for (dim_t g = 0; g < groups; g++) {
                EXPECT_TRUE(result[g] == 0 && std::signbit(result[g])) << result[g] << ", not -tiny * 0.25";
                EXPECT_EQ(result[groups + g], -inf);
                EXPECT_EQ(result[2 * groups + g], inf);
            }
        }
}

TEST(f32_products, refuse_what_is_meant_for_codes) {
    const memory::desc src({2, 3}, data_type::f32, format_tag::ab),
        weights({3, 4}, data_type::f32, format_tag::ab), dst({2, 4}, data_type::f32, format_tag::ab),
        codes({3, 4}, data_type::s8, format_tag::ab), bias({1, 4}, data_type::s32, format_tag::ab);
    const auto make = [&](const memory::desc &w, const memory::desc &b, const primitive_attr &attr) {
        return [=] { return matmul::primitive_desc(matmul::desc(src, w, b, dst), attr, cpu); };
    };
    expect_unimplemented(make(codes, {}, {}), {"weights of f32 src has type s8", "implemented: f32"});
    for (const int arg : {OCTET_ARG_SRC, OCTET_ARG_WEIGHTS}) {
        primitive_attr attr;
        attr.set_zero_points(arg, 0, {3});
        expect_invalid(make(weights, {}, attr), {"zero points with f32", "allowed: none"});
    }
    primitive_attr fixed;
    fixed.set_requantization(requantization_rule::tflite_2step, 0,
                             {from_double(requantization_rule::tflite_2step, 0.01)});
    expect_invalid(make(weights, {}, fixed),
                   {"rule tflite_2step", "allowed with f32 src: f32, f32_v3, ort_f32"});
    primitive_attr ort;
    ort.set_requantization(requantization_rule::ort_f32);
    expect_unimplemented(make(weights, bias, ort),
                         {"bias with rule ort_f32 and f32 src, implemented: f32, f32_v3, fbgemm_f32"});
}

} // namespace
} // namespace octet::test
