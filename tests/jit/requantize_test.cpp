// The emitted rules equal common/requantize.hpp bit for bit at every ISA level of this machine, for every
// accumulator and multiplier: extremes, neighbours of ties, every shift, other multipliers in every column.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/rules.hpp"
#include "jit/epilogue/rules_emitter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <string>
#include <tuple>

#include "common/requantize.hpp"
#include "jit/base/dry_run.hpp"
#include "jit/base/key.hpp"
#include "support/expect_same.hpp"
#include "support/inputs.hpp"
#include "support/levels.hpp"

using namespace octet;
using namespace octet::impl;
using namespace octet::impl::jit;
using octet::test::expect_same;
using octet::test::inputs;
using octet::test::wide;
using rule = requantization_rule;

namespace {

constexpr int columns = columns_per_block;
constexpr int rows = 8; ///< accumulators per column of a block
constexpr int blocks = 2048;
constexpr int repetitions = 2; ///< at least 2^20 values per rule: two cases, 2^18 values each time

/// Requantizes blocks of `rows` x 16 accumulators, each block with parameter vectors of its own.
class kernel : public emitter {
public:
    struct arguments {
        const std::int32_t *src;
        std::int32_t *dst;
        const std::uint32_t *params;
        std::int64_t blocks;
    };

    kernel(cpu_isa isa, const rule_spec &spec) : emitter({isa}) {
        const Xbyak::Reg64 src = rsi, dst = rdx, params = rcx, count = r8;
        preamble();
        mov(src, ptr[reg_args + offsetof(arguments, src)]);
        mov(dst, ptr[reg_args + offsetof(arguments, dst)]);
        mov(params, ptr[reg_args + offsetof(arguments, params)]);
        mov(count, ptr[reg_args + offsetof(arguments, blocks)]);
        Xbyak::Label block;
        L(block);
        for (int offset = 0; offset < rows * param_vector_bytes; offset += vector_bytes()) {
            const temp acc(*this);
            load_dwords(acc, src, offset, lanes());
            emit_requantize(*this, spec, acc, [&](int i) {
                return ptr[params + i * param_vector_bytes + offset % param_vector_bytes];
            });
            store_dwords(dst, offset, acc, lanes());
        }
        add(src, rows * param_vector_bytes);
        add(dst, rows * param_vector_bytes);
        add(params, rule_params(spec) * param_vector_bytes);
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

struct rule_case {
    const char *name;
    rule id;
    int lowest_shift, highest_shift;
    std::int64_t lowest_multiplier, highest_multiplier;
    bool short_form;
};

constexpr std::int64_t one_half = std::int64_t{1} << 30; ///< a normalised multiplier is 2^30 to 2^31 - 1
constexpr std::int64_t low = octet::impl::int32_min, high = octet::impl::int32_max;

constexpr rule_case cases[] = {
    {"none", rule::none, 0, 0, 0, 0, false},
    {"tflite_2step_small", rule::tflite_2step, -31, -1, one_half, high, true},
    {"tflite_2step_unnormalised", rule::tflite_2step, -31, -1, 0, high, true},
    {"tflite_2step_below_1", rule::tflite_2step, -31, 0, 0, high, false},
    {"tflite_2step_any", rule::tflite_2step, -31, 30, 0, high, false},
    {"tflite_1step_small", rule::tflite_1step, -31, -2, one_half, high, true},
    {"tflite_1step_below_half", rule::tflite_1step, -31, -1, one_half, high, false},
    {"tflite_1step_below_1", rule::tflite_1step, -31, 0, one_half, high, false},
    {"tflite_1step_any", rule::tflite_1step, -31, 30, 0, high, false},
    {"tflite_single_rounding_small", rule::tflite_single_rounding, -31, -2, one_half, high, true},
    {"tflite_single_rounding_any", rule::tflite_single_rounding, -31, 30, 0, high, false},
    {"caffe2_2step_small", rule::caffe2_2step, 1, 31, one_half, high, true},
    {"caffe2_2step_any", rule::caffe2_2step, 0, 31, low, high, false},
    {"gemmlowp_fixedpoint_small", rule::gemmlowp_fixedpoint, 1, 31, 0, high, true},
    {"gemmlowp_fixedpoint_any", rule::gemmlowp_fixedpoint, 0, 31, low, high, false},
    {"gemmlowp_fixedpoint_lowest", rule::gemmlowp_fixedpoint, 0, 31, low, low + 1, false},
    {"gemmlowp_fixedpoint_exponent_small", rule::gemmlowp_fixedpoint_exponent, -31, -1, 0, high, true},
    {"gemmlowp_fixedpoint_exponent_right", rule::gemmlowp_fixedpoint_exponent, -31, 0, low, high, false},
    {"gemmlowp_fixedpoint_exponent_any", rule::gemmlowp_fixedpoint_exponent, -31, 31, low, high, false},
    {"gemmlowp_legacy_scale_any", rule::gemmlowp_legacy_scale, 0, 31, low, high, false},
    {"gemmlowp_legacy_scale_small", rule::gemmlowp_legacy_scale, 0, 31, -255, 255, false},
    {"rounded_shift_small", rule::rounded_shift, 33, 62, low, high, true},
    {"rounded_shift_32", rule::rounded_shift, 32, 62, low, high, false},
    {"rounded_shift_16bit", rule::rounded_shift, 18, 62, -32768, 32767, true},
    {"rounded_shift_right", rule::rounded_shift, 0, 62, low, high, false},
    {"rounded_shift_any", rule::rounded_shift, -31, 62, low, high, false},
    {"rounded_shift_8bit", rule::rounded_shift, -31, 62, -128, 127, false},
    {"qnnpack_avgpool_small", rule::qnnpack_avgpool, 26, 55, 1 << 23, (1 << 24) - 1, true},
    {"qnnpack_avgpool_any", rule::qnnpack_avgpool, 16, 55, 1 << 23, (1 << 24) - 1, false},
    {"ev_rte15_small", rule::ev_rte15, 15, 62, 0, 32767, true},
    {"ev_rte15_any", rule::ev_rte15, 1, 62, 0, 32767, false},
    {"xnnpack_rndnu_small", rule::xnnpack_rndnu, 26, 55, 1 << 23, (1 << 24) - 1, true},
    {"xnnpack_rndnu_any", rule::xnnpack_rndnu, 16, 55, 1 << 23, (1 << 24) - 1, false},
    {"ruy_2step_small", rule::ruy_2step, -31, -1, one_half, high, true},
    {"ruy_2step_below_1", rule::ruy_2step, -31, 0, 0, high, false},
    {"ruy_2step_any", rule::ruy_2step, -31, 30, 0, high, false},
    {"half_away_1step_small", rule::half_away_1step, -31, -2, one_half, high, true},
    {"half_away_1step_any", rule::half_away_1step, -31, 30, 0, high, false},
};

const std::vector<cpu_isa> levels = generated_levels();

bool is_available(cpu_isa level) {
    for (const cpu_isa available : get_available_cpu_isas())
        if (available == level)
            return true;
    return false;
}

/// Bits that the exact product is shifted by, all roundings together.
int total_shift(rule id, int shift) {
    switch (id) {
    case rule::caffe2_2step:
    case rule::gemmlowp_fixedpoint:
        return 31 + shift;
    case rule::tflite_2step:
    case rule::tflite_1step:
    case rule::tflite_single_rounding:
    case rule::ruy_2step:
    case rule::half_away_1step:
    case rule::gemmlowp_fixedpoint_exponent:
        return 31 - shift;
    default:
        return shift;
    }
}

fixed_point_multiplier random_multiplier(inputs &in, const rule_case &c) {
    std::int64_t q = in.between(c.lowest_multiplier, c.highest_multiplier);
    const std::int64_t unit = std::int64_t{1} << in.between(0, 30); // ties need factors of 2
    if (in.one_in(3) && q / unit * unit >= c.lowest_multiplier)
        q = q / unit * unit;
    if (in.one_in(20))
        q = in.one_in(2) ? c.lowest_multiplier : c.highest_multiplier;
    const int shift = static_cast<int>(in.between(c.lowest_shift, c.highest_shift));
    return {static_cast<std::int32_t>(q), shift,
            c.id == rule::gemmlowp_legacy_scale ? in.any_magnitude() : 0};
}

/// The accumulator whose product lies next to a tie and nearest to acc * q, or the one before or after it.
std::int32_t near_tie(inputs &in, std::int32_t acc, rule id, fixed_point_multiplier m) {
    const int shift = total_shift(id, m.shift);
    if (m.multiplier == 0 || shift < 1)
        return acc;
    const wide floor = (wide{acc} * m.multiplier) >> shift;
    const wide tie = (2 * floor + 1) * octet::test::power_of_two(shift - 1);
    return octet::test::saturated(tie / m.multiplier + in.between(-1, 1));
}

std::int32_t random_accumulator(inputs &in, rule id, fixed_point_multiplier m) {
    static const std::vector<std::int32_t> landmarks = octet::test::landmarks();
    switch (in.between(0, 5)) {
    case 0:
        return in.s32();
    case 1:
        return in.any_magnitude();
    case 2:
        return landmarks[static_cast<std::size_t>(
            in.between(0, static_cast<std::int64_t>(landmarks.size()) - 1))];
    case 3:
        return in.odd_multiple_of_two_to(static_cast<int>(in.between(0, 30)));
    default:
        return near_tie(in, in.any_magnitude(), id, m);
    }
}

/// Inputs of one call, as the kernel reads them.
struct batch {
    std::vector<fixed_point_multiplier> multipliers = std::vector<fixed_point_multiplier>(blocks * columns);
    std::vector<double> scales = std::vector<double>(blocks * columns);
    std::vector<std::int32_t> zero_points = std::vector<std::int32_t>(blocks * columns);
    std::vector<std::int32_t> src = std::vector<std::int32_t>(blocks * rows * columns);

    std::size_t column(std::size_t value) const {
        return value / (rows * columns) * columns + value % columns;
    }

    std::vector<std::int32_t> run(const kernel &k, const rule_spec &spec) const {
        const std::size_t words = static_cast<std::size_t>(rule_params(spec)) * columns;
        std::vector<std::uint32_t> params(words * blocks);
        for (std::size_t b = 0; b < blocks; b++)
            fill_rule_params(spec, &multipliers[b * columns], &scales[b * columns], &zero_points[b * columns],
                             params.data() + b * words);
        std::vector<std::int32_t> dst(src.size());
        k({src.data(), dst.data(), params.data(), blocks});
        return dst;
    }
};

/// Returns a rule's result as an epilogue reads it, which may clamp results below 0.
std::int32_t seen(std::int32_t result, bool clamps_negative) {
    return clamps_negative ? std::max(result, 0) : result;
}

using parameter = std::tuple<cpu_isa, rule_case>;

class jit_requantize : public testing::TestWithParam<parameter> {};

TEST_P(jit_requantize, equals_the_scalar_rule) {
    const auto &[level, c] = GetParam();
    if (!is_available(level))
        GTEST_SKIP() << "this machine has no " << to_string(level);
    inputs in(21);
    for (int i = 0; i < repetitions; i++) {
        batch b;
        for (fixed_point_multiplier &m : b.multipliers)
            m = random_multiplier(in, c);
        for (std::size_t k = 0; k < b.src.size(); k++)
            b.src[k] = random_accumulator(in, c.id, b.multipliers[b.column(k)]);
        for (const bool clamps_negative : {false, true}) {
            const rule_spec spec = make_rule_spec(c.id, b.multipliers, false, clamps_negative);
            EXPECT_EQ(spec.short_form, c.short_form);
            const std::vector<std::int32_t> dst = b.run(kernel(level, spec), spec);
            for (std::size_t k = 0; k < dst.size(); k++) {
                const fixed_point_multiplier m = b.multipliers[b.column(k)];
                expect_same(seen(dst[k], clamps_negative),
                            seen(requantize(c.id, b.src[k], m), clamps_negative), "acc ", b.src[k],
                            ", multiplier ", m.multiplier, ", shift ", m.shift, ", offset ", m.offset);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(all, jit_requantize,
                         testing::Combine(testing::ValuesIn(levels), testing::ValuesIn(cases)),
                         [](const auto &test) {
                             return std::string(to_string(std::get<0>(test.param))) + "_" +
                                    std::get<1>(test.param).name;
                         });

// ---- caffe_double_round

using real_parameter = std::tuple<cpu_isa, bool>;

class jit_double_round : public testing::TestWithParam<real_parameter> {};

/// 2^-30 <= scale < 1: any, with a short mantissa so that both roundings meet ties, and the neighbours of
/// powers of two.
double random_scale(inputs &in, bool is_f32) {
    const int bits = is_f32 ? 24 : 53;
    std::int64_t mantissa = in.between(std::int64_t{1} << (bits - 1), (std::int64_t{1} << bits) - 1);
    if (in.one_in(3))
        mantissa = in.between(4, 7) << (bits - 3);
    if (in.one_in(4))
        mantissa = (std::int64_t{1} << bits) - 1;
    const double scale = std::ldexp(static_cast<double>(mantissa), -bits);
    return in.one_in(3) ? scale : std::ldexp(scale, static_cast<int>(in.between(-29, 0)));
}

std::int32_t double_round(std::int32_t acc, double scale, bool is_f32) {
    const float x =
        is_f32 ? caffe_double_round(acc, static_cast<float>(scale)) : caffe_double_round(acc, scale);
    return saturate_s32(static_cast<std::int64_t>(x));
}

TEST_P(jit_double_round, equals_the_scalar_rule) {
    const auto &[level, is_f32] = GetParam();
    if (!is_available(level))
        GTEST_SKIP() << "this machine has no " << to_string(level);
    inputs in(22);
    const rule_spec spec = make_rule_spec(rule::caffe_double_round, {}, is_f32);
    const kernel k(level, spec);
    for (int i = 0; i < repetitions; i++) {
        batch b;
        for (double &scale : b.scales)
            scale = random_scale(in, is_f32);
        for (std::int32_t &acc : b.src)
            acc = in.one_in(3) ? static_cast<std::int32_t>(in.between(-5000, 5000))
                               : random_accumulator(in, rule::rounded_shift, {1 << 30, 31, 0});
        const std::vector<std::int32_t> dst = b.run(k, spec);
        for (std::size_t j = 0; j < dst.size(); j++) {
            const double scale = b.scales[b.column(j)];
            expect_same(dst[j], double_round(b.src[j], scale, is_f32), b.src[j], " * ", scale);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(all, jit_double_round, testing::Combine(testing::ValuesIn(levels), testing::Bool()),
                         [](const auto &test) {
                             return std::string(to_string(std::get<0>(test.param))) +
                                    (std::get<1>(test.param) ? "_f32" : "_f64");
                         });

/// Rules with a factor in f64: level, rule, whether all factors are below 1.
class jit_f64_scale : public testing::TestWithParam<std::tuple<cpu_isa, rule, bool>> {};

TEST_P(jit_f64_scale, equals_the_scalar_rule) {
    const auto &[level, id, are_small] = GetParam();
    if (!is_available(level))
        GTEST_SKIP() << "this machine has no " << to_string(level);
    inputs in(23);
    batch b;
    for (double &scale : b.scales) // a power of two makes ties, a large one saturates
        scale = in.one_in(4)    ? std::ldexp(1., -static_cast<int>(in.between(1, 12)))
                : in.one_in(50) ? std::nextafter(1., 0.)
                                : std::ldexp(random_scale(in, false), !are_small && in.one_in(4) ? 3 : 0);
    for (std::int32_t &zero_point : b.zero_points)
        zero_point = in.one_in(20) ? in.s32() : static_cast<std::int32_t>(in.between(-128, 255));
    for (std::int32_t &acc : b.src)
        acc = in.one_in(3) ? static_cast<std::int32_t>(in.between(-5000, 5000))
                           : random_accumulator(in, rule::rounded_shift, {1 << 30, 31, 0});
    for (const bool clamps_negative : {false, true}) {
        const rule_spec spec = make_rule_spec(id, {}, false, clamps_negative, b.scales);
        EXPECT_EQ(spec.short_form, are_small);
        const std::vector<std::int32_t> dst = b.run(kernel(level, spec), spec);
        for (std::size_t j = 0; j < dst.size(); j++) {
            const double scale = b.scales[b.column(j)];
            const std::int32_t zero_point = b.zero_points[b.column(j)];
            expect_same(seen(dst[j], clamps_negative),
                        seen(requantize(id, b.src[j], scale, false, zero_point), clamps_negative), b.src[j],
                        " * ", scale, " + ", zero_point);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    all, jit_f64_scale,
    testing::Combine(testing::ValuesIn(levels),
                     testing::Values(rule::f64_scale, rule::f64_half_away, rule::onnx_f64), testing::Bool()),
    [](const auto &test) {
        return std::string(to_string(std::get<0>(test.param))) + "_" + to_string(std::get<1>(test.param)) +
               (std::get<2>(test.param) ? "_small" : "_any");
    });

// ---- what users of the rules rely on

TEST_P(jit_requantize, padding_columns_are_harmless) {
    const auto &[level, c] = GetParam();
    if (!is_available(level))
        GTEST_SKIP() << "this machine has no " << to_string(level);
    inputs in(23);
    const fixed_point_multiplier m = random_multiplier(in, c);
    const rule_spec spec = make_rule_spec(c.id, {m}, false);
    batch b;
    for (std::size_t k = 0; k < b.multipliers.size(); k += 4) {
        b.multipliers[k] = m;
        b.multipliers[k + 2] = {1 << 30, 0, 0};
        b.multipliers[k + 3] = {octet::impl::int32_min, in.one_in(2) ? 31 : -31, 0};
    }
    for (std::int32_t &acc : b.src)
        acc = random_accumulator(in, c.id, m);
    const std::vector<std::int32_t> dst = b.run(kernel(level, spec), spec);
    for (std::size_t k = 0; k < dst.size(); k += 4)
        expect_same(dst[k], requantize(c.id, b.src[k], m), "acc ", b.src[k]);
}

/// Every form, and the spec that takes most registers.
std::vector<rule_spec> all_specs() {
    std::vector<rule_spec> specs;
    for (const rule_case &c : cases) {
        const auto q = static_cast<std::int32_t>(c.lowest_multiplier);
        specs.push_back(make_rule_spec(c.id, {{q, c.lowest_shift, 0}, {q, c.highest_shift, 0}}, false));
    }
    for (const bool is_f32 : {false, true})
        specs.push_back(make_rule_spec(rule::caffe_double_round, {}, is_f32));
    for (const rule id : {rule::f64_scale, rule::f64_half_away, rule::onnx_f64})
        for (const double scale : {0.5, 2.})
            specs.push_back(make_rule_spec(id, {}, false, false, {scale}));
    return specs;
}

/// Emits with so many vector registers free.
void emit_with_registers(cpu_isa level, const rule_spec &spec, int registers) {
    emitter e({level});
    const emitter::temp acc(e);
    std::deque<emitter::temp> others;
    while (e.free_vecs() > registers)
        others.emplace_back(e);
    emit_requantize(e, spec, acc, [&](int i) { return e.ptr[e.rsi + i * param_vector_bytes]; });
    EXPECT_EQ(e.free_vecs(), registers);
}

TEST(requantize_registers, takes_the_registers_that_are_counted) {
    for (const cpu_isa level : levels)
        for (const rule_spec &spec : all_specs()) {
            SCOPED_TRACE(std::string(to_string(spec.rule)) + " " + to_string(level));
            const int temps = count_registers({level}, key_of(spec),
                                              [&](emitter &e) {
                                                  const emitter::temp acc(e);
                                                  emit_requantize(e, spec, acc, [&](int i) {
                                                      return e.ptr[e.rsi + i * param_vector_bytes];
                                                  });
                                              }) -
                              1;
            EXPECT_LE(temps, 4);
            EXPECT_NO_THROW(emit_with_registers(level, spec, temps));
            if (temps > 0) {
                EXPECT_THROW(emit_with_registers(level, spec, temps - 1), std::logic_error);
            }
        }
}

/// "r-xp" and the like, from the line of /proc/self/maps that the address lies in.
std::string permissions_of(const void *address) {
    std::ifstream maps("/proc/self/maps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char permissions[5] = {};
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, permissions) == 3 &&
            begin <= wanted && wanted < end)
            return permissions;
    }
    return "unmapped";
}

TEST(emitter, code_is_never_writable_and_executable) {
    emitter e({cpu_isa::avx2});
    e.ret();
    EXPECT_EQ(permissions_of(e.getCode()), "rw-p");
    EXPECT_EQ(permissions_of(e.finish().get()), "r-xs");
}

} // namespace
