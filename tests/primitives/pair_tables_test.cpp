// Sums of two codes by tables: all 65,536 pairs of codes against the frameworks' formulas, for random scales and
// zero points and for those that make ties; and every length of rows around a vector, in place or not.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/pair_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/element.hpp"
#include "common/scaled_sum.hpp"
#include "support/exact_rules.hpp"
#include "support/inputs.hpp"
#include "support/levels.hpp"

namespace octet::impl::stream {
namespace {

using octet::test::inputs;
using octet::test::wide;
using rule = requantization_rule;
/// A function of two codes, before the zero point.
using formula = std::function<double(std::int32_t x, std::int32_t y)>;

constexpr std::size_t pairs = 256 * 256;

struct sum_case {
    binary_problem p;
    formula value;
    std::int32_t low = int32_min, high = int32_max; ///< bounds of the clip behind the sum
};

std::int32_t lowest(data_type type) { return static_cast<std::int32_t>(range_of(type).low); }
std::int32_t highest(data_type type) { return static_cast<std::int32_t>(range_of(type).high); }

binary_problem empty_problem(inputs &in, rule r, binary_form form) {
    binary_problem p;
    const auto codes = [&] {
        return memory::desc({256, 256}, in.one_in(2) ? data_type::u8 : data_type::s8, format_tag::ab).data;
    };
    p.src0 = codes();
    p.src1 = codes();
    p.dst = codes();
    p.alg = algorithm::binary_add;
    p.form = form;
    p.out_stage.rule = r;
    p.out_stage.dst = p.dst;
    const auto zero_point = [&](data_type type) {
        return masked_values<std::int32_t>{
            0, {static_cast<std::int32_t>(in.between(lowest(type), highest(type)))}, false};
    };
    p.zero_points0.values = zero_point(p.src0.data_type);
    p.zero_points1.values = zero_point(p.src1.data_type);
    (form == binary_form::qlinear_sum ? p.dst_zero_point.values : p.out_stage.dst_zero_points) =
        zero_point(p.dst.data_type);
    return p;
}

std::int32_t value(const masked_values<std::int32_t> &z) { return z.values.empty() ? 0 : z.values[0]; }

/// Scales of a residual sum, sometimes with a ratio that makes ties; with `coarse` results few codes are left.
struct scales {
    float x, y, dst;
    explicit scales(inputs &in, bool coarse = false) {
        const auto any = [&] { return static_cast<float>(in.between(3 << 20, 1 << 24)) * 0x1p-24f; };
        x = any();
        y = in.one_in(4) ? x : any();
        dst = in.one_in(4) ? 2 * x : in.one_in(3) ? x + y : any();
        if (coarse)
            dst *= static_cast<float>(1 << in.between(5, 9));
    }
};

sum_case tflite(inputs &in, rule r, bool coarse = false) {
    sum_case c{empty_problem(in, r, binary_form::scaled_sum), {}};
    const scales s(in, coarse);
    const add_multipliers m = add_multipliers_of(r, s.x, s.y, s.dst);
    c.p.multiplier0 = m.a;
    c.p.multiplier1 = m.b;
    c.p.out_stage.multipliers = {0, {m.dst}, false};
    if (coarse || in.one_in(2)) {
        c.low = static_cast<std::int32_t>(in.between(-1, 0));
        c.high = in.one_in(2) ? static_cast<std::int32_t>(in.between(0, coarse ? 2 : 40)) : int32_max;
        c.p.out_stage.post_ops.push_back(post_op::clip{c.low, c.high});
    }
    if (in.one_in(3))
        c.p.alg = algorithm::binary_sub;
    const int sign = c.p.alg == algorithm::binary_sub ? -1 : 1;
    c.value = [=, zx = value(c.p.zero_points0.values), zy = value(c.p.zero_points1.values)](std::int32_t x,
                                                                                            std::int32_t y) {
        const auto rescaled = [&](std::int32_t code, const fixed_point_multiplier &by) {
            return octet::test::exact::requantize(r, code * (1 << add_left_shift), by);
        };
        return static_cast<double>(octet::test::exact::requantize(
            r, octet::test::wrapped(wide{rescaled(x - zx, m.a)} + sign * wide{rescaled(y - zy, m.b)}),
            m.dst));
    };
    return c;
}

sum_case qlinear(inputs &in, rule r) {
    sum_case c{empty_problem(in, r, binary_form::qlinear_sum), {}};
    const scales s(in);
    c.p.scale0 = s.x;
    c.p.scale1 = s.y;
    c.p.dst_scale = s.dst;
    const auto zp = static_cast<float>(value(c.p.dst_zero_point.values));
    const float a = s.x / s.dst, b = s.y / s.dst;
    const float both = std::fma(a, static_cast<float>(value(c.p.zero_points0.values)),
                                b * static_cast<float>(value(c.p.zero_points1.values)));
    c.value = [=](std::int32_t x, std::int32_t y) {
        const float t = std::fma(static_cast<float>(y), b, zp - both);
        return std::nearbyint(static_cast<double>(std::fma(static_cast<float>(x), a, t)));
    };
    return c;
}

sum_case qnnpack(inputs &in, rule r) {
    sum_case c{empty_problem(in, r, binary_form::qnnpack_sum), {}};
    const int shift = static_cast<int>(in.between(21, 24));
    const auto multiplier = [&] { return static_cast<std::int32_t>(in.between(1 << 18, 1 << 22)); };
    const std::int32_t a = multiplier(), b = in.one_in(3) ? 1 << 20 : multiplier();
    c.p.multiplier0 = {a, shift, 0};
    c.p.multiplier1 = {b, shift, 0};
    c.value = [=, zx = value(c.p.zero_points0.values), zy = value(c.p.zero_points1.values)](std::int32_t x,
                                                                                            std::int32_t y) {
        const double sum = std::ldexp(double{1} * (x - zx) * a + double{1} * (y - zy) * b, -shift);
        return std::trunc(sum + std::copysign(0.5, sum)); // exact in f64
    };
    return c;
}

sum_case real(inputs &in, rule r) {
    sum_case c{empty_problem(in, r, binary_form::dequantized), {}};
    const scales s(in);
    c.p.scale0 = s.x;
    c.p.scale1 = s.y;
    c.p.dst_scale = s.dst;
    c.value = [=, zx = value(c.p.zero_points0.values), zy = value(c.p.zero_points1.values)](std::int32_t x,
                                                                                            std::int32_t y) {
        const float a = s.x * static_cast<float>(x - zx), b = s.y * static_cast<float>(y - zy);
        const float sum = (a + b) / s.dst;
        return static_cast<double>(std::trunc(sum + std::copysign(std::nextafter(0.5f, 0.f), sum)));
    };
    return c;
}

std::uint8_t expected(const sum_case &c, std::size_t pair) {
    const auto code = [](data_type type, std::size_t byte) {
        return type == data_type::s8 ? std::int32_t{static_cast<std::int8_t>(byte)}
                                     : static_cast<std::int32_t>(byte);
    };
    double y = c.value(code(c.p.src0.data_type, pair / 256), code(c.p.src1.data_type, pair % 256));
    y = std::clamp(y, static_cast<double>(c.low), static_cast<double>(c.high));
    y += value(c.p.out_stage.dst_zero_points);
    const double low = lowest(c.p.dst.data_type), high = highest(c.p.dst.data_type);
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::clamp(y, low, high)));
}

