// Emitted element-wise functions equal their scalar definitions bit for bit, on every ISA level of this
// machine.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/eltwise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <iterator>
#include <limits>
#include <list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "common/eltwise_math.hpp"
#include "jit/base/dry_run.hpp"
#include "jit/base/key.hpp"
#include "support/algorithms.hpp"
#include "support/levels.hpp"

using namespace octet;
using namespace octet::impl;
using namespace octet::impl::jit;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

struct eltwise_case {
    const char *name;
    algorithm alg;
    float alpha, beta;
    float operator()(float x) const { return eltwise(alg, alpha, beta, x); }
};

std::ostream &operator<<(std::ostream &os, const eltwise_case &c) {
    return os << c.name << " with alpha " << c.alpha << ", beta " << c.beta;
}

const eltwise_case cases[] = {
    {"relu", algorithm::eltwise_relu, 0, 0},
    {"relu", algorithm::eltwise_relu, -0.f, 0},
    {"relu", algorithm::eltwise_relu, 0.3f, 0},
    {"relu", algorithm::eltwise_relu, -1.7f, 0},
    {"relu", algorithm::eltwise_relu, nan_value, 0},
    {"tanh", algorithm::eltwise_tanh, 0, 0},
    {"elu", algorithm::eltwise_elu, 1, 0},
    {"elu", algorithm::eltwise_elu, -0.3f, 0},
    {"square", algorithm::eltwise_square, 0, 0},
    {"abs", algorithm::eltwise_abs, 0, 0},
    {"sqrt", algorithm::eltwise_sqrt, 0, 0},
    {"linear", algorithm::eltwise_linear, 0.3f, 0.7f},
    {"linear", algorithm::eltwise_linear, 0, -1},
    {"linear", algorithm::eltwise_linear, -3e38f, 1e-40f},
    {"bounded_relu", algorithm::eltwise_bounded_relu, 6, 0},
    {"bounded_relu", algorithm::eltwise_bounded_relu, -1, 0},
    {"soft_relu", algorithm::eltwise_soft_relu, 0, 0},
    {"logistic", algorithm::eltwise_logistic, 0, 0},
    {"exp", algorithm::eltwise_exp, 0, 0},
    {"gelu_tanh", algorithm::eltwise_gelu_tanh, 0, 0},
    {"swish", algorithm::eltwise_swish, 1, 0},
    {"swish", algorithm::eltwise_swish, -0.3f, 0},
    {"log", algorithm::eltwise_log, 0, 0},
    {"clip", algorithm::eltwise_clip, -1, 1},
    {"clip", algorithm::eltwise_clip, 2, -2},
    {"clip_v2", algorithm::eltwise_clip_v2, 0.3f, 6},
    {"pow", algorithm::eltwise_pow, 0.3f, 0},
    {"pow", algorithm::eltwise_pow, 0.3f, 1},
    {"pow", algorithm::eltwise_pow, 0.3f, 2},
    {"pow", algorithm::eltwise_pow, 0.3f, 0.5f},
    {"pow", algorithm::eltwise_pow, 0.3f, -1},
    {"pow", algorithm::eltwise_pow, 1, 0.7f},
    {"pow", algorithm::eltwise_pow, -0.3f, -0.7f},
    {"pow", algorithm::eltwise_pow, 1, 3},
    {"pow", algorithm::eltwise_pow, 2, -4},
    {"pow", algorithm::eltwise_pow, 1, 1e-3f},
    {"pow", algorithm::eltwise_pow, 1, 1e30f},
    {"pow", algorithm::eltwise_pow, 1, inf},
    {"pow", algorithm::eltwise_pow, 1, -inf},
    {"pow", algorithm::eltwise_pow, 1, nan_value},
    {"gelu_erf", algorithm::eltwise_gelu_erf, 0, 0},
    {"round", algorithm::eltwise_round, 0, 0},
    {"logsigmoid", algorithm::eltwise_logsigmoid, 0, 0},
    {"mish", algorithm::eltwise_mish, 0, 0},
    {"hardswish", algorithm::eltwise_hardswish, 0, 0},
    {"soft_relu_v2", algorithm::eltwise_soft_relu_v2, 2, 0},
    {"soft_relu_v2", algorithm::eltwise_soft_relu_v2, -0.3f, 0},
    {"ort_clip", algorithm::eltwise_ort_clip, -1, 1},
    {"ort_clip", algorithm::eltwise_ort_clip, 2, -2},
    {"ort_clip", algorithm::eltwise_ort_clip, -inf, 0},
    {"ort_clip", algorithm::eltwise_ort_clip, nan_value, inf},
    {"ort_clip", algorithm::eltwise_ort_clip, -0.f, nan_value},
    {"ort_erf", algorithm::eltwise_ort_erf, 0, 0},
    {"ort_exp", algorithm::eltwise_ort_exp, 0, 0},
    {"ort_gelu_erf", algorithm::eltwise_ort_gelu_erf, 0, 0},
    {"ort_gelu_tanh", algorithm::eltwise_ort_gelu_tanh, 0, 0},
    {"ort_logistic", algorithm::eltwise_ort_logistic, 0, 0},
    {"ort_relu", algorithm::eltwise_ort_relu, 0, 0},
    {"ort_relu", algorithm::eltwise_ort_relu, 0.3f, 0},
    {"ort_relu", algorithm::eltwise_ort_relu, -0.3f, 0},
    {"ort_relu", algorithm::eltwise_ort_relu, nan_value, 0},
    {"ort_tanh", algorithm::eltwise_ort_tanh, 0, 0},
    {"ort_swish", algorithm::eltwise_ort_swish, 1.702f, 0},
};

