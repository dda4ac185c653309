// The three promises of eltwise_math.hpp: the errors and the special values that doc/eltwise.md states, and
// oneDNN's bits.
// SPDX-License-Identifier: Apache-2.0
#include "common/eltwise_math.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#if OCTET_HAVE_DNNL
#include <oneapi/dnnl/dnnl.hpp>
#endif

using namespace octet::impl;
using octet::algorithm;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float denormal = 1e-40f;
constexpr float exp_zero = -86.989975f;                        // the largest x whose exp is 0
constexpr float exp_low = -86.9899673f, exp_high = 88.722831f; // between them exp is neither 0 nor inf

// Floats as integers in the order of their values, so that a range can be walked evenly over all exponents.
std::int64_t rank(float x) {
    const std::int64_t magnitude = bits(lane::abs(x));
    return lane::sign(x) ? -magnitude : magnitude;
}

float at_rank(std::int64_t rank) {
    const auto magnitude = static_cast<std::uint32_t>(std::abs(rank));
    return from_bits(rank < 0 ? magnitude | lane::sign_bit : magnitude);
}

bool same_bits(float a, float b) { return (a != a && b != b) || bits(a) == bits(b); }

struct eltwise_case {
    octet::algorithm algorithm;
    float alpha, beta;
    float operator()(float x) const { return eltwise(algorithm, alpha, beta, x); }
};

std::ostream &operator<<(std::ostream &os, const eltwise_case &fn) {
    return os << "algorithm " << static_cast<int>(fn.algorithm) << ", alpha " << fn.alpha << ", beta "
              << fn.beta;
}

// --- 1. Errors ---

using exact_fn = long double (*)(long double x, long double alpha, long double beta);

// For every x in [low, high] the error is at most `ulp` units in the last place of the exact result, or it is
// at most `absolute` (0: no such allowance).
struct error_bound {
    const char *name;
    eltwise_case fn;
    float low, high;
    double ulp, absolute;
    exact_fn exact;
};

void PrintTo(const error_bound &b, std::ostream *os) {
    *os << b.name << " on [" << b.low << ", " << b.high << "]";
}

namespace exact {

using real = long double;

real logistic(real x) { return 1 / (1 + std::exp(-x)); }
real soft_relu(real x) { return std::max<real>(x, 0) + std::log1p(std::exp(-std::abs(x))); }

real elu(real x, real alpha, real) { return x > 0 ? x : alpha * std::expm1(x); }
real exp(real x, real, real) { return std::exp(x); }
real gelu_erf(real x, real, real) { return x * std::erfc(-x * std::sqrt(real(0.5))) / 2; }
real hardswish(real x, real, real) { return x * std::clamp<real>(x + 3, 0, 6) / 6; }
real linear(real x, real alpha, real beta) { return alpha * x + beta; }
real log(real x, real, real) { return std::log(x); }
real logistic(real x, real, real) { return logistic(x); }
real logsigmoid(real x, real, real) { return -soft_relu(-x); }
real pow(real x, real alpha, real beta) { return alpha * std::pow(x, beta); }
real relu(real x, real alpha, real) { return x > 0 ? x : alpha * x; }
real soft_relu(real x, real, real) { return soft_relu(x); }
real soft_relu_v2(real x, real alpha, real) { return soft_relu(alpha * x) / alpha; }
real sqrt(real x, real, real) { return std::sqrt(x); }
real square(real x, real, real) { return x * x; }
real swish(real x, real alpha, real) { return x * logistic(alpha * x); }
real tanh(real x, real, real) { return std::tanh(x); }

real gelu_tanh(real x, real, real) {
    const real pi = std::acos(real(-1));
    return x * logistic(2 * std::sqrt(2 / pi) * (x + real(0.044715) * x * x * x));
}

real erf(real x, real, real) { return std::erf(x); }

// x tanh(ln(1 + e^x)) without cancellation: tanh(ln u) = (u² - 1) / (u² + 1)
real mish(real x, real, real) {
    const real e = std::exp(std::min<real>(x, 100));
    return x * (e * (e + 2)) / (e * (e + 2) + 2);
}

} // namespace exact