void execute(const kernel &k, const binary_problem &p, std::vector<std::uint8_t> &x,
             std::vector<std::uint8_t> &y, std::uint8_t *dst) {
    const engine cpu(engine::kind::cpu, 0);
    k.execute(arguments({{OCTET_ARG_SRC_0, memory(memory::desc(p.src0), cpu, x.data())},
                         {OCTET_ARG_SRC_1, memory(memory::desc(p.src1), cpu, y.data())},
                         {OCTET_ARG_DST, memory(memory::desc(p.dst), cpu, dst)}}));
}

/// How many of `cases` have tables.
int expect_all_pairs(const std::function<sum_case(inputs &)> &draw, int cases) {
    std::vector<std::uint8_t> x(pairs), y(pairs), dst(pairs);
    for (std::size_t i = 0; i < pairs; i++) {
        x[i] = static_cast<std::uint8_t>(i / 256);
        y[i] = static_cast<std::uint8_t>(i % 256);
    }
    inputs in(23);
    int found = 0;
    for (int i = 0; i < cases; i++) {
        const sum_case c = draw(in);
        for (const instruction_set isa : usable_instruction_sets()) {
            const candidate o = plan_pair_tables(isa, c.p);
            if (o.is_refused())
                continue;
            found += isa.level == get_machine_cpu_isa();
            execute(*o.make(), c.p, x, y, dst.data());
            for (std::size_t k = 0; k < pairs; k++)
                EXPECT_EQ(dst[k], expected(c, k))
                    << "case " << i << ", bytes " << k / 256 << " and " << k % 256;
            if (testing::Test::HasFailure())
                return found;
        }
    }
    return found;
}

