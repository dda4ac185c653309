// Softmax of ONNX Runtime from its formulas, and of f32 against the real one.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "primitives/elementwise.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;

struct setting {
    memory src, dst;
    int axis;
    setting(inputs &in, data_type from, data_type to) {
        dims sizes;
        for (std::int64_t d = in.between(1, 4); d > 0; d--)
            sizes.push_back(in.one_in(4) ? in.between(20, 40) : in.between(1, 8));
        axis = static_cast<int>(in.between(0, static_cast<std::int64_t>(sizes.size()) - 1));
        src = random_memory(in, any_layout(in, sizes, from));
        dst = random_memory(in, any_layout(in, sizes, to));
    }
    dim_t length() const { return src.get_desc().dims()[static_cast<std::size_t>(axis)]; }
    std::vector<double> row(dims at) const {
        std::vector<double> values;
        for (dim_t i = 0; i < length(); i++) {
            at[static_cast<std::size_t>(axis)] = i;
            values.push_back(element(src.get_desc(), src.get_data_handle(), at));
        }
        return values;
    }
    softmax_forward::primitive_desc pd(const primitive_attr &attr,
                                       algorithm alg = algorithm::softmax_accurate) const {
        return {cpu, prop_kind::forward_inference, alg, src.get_desc(), dst.get_desc(), axis, attr};
    }
};

TEST(softmax, equals_the_table_form_of_onnx_runtime) {
    inputs in(165);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const data_type type = code_type(in);
        const setting s(in, type, type);
        const float x_scale = static_cast<float>(in.between(1, 200)) / 700,
                    y_scale = in.one_in(2) ? 1.f / 256 : static_cast<float>(in.between(1, 40)) / 5000;
        const auto zp = static_cast<std::int32_t>(in.between(lowest_code(type), highest_code(type)));
        primitive_attr attr;
        attr.set_requantization(rule::ort_f32);
        attr.set_scales(OCTET_ARG_SRC, 0, {x_scale});
        attr.set_scales(OCTET_ARG_DST, 0, {y_scale});
        attr.set_zero_points(OCTET_ARG_DST, 0, {zp});

        const float share =
            divide_f32(std::numeric_limits<float>::max(), f32(static_cast<double>(s.length())));
        const double shift =
            std::max(0., static_cast<double>(std::log(share)) - 5) / static_cast<double>(x_scale);
        const auto expected = [&](const dims &at) {
            const std::vector<double> row = s.row(at);
            const double highest = *std::max_element(row.begin(), row.end());
            const auto exponential = [&](double code) {
                return f32(std::exp((255 - (highest - code) - 255 + shift) * static_cast<double>(x_scale)));
            };
            float sum = 0;
            for (const double code : row)
                sum = add_f32(sum, exponential(code));
            const float count = std::floor(divide_f32(1.f, y_scale));
            const float e = exponential(row[static_cast<std::size_t>(at[static_cast<std::size_t>(s.axis)])]);
            const float probability = divide_f32(multiply_f32(e, count), sum);
            if (std::isinf(probability) && type == data_type::s8) // INT32_MIN, and the zero point wraps
                return saturated_code(zp < 0 ? 127 : -128, type);
            return saturated_code((std::isinf(probability) ? 0 : to_even(probability)) + zp, type);
        };
        expect_execution([&] { return softmax_forward(s.pd(attr)); },
                         {{OCTET_ARG_SRC, s.src}, {OCTET_ARG_DST, s.dst}}, expected,
                         s.pd(attr).problem_str());
    }
}

TEST(softmax, of_f32_is_the_real_one_to_a_few_ulp) {
    inputs in(166);
    constexpr data_type types[] = {data_type::f32, data_type::s8, data_type::u8};
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const setting s(in, types[in.between(0, 2)], data_type::f32);
        const bool is_log = in.one_in(2);
        const auto pd = s.pd({}, is_log ? algorithm::softmax_log : algorithm::softmax_accurate);
        softmax_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, s.src}, {OCTET_ARG_DST, s.dst}});
        for_each(s.src.get_desc().dims(), [&](const dims &at) {
            const std::vector<double> row = s.row(at);
            const double highest = *std::max_element(row.begin(), row.end());
            double sum = 0;
            for (const double x : row)
                sum += std::exp(x - highest);
            const double x = row[static_cast<std::size_t>(at[static_cast<std::size_t>(s.axis)])] - highest;
            const double real = is_log ? x - std::log(sum) : std::exp(x) / sum;
            const double got = element(s.dst.get_desc(), s.dst.get_data_handle(), at);
            // ln has an absolute error of 3.71e-6 near 1 (doc/eltwise.md), all else a relative one.
            expect_same(std::abs(got - real) <= (is_log ? 4e-6 : 0.) + 1e-6 * std::abs(real) + 1e-37, true,
                        pd.problem_str(), ": got ", got, ", real ", real);
        });
    }
}

TEST(softmax, of_f32_to_codes_scales_and_stores_as_a_reorder) {
    inputs in(167);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        const setting s(in, data_type::f32, data_type::u8);
        const memory::desc real_md(s.src.get_desc().dims(), data_type::f32, dims{});
        const memory real(real_md, cpu);
        const softmax_forward::desc d(prop_kind::forward_inference, s.src.get_desc(), real_md, s.axis);
        softmax_forward(softmax_forward::primitive_desc(d, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, s.src}, {OCTET_ARG_DST, real}});
        primitive_attr attr;
        attr.set_output_scales(0, {255.f});
        expect_execution([&] { return softmax_forward(s.pd(attr)); },
                         {{OCTET_ARG_SRC, s.src}, {OCTET_ARG_DST, s.dst}},
                         [&](const dims &at) {
                             const float p = f32(element(real_md, real.get_data_handle(), at));
                             return saturate_and_round(multiply_f32(p, 255.f), data_type::u8);
                         },
                         s.pd(attr).problem_str());
    }
}

} // namespace
} // namespace octet::test
