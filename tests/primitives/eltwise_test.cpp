// Functions of one tensor. The f32 functions themselves are tested in tests/arithmetic; here it is what
// becomes of codes around them, and the fixed-point functions of TFLite.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/elementwise.hpp"
#include "support/algorithms.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;

struct setting {
    memory src, dst;
    quantized x, y;
    explicit setting(inputs &in) {
        const dims sizes = random_dims(in);
        const data_type from = code_type(in), to = code_type(in);
        x = random_quantization(in, from);
        y = random_quantization(in, to);
        src = random_memory(in, any_layout(in, sizes, from));
        dst = random_memory(in, any_layout(in, sizes, to));
    }
    data_type type() const { return dst.get_desc().data_type(); }
    std::int32_t centred(const dims &at) const { return code_at(src, at) - x.zero_point; }
    float real(const dims &at) const { return multiply_f32(x.scale, f32(centred(at))); }

    primitive_attr attr(rule r) const {
        primitive_attr a;
        a.set_requantization(r);
        set_quantization(a, OCTET_ARG_SRC, x);
        set_quantization(a, OCTET_ARG_DST, y);
        return a;
    }
    /// As `attr`, with multipliers instead of scales.
    primitive_attr attr(rule r, fixed_point_multiplier m) const {
        primitive_attr a;
        a.set_requantization(r, 0, std::vector<fixed_point_multiplier>{m});
        a.set_zero_points(OCTET_ARG_SRC, 0, {x.zero_point});
        a.set_zero_points(OCTET_ARG_DST, 0, {y.zero_point});
        return a;
    }
    void check(algorithm alg, float alpha, float beta, const primitive_attr &a,
               const std::function<double(const dims &)> &expected) const {
        const auto pd = [&] {
            return eltwise_forward::primitive_desc(cpu, prop_kind::forward_inference, alg, src.get_desc(),
                                                   dst.get_desc(), alpha, beta, a);
        };
        expect_execution([&] { return eltwise_forward(pd()); }, {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}},
                         expected, pd().problem_str());
    }
    double code(double relative) const { return saturated_code(relative + y.zero_point, type()); }
};

template <typename Body> void for_random_settings(std::uint32_t seed, const Body &body) {
    inputs in(seed);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); i++)
        body(in, setting(in));
}

TEST(eltwise, of_any_type_is_the_post_op_of_a_reorder) {
    inputs in(171);
    constexpr data_type types[] = {data_type::s8, data_type::u8, data_type::s32, data_type::f32};
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        const auto alg = random_algorithm(in, "eltwise_");
        const dims sizes = random_dims(in);
        const memory src = random_memory(in, any_layout(in, sizes, types[in.between(0, 3)]));
        const memory::desc dst_md(sizes, types[in.between(0, 3)], dims{});
        const float alpha = 0.7f, beta = 1.6f;
        const memory direct(dst_md, cpu), by_reorder(dst_md, cpu);
        const eltwise_forward::desc d(prop_kind::forward_inference, alg, src.get_desc(), dst_md, alpha, beta);
        eltwise_forward(eltwise_forward::primitive_desc(d, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, direct}});
        post_ops ops;
        ops.append_eltwise(alg, alpha, beta);
        primitive_attr attr;
        attr.set_requantization(rule::f32);
        attr.set_post_ops(ops);
        reorder(src, by_reorder, attr).execute(stream(cpu), src, by_reorder);
        EXPECT_EQ(std::memcmp(direct.get_data_handle(), by_reorder.get_data_handle(), dst_md.get_size()), 0)
            << eltwise_forward::primitive_desc(d, cpu).problem_str();
    }
}

