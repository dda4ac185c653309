// Problems that generated code takes in several steps, against the reference: bytes on every level, on 1, 2
// and 3 threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

/// Random contents of every argument; 16-bit floats of moderate size, since no NaN has known bits.
std::unordered_map<int, memory> random_arguments(random_source &r, const primitive_desc &pd) {
    std::unordered_map<int, memory> args;
    for (const int arg : pd.args()) {
        const memory::desc md = pd.arg_desc(arg);
        memory m(md, eng());
        r.fill(m);
        auto *words = static_cast<std::uint16_t *>(m.get_data_handle());
        for (std::size_t i = 0; (md.data_type() == data_type::bf16 || md.data_type() == data_type::f16) &&
                                i < md.get_size() / sizeof *words;
             i++)
            words[i] = static_cast<std::uint16_t>(r.between(0x3800, 0x4300) | (r.chance(50) ? 0x8000 : 0));
        args[arg] = m;
    }
    return args;
}

bytes run(const std::string &problem, std::unordered_map<int, memory> args, std::string &implementation) {
    const primitive_desc pd = primitive_desc_from_string(problem, eng());
    implementation = pd.impl_info_str();
    const memory before = args.at(OCTET_ARG_DST), dst(before.get_desc(), eng());
    const std::size_t size = dst.get_desc().get_size();
    std::memcpy(dst.get_data_handle(), before.get_data_handle(), size);
    args[OCTET_ARG_DST] = dst;
    primitive(pd).execute(stream(eng()), args);
    const auto *result = static_cast<const std::uint8_t *>(dst.get_data_handle());
    return bytes(result, result + size);
}

