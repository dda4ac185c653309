// Sums, differences and products of codes as the frameworks compute them, from the formulas of
// octet/binary.hpp, broadcast both ways.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/elementwise.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;

dims broadcast(dims at, const dims &sizes) {
    for (std::size_t d = 0; d < at.size(); d++)
        at[d] = sizes[d] == 1 ? 0 : at[d];
    return at;
}

/// Two sources that broadcast to dst, all with codes and quantization.
struct setting {
    dims sizes0, sizes1, sizes;
    memory src0, src1, dst;
    quantized q0, q1, q;

    explicit setting(inputs &in) {
        for (std::int64_t d = in.between(1, 4); d > 0; d--) {
            const dim_t size = in.between(1, 6);
            const int one = static_cast<int>(in.between(0, 3));
            sizes0.push_back(one == 0 ? 1 : size);
            sizes1.push_back(one == 1 ? 1 : size);
            sizes.push_back(size);
        }
        const auto make = [&](const dims &shape, quantized &quant) {
            const data_type type = code_type(in);
            quant = random_quantization(in, type);
            return random_memory(in, any_layout(in, shape, type));
        };
        src0 = make(sizes0, q0);
        src1 = make(sizes1, q1);
        dst = make(sizes, q);
    }

    data_type type() const { return dst.get_desc().data_type(); }
    std::int32_t code0(const dims &at) const { return code_at(src0, broadcast(at, sizes0)); }
    std::int32_t code1(const dims &at) const { return code_at(src1, broadcast(at, sizes1)); }
    std::int32_t centred0(const dims &at) const { return code0(at) - q0.zero_point; }
    std::int32_t centred1(const dims &at) const { return code1(at) - q1.zero_point; }

    primitive_attr attr(rule r) const {
        primitive_attr a;
        a.set_requantization(r);
        set_quantization(a, OCTET_ARG_SRC_0, q0);
        set_quantization(a, OCTET_ARG_SRC_1, q1);
        set_quantization(a, OCTET_ARG_DST, q);
        return a;
    }
    void check(algorithm alg, const primitive_attr &a,
               const std::function<double(const dims &)> &expected) const {
        const auto pd = [&] {
            return binary::primitive_desc(cpu, alg, src0.get_desc(), src1.get_desc(), dst.get_desc(), a);
        };
        expect_execution([&] { return binary(pd()); },
                         {{OCTET_ARG_SRC_0, src0}, {OCTET_ARG_SRC_1, src1}, {OCTET_ARG_DST, dst}}, expected,
                         pd().problem_str());
    }
};

template <typename Body> void for_random_settings(std::uint32_t seed, const Body &body) {
    inputs in(seed);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); i++)
        body(in, setting(in));
}

// ---- TFLite

/// M(M_0(d_0 << 20) ± M_1(d_1 << 20)) + zp
double rescaled_sum(const setting &s, rule r, const fixed_point_multiplier (&m)[3], int sign,
                    const dims &at) {
    const auto term = [&](std::int32_t d, fixed_point_multiplier by) -> wide {
        return exact::requantize(r, wrapped(wide{d} * (1 << 20)), by);
    };
    const wide sum = term(s.centred0(at), m[0]) + sign * term(s.centred1(at), m[1]);
    return saturated_code(exact::requantize(r, wrapped(sum), m[2]) + double{0} + s.q.zero_point, s.type());
}

TEST(binary, adds_and_subtracts_with_multipliers_derived_from_scales_as_tflite_micro_does) {
    for_random_settings(1511, [](inputs &in, const setting &s) {
        const rule r = in.one_in(2) ? rule::tflite_2step : rule::tflite_single_rounding;
        const double a = s.q0.scale, b = s.q1.scale, y = s.q.scale, t = 2 * std::max(a, b);
        const fixed_point_multiplier add[3] = {from_double(r, a / t), from_double(r, b / t),
                                               from_double(r, t / (1048576. * y))};
        s.check(algorithm::binary_add, s.attr(r),
                [&](const dims &at) { return rescaled_sum(s, r, add, 1, at); });

        const float af = s.q0.scale, bf = s.q1.scale, tf = 2 * std::max(af, bf); // SUB is derived in f32
        const fixed_point_multiplier sub[3] = {
            from_double(r, divide_f32(af, tf)), from_double(r, divide_f32(bf, tf)),
            from_double(r, divide_f32(tf, multiply_f32(1048576.f, s.q.scale)))};
        s.check(algorithm::binary_sub, s.attr(r),
                [&](const dims &at) { return rescaled_sum(s, r, sub, -1, at); });
    });
}

