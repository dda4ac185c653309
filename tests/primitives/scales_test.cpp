// Scales that are 0, or at execution anything: what doc/arithmetic.md, section 6, says of them, by hand and on every
// level of the machine. Random problems have them too (random_problem.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "octet/octet.hpp"

using namespace octet;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr dim_t rows = 3, columns = 35; // vectors and a tail

/// src is the row less 1, weights are 2, K is 1: accumulators are -2, 0 and 2 in each column.
template <typename T>
std::vector<T> product(data_type type, primitive_attr attr, const std::vector<float> &runtime_scales) {
    const memory::desc x({rows, 1}, data_type::s8, format_tag::ab),
        w({1, columns}, data_type::s8, format_tag::ab), y({rows, columns}, type, format_tag::ab),
        scales({columns}, data_type::f32, format_tag::a);
    std::vector<std::int8_t> src{-1, 0, 1}, weights(columns, 2);
    std::vector<T> dst(rows * columns);
    std::vector<float> values = runtime_scales;
    matmul(matmul::primitive_desc(cpu, x, w, y, attr))
        .execute(stream(cpu),
                 {{OCTET_ARG_SRC, memory(x, cpu, src.data())},
                  {OCTET_ARG_WEIGHTS, memory(w, cpu, weights.data())},
                  {OCTET_ARG_DST, memory(y, cpu, dst.data())},
                  {OCTET_ARG_ATTR_OUTPUT_SCALES, memory(scales, cpu, values.data())},
                  {OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS, memory(scales, cpu, values.data())}});
    return dst;
}

/// The three codes of every column under one scale, given at execution as output scales or as those of weights.
template <typename T> void expect_codes(data_type type, float scale, std::vector<T> expected) {
    for (const cpu_isa level : get_available_cpu_isas())
        for (const bool by_argument : {false, true}) {
            set_max_cpu_isa(level);
            primitive_attr attr;
            attr.set_zero_points(OCTET_ARG_DST, 0, {5});
            if (by_argument)
                attr.set_scales_mask(OCTET_ARG_WEIGHTS, 2);
            else
                attr.set_output_scales(2, {OCTET_RUNTIME_F32_VAL});
            const std::vector<T> dst = product<T>(type, attr, std::vector<float>(columns, scale));
            for (std::size_t i = 0; i < dst.size(); i++)
                ASSERT_EQ(dst[i], expected[i / columns])
                    << to_string(level) << " scale " << scale << " element " << i;
        }
    set_max_cpu_isa(cpu_isa::all);
}

TEST(special_scales, at_execution_follow_ieee_754) {
    expect_codes<std::uint8_t>(data_type::u8, 0.f, {5, 5, 5});
    expect_codes<std::uint8_t>(data_type::u8, inf, {0, 0, 255}); // 0 * inf is NaN
    expect_codes<std::uint8_t>(data_type::u8, -inf, {255, 0, 0});
    expect_codes<std::uint8_t>(data_type::u8, nan_value, {0, 0, 0});
    expect_codes<std::int8_t>(data_type::s8, 0.f, {5, 5, 5});
    expect_codes<std::int8_t>(data_type::s8, inf, {-128, 127, 127});
    expect_codes<std::int8_t>(data_type::s8, nan_value, {127, 127, 127});
    expect_codes<std::int32_t>(data_type::s32, 0.f, {5, 5, 5});
    expect_codes<std::int32_t>(data_type::s32, inf,
                               {std::numeric_limits<std::int32_t>::min(), 2147483520, 2147483520});
}

TEST(special_scales, of_ort_f32_give_the_lowest_code_for_nan) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        primitive_attr attr;
        attr.set_requantization(requantization_rule::ort_f32);
        attr.set_output_scales(2, {OCTET_RUNTIME_F32_VAL});
        attr.set_zero_points(OCTET_ARG_DST, 0, {5});
        const auto dst = product<std::int8_t>(data_type::s8, attr, std::vector<float>(columns, nan_value));
        EXPECT_EQ(dst, std::vector<std::int8_t>(dst.size(), -128)) << to_string(level);
    }
    set_max_cpu_isa(cpu_isa::all);
}

TEST(special_scales, of_ort_f32_give_s32_the_lower_bound_of_the_clamp) {
    const std::vector<float> x = {nan_value, -inf,      inf,       7.5f,     -nan_value,
                                  nan_value, nan_value, nan_value, nan_value};
    const auto count = static_cast<dim_t>(x.size());
    const memory::desc from({count}, data_type::f32, format_tag::a),
        to({count}, data_type::s32, format_tag::a);
    for (const std::int32_t zero_point : {0, 3, -3, 1000}) {
        primitive_attr attr;
        attr.set_requantization(requantization_rule::ort_f32);
        if (zero_point != 0)
            attr.set_zero_points(OCTET_ARG_DST, 0, {zero_point});
        const auto bound = [&](double limit) { // in f32, then limited to s32
            const auto code = static_cast<std::int64_t>(static_cast<float>(limit - zero_point)) + zero_point;
            return static_cast<std::int32_t>(std::clamp<std::int64_t>(
                code, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
        };
        const std::int32_t lowest = bound(-0x1p31), highest = bound(0x1p31 - 1);
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            std::vector<float> src = x;
            std::vector<std::int32_t> dst(x.size());
            const memory from_memory(from, cpu, src.data()), to_memory(to, cpu, dst.data());
            reorder(from_memory, to_memory, attr).execute(stream(cpu), from_memory, to_memory);
            for (std::size_t i = 0; i < x.size(); i++)
                EXPECT_EQ(dst[i], x[i] == inf ? highest
                                  : x[i] > 0  ? 8 + zero_point
                                              : lowest)
                    << to_string(level) << " zero point " << zero_point << " element " << i;
        }
    }
    set_max_cpu_isa(cpu_isa::all);
}

// A pruned channel: its bias is scaled away too, as in oneDNN 2.x.
TEST(special_scales, of_zero_leave_the_zero_point) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        primitive_attr attr;
        std::vector<float> scales(columns, 3.f);
        scales[1] = scales[34] = 0.f;
        attr.set_output_scales(2, scales);
        attr.set_zero_points(OCTET_ARG_DST, 0, {5});
        const auto dst = product<std::uint8_t>(data_type::u8, attr, {1.f});
        for (std::size_t i = 0; i < dst.size(); i++) {
            const int acc = 2 * (static_cast<int>(i / columns) - 1);
            const int expected = scales[i % columns] == 0.f ? 5 : std::max(3 * acc + 5, 0);
            ASSERT_EQ(dst[i], expected) << to_string(level) << " element " << i;
        }
    }
    set_max_cpu_isa(cpu_isa::all);
}

TEST(special_scales, of_zero_are_refused_where_a_framework_divides_by_them) {
    const memory::desc x({2, 8}, data_type::u8, format_tag::ab);
    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step);
    attr.set_scales(OCTET_ARG_SRC, 0, {0.f});
    try {
        eltwise_forward::primitive_desc(
            {prop_kind::forward_inference, algorithm::eltwise_clip, x, x, 0.f, 6.f}, attr, cpu);
        ADD_FAILURE() << "accepted";
    } catch (const error &e) {
        EXPECT_NE(std::string(e.what()).find("src scale is 0 with rule tflite_2step, allowed: positive"),
                  std::string::npos)
            << e.what();
    }
}

} // namespace