const error_bound error_bounds[] = {
    {"relu", {algorithm::eltwise_relu, 0.3f, 0}, -FLT_MAX, FLT_MAX, 0.5, 0, exact::relu},
    {"tanh", {algorithm::eltwise_tanh, 0, 0}, -FLT_MAX, FLT_MAX, 1.22, 0, exact::tanh},
    {"elu", {algorithm::eltwise_elu, 1, 0}, -FLT_MAX, 0, 0, 1.13e-7, exact::elu},
    {"square", {algorithm::eltwise_square, 0, 0}, -1e19f, 1e19f, 0.5, 0, exact::square},
    {"sqrt", {algorithm::eltwise_sqrt, 0, 0}, 0, FLT_MAX, 0.5, 0, exact::sqrt},
    {"linear", {algorithm::eltwise_linear, 0.3f, 0.7f}, -FLT_MAX, FLT_MAX, 0.5, 0, exact::linear},
    {"soft_relu", {algorithm::eltwise_soft_relu, 0, 0}, 0, FLT_MAX, 3.62, 0, exact::soft_relu},
    {"soft_relu", {algorithm::eltwise_soft_relu, 0, 0}, -1, 0, 6.8, 0, exact::soft_relu},
    {"soft_relu", {algorithm::eltwise_soft_relu, 0, 0}, -8, -1, 0, 1.08e-6, exact::soft_relu},
    {"soft_relu", {algorithm::eltwise_soft_relu, 0, 0}, -FLT_MAX, -8, 0, 7.7e-6, exact::soft_relu},
    {"logistic", {algorithm::eltwise_logistic, 0, 0}, exp_low, FLT_MAX, 5.72, 0, exact::logistic},
    {"exp", {algorithm::eltwise_exp, 0, 0}, -1, 1, 1.91, 0, exact::exp},
    {"exp", {algorithm::eltwise_exp, 0, 0}, exp_low, exp_high, 5.72, 0, exact::exp},
    {"gelu_tanh", {algorithm::eltwise_gelu_tanh, 0, 0}, -1, FLT_MAX, 3.85, 0, exact::gelu_tanh},
    {"gelu_tanh", {algorithm::eltwise_gelu_tanh, 0, 0}, -FLT_MAX, -1, 0, 1.6e-7, exact::gelu_tanh},
    {"swish", {algorithm::eltwise_swish, 1, 0}, -64, FLT_MAX, 5.2, 0, exact::swish},
    {"swish", {algorithm::eltwise_swish, 1, 0}, exp_low, -64, 8.1, 0, exact::swish},
    {"log", {algorithm::eltwise_log, 0, 0}, FLT_MIN, FLT_MAX, 7.71, 3.71e-6, exact::log},
    {"pow", {algorithm::eltwise_pow, 1, 0.7f}, 0, FLT_MAX, 0.5001, 0, exact::pow},
    {"pow", {algorithm::eltwise_pow, 1, -3}, -FLT_MAX, FLT_MAX, 0.5001, 0, exact::pow},
    {"pow", {algorithm::eltwise_pow, 1, 1e-3f}, 0, FLT_MAX, 0.5001, 0, exact::pow},
    {"pow", {algorithm::eltwise_pow, 1, 100}, -2, 2, 0.5001, 0, exact::pow},
    {"gelu_erf", {algorithm::eltwise_gelu_erf, 0, 0}, -1, FLT_MAX, 10.1, 0, exact::gelu_erf},
    {"gelu_erf", {algorithm::eltwise_gelu_erf, 0, 0}, -FLT_MAX, -1, 0, 2.61e-7, exact::gelu_erf},
    {"logsigmoid", {algorithm::eltwise_logsigmoid, 0, 0}, -FLT_MAX, 0, 3.62, 0, exact::logsigmoid},
    {"logsigmoid", {algorithm::eltwise_logsigmoid, 0, 0}, 0, 1, 6.8, 0, exact::logsigmoid},
    {"logsigmoid", {algorithm::eltwise_logsigmoid, 0, 0}, 1, 8, 0, 1.08e-6, exact::logsigmoid},
    {"logsigmoid", {algorithm::eltwise_logsigmoid, 0, 0}, 8, FLT_MAX, 0, 7.7e-6, exact::logsigmoid},
    {"mish", {algorithm::eltwise_mish, 0, 0}, -1, FLT_MAX, 4.6, 0, exact::mish},
    {"mish", {algorithm::eltwise_mish, 0, 0}, -FLT_MAX, -1, 0, 1e-6, exact::mish},
    {"hardswish", {algorithm::eltwise_hardswish, 0, 0}, -FLT_MAX, FLT_MAX, 1.88, 0, exact::hardswish},
    {"soft_relu_v2", {algorithm::eltwise_soft_relu_v2, 2, 0}, 0, 1e38f, 3.62, 0, exact::soft_relu_v2},
    {"ort_erf", {algorithm::eltwise_ort_erf, 0, 0}, -FLT_MAX, FLT_MAX, 0.97, 0, exact::erf},
    {"ort_exp", {algorithm::eltwise_ort_exp, 0, 0}, -103.9f, exp_high, 0.87, 0, exact::exp},
    {"ort_gelu_erf", {algorithm::eltwise_ort_gelu_erf, 0, 0}, -1, FLT_MAX, 2.4, 0, exact::gelu_erf},
    {"ort_gelu_erf", {algorithm::eltwise_ort_gelu_erf, 0, 0}, -FLT_MAX, -1, 0, 8.3e-8, exact::gelu_erf},
    {"ort_gelu_tanh", {algorithm::eltwise_ort_gelu_tanh, 0, 0}, -1, FLT_MAX, 5.3, 0, exact::gelu_tanh},
    {"ort_gelu_tanh", {algorithm::eltwise_ort_gelu_tanh, 0, 0}, -5.2f, -1, 0, 8e-7, exact::gelu_tanh},
    {"ort_logistic", {algorithm::eltwise_ort_logistic, 0, 0}, -1, FLT_MAX, 2.4, 0, exact::logistic},
    {"ort_logistic", {algorithm::eltwise_ort_logistic, 0, 0}, -FLT_MAX, -1, 0, 1.5e-7, exact::logistic},
    {"ort_relu", {algorithm::eltwise_ort_relu, 0.3f, 0}, -FLT_MAX, FLT_MAX, 0.5, 0, exact::relu},
    {"ort_tanh", {algorithm::eltwise_ort_tanh, 0, 0}, -FLT_MAX, FLT_MAX, 0, 2.7e-7, exact::tanh},
    {"ort_swish", {algorithm::eltwise_ort_swish, 1, 0}, -1, FLT_MAX, 3.5, 0, exact::swish},
    {"ort_swish", {algorithm::eltwise_ort_swish, 1, 0}, -FLT_MAX, -1, 0, 2.3e-6, exact::swish},
};