TEST(eltwise, relu_of_codes_and_of_real_values) {
    for_random_settings(172, [](inputs &in, const setting &s) {
        const float alpha = in.one_in(2) ? 0.f : static_cast<float>(in.between(-200, 300)) / 128;
        const auto relu = [&](float v) { return v > 0 ? v : multiply_f32(alpha, v); };
        s.check(algorithm::eltwise_relu, alpha, 0, {}, [&](const dims &at) { // oneDNN
            return saturate_and_round(relu(f32(code_at(s.src, at))), s.type());
        });
        s.check(algorithm::eltwise_relu, alpha, 0, s.attr(rule::ort_f32),
                [&](const dims &at) { // QLinearLeakyRelu
                    return quantize_linear(relu(s.real(at)), s.y, s.type());
                });
        s.check(algorithm::eltwise_relu, alpha, 0, s.attr(rule::caffe_double_round),
                [&](const dims &at) { return s.code(half_away(divide_f32(relu(s.real(at)), s.y.scale))); });
        s.check(algorithm::eltwise_relu, alpha, 0, s.attr(rule::f32_v3), [&](const dims &at) {
            const float scaled = multiply_f32(relu(s.real(at)), divide_f32(1.f, s.y.scale));
            return saturate_and_round(add_f32(scaled, f32(s.y.zero_point)), s.type());
        });
    });
}

TEST(eltwise, relu_and_leaky_relu_as_tflite_computes_them) {
    for_random_settings(173, [](inputs &in, const setting &s) {
        const rule r = in.one_in(2) ? rule::tflite_2step : rule::tflite_single_rounding;
        const float alpha = in.one_in(3) ? 0.f : static_cast<float>(in.between(-200, 300)) / 128;
        const auto identity = from_double(r, divide_f32(s.x.scale, s.y.scale));
        const float negative = divide_f32(multiply_f32(s.x.scale, alpha), s.y.scale);
        const auto magnitude = from_double(r, std::abs(negative));
        const auto expected = [&](const dims &at) {
            const std::int32_t d = s.centred(at);
            if (d >= 0)
                return s.code(exact::requantize(r, d, identity));
            const double t = exact::requantize(r, d, magnitude);
            return s.code(alpha == 0 ? 0 : negative < 0 ? -t : t);
        };
        s.check(algorithm::eltwise_relu, alpha, 0, s.attr(r), expected);
        primitive_attr attr = s.attr(r, identity); // the same multipliers, handed over
        if (alpha != 0)
            attr.set_input_multiplier(
                OCTET_ARG_SRC,
                {negative < 0 ? -magnitude.multiplier : magnitude.multiplier, magnitude.shift, 0});
        s.check(algorithm::eltwise_relu, alpha, 0, attr, expected);
    });
}

TEST(eltwise, ranges_as_tflite_computes_them) {
    for_random_settings(174, [](inputs &in, const setting &s) {
        constexpr rule r = rule::tflite_2step;
        const float low = in.one_in(2) ? 0.f : -1.f, high = in.one_in(2) ? 6.f : 1.f;
        const algorithm alg = low == 0 ? algorithm::eltwise_bounded_relu : algorithm::eltwise_clip;
        const float alpha = low == 0 ? high : low, beta = low == 0 ? 0 : high;
        const auto bound = [](float real, float scale) { return half_away(divide_f32(real, scale)); };

        primitive_attr micro; // codes are clamped as they are
        micro.set_requantization(r);
        set_quantization(micro, OCTET_ARG_SRC, s.x);
        micro.set_zero_points(OCTET_ARG_DST, 0, {s.y.zero_point});
        s.check(alg, alpha, beta, micro, [&](const dims &at) {
            return s.code(std::clamp<double>(s.centred(at), bound(low, s.x.scale), bound(high, s.x.scale)));
        });

        const auto m = from_double(r, divide_f32(s.x.scale, s.y.scale)); // desktop: rescaled first
        s.check(alg, alpha, beta, s.attr(r), [&](const dims &at) {
            return s.code(std::clamp<double>(exact::requantize(r, s.centred(at), m), bound(low, s.y.scale),
                                             bound(high, s.y.scale)));
        });
    });
}

