// Bytes don't depend on the caller's float environment, nor on that of the pool's threads, and the caller's
// is the same afterwards.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <xmmintrin.h>

#include "octet/octet.hpp"

using namespace octet;

namespace {

struct environment {
    const char *name;
    unsigned mxcsr;
};
constexpr environment environments[] = {
    {"flush to zero", 0x9f80},
    {"denormals are zero", 0x1fc0},
    {"both, as -ffast-math sets", 0x9fc0},
    {"down", 0x3f80},
    {"up", 0x5f80},
    {"towards zero", 0x7f80},
    {"inexact trapped", 0x0f80},
    {"sticky flags set", 0x1fbf},
};

/// While it exists, this thread has that environment.
class scoped_environment {
public:
    explicit scoped_environment(unsigned mxcsr) : before_(_mm_getcsr()), set_(mxcsr) { _mm_setcsr(mxcsr); }
    ~scoped_environment() {
        EXPECT_EQ(_mm_getcsr(), set_) << "the caller's environment was changed";
        _mm_setcsr(before_);
    }

private:
    const unsigned before_, set_;
};

const engine cpu(engine::kind::cpu, 0);
constexpr dim_t rows = 256, columns = 256;
const memory::desc tensor({rows, columns}, data_type::f32, format_tag::ab);

/// Denormals, numbers whose products and sums round, and large ones.
std::vector<float> numbers(int seed) {
    std::vector<float> values(rows * columns);
    std::uint32_t state = static_cast<std::uint32_t>(seed);
    for (std::size_t i = 0; i < values.size(); i++) {
        state = state * 1664525u + 1013904223u;
        const float unit = static_cast<float>(state >> 8) * 0x1p-23f - 1.f;
        values[i] = unit * (i % 3 == 0 ? 0x1p-127f : i % 3 == 1 ? 3.3f : 1e3f);
    }
    return values;
}

using bytes = std::vector<unsigned char>;

/// Creates and runs in this environment; what `create` gives is a primitive with `count` sources.
template <typename Create> bytes run(const Create &create, const memory::desc &dst_desc, int threads) {
    static std::vector<float> a = numbers(1), b = numbers(2); // made in the default environment
    bytes result(dst_desc.get_size());
    const memory src(tensor, cpu, a.data()), src1(tensor, cpu, b.data()), dst(dst_desc, cpu, result.data());
    set_num_threads(threads);
    const primitive p = create();
    p.execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_SRC_1, src1}, {OCTET_ARG_DST, dst}});
    set_num_threads(0);
    return result;
}

template <typename Create>
void expect_equal_everywhere(const Create &create, const memory::desc &dst = tensor) {
    set_primitive_cache_capacity(0); // kernels are made in each environment, too
    const bytes expected = run(create, dst, 1);
    for (const environment &e : environments)
        for (const int threads : {1, 2, 4}) {
            bytes got;
            {
                const scoped_environment scope(e.mxcsr);
                got = run(create, dst, threads);
            }
            EXPECT_TRUE(got == expected) << e.name << ", " << threads << " threads";
        }
    set_primitive_cache_capacity(std::size_t{64} << 20);
}

class float_environment : public testing::TestWithParam<cpu_isa> {
protected:
    void SetUp() override { set_max_cpu_isa(GetParam()); }
    void TearDown() override { set_max_cpu_isa(cpu_isa::all); }
};

TEST_P(float_environment, eltwise) {
    for (const algorithm alg :
         {algorithm::eltwise_linear, algorithm::eltwise_logistic, algorithm::eltwise_square})
        expect_equal_everywhere([=] {
            return eltwise_forward(eltwise_forward::primitive_desc(cpu, prop_kind::forward_inference, alg,
                                                                   tensor, tensor, 0.7f, 0x1p-130f));
        });
}

TEST_P(float_environment, binary_with_scales) {
    primitive_attr attr;
    attr.set_scales(OCTET_ARG_SRC_0, 0, {0.3f});
    expect_equal_everywhere([=] {
        return binary(binary::primitive_desc(cpu, algorithm::binary_add, tensor, tensor, tensor, attr));
    });
}

TEST_P(float_environment, softmax) {
    expect_equal_everywhere([] {
        return softmax_forward(softmax_forward::primitive_desc(
            cpu, prop_kind::forward_inference, algorithm::softmax_accurate, tensor, tensor, 1));
    });
}

TEST_P(float_environment, quantization) {
    primitive_attr attr;
    attr.set_output_scales(0, {1.f / 3});
    const memory::desc codes({rows, columns}, data_type::s8, format_tag::ab);
    expect_equal_everywhere([=] { return reorder(reorder::primitive_desc(cpu, tensor, cpu, codes, attr)); },
                            codes);
}

