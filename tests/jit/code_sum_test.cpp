// Sums of rescaled codes: the emitted code equals TFLite's three roundings for every pair of codes at every
// ISA level of this machine, and there is such code for nearly all scales.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/code_sum.hpp"
#include "jit/epilogue/code_sum_emitter.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "support/exact_rules.hpp"
#include "support/inputs.hpp"
#include "support/levels.hpp"

using namespace octet;
using namespace octet::impl;
using namespace octet::impl::jit;
using octet::test::inputs;
using octet::test::wide;
using rule = requantization_rule;

namespace {

constexpr int columns = 16;

/// Sums 16 pairs at a time.
class kernel : public emitter {
public:
    struct arguments {
        const std::int32_t *x, *y;
        std::int32_t *dst;
        const std::int32_t *params;
        std::int64_t blocks;
    };

    kernel(cpu_isa isa, bool ties_away) : emitter({isa}) {
        const Xbyak::Reg64 x = rsi, dst = rdx, params = rcx, count = r8, y = r9;
        preamble();
        mov(x, ptr[reg_args + offsetof(arguments, x)]);
        mov(y, ptr[reg_args + offsetof(arguments, y)]);
        mov(dst, ptr[reg_args + offsetof(arguments, dst)]);
        mov(params, ptr[reg_args + offsetof(arguments, params)]);
        mov(count, ptr[reg_args + offsetof(arguments, blocks)]);
        Xbyak::Label block;
        L(block);
        for (int offset = 0; offset < columns * 4; offset += vector_bytes()) {
            const temp sum(*this), other(*this);
            load_dwords(sum, x, offset, lanes());
            load_dwords(other, y, offset, lanes());
            emit_code_sum(*this, ties_away, sum, other, [&](int i) { return ptr[params + i * columns * 4]; });
            store_dwords(dst, offset, sum, lanes());
        }
        for (const Xbyak::Reg64 &reg : {x, y, dst})
            add(reg, columns * 4);
        dec(count);
        jnz(block, T_NEAR);
        postamble();
        code_ = finish();
    }

    void operator()(const arguments &args) const {
        reinterpret_cast<void (*)(const arguments *)>(reinterpret_cast<std::uintptr_t>(code_.get()))(&args);
    }

private:
    std::shared_ptr<const void> code_;
};

struct sum_case {
    add_multipliers multipliers;
    centred_codes x, y;
    bool subtracts;
};

/// Scales of any ratio up to 16, and now and then the equal ones whose sums are full of ties.
sum_case random_case(inputs &in, rule r) {
    const auto codes = [&] {
        const type_range range = range_of(in.one_in(2) ? data_type::u8 : data_type::s8);
        return centred_codes{range, static_cast<std::int32_t>(in.between(range.low, range.high))};
    };
    const auto scale = [&] { return static_cast<float>(in.between(1 << 20, 1 << 24)) * 0x1p-24f; };
    const float a = scale(), b = in.one_in(4) ? a : scale(), dst = in.one_in(4) ? 2 * a : scale();
    return {add_multipliers_of(r, a, b, dst), codes(), codes(), in.one_in(3)};
}

std::int32_t expected(rule r, const sum_case &c, std::int32_t x, std::int32_t y) {
    const auto rescaled = [&](std::int32_t code, const fixed_point_multiplier &m) {
        return octet::test::exact::requantize(r, code * (1 << 20), m);
    };
    const wide first = rescaled(x, c.multipliers.a), second = rescaled(y, c.multipliers.b);
    return octet::test::exact::requantize(
        r, octet::test::wrapped(c.subtracts ? first - second : first + second), c.multipliers.dst);
}

class code_sums : public testing::TestWithParam<std::tuple<cpu_isa, rule>> {};

TEST_P(code_sums, equal_the_three_roundings) {
    const auto [level, r] = GetParam();
    const std::vector<cpu_isa> available = get_available_cpu_isas();
    if (std::find(available.begin(), available.end(), level) == available.end())
        GTEST_SKIP() << "this machine has no " << to_string(level);
    const kernel run(level, r != rule::tflite_single_rounding);
    constexpr std::size_t pairs = 256 * 256;
    std::vector<std::int32_t> x(pairs), y(pairs), dst(pairs);
    inputs in(17);
    constexpr int cases = 40;
    int found = 0;
    for (int i = 0; i < cases; i++) {
        const sum_case c = random_case(in, r);
        const auto sum = make_code_sum(r, c.multipliers, c.x, c.y, c.subtracts);
        if (!sum)
            continue;
        found++;
        for (std::size_t k = 0; k < pairs; k++) {
            x[k] = c.x.range.low + static_cast<std::int32_t>(k / 256);
            y[k] = c.y.range.low + static_cast<std::int32_t>(k % 256);
        }
        std::vector<std::int32_t> params;
        for (int p = 0; p < code_sum_params; p++)
            params.insert(params.end(), columns, code_sum_word(*sum, p));
        run({x.data(), y.data(), dst.data(), params.data(), pairs / columns});
        for (std::size_t k = 0; k < pairs; k++)
            ASSERT_EQ(dst[k], expected(r, c, x[k] - c.x.zero_point, y[k] - c.y.zero_point))
                << "case " << i << ", codes " << x[k] << " and " << y[k];
    }
    EXPECT_GE(found, cases * 8 / 10);
}

INSTANTIATE_TEST_SUITE_P(all, code_sums,
                         testing::Combine(testing::ValuesIn(generated_levels()),
                                          testing::Values(rule::tflite_2step, rule::tflite_single_rounding)),
                         [](const auto &pair) {
                             return std::string(to_string(std::get<0>(pair.param))) + "_" +
                                    to_string(std::get<1>(pair.param));
                         });

TEST(code_sum, is_refused_where_it_has_no_meaning) {
    const auto m = add_multipliers_of(rule::tflite_2step, 0.1f, 0.2f, 0.3f);
    const centred_codes u8{range_of(data_type::u8), 7};
    EXPECT_TRUE(make_code_sum(rule::tflite_2step, m, u8, u8));
    EXPECT_FALSE(make_code_sum(rule::tflite_2step, m, u8, {range_of(data_type::u8), -1}));
    EXPECT_FALSE(make_code_sum(rule::tflite_2step, m, {range_of(data_type::s16), 0}, u8));
    // Results beyond 32 bits.
    EXPECT_FALSE(make_code_sum(rule::tflite_2step, add_multipliers_of(rule::tflite_2step, 1.f, 1.f, 0x1p-20f),
                               u8, u8));
}

} // namespace