TEST(binary, a_negative_multiplier_subtracts_as_tflites_optimised_kernels_do) {
    for_random_settings(1512, [](inputs &, const setting &s) {
        constexpr rule r = rule::tflite_2step;
        const fixed_point_multiplier m[3] = {{1 << 30, 0, 0}, {-1476395008, -1, 0}, {1342177280, -19, 0}};
        primitive_attr attr;
        attr.set_requantization(r, 0, std::vector<fixed_point_multiplier>{m[2]});
        attr.set_input_multiplier(OCTET_ARG_SRC_0, m[0]);
        attr.set_input_multiplier(OCTET_ARG_SRC_1, m[1]);
        attr.set_zero_points(OCTET_ARG_SRC_0, 0, {s.q0.zero_point});
        attr.set_zero_points(OCTET_ARG_SRC_1, 0, {s.q1.zero_point});
        attr.set_zero_points(OCTET_ARG_DST, 0, {s.q.zero_point});
        s.check(algorithm::binary_add, attr, [&](const dims &at) { return rescaled_sum(s, r, m, 1, at); });
    });
}

TEST(binary, multiplies_as_tflite_does) {
    for_random_settings(1513, [](inputs &in, const setting &s) {
        const rule r = in.one_in(2) ? rule::tflite_2step : rule::tflite_single_rounding;
        const auto m = from_double(r, static_cast<double>(s.q0.scale) * static_cast<double>(s.q1.scale) /
                                          static_cast<double>(s.q.scale));
        const auto expected = [&](const dims &at) {
            return saturated_code(double{0} + exact::requantize(r, s.centred0(at) * s.centred1(at), m) +
                                      s.q.zero_point,
                                  s.type());
        };
        s.check(algorithm::binary_mul, s.attr(r), expected);

        primitive_attr attr; // desktop TFLite's factor, handed over
        const float product = multiply_f32(s.q0.scale, s.q1.scale);
        const auto desktop = from_double(r, divide_f32(product, s.q.scale));
        attr.set_requantization(r, 0, std::vector<fixed_point_multiplier>{desktop});
        attr.set_zero_points(OCTET_ARG_SRC_0, 0, {s.q0.zero_point});
        attr.set_zero_points(OCTET_ARG_SRC_1, 0, {s.q1.zero_point});
        attr.set_zero_points(OCTET_ARG_DST, 0, {s.q.zero_point});
        s.check(algorithm::binary_mul, attr, [&](const dims &at) {
            return saturated_code(double{0} + exact::requantize(r, s.centred0(at) * s.centred1(at), desktop) +
                                      s.q.zero_point,
                                  s.type());
        });
    });
}

// ---- ONNX Runtime

/// fma(x, r_x, fma(y, r_y, zp - fma(r_x, z_x, r_y z_y))), rounded to even.
double folded_sum(std::int32_t x, const quantized &qx, std::int32_t y, const quantized &qy,
                  const quantized &q, data_type type) {
    const float rx = divide_f32(qx.scale, q.scale), ry = divide_f32(qy.scale, q.scale);
    const float zero_points = std::fma(rx, f32(qx.zero_point), multiply_f32(ry, f32(qy.zero_point)));
    const float fixed = add_f32(f32(q.zero_point), -zero_points);
    return saturated_code(to_even(std::fma(f32(x), rx, std::fma(f32(y), ry, fixed))), type);
}

TEST(binary, adds_as_onnx_runtime_does) {
    for_random_settings(1514, [](inputs &, const setting &s) {
        bool swaps = false; // a source that does not vary along the last axis that counts enters first
        for (std::size_t d = 0; d < s.sizes.size(); d++)
            if (s.sizes0[d] > 1 || s.sizes1[d] > 1)
                swaps = s.sizes0[d] == 1;
        s.check(algorithm::binary_add, s.attr(rule::ort_f32), [&](const dims &at) {
            return swaps ? folded_sum(s.code1(at), s.q1, s.code0(at), s.q0, s.q, s.type())
                         : folded_sum(s.code0(at), s.q0, s.code1(at), s.q1, s.q, s.type());
        });
    });
}