void expect_reference(const std::string &problem, const std::unordered_map<int, memory> &args) {
    std::string implementation;
    set_max_cpu_isa(cpu_isa::ref);
    const bytes expected = run(problem, args, implementation);
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int threads : {1, 2, 3}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            EXPECT_EQ(difference(expected, run(problem, args, implementation)), "")
                << problem << ": " << implementation << ", " << threads << " threads";
            EXPECT_EQ(implementation == "ref", level == cpu_isa::ref) << problem;
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

TEST(Compositions, EqualReference) {
    const std::string pooling = "pooling src:u8:2x69x9x8:nhwc dst:u8:2x69x4x4:nhwc kernel:3x2 strides:2x2 ",
                      pooling_s8 =
                          "pooling src:s8:2x69x9x8:nchw dst:s8:2x69x4x4:nchw kernel:3x2 strides:2x2 ";
    const std::string problems[] = {
        pooling + "post_op:binary_add:f32:1x1x4x4:nhwc",
        pooling + "post_op:eltwise_relu:0.5:0:1 post_op:binary_mul:f32:2x69x4x4:nhwc",
        pooling_s8 + "post_op:binary_add:f32:1x69x1x1:nhwc post_op:sum:0.5:0:undef",
        pooling_s8 + "algorithm:pooling_avg_exclude_padding post_op:binary_max:s8:1x1x4x4:nchw",
        pooling + "algorithm:pooling_avg_include_padding post_op:binary_add:f32:2x1x1x1:nhwc",
        "binary src:u8:2x37x14x9:nhwc src1:s8:2x37x14x9:nchw dst:u8:2x37x14x9:nhwc",
        "binary src:u8:2x37x14x9:nchw src1:f32:1x37x14x1:nchw dst:f32:2x37x14x9:nhwc "
        "post_op:binary_mul:f32:2x37x14x9:nchw",
        "prelu src:u8:2x37x5x9:nchw weights:f32:2x37x5x9:nhwc dst:s8:2x37x5x9:nhwc",
        "sum src0:u8:19x64:ab src1:f32:19x64:ba dst:u8:19x64:ab",
        "softmax src:u8:2x37x14x9:nchw dst:f32:2x37x14x9:nhwc",
        "softmax axis:1 src:f32:19x64:ba dst:f32:19x64:ab",
        "resampling algorithm:resampling_linear src:u8:2x37x3x4x5:ndhwc dst:s8:2x37x5x7x9:ndhwc "
        "post_op:binary_add:f32:1x37x1x1x1:ndhwc",
        "resampling algorithm:resampling_linear src:s8:2x37x3x4x5:ncdhw dst:f32:2x37x5x7x9:ncdhw",
        "reorder src:bf16:19x67:ab dst:f32:19x67:ab",
        "reorder src:bf16:19x67:ab dst:u8:19x67:ba output_scales:0:7",
        "reorder src:f16:19x67:ab dst:f32:19x67:ba",
        "reorder src:bf16:19x67:ab dst:bf16:19x67:ba",
        "reorder src:f32:2x40x9x7:nchw dst:f16:2x40x9x7:nhwc",
        "reorder src:s16:19x67:ab dst:s16:19x67:ba",
        "convolution src:u8:2x24x9x9:nhwc weights:s8:40x24x3x3:oihw padding_l:1x1 dst:bf16:2x40x9x9:nchw",
        "convolution src:u8:2x24x9x9:nhwc weights:s8:40x24x3x3:oihw padding_l:1x1 dst:s32:2x40x9x9:nhwc "
        "rule:ort_f32 "
        "output_scales:0:1000000 zero_points:dst:0:-2000000000",
        "convolution src:u8:2x24x9x9:nhwc weights:s8:40x24x3x3:oihw padding_l:1x1 dst:s32:2x40x9x9:nhwc "
        "rule:ort_f32 "
        "output_scales:0:1000000 zero_points:dst:0:2000000000",
    };
    random_source r(15);
    for (const std::string &problem : problems)
        expect_reference(problem, random_arguments(r, primitive_desc_from_string(problem, eng())));
}

memory converted(const memory &m, data_type type) {
    memory::desc md = m.get_desc();
    md.data.data_type = type;
    memory result(md, eng());
    reorder(m, result).execute(stream(eng()), m, result);
    return result;
}

std::string with_type(std::string problem, const std::string &type) {
    for (std::size_t at; (at = problem.find('$')) != std::string::npos;)
        problem.replace(at, 1, type);
    return problem;
}

/// The problem with f32 in the place of $, between reorders.
bytes run_as_f32(const std::string &problem, const std::unordered_map<int, memory> &args, data_type type) {
    std::unordered_map<int, memory> reals;
    for (const auto &[arg, m] : args)
        reals[arg] =
            converted(m, m.get_desc().data_type() == type ? data_type::f32 : m.get_desc().data_type());
    const primitive_desc pd = primitive_desc_from_string(with_type(problem, "f32"), eng());
    primitive(pd).execute(stream(eng()), reals);
    const memory dst = converted(reals.at(OCTET_ARG_DST), args.at(OCTET_ARG_DST).get_desc().data_type());
    const auto *result = static_cast<const std::uint8_t *>(dst.get_data_handle());
    return bytes(result, result + dst.get_desc().get_size());
}

/// bf16 and f16 are types of storage: all is computed in f32, and a result is rounded once.
TEST(Compositions, SmallFloatsAreComputedAsF32) {
    const std::string pooling = "pooling src:$:2x19x6x5:nhwc dst:$:2x19x3x2:nhwc strides:2x2 kernel:2x2 ";
    const std::string problems[] = {
        "eltwise src:$:5x67:ab dst:$:5x67:ab algorithm:eltwise_tanh post_op:sum:0.5:0:undef",
        "eltwise src:s8:5x67:ab dst:$:5x67:ab algorithm:eltwise_logistic",
        "binary src:$:5x67:ab src1:$:1x67:ab dst:$:5x67:ab algorithm:binary_div",
        "binary src:$:3x5x67:abc src1:$:3x5x67:cba dst:u8:3x5x67:abc algorithm:binary_mul",
        "prelu src:$:5x67:ab weights:$:1x67:ab dst:$:5x67:ab",
        "sum src0:$:5x67:ab src1:f32:5x67:ab dst:$:5x67:ab factors:0.5/2",
        "softmax src:$:5x67:ab dst:$:5x67:ab axis:1",
        "softmax src:$:5x67:ab dst:f32:5x67:ab algorithm:softmax_log axis:1",
        "softmax src:$:5x67x3:abc dst:$:5x67x3:cba axis:1",
        "logsoftmax src:$:5x67:ab dst:f32:5x67:ab axis:1",
        "logsoftmax src:$:5x67:ba dst:s8:5x67:ab axis:1",
        pooling + "algorithm:pooling_avg_exclude_padding",
        pooling + "algorithm:pooling_max post_op:binary_add:f32:1x19x1x1:nhwc",
        "resampling src:$:2x19x6x5:nhwc dst:$:2x19x9x8:nhwc algorithm:resampling_linear",
        "resampling src:$:2x19x6x5:nchw dst:$:2x19x12x10:nchw algorithm:resampling_nearest",
        "reduction src:$:5x67:ab dst:$:5x1:ab algorithm:reduction_sum",
        "reduction src:$:5x67:ab dst:s8:1x67:ab algorithm:reduction_mean post_op:sum:2:0:undef",
        "layer_normalization src:$:5x67:ab dst:$:5x67:ab epsilon:0.01",
        "batch_normalization src:$:5x67x3x2:nhwc dst:$:5x67x3x2:nhwc epsilon:0.01",
        "lrn src:$:2x19x6x5:nhwc dst:$:2x19x6x5:nhwc algorithm:lrn_across_channels"};
    random_source r(17);
    for (const data_type type : {data_type::bf16, data_type::f16})
        for (const std::string &problem : problems) {
            const std::string given = with_type(problem, to_string(type));
            const auto args = random_arguments(r, primitive_desc_from_string(given, eng()));
            const bytes expected = run_as_f32(problem, args, type);
            std::string implementation;
            for (const cpu_isa level : get_available_cpu_isas()) {
                set_max_cpu_isa(level);
                EXPECT_EQ(difference(expected, run(given, args, implementation)), "")
                    << given << ": " << implementation;
                const bool has_code = given.rfind("pooling", 0) != 0 && level != cpu_isa::ref;
                EXPECT_EQ(implementation != "ref", has_code) << given;
            }
            set_max_cpu_isa(cpu_isa::all);
        }
}

/// Zero points that come with the execution may be no codes.
TEST(Compositions, AnySourceZeroPointsPerChannel) {
    random_source r(16);
    for (const char *type : {"u8", "s8"})
        for (const dim_t largest : {127, 100000}) {
            const std::string problem = std::string("convolution src:") + type +
                                        ":2x24x9x9:nhwc weights:s8:40x24x3x3:oihw padding_l:1x1 "
                                        "dst:s32:2x40x9x9:nhwc zero_points:src:2:*";
            std::unordered_map<int, memory> args =
                random_arguments(r, primitive_desc_from_string(problem, eng()));
            auto *values = static_cast<std::int32_t *>(
                args.at(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC).get_data_handle());
            for (dim_t c = 0; c < 24; c++)
                values[c] = static_cast<std::int32_t>(r.between(0, largest));
            expect_reference(problem, args);
        }
}

} // namespace
} // namespace octet::test