/// Products whose results leave through f32 scales, with a denormal among them, and through a rule in f64.
TEST_P(float_environment, matmul) {
    set_primitive_cache_capacity(0);
    const memory::desc x({64, 80}, data_type::u8, format_tag::ab), w({80, 96}, data_type::s8, format_tag::ab);
    std::vector<std::uint8_t> src(64 * 80);
    std::vector<std::int8_t> weights(80 * 96);
    for (std::size_t i = 0; i < src.size(); i++)
        src[i] = static_cast<std::uint8_t>(i * 37);
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] = static_cast<std::int8_t>(i * 91);
    for (const bool in_f64 : {false, true}) {
        const memory::desc y({64, 96}, in_f64 ? data_type::s8 : data_type::f32, format_tag::ab);
        primitive_attr attr;
        if (in_f64)
            attr.set_requantization(requantization_rule::f64_scale, 0, std::vector<double>{0.00137});
        else
            attr.set_output_scales(0, {0x1p-140f});
        const auto result = [&](int threads) {
            bytes dst(y.get_size());
            set_num_threads(threads);
            matmul(matmul::primitive_desc(cpu, x, w, y, attr))
                .execute(stream(cpu), {{OCTET_ARG_SRC, memory(x, cpu, src.data())},
                                       {OCTET_ARG_WEIGHTS, memory(w, cpu, weights.data())},
                                       {OCTET_ARG_DST, memory(y, cpu, dst.data())}});
            set_num_threads(0);
            return dst;
        };
        const bytes expected = result(1);
        for (const environment &e : environments)
            for (const int threads : {1, 3}) {
                const scoped_environment scope(e.mxcsr);
                EXPECT_TRUE(result(threads) == expected) << e.name << ", " << threads << " threads";
            }
    }
    set_primitive_cache_capacity(std::size_t{64} << 20);
}

INSTANTIATE_TEST_SUITE_P(levels, float_environment, testing::ValuesIn(get_available_cpu_isas()),
                         [](const auto &level) { return std::string(to_string(level.param)); });

/// Scales that come from a framework are turned into parameters of a rule by float arithmetic, too.
TEST(float_environment_of_derivations, parameters_are_the_same) {
    const auto derive = [] {
        std::vector<double> all;
        const auto add = [&](const fixed_point_multiplier &m) {
            all.insert(all.end(), {double(m.multiplier), double(m.shift), double(m.offset)});
        };
        for (const auto how : {scale_derivation::tflite_f64, scale_derivation::tflite_f32prod,
                               scale_derivation::caffe2_f32, scale_derivation::snps_onnx_per_channel})
            all.push_back(real_multiplier(how, 0.1f, 0.3f, 0.7f));
        all.push_back(real_multiplier(scale_derivation::ort_f32, 0x1p-100f, 0x1.8p-40f, 3.f));
        for (const auto rule : {requantization_rule::tflite_2step, requantization_rule::rounded_shift,
                                requantization_rule::caffe2_2step, requantization_rule::ev_rte15})
            add(from_double(rule, 0.00317));
        const dynamic_quantization d = dynamic_quantization_of(-1.3f, 2.9f);
        all.insert(all.end(), {double(d.scale), double(d.zero_point)});
        const add_multipliers m = add_multipliers_of(requantization_rule::tflite_2step, 0.1f, 0.3f, 0.7f);
        add(m.a), add(m.b), add(m.dst);
        const qlinear_add_factors f = qlinear_add_factors_of(0.1f, 3, 0.3f, 5, 0.7f, 7);
        all.insert(all.end(), {double(f.scale_a), double(f.scale_b), double(f.shift)});
        return all;
    };
    const std::vector<double> expected = derive();
    for (const environment &e : environments) {
        std::vector<double> got;
        {
            const scoped_environment scope(e.mxcsr);
            got = derive();
        }
        EXPECT_EQ(got, expected) << e.name;
    }
}

/// oneTBB complains on the standard error stream when an arena asks for more threads than it would start.
TEST(threads, more_than_cpus_are_used_without_a_word) {
    testing::internal::CaptureStderr();
    const auto create = [] {
        return eltwise_forward(eltwise_forward::primitive_desc(cpu, prop_kind::forward_inference,
                                                               algorithm::eltwise_relu, tensor, tensor));
    };
    const bytes expected = run(create, tensor, 1);
    for (const int threads : {3, 16, 300})
        EXPECT_TRUE(run(create, tensor, threads) == expected);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