TEST(eltwise, fixed_point_logistic_and_tanh_are_within_a_code_of_the_real_ones) {
    inputs in(175);
    const memory::desc md({256}, data_type::s8, format_tag::x);
    const memory src(md, cpu), dst(md, cpu);
    for (int i = 0; i < 256; i++)
        src.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 128);
    for (int i = 0; i < 60; i++) {
        const float scale = static_cast<float>(in.between(1, 4000)) / 8000;
        const std::int32_t zero_point = static_cast<std::int32_t>(in.between(-128, 127));
        for (const algorithm alg : {algorithm::eltwise_logistic, algorithm::eltwise_tanh}) {
            const bool is_tanh = alg == algorithm::eltwise_tanh;
            const rule r = in.one_in(2) ? rule::tflite_2step : rule::tflite_single_rounding;
            const auto run = [&](const primitive_attr &attr) {
                eltwise_forward(
                    eltwise_forward::primitive_desc({prop_kind::forward_inference, alg, md}, attr, cpu))
                    .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
                const auto *codes = dst.map_data<std::int8_t>();
                return std::vector<std::int8_t>(codes, codes + 256);
            };
            primitive_attr attr;
            attr.set_requantization(r);
            attr.set_zero_points(OCTET_ARG_SRC, 0, {zero_point});
            attr.set_zero_points(OCTET_ARG_DST, 0, {is_tanh ? 0 : -128});
            primitive_attr by_multiplier = attr;
            attr.set_scales(OCTET_ARG_SRC, 0, {scale});
            by_multiplier.set_input_multiplier(OCTET_ARG_SRC,
                                               from_double(r, static_cast<double>(scale) * 0x1p27));
            const auto codes = run(attr);
            EXPECT_EQ(codes, run(by_multiplier));
            for (int k = 0; k < 256; k++) {
                const double v = static_cast<double>(scale) * (k - 128 - zero_point);
                const double real = is_tanh ? 128 * std::tanh(v) : 256 / (1 + std::exp(-v)) - 128;
                EXPECT_LE(std::abs(codes[static_cast<std::size_t>(k)] - std::min(real, 127.)), 1.)
                    << "scale " << scale << " zero point " << zero_point << " code " << k - 128;
            }
        }
    }
}

/// LiteRT's vectors of AArch64 differ in exact halves alone, which go up: three of 256 codes at these scales.
TEST(eltwise, hardswish_of_aarch64_takes_halves_up) {
    const auto codes_by = [](rule by) {
        const memory::desc md({256}, data_type::s8, format_tag::x);
        const memory src(md, cpu), dst(md, cpu);
        for (int i = 0; i < 256; i++)
            src.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 128);
        primitive_attr attr;
        attr.set_requantization(by);
        attr.set_scales(OCTET_ARG_SRC, 0, {0x1p-7f});
        attr.set_scales(OCTET_ARG_DST, 0, {0x1p-8f});
        attr.set_zero_points(OCTET_ARG_SRC, 0, {-3});
        attr.set_zero_points(OCTET_ARG_DST, 0, {-3});
        eltwise_forward({{prop_kind::forward_inference, algorithm::eltwise_hardswish, md, 0.f}, attr, cpu})
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        return std::vector<std::int8_t>(dst.map_data<std::int8_t>(), dst.map_data<std::int8_t>() + 256);
    };
    std::vector<std::int8_t> up = codes_by(rule::tflite_2step);
    const int ties[][3] = {{-123, -86, -85}, {-75, -62, -61}, {-27, -26, -25}}; // code, away from zero, up
    for (const auto &[code, away, result] : ties) {
        std::int8_t &of_code = up[static_cast<std::size_t>(code + 128)];
        EXPECT_EQ(of_code, away) << code;
        of_code = static_cast<std::int8_t>(result);
    }
    EXPECT_EQ(codes_by(rule::ruy_2step), up);
}