class EltwiseError : public testing::TestWithParam<error_bound> {};

// OCTET_TEST_PERCENT=20000 checks the documented figures densely; it takes minutes.
std::int64_t sample_count() { return std::max(std::int64_t{2}, octet::test::problem_count(300'000)); }

TEST_P(EltwiseError, StaysWithinItsDocumentedBound) {
    const error_bound &b = GetParam();
    const std::int64_t first = rank(b.low), count = rank(b.high) - first;
    const std::int64_t samples = std::min(sample_count(), count);
    double worst = 0; // in units of the bound
    float worst_x = 0;
    for (std::int64_t i = 0; i <= samples; i++) {
        const float x = at_rank(first + count * i / samples);
        const float y = b.fn(x);
        const long double exact_y = b.exact(x, b.fn.alpha, b.fn.beta);
        const long double error = std::abs(y - exact_y);
        if (error == 0 || (std::abs(exact_y) > FLT_MAX && std::abs(y) == inf))
            continue;
        const int ulp_exponent = exact_y == 0 ? -149 : std::max(std::ilogb(exact_y) - 23, -149);
        const long double of_bound = std::min(std::ldexp(error, -ulp_exponent) / b.ulp, error / b.absolute);
        if (of_bound > worst) {
            worst = static_cast<double>(of_bound);
            worst_x = x;
        }
    }
    EXPECT_LE(worst, 1) << "at " << worst_x;
    EXPECT_GE(worst, 0.75) << "the bound is too loose to document anything; worst at " << worst_x;
}

INSTANTIATE_TEST_SUITE_P(Documented, EltwiseError, testing::ValuesIn(error_bounds),
                         [](const testing::TestParamInfo<error_bound> &b) {
                             return std::string(b.param.name) + "_" + std::to_string(b.index);
                         });

// --- 2. Special values ---

struct special_value {
    eltwise_case fn;
    float x, expected;
};

const special_value special_values[] = {
    {{algorithm::eltwise_relu, 0, 0}, nan_value, 0},
    {{algorithm::eltwise_relu, 0, 0}, -0.f, 0},
    {{algorithm::eltwise_relu, 0, 0}, -inf, 0},
    {{algorithm::eltwise_relu, 0.5f, 0}, nan_value, nan_value},
    {{algorithm::eltwise_relu, 0.5f, 0}, -0.f, -0.f},
    {{algorithm::eltwise_relu, 0.5f, 0}, -inf, -inf},
    {{algorithm::eltwise_tanh, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_tanh, 0, 0}, -inf, -1},
    {{algorithm::eltwise_tanh, 0, 0}, -0.f, -0.f},
    {{algorithm::eltwise_tanh, 0, 0}, denormal, denormal},
    {{algorithm::eltwise_elu, 2, 0}, nan_value, nan_value},
    {{algorithm::eltwise_elu, 2, 0}, inf, inf},
    {{algorithm::eltwise_elu, 2, 0}, -inf, -2},
    {{algorithm::eltwise_elu, 2, 0}, -0.f, 0},
    {{algorithm::eltwise_square, 0, 0}, -inf, inf},
    {{algorithm::eltwise_square, 0, 0}, denormal, 0},
    {{algorithm::eltwise_abs, 0, 0}, -0.f, 0},
    {{algorithm::eltwise_abs, 0, 0}, -denormal, denormal},
    {{algorithm::eltwise_sqrt, 0, 0}, -1, nan_value},
    {{algorithm::eltwise_sqrt, 0, 0}, -0.f, -0.f},
    {{algorithm::eltwise_linear, 2, 1}, -inf, -inf},
    {{algorithm::eltwise_linear, 0, 1}, inf, nan_value},
    {{algorithm::eltwise_bounded_relu, 6, 0}, nan_value, 0},
    {{algorithm::eltwise_bounded_relu, 6, 0}, -0.f, 0},
    {{algorithm::eltwise_bounded_relu, 6, 0}, inf, 6},
    {{algorithm::eltwise_soft_relu, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_soft_relu, 0, 0}, inf, inf},
    {{algorithm::eltwise_soft_relu, 0, 0}, -inf, 0},
    {{algorithm::eltwise_logistic, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_logistic, 0, 0}, inf, 1},
    {{algorithm::eltwise_logistic, 0, 0}, -inf, 0},
    {{algorithm::eltwise_logistic, 0, 0}, exp_zero, 0},
    {{algorithm::eltwise_logistic, 0, 0}, 0, 0.5f},
    {{algorithm::eltwise_exp, 0, 0}, nan_value, inf},
    {{algorithm::eltwise_exp, 0, 0}, 88.7228394f, inf},
    {{algorithm::eltwise_exp, 0, 0}, -inf, 0},
    {{algorithm::eltwise_exp, 0, 0}, exp_zero, 0},
    {{algorithm::eltwise_exp, 0, 0}, -0.f, 1},
    {{algorithm::eltwise_gelu_tanh, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_gelu_tanh, 0, 0}, inf, inf},
    {{algorithm::eltwise_gelu_tanh, 0, 0}, -inf, nan_value},
    {{algorithm::eltwise_gelu_tanh, 0, 0}, -0.f, -0.f},
    {{algorithm::eltwise_swish, 1, 0}, -inf, nan_value},
    {{algorithm::eltwise_swish, 1, 0}, -100, -0.f},
    {{algorithm::eltwise_log, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_log, 0, 0}, inf, inf},
    {{algorithm::eltwise_log, 0, 0}, -0.f, -inf},
    {{algorithm::eltwise_log, 0, 0}, -denormal, nan_value},
    {{algorithm::eltwise_log, 0, 0}, 1, -0x1.8p-20f},
    {{algorithm::eltwise_log, 0, 0}, FLT_TRUE_MIN, -0x1.601e68p+6f},
    {{algorithm::eltwise_clip, -2, 3}, nan_value, -2},
    {{algorithm::eltwise_clip, -2, 3}, inf, 3},
    {{algorithm::eltwise_clip_v2, 0, 3}, -0.f, 0},
    {{algorithm::eltwise_ort_clip, 0, 3}, nan_value, nan_value},
    {{algorithm::eltwise_ort_clip, 0, 3}, -0.f, -0.f},
    {{algorithm::eltwise_ort_clip, -0.f, 3}, 0, 0},
    {{algorithm::eltwise_ort_clip, nan_value, 3}, -inf, -inf},
    {{algorithm::eltwise_ort_clip, 3, 1}, -1, 1},
    {{algorithm::eltwise_ort_relu, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_ort_relu, 0, 0}, -0.f, -0.f},
    {{algorithm::eltwise_ort_relu, 0, 0}, -inf, 0},
    {{algorithm::eltwise_ort_relu, -0.5f, 0}, -0.f, -0.f},
    {{algorithm::eltwise_ort_relu, -0.5f, 0}, -inf, inf},
    {{algorithm::eltwise_pow, 3, 0}, nan_value, 3},
    {{algorithm::eltwise_pow, 1, 0.5f}, -0.f, -0.f},
    {{algorithm::eltwise_pow, 1, 0.5f}, -inf, nan_value},
    {{algorithm::eltwise_pow, 2, -1}, -0.f, -inf},
    {{algorithm::eltwise_pow, 1, 0.7f}, -0.f, 0},
    {{algorithm::eltwise_pow, 1, 0.7f}, -inf, inf},
    {{algorithm::eltwise_pow, 1, 0.7f}, -denormal, nan_value},
    {{algorithm::eltwise_pow, 1, -3}, -0.f, -inf},
    {{algorithm::eltwise_pow, 1, -3}, -inf, -0.f},
    {{algorithm::eltwise_pow, 1, -3}, -2, -0.125f},
    {{algorithm::eltwise_pow, 1, 4}, -2, 16},
    {{algorithm::eltwise_pow, 1, inf}, 0.5f, 0},
    {{algorithm::eltwise_pow, 1, inf}, -1, 1},
    {{algorithm::eltwise_pow, 1, nan_value}, 1, 1},
    {{algorithm::eltwise_pow, 1, nan_value}, 2, nan_value},
    {{algorithm::eltwise_gelu_erf, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_gelu_erf, 0, 0}, inf, inf},
    {{algorithm::eltwise_gelu_erf, 0, 0}, -inf, nan_value},
    {{algorithm::eltwise_gelu_erf, 0, 0}, -0.f, 0},
    {{algorithm::eltwise_round, 0, 0}, 2.5f, 2},
    {{algorithm::eltwise_round, 0, 0}, -0.5f, -0.f},
    {{algorithm::eltwise_round, 0, 0}, -inf, -inf},
    {{algorithm::eltwise_logsigmoid, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_logsigmoid, 0, 0}, inf, -0.f},
    {{algorithm::eltwise_logsigmoid, 0, 0}, -inf, -inf},
    {{algorithm::eltwise_mish, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_mish, 0, 0}, inf, inf},
    {{algorithm::eltwise_mish, 0, 0}, -inf, nan_value},
    {{algorithm::eltwise_hardswish, 0, 0}, nan_value, nan_value},
    {{algorithm::eltwise_hardswish, 0, 0}, inf, inf},
    {{algorithm::eltwise_hardswish, 0, 0}, -inf, nan_value},
    {{algorithm::eltwise_hardswish, 0, 0}, -4, -0.f},
};

TEST(EltwiseSpecialValues, AreTheDocumentedOnes) {
    for (const special_value &v : special_values)
        EXPECT_TRUE(same_bits(v.fn(v.x), v.expected))
            << v.fn << ": f(" << v.x << ") = " << v.fn(v.x) << ", expected " << v.expected;
}

TEST(EltwiseTables, LogTableIsDerivedFromTheIntervalCentres) {
    for (int i = 0; i < 32; i++) {
        const double centre = (1 + (i + 0.5) / 32) / (i < 16 ? 1 : 2);
        const double unit = centre > 1 ? 32 : 16; // 5 significant bits
        const double reciprocal = std::nearbyint(unit / centre) / unit;
        const auto offset = static_cast<float>(-std::log(reciprocal) - 127 * std::log(2.));
        EXPECT_EQ(eltwise_constants::log_reciprocal[i], reciprocal) << i;
        EXPECT_EQ(eltwise_constants::log_offset[i], bits(offset)) << i;
    }
}

// --- 3. oneDNN's bits ---

#if OCTET_HAVE_DNNL

struct dnnl_case {
    eltwise_case fn;
    dnnl::algorithm algorithm;
};

void PrintTo(const dnnl_case &c, std::ostream *os) { *os << c.fn; }

const dnnl_case dnnl_cases[] = {
    {{algorithm::eltwise_relu, 0, 0}, dnnl::algorithm::eltwise_relu},
    {{algorithm::eltwise_relu, -1.7f, 0}, dnnl::algorithm::eltwise_relu},
    {{algorithm::eltwise_tanh, 0, 0}, dnnl::algorithm::eltwise_tanh},
    {{algorithm::eltwise_elu, 0.3f, 0}, dnnl::algorithm::eltwise_elu},
    {{algorithm::eltwise_square, 0, 0}, dnnl::algorithm::eltwise_square},
    {{algorithm::eltwise_abs, 0, 0}, dnnl::algorithm::eltwise_abs},
    {{algorithm::eltwise_sqrt, 0, 0}, dnnl::algorithm::eltwise_sqrt},
    {{algorithm::eltwise_linear, 0.3f, 0.7f}, dnnl::algorithm::eltwise_linear},
    {{algorithm::eltwise_bounded_relu, 6, 0}, dnnl::algorithm::eltwise_bounded_relu},
    {{algorithm::eltwise_soft_relu, 0, 0}, dnnl::algorithm::eltwise_soft_relu},
    {{algorithm::eltwise_logistic, 0, 0}, dnnl::algorithm::eltwise_logistic},
    {{algorithm::eltwise_exp, 0, 0}, dnnl::algorithm::eltwise_exp},
    {{algorithm::eltwise_gelu_tanh, 0, 0}, dnnl::algorithm::eltwise_gelu_tanh},
    {{algorithm::eltwise_swish, 1, 0}, dnnl::algorithm::eltwise_swish},
    {{algorithm::eltwise_swish, -0.3f, 0}, dnnl::algorithm::eltwise_swish},
    {{algorithm::eltwise_log, 0, 0}, dnnl::algorithm::eltwise_log},
    {{algorithm::eltwise_clip, -1, 1}, dnnl::algorithm::eltwise_clip},
    {{algorithm::eltwise_clip_v2, 0.3f, 6}, dnnl::algorithm::eltwise_clip_v2},
    {{algorithm::eltwise_pow, 0.3f, 0}, dnnl::algorithm::eltwise_pow},
    {{algorithm::eltwise_pow, 0.3f, 1}, dnnl::algorithm::eltwise_pow},
    {{algorithm::eltwise_pow, 0.3f, 2}, dnnl::algorithm::eltwise_pow},
    {{algorithm::eltwise_pow, 0.3f, 0.5f}, dnnl::algorithm::eltwise_pow},
    {{algorithm::eltwise_pow, 0.3f, -1}, dnnl::algorithm::eltwise_pow},
    {{algorithm::eltwise_gelu_erf, 0, 0}, dnnl::algorithm::eltwise_gelu_erf},
    {{algorithm::eltwise_round, 0, 0}, dnnl::algorithm::eltwise_round},
    {{algorithm::eltwise_logsigmoid, 0, 0}, dnnl::algorithm::eltwise_logsigmoid},
    {{algorithm::eltwise_mish, 0, 0}, dnnl::algorithm::eltwise_mish},
    {{algorithm::eltwise_hardswish, 0, 0}, dnnl::algorithm::eltwise_hardswish},
};

std::vector<float> dnnl_eltwise(const dnnl_case &c, std::vector<float> &src) {
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const dnnl::memory::desc md({static_cast<dnnl::memory::dim>(src.size())}, dnnl::memory::data_type::f32,
                                dnnl::memory::format_tag::a);
    const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, c.algorithm, md, c.fn.alpha,
                                           c.fn.beta);
    std::vector<float> dst(src.size());
    dnnl::memory src_memory(md, engine, src.data()), dst_memory(md, engine, dst.data());
    dnnl::eltwise_forward(dnnl::eltwise_forward::primitive_desc(desc, engine))
        .execute(stream, {{DNNL_ARG_SRC, src_memory}, {DNNL_ARG_DST, dst_memory}});
    stream.wait();
    return dst;
}

// Every exponent and sign with many significands (the stride is odd), and the values around every threshold.
std::vector<float> dense_inputs() {
    std::vector<float> x;
    for (std::uint64_t u = 0; u < 1ull << 32; u += 8191)
        x.push_back(from_bits(static_cast<std::uint32_t>(u)));
    for (const float t : {0.f, FLT_TRUE_MIN, FLT_MIN, FLT_MAX, inf, 1.f, 2.f, 3.f, 6.f,
                          eltwise_constants::exp_max, eltwise_constants::exp_min, eltwise_constants::mish_max,
                          exp_zero, eltwise_constants::tanh_linear_below, eltwise_constants::tanh_one_above})
        for (const float near : {std::nextafter(t, -inf), t, std::nextafter(t, inf)})
            x.insert(x.end(), {near, -near});
    return x;
}

bool dnnl_runs_avx512() { return __builtin_cpu_supports("avx512vnni"); }

class EltwiseDnnl : public testing::TestWithParam<dnnl_case> {};

TEST_P(EltwiseDnnl, GivesTheSameBits) {
    if (!dnnl_runs_avx512())
        GTEST_SKIP() << "oneDNN runs another sequence on a CPU without AVX512-VNNI";
    std::vector<float> src = dense_inputs();
    const std::vector<float> expected = dnnl_eltwise(GetParam(), src);
    int differences = 0;
    for (std::size_t i = 0; i < src.size(); i++) {
        const float y = GetParam().fn(src[i]);
        if (!same_bits(y, expected[i]) && differences++ == 0)
            ADD_FAILURE() << "f(" << src[i] << ") = " << y << ", oneDNN " << expected[i];
    }
    EXPECT_EQ(differences, 0);
}

INSTANTIATE_TEST_SUITE_P(All, EltwiseDnnl, testing::ValuesIn(dnnl_cases));

// oneDNN calls powf of the C library, whose last bit is its own affair.
TEST(EltwiseDnnlPow, DiffersByAtMostOneUlpOnFewInputs) {
    if (!dnnl_runs_avx512())
        GTEST_SKIP() << "oneDNN runs another sequence on a CPU without AVX512-VNNI";
    std::vector<float> src = dense_inputs();
    for (const float beta : {0.7f, 3.f, -2.f, 1e-3f}) {
        const dnnl_case c = {{algorithm::eltwise_pow, 1, beta}, dnnl::algorithm::eltwise_pow};
        const std::vector<float> expected = dnnl_eltwise(c, src);
        std::size_t differences = 0;
        for (std::size_t i = 0; i < src.size(); i++) {
            const float y = c.fn(src[i]);
            if (same_bits(y, expected[i]))
                continue;
            differences++;
            EXPECT_LE(std::abs(rank(y) - rank(expected[i])), 1) << "pow(" << src[i] << ", " << beta << ")";
        }
        EXPECT_LE(differences, src.size() / 1000) << beta;
    }
}

#endif

} // namespace