bool has_tables() { return machine_at(get_machine_cpu_isa()).isa.byte_permutes; }

constexpr int cases = 24;

TEST(pair_tables, are_tflites_sums) {
    for (const rule r : {rule::tflite_2step, rule::tflite_single_rounding}) {
        const int found = expect_all_pairs([r](inputs &in) { return tflite(in, r); }, cases);
        EXPECT_TRUE(!has_tables() || found >= cases / 4) << found;
    }
}
/// A clip shows in the least and the greatest sum alone, which differ from others by their fractions.
TEST(pair_tables, keep_the_clips_of_coarse_sums) {
    const int found =
        expect_all_pairs([](inputs &in) { return tflite(in, rule::tflite_2step, true); }, cases);
    EXPECT_TRUE(!has_tables() || found >= cases / 4) << found;
}
TEST(pair_tables, are_onnx_runtimes_sums) {
    const int found = expect_all_pairs([](inputs &in) { return qlinear(in, rule::ort_f32); }, cases);
    EXPECT_TRUE(!has_tables() || found >= cases / 4) << found;
}
TEST(pair_tables, are_qnnpacks_sums) {
    const int found = expect_all_pairs([](inputs &in) { return qnnpack(in, rule::caffe2_2step); }, cases);
    EXPECT_TRUE(!has_tables() || found >= cases / 4) << found;
}
TEST(pair_tables, are_sums_of_reals) {
    const int found = expect_all_pairs([](inputs &in) { return real(in, rule::caffe_double_round); }, cases);
    EXPECT_TRUE(!has_tables() || found >= cases / 4) << found;
}

TEST(pair_tables, serve_rows_of_any_length) {
    inputs in(5);
    sum_case c;
    do
        c = qlinear(in, rule::ort_f32);
    while (!make_code_pairs(c.p));
    for (const instruction_set isa : usable_instruction_sets())
        for (const bool in_place : {false, true})
            for (dim_t columns = 1; columns < 400; columns += columns < 140 ? 1 : 37) {
                constexpr dim_t rows = 3, gap = 5;
                binary_problem p = c.p;
                for (memory_desc *md : {&p.src0, &p.src1, &p.dst, &p.out_stage.dst}) {
                    md->dims[0] = rows;
                    md->dims[1] = columns;
                    md->strides[0] = columns + gap;
                }
                const candidate o = plan_pair_tables(isa, p);
                if (o.is_refused())
                    continue;
                const auto n = static_cast<std::size_t>(rows * (columns + gap));
                std::vector<std::uint8_t> x(n), y(n), other(n, 7);
                for (std::size_t i = 0; i < n; i++) {
                    x[i] = static_cast<std::uint8_t>(in.between(0, 255));
                    y[i] = static_cast<std::uint8_t>(in.between(0, 255));
                }
                std::vector<std::uint8_t> &dst = in_place ? x : other, wanted = dst;
                for (dim_t row = 0; row < rows; row++)
                    for (dim_t column = 0; column < columns; column++) {
                        const auto i = static_cast<std::size_t>(row * (columns + gap) + column);
                        wanted[i] = expected(c, std::size_t{x[i]} * 256 + y[i]);
                    }
                execute(*o.make(), p, x, y, dst.data());
                ASSERT_EQ(dst, wanted) << columns << " columns, in place " << in_place;
            }
}

TEST(pair_tables, are_refused_where_sums_have_none) {
    inputs in(9);
    const binary_problem p = qlinear(in, rule::ort_f32).p;
    const auto has_tables_with = [&](const std::function<void(binary_problem &)> &change) {
        binary_problem changed = p;
        changed.scale0 = changed.scale1 = 0.3f;
        changed.dst_scale = 0.7f;
        change(changed);
        return make_code_pairs(changed).has_value();
    };
    EXPECT_TRUE(has_tables_with([](binary_problem &) {}));
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.form = binary_form::qlinear_product; }));
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.alg = algorithm::binary_max; }));
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.scale0 = std::nanf(""); }));
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.scale0 = 1e6f; }));
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.dst_scale = 0.6f; })); // ties go to even results
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.zero_points0.values.runtime = true; }));
    EXPECT_FALSE(has_tables_with([](binary_problem &q) { q.dst.data_type = data_type::f32; }));
}

} // namespace
} // namespace octet::impl::stream