/// Results of TensorFlow Lite Micro's kernels for all 256 codes (commit 90b983c2), as FNV-1a of the bytes:
/// scales around 1, gates that saturate, shifts of 0, and of 16 bits and more.
TEST(eltwise, hardswish_elu_and_abs_are_those_of_tflite_micro) {
    struct result {
        algorithm alg;
        float src_scale, dst_scale;
        std::int32_t src_zero_point, dst_zero_point;
        std::uint32_t hash;
    };
    constexpr auto hardswish = algorithm::eltwise_hardswish, elu = algorithm::eltwise_elu,
                   absolute = algorithm::eltwise_abs;
    const result results[] = {
        {hardswish, 0.047f, 0.031f, -3, -112, 3182155036u},
        {hardswish, 0.0235294f, 0.0235294f, -128, -112, 1361465740u},
        {hardswish, 0.5f, 0.25f, 10, -120, 2692295772u},
        {hardswish, 3.f, 2.5f, 0, -100, 2917780624u},
        {hardswish, 0.0001f, 0.0002f, 5, 0, 1224565765u},
        {hardswish, 20.f, 0.3f, -7, 1, 1152816237u},
        {hardswish, 1e-5f, 0.04f, 9, -3, 1207696871u},
        {hardswish, 0.1f, 0.0625f, 127, 127, 480379487u},
        {elu, 0.05f, 0.04f, 3, -103, 1472177022u},
        {elu, 0.0078125f, 0.0078125f, 0, 0, 1743959268u},
        {elu, 1.5f, 0.75f, -60, -127, 318060201u},
        {absolute, 0.05f, 0.05f, 3, 3, 2756407869u},
        {absolute, 0.05f, 0.025f, -128, -90, 3713756464u},
        {absolute, 0.3f, 0.7f, 17, 5, 252408737u},
    };
    const memory::desc md({256}, data_type::s8, format_tag::x);
    const memory src(md, cpu), dst(md, cpu);
    for (int i = 0; i < 256; i++)
        src.map_data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 128);
    for (const result &r : results) {
        primitive_attr attr;
        attr.set_requantization(rule::tflite_2step);
        attr.set_scales(OCTET_ARG_SRC, 0, {r.src_scale});
        attr.set_scales(OCTET_ARG_DST, 0, {r.dst_scale});
        attr.set_zero_points(OCTET_ARG_SRC, 0, {r.src_zero_point});
        attr.set_zero_points(OCTET_ARG_DST, 0, {r.dst_zero_point});
        const float alpha = r.alg == elu ? 1.f : 0.f;
        eltwise_forward({{prop_kind::forward_inference, r.alg, md, alpha}, attr, cpu})
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        std::uint32_t hash = 2166136261u;
        for (int i = 0; i < 256; i++)
            hash = (hash ^ dst.map_data<std::uint8_t>()[i]) * 16777619u;
        EXPECT_EQ(hash, r.hash) << to_string(r.alg) << ", scales " << r.src_scale << " and " << r.dst_scale;
    }
}

TEST(eltwise, logistic_of_onnx_runtime_is_within_a_code_of_the_real_one) {
    for_random_settings(176, [](inputs &, const setting &s) {
        const memory::desc md = s.dst.get_desc();
        const memory dst(md, cpu);
        const eltwise_forward::primitive_desc pd(cpu, prop_kind::forward_inference,
                                                 algorithm::eltwise_logistic, s.src.get_desc(), md, 0, 0,
                                                 s.attr(rule::ort_f32));
        eltwise_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, s.src}, {OCTET_ARG_DST, dst}});
        for_each(md.dims(), [&](const dims &at) {
            const double real = 1 / (1 + std::exp(-static_cast<double>(s.real(at))));
            const double wanted = s.code(real / static_cast<double>(s.y.scale));
            EXPECT_LE(std::abs(code_at(dst, at) - wanted), 0.5 + 1e-4) << pd.problem_str();
        });
    });
}

TEST(eltwise, post_ops_and_tensors_in_them_come_after_the_function) {
    for_random_settings(177, [](inputs &in, const setting &s) {
        const dims sizes = s.src.get_desc().dims();
        const memory::desc b_md(sizes, data_type::f32, dims{});
        const memory b = random_memory(in, b_md);
        post_ops ops;
        ops.append_binary(algorithm::binary_add, b_md);
        primitive_attr attr;
        attr.set_post_ops(ops);
        const auto pd = [&] {
            return eltwise_forward::primitive_desc(cpu, prop_kind::forward_inference, algorithm::eltwise_abs,
                                                   s.src.get_desc(), s.dst.get_desc(), 0, 0, attr);
        };
        expect_execution([&] { return eltwise_forward(pd()); },
                         {{OCTET_ARG_SRC, s.src},
                          {OCTET_ARG_DST, s.dst},
                          {OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1, b}},
                         [&](const dims &at) {
                             const float x = f32(std::abs(code_at(s.src, at)));
                             return saturate_and_round(
                                 add_f32(x, f32(element(b_md, b.get_data_handle(), at))), s.type());
                         },
                         pd().problem_str());
        EXPECT_STRNE(pd().impl_info_str(), "table"); // no function of the code alone
    });
}

} // namespace
} // namespace octet::test
