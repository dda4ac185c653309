// Element-wise operations of two tensors, broadcast both ways, in floats and in TFLite's integers.
// SPDX-License-Identifier: Apache-2.0
#include "support/algorithms.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

dims broadcast(dims at, const dims &sizes) {
    for (std::size_t d = 0; d < at.size(); d++)
        at[d] = sizes[d] == 1 ? 0 : at[d];
    return at;
}

struct binary_case {
    dims src0, src1, dst;
};

binary_case random_case(inputs &in) {
    binary_case c;
    for (std::int64_t d = in.between(1, 5); d > 0; d--) {
        const dim_t size = in.between(1, 4);
        const int one = static_cast<int>(in.between(0, 3));
        c.src0.push_back(one == 0 ? 1 : size);
        c.src1.push_back(one == 1 ? 1 : size);
        c.dst.push_back(size);
    }
    return c;
}

float apply(algorithm alg, float a, float b) {
    switch (alg) {
    case algorithm::binary_add:
        return add_f32(a, b);
    case algorithm::binary_sub:
        return add_f32(a, -b);
    case algorithm::binary_mul:
        return multiply_f32(a, b);
    case algorithm::binary_div:
        return f32(static_cast<double>(a) / static_cast<double>(b));
    case algorithm::binary_max:
        return std::max(a, b);
    case algorithm::binary_min:
        return std::min(a, b);
    case algorithm::binary_ge:
        return a >= b;
    case algorithm::binary_gt:
        return a > b;
    case algorithm::binary_le:
        return a <= b;
    case algorithm::binary_lt:
        return a < b;
    case algorithm::binary_eq:
        return a == b;
    default:
        return a != b;
    }
}

TEST(binary, equals_the_formula_on_random_problems) {
    inputs in(151);
    constexpr data_type types[] = {data_type::s8, data_type::u8, data_type::s32, data_type::f32};
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); i++) {
        const binary_case c = random_case(in);
        const auto alg = random_algorithm(in, "binary_");
        const memory::desc a_md = any_layout(in, c.src0, types[in.between(0, 3)]),
                           b_md = any_layout(in, c.src1, types[in.between(0, 3)]);
        const memory::desc dst_md = any_layout(in, c.dst, types[in.between(0, 3)]);
        const memory a = random_memory(in, a_md), b = random_memory(in, b_md);
        primitive_attr attr;
        const float scale0 = in.one_in(2) ? 1.f : 0.3f, scale1 = in.one_in(2) ? 1.f : 1.7f;
        if (scale0 != 1)
            attr.set_scales(OCTET_ARG_SRC_0, 0, {scale0});
        if (scale1 != 1)
            attr.set_scales(OCTET_ARG_SRC_1, 0, {scale1});
        if (scale0 != 1 || scale1 != 1)
            attr.set_requantization(requantization_rule::f32);
        const auto expected = [&](const dims &at) -> double {
            const float x =
                multiply_f32(scale0, f32(element(a_md, a.get_data_handle(), broadcast(at, c.src0))));
            const float y =
                multiply_f32(scale1, f32(element(b_md, b.get_data_handle(), broadcast(at, c.src1))));
            float result = apply(alg, x, y);
            if (std::isnan(result)) // 0 / 0: stored as x86's minimum and maximum do
                return dst_md.data_type() == data_type::u8    ? 0
                       : dst_md.data_type() == data_type::s32 ? 2147483520.
                                                              : 127;
            return is_integer(dst_md.data_type()) ? saturate_and_round(result, dst_md.data_type()) : result;
        };
        if (alg == algorithm::binary_div && dst_md.data_type() == data_type::f32)
            continue; // NaN does not compare
        const auto pd = [&] {
            return binary::primitive_desc(binary::desc(alg, a_md, b_md, dst_md), attr, cpu);
        };
        expect_execution(
            [&] { return binary(pd()); },
            {{OCTET_ARG_SRC_0, a}, {OCTET_ARG_SRC_1, b}, {OCTET_ARG_DST, random_memory(in, dst_md)}},
            expected, pd().problem_str());
    }
}

TEST(binary, adds_as_tflite_does) {
    inputs in(152);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        const binary_case c = random_case(in);
        const auto code_type = [&] { return in.one_in(2) ? data_type::s8 : data_type::u8; };
        const memory::desc a_md = any_layout(in, c.src0, code_type()),
                           b_md = any_layout(in, c.src1, code_type()),
                           dst_md = any_layout(in, c.dst, code_type());
        const memory a = random_memory(in, a_md), b = random_memory(in, b_md);
        const double s0 = static_cast<double>(in.between(1, 1000)) / 1000,
                     s1 = static_cast<double>(in.between(1, 1000)) / 1000;
        const double twice_larger = 2 * std::max(s0, s1),
                     dst_scale = static_cast<double>(in.between(300, 3000)) / 1000;
        const auto rule =
            in.one_in(2) ? requantization_rule::tflite_2step : requantization_rule::tflite_single_rounding;
        const fixed_point_multiplier m0 = from_double(rule, s0 / twice_larger),
                                     m1 = from_double(rule, s1 / twice_larger),
                                     m = from_double(rule, twice_larger / (dst_scale * (1 << 20)));
        const auto zp = [&](const memory::desc &md) {
            return static_cast<std::int32_t>(
                in.between(lowest_code(md.data_type()), highest_code(md.data_type())));
        };
        const std::int32_t zp0 = zp(a_md), zp1 = zp(b_md), dst_zp = zp(dst_md);

        primitive_attr attr;
        attr.set_requantization(rule, 0, std::vector<fixed_point_multiplier>{m});
        attr.set_input_multiplier(OCTET_ARG_SRC_0, m0);
        attr.set_input_multiplier(OCTET_ARG_SRC_1, m1);
        attr.set_zero_points(OCTET_ARG_SRC_0, 0, {zp0});
        attr.set_zero_points(OCTET_ARG_SRC_1, 0, {zp1});
        attr.set_zero_points(OCTET_ARG_DST, 0, {dst_zp});
        post_ops ops;
        const std::int32_t low = static_cast<std::int32_t>(in.between(-100, 0));
        ops.append_clip(low, low + 90);
        attr.set_post_ops(ops);
        const auto expected = [&](const dims &at) {
            const auto x =
                static_cast<std::int32_t>(element(a_md, a.get_data_handle(), broadcast(at, c.src0))) - zp0;
            const auto y =
                static_cast<std::int32_t>(element(b_md, b.get_data_handle(), broadcast(at, c.src1))) - zp1;
            const wide sum =
                wide{exact::requantize(rule, x * (1 << 20), m0)} + exact::requantize(rule, y * (1 << 20), m1);
            const std::int32_t raw =
                std::clamp(exact::requantize(rule, wrapped(sum), m), low, low + 90) + dst_zp;
            return std::clamp<double>(raw, static_cast<double>(lowest_code(dst_md.data_type())),
                                      static_cast<double>(highest_code(dst_md.data_type())));
        };
        const auto pd = [&] {
            return binary::primitive_desc(binary::desc(algorithm::binary_add, a_md, b_md, dst_md), attr, cpu);
        };
        expect_execution(
            [&] { return binary(pd()); },
            {{OCTET_ARG_SRC_0, a}, {OCTET_ARG_SRC_1, b}, {OCTET_ARG_DST, random_memory(in, dst_md)}},
            expected, pd().problem_str());
    }
}

} // namespace
} // namespace octet::test