TEST(EltwiseJitCases, CoverEveryAlgorithm) {
    for (const algorithm alg : octet::test::algorithms_of("eltwise_"))
        EXPECT_TRUE(std::any_of(std::begin(cases), std::end(cases), [&](const eltwise_case &c) {
            return c.alg == alg;
        })) << to_string(alg);
}

/// Vector registers that f takes besides x.
int temps_of(cpu_isa level, const eltwise_case &c) {
    return count_registers({level}, key_writer().add(c.alg, c.alpha, c.beta).key(),
                           [&](emitter &e) {
                               const emitter::temp x(e);
                               emit_eltwise(e, c.alg, c.alpha, c.beta, x);
                           }) -
           1;
}

/// dst[i] = f(src[i]) for whole vectors, with as many free vector registers as f takes, plus `spare_vecs`.
class array_kernel : public emitter {
public:
    array_kernel(cpu_isa level, const eltwise_case &c, int spare_vecs = 0) : emitter({level}) {
        const vec x = take_vec();
        std::list<temp> taken;
        while (free_vecs() > temps_of(level, c) + spare_vecs)
            taken.emplace_back(*this);
        preamble();
        Xbyak::Label next;
        L(next);
        move(x, ptr[rdi]);
        const int before = free_vecs();
        emit_eltwise(*this, c.alg, c.alpha, c.beta, x);
        EXPECT_EQ(free_vecs(), before) << "not all registers were given back";
        vmovups(ptr[rsi], x);
        add(rdi, vector_bytes());
        add(rsi, vector_bytes());
        sub(rdx, 1);
        jnz(next, T_NEAR);
        postamble();
    }

    std::vector<float> run(const std::vector<float> &src) {
        const auto code = finish();
        const auto kernel = reinterpret_cast<void (*)(const float *, float *, std::size_t)>(
            reinterpret_cast<std::uintptr_t>(code.get()));
        std::vector<float> dst(src.size());
        kernel(src.data(), dst.data(), src.size() / static_cast<std::size_t>(lanes()));
        return dst;
    }
};

// Every exponent and sign with many significands (the stride is odd; NaNs too), and the values around every threshold.
std::vector<float> dense_inputs() {
    using namespace eltwise_constants;
    std::vector<float> x;
    for (std::uint64_t u = 0; u < std::uint64_t{1} << 32; u += 4093)
        x.push_back(from_bits(static_cast<std::uint32_t>(u)));
    for (const float t : {0.f,
                          FLT_TRUE_MIN,
                          FLT_MIN,
                          FLT_MAX,
                          infinity,
                          nan_value,
                          0.5f,
                          1.f,
                          1.5f,
                          2.f,
                          2.5f,
                          3.f,
                          6.f,
                          exp_max,
                          exp_min,
                          mish_max,
                          86.9899673f,
                          tanh_linear_below,
                          tanh_one_above,
                          ort_exp_min,
                          176.f, // emit_ort_exp computes with at least -176, at 16 lanes -710
                          710.f,
                          ort_exp_max,
                          ort_erf_split,
                          ort_erf_limit,
                          ort_logistic_limit,
                          ort_tanh_limit})
        for (const float near : {std::nextafter(t, -infinity), t, std::nextafter(t, infinity)})
            x.insert(x.end(), {near, -near});
    x.resize((x.size() + 15) / 16 * 16);
    return x;
}

bool same_bits(float a, float b) { return bits(a) == bits(b); }

class EltwiseJit : public testing::TestWithParam<std::tuple<std::size_t, cpu_isa>> {
protected:
    const eltwise_case &fn() const { return cases[std::get<0>(GetParam())]; }
    cpu_isa level() const { return std::get<1>(GetParam()); }

    static const std::vector<float> &src() {
        static const std::vector<float> inputs = dense_inputs();
        return inputs;
    }

    /// The scalar results, kept for the other levels of the same case, which come next.
    const std::vector<float> &expected() const {
        static std::vector<float> results;
        static const eltwise_case *results_of = nullptr;
        if (results_of != &fn()) {
            results.resize(src().size());
            std::transform(src().begin(), src().end(), results.begin(), fn());
            results_of = &fn();
        }
        return results;
    }
};

TEST_P(EltwiseJit, EqualsTheScalarDefinition) {
    const std::vector<cpu_isa> available = get_available_cpu_isas();
    if (std::find(available.begin(), available.end(), level()) == available.end())
        GTEST_SKIP() << "this machine has no " << to_string(level());
    const std::vector<float> y = array_kernel(level(), fn()).run(src());
    std::size_t differences = 0;
    for (std::size_t i = 0; i < y.size(); i++)
        if (!same_bits(y[i], expected()[i]) && differences++ == 0)
            ADD_FAILURE() << fn() << ": f(" << src()[i] << ") = " << y[i] << ", scalar " << expected()[i];
    EXPECT_EQ(differences, 0u);
}

// Emission needs no CPU of the level.
TEST_P(EltwiseJit, NeedsAllTheRegistersThatAreCounted) {
    EXPECT_NO_THROW(array_kernel(level(), fn()));
    if (temps_of(level(), fn()) > 0) {
        EXPECT_THROW(array_kernel(level(), fn(), -1), std::logic_error);
    }
}

std::string test_name(const testing::TestParamInfo<EltwiseJit::ParamType> &info) {
    const std::size_t index = std::get<0>(info.param);
    return cases[index].name + ("_" + std::to_string(index)) + "_" + to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(AllLevels, EltwiseJit,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(cases)),
                                          testing::ValuesIn(generated_levels())),
                         test_name);

} // namespace