TEST(binary, multiplies_as_onnx_runtime_does) {
    for_random_settings(1515, [](inputs &, const setting &s) {
        const float factor = divide_f32(multiply_f32(s.q0.scale, s.q1.scale), s.q.scale);
        s.check(algorithm::binary_mul, s.attr(rule::ort_f32), [&](const dims &at) {
            const float product = multiply_f32(f32(s.centred0(at) * s.centred1(at)), factor);
            return saturated_code(to_even(add_f32(product, f32(s.q.zero_point))), s.type());
        });
    });
}

TEST(binary, sums_of_onnx_runtime_beyond_s32_become_the_lowest_code) {
    const memory::desc md({1}, data_type::u8, format_tag::x);
    const memory a(md, cpu), b(md, cpu), y(md, cpu);
    *a.map_data<std::uint8_t>() = *b.map_data<std::uint8_t>() = 255;
    for (const algorithm alg : {algorithm::binary_add, algorithm::binary_mul}) {
        primitive_attr attr;
        attr.set_requantization(rule::ort_f32);
        attr.set_scales(OCTET_ARG_SRC_0, 0, {1e6f});
        attr.set_scales(OCTET_ARG_SRC_1, 0, {1e6f});
        attr.set_scales(OCTET_ARG_DST, 0, {1e-3f});
        binary(binary::primitive_desc(binary::desc(alg, md, md, md), attr, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC_0, a}, {OCTET_ARG_SRC_1, b}, {OCTET_ARG_DST, y}});
        EXPECT_EQ(*y.map_data<std::uint8_t>(), 0);
    }
}

// ---- Dequantize, operate, quantize

TEST(binary, operates_on_real_values_as_onnx_runtime_and_snps_caffe_do) {
    for_random_settings(1516, [](inputs &in, const setting &s) {
        const algorithm alg = in.one_in(2) ? algorithm::binary_sub : algorithm::binary_max;
        const auto real = [&](const dims &at) {
            const float a = multiply_f32(s.q0.scale, f32(s.centred0(at))),
                        b = multiply_f32(s.q1.scale, f32(s.centred1(at)));
            return alg == algorithm::binary_sub ? add_f32(a, -b) : std::max(a, b);
        };
        s.check(alg, s.attr(rule::ort_f32),
                [&](const dims &at) { return quantize_linear(real(at), s.q, s.type()); });
        s.check(alg, s.attr(rule::caffe_double_round), [&](const dims &at) { // SNPS-Caffe's BiasAdd, with +
            return saturated_code(half_away(divide_f32(real(at), s.q.scale)) + s.q.zero_point, s.type());
        });
    });
}

// ---- Caffe2, QNNPACK

TEST(binary, adds_as_qnnpack_does) {
    for_random_settings(1517, [](inputs &, const setting &s) {
        const float a = divide_f32(s.q0.scale, s.q.scale), b = divide_f32(s.q1.scale, s.q.scale);
        const bool is_allowed = std::min(a, b) >= 0x1p-14f && std::max(a, b) < 256;
        if (!is_allowed) {
            expect_invalid([&] { s.check(algorithm::binary_add, s.attr(rule::caffe2_2step), {}); },
                           {"a source scale is", "allowed with caffe2_2step: 2^-14 to 2^8"});
            return;
        }
        int shift = 0; // the larger multiplier lies in [2^21, 2^22)
        while (std::ldexp(std::max(a, b), shift) < 0x1p21f)
            shift++;
        while (std::ldexp(std::max(a, b), shift) >= 0x1p22f)
            shift--;
        const wide ma = static_cast<wide>(to_even(std::ldexp(a, shift))),
                   mb = static_cast<wide>(to_even(std::ldexp(b, shift)));
        s.check(algorithm::binary_add, s.attr(rule::caffe2_2step), [&](const dims &at) {
            const wide acc = s.centred0(at) * ma + s.centred1(at) * mb;
            return saturated_code(static_cast<double>(nearest(acc, shift, ties::away)) + s.q.zero_point,
                                  s.type());
        });
    });
}

} // namespace
} // namespace octet::test
