// Streaming operators against memcpy of the same bytes: a copy of n bytes reads and writes n, an operator
// reads its sources and writes its destination. `of_copy` is the time of that copy divided by the operator's,
// both medians of interleaved runs; 1 is the speed of memory. Destinations have 12 Ki elements, whose bytes
// lie in the first-level cache, 128 Ki in the second, 784 Ki (an image) in the third, 49 Mi in memory. What is
// shorter than a few microseconds runs several times per sample.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include "octet/octet.hpp"

namespace {

using namespace octet;

const engine &eng() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}
const stream &strm() {
    static const stream s(eng());
    return s;
}

/// The destination's sizes: images of 256 channels.
memory::dim images = 1, height = 56, width = 56;

memory::desc image(data_type type, format_tag tag = format_tag::nhwc) {
    return memory::desc({images, 256, height, width}, type, tag);
}

/// A primitive with its buffers.
struct workload {
    primitive_desc_base pd;
    std::unordered_map<int, memory> args;

    workload(const primitive_desc_base &pd, const std::vector<std::pair<int, memory::desc>> &tensors)
        : pd(pd) {
        for (const auto &[arg, md] : tensors) {
            const memory m(md, eng());
            auto *bytes = static_cast<unsigned char *>(m.get_data_handle());
            const std::size_t size = md.get_size();
            const bool is_f32 = md.data_type() == data_type::f32;
            for (std::size_t i = 0; i < size; i++) // small values, f32 included
                bytes[i] = static_cast<unsigned char>(is_f32 ? i % 4 == 3 ? 63 : i * 7 : i * 7);
            args[arg] = m;
        }
    }
    std::size_t bytes() const {
        std::size_t n = 0;
        for (const auto &[arg, m] : args)
            n += m.get_desc().get_size();
        return n;
    }
};

/// The time of one of `times` runs.
template <typename Body> double seconds(int times, const Body &body) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; i++)
        body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

void run(benchmark::State &state, const std::function<workload()> &make) {
    const workload w = make();
    const primitive p(w.pd);
    std::vector<char> from(w.bytes() / 2, 1), to(w.bytes() / 2, 2);
    const auto copy = [&] { std::memcpy(to.data(), from.data(), from.size()); };
    const auto work = [&] { p.execute(strm(), w.args); };
    constexpr std::size_t bytes_worth_a_sample = 1 << 20;
    const int times = static_cast<int>(std::max<std::size_t>(1, bytes_worth_a_sample / w.bytes()));
    std::vector<double> copies, works;
    for (int i = 0; i < 3; i++) { // warms up
        copy();
        work();
    }
    for (auto _ : state) {
        copies.push_back(seconds(times, copy));
        works.push_back(seconds(times, work));
        state.SetIterationTime(works.back());
    }
    const auto median = [](std::vector<double> &v) {
        std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
        return v[v.size() / 2];
    };
    state.counters["copy_us"] = median(copies) * 1e6;
    state.counters["median_us"] = median(works) * 1e6;
    state.counters["of_copy"] = median(copies) / median(works);
    state.SetLabel(w.pd.impl_info_str());
}

primitive_attr quantized(requantization_rule rule, std::vector<int> args) {
    primitive_attr attr;
    attr.set_requantization(rule);
    float scale = 0.021f;
    for (const int arg : args) {
        attr.set_scales(arg, 0, {scale += 0.0071f});
        attr.set_zero_points(arg, 0, {3});
    }
    return attr;
}

workload make_reorder(const memory::desc &src, const memory::desc &dst, const primitive_attr &attr = {}) {
    return {reorder::primitive_desc(eng(), src, eng(), dst, attr),
            {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}}};
}
primitive_attr quantizes(requantization_rule rule) {
    primitive_attr attr = quantized(rule, {OCTET_ARG_DST});
    return attr;
}
primitive_attr dequantizes() { return quantized(requantization_rule::ort_f32, {OCTET_ARG_SRC}); }

workload make_eltwise(algorithm alg, data_type type, const primitive_attr &attr) {
    const memory::desc md = image(type);
    return {
        eltwise_forward::primitive_desc({prop_kind::forward_inference, alg, md, md, 0.1f, 0.f}, attr, eng()),
        {{OCTET_ARG_SRC, md}, {OCTET_ARG_DST, md}}};
}

workload make_binary(algorithm alg, data_type type, requantization_rule rule,
                     const memory::desc *src1 = nullptr) {
    const memory::desc md = image(type), other = src1 ? *src1 : md;
    primitive_attr attr;
    if (rule != requantization_rule::f32)
        attr = quantized(rule, {OCTET_ARG_SRC_0, OCTET_ARG_SRC_1, OCTET_ARG_DST});
    return {binary::primitive_desc({alg, md, other, md}, attr, eng()),
            {{OCTET_ARG_SRC_0, md}, {OCTET_ARG_SRC_1, other}, {OCTET_ARG_DST, md}}};
}

/// Two parts of 128 channels; `converts`: of another scale than the result.
workload make_concat(bool converts) {
    const memory::desc part({images, 128, height, width}, data_type::u8, format_tag::nhwc),
        dst = image(data_type::u8);
    primitive_attr attr;
    if (converts)
        attr = quantized(requantization_rule::ort_f32,
                         {OCTET_ARG_MULTIPLE_SRC, OCTET_ARG_MULTIPLE_SRC + 1, OCTET_ARG_DST});
    return {concat::primitive_desc(dst, 1, {part, part}, eng(), attr),
            {{OCTET_ARG_MULTIPLE_SRC, part}, {OCTET_ARG_MULTIPLE_SRC + 1, part}, {OCTET_ARG_DST, dst}}};
}

/// Rows of 256 channels.
workload make_softmax(data_type src, data_type dst, requantization_rule rule) {
    primitive_attr attr;
    attr.set_requantization(rule);
    if (rule == requantization_rule::tflite_2step)
        attr.set_input_multiplier(OCTET_ARG_SRC, from_double(rule, 0.05 * 0x1p26));
    if (rule == requantization_rule::ort_f32) {
        attr.set_scales(OCTET_ARG_SRC, 0, {0.05f});
        attr.set_scales(OCTET_ARG_DST, 0, {1.f / 256});
    }
    const memory::desc from = image(src), to = image(dst);
    return {softmax_forward::primitive_desc({prop_kind::forward_inference, from, to, 1}, attr, eng()),
            {{OCTET_ARG_SRC, from}, {OCTET_ARG_DST, to}}};
}

/// To an image: of half its height and width, unless told otherwise.
workload make_resampling(algorithm alg, data_type type, requantization_rule rule, memory::dim size = 28) {
    const memory::desc src({images, 256, size, size}, type, format_tag::nhwc), dst = image(type);
    primitive_attr attr;
    attr.set_requantization(rule);
    return {resampling_forward::primitive_desc({prop_kind::forward_inference, alg, src, dst}, attr, eng()),
            {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}}};
}

/// Weights of a convolution, as many bytes as an image of codes has, to the layout that it wants.
workload make_packing(memory::dim kernel, format_tag tag) {
    const memory::dim oc = 256 * images, ic = height * width / (kernel * kernel);
    const memory::dims dims{oc, ic, kernel, kernel};
    const convolution_forward::desc d(
        prop_kind::forward_inference, algorithm::convolution_direct,
        memory::desc({1, ic, 14, 14}, data_type::u8, format_tag::any),
        memory::desc(dims, data_type::s8, format_tag::any),
        memory::desc({1, oc, 15 - kernel, 15 - kernel}, data_type::s32, format_tag::any), {1, 1}, {0, 0},
        {0, 0});
    return make_reorder(memory::desc(dims, data_type::s8, tag),
                        convolution_forward::primitive_desc(d, eng()).weights_desc());
}

struct size {
    const char *place;
    memory::dim images, height, width;
};
constexpr size sizes[] = {{"L1", 1, 6, 8}, {"L2", 1, 16, 32}, {"L3", 1, 56, 56}, {"memory", 64, 56, 56}};

void add(const std::string &name, const std::function<workload()> &make, bool has_any_size = true) {
    for (const size &s : sizes) {
        if (!has_any_size && s.height != 56)
            continue;
        const auto body = [make, s](benchmark::State &state) {
            images = s.images;
            height = s.height;
            width = s.width;
            run(state, make);
        };
        benchmark::RegisterBenchmark((name + "/" + s.place).c_str(), body)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }
}

void add_all() {
    using rule = requantization_rule;
    const auto u8 = data_type::u8, f32 = data_type::f32, s32 = data_type::s32;
    add("QuantizeLinear", [=] { return make_reorder(image(f32), image(u8), quantizes(rule::ort_f32)); });
    add("quantize_tflite",
        [=] { return make_reorder(image(f32), image(u8), quantizes(rule::tflite_2step)); });
    add("DequantizeLinear", [=] { return make_reorder(image(u8), image(f32), dequantizes()); });
    add("requantize_s32", [=] {
        return make_reorder(image(s32), image(u8), quantized(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST}));
    });
    add("requantize_u8", [=] {
        return make_reorder(image(u8), image(u8), quantized(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST}));
    });
    add("copy_u8", [=] { return make_reorder(image(u8), image(u8)); });
    add("QLinearAdd", [=] { return make_binary(algorithm::binary_add, u8, rule::ort_f32); });
    add("QLinearMul", [=] { return make_binary(algorithm::binary_mul, u8, rule::ort_f32); });
    add("QLinearMul_per_channel", [=] {
        const memory::desc gate({images, 256, 1, 1}, u8, format_tag::nhwc);
        return make_binary(algorithm::binary_mul, u8, rule::ort_f32, &gate);
    });
    add("tflite_add", [=] { return make_binary(algorithm::binary_add, u8, rule::tflite_2step); });
    add("tflite_mul", [=] { return make_binary(algorithm::binary_mul, u8, rule::tflite_2step); });
    add("qnnpack_add", [=] { return make_binary(algorithm::binary_add, u8, rule::caffe2_2step); });
    add("add_u8", [=] { return make_binary(algorithm::binary_add, u8, rule::f32); });
    add("add_f32", [=] { return make_binary(algorithm::binary_add, f32, rule::f32); });
    const primitive_attr codes = quantized(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST});
    add("QLinearSigmoid", [=] { return make_eltwise(algorithm::eltwise_logistic, u8, codes); });
    add("QLinearLeakyRelu", [=] { return make_eltwise(algorithm::eltwise_relu, u8, codes); });
    add("relu_f32", [=] { return make_eltwise(algorithm::eltwise_relu, f32, {}); });
    add("logistic_f32", [=] { return make_eltwise(algorithm::eltwise_logistic, f32, {}); });
    add("concat", [] { return make_concat(false); });
    add("QLinearConcat", [] { return make_concat(true); });
    add("nchw_to_nhwc_u8", [=] { return make_reorder(image(u8, format_tag::nchw), image(u8)); });
    add("nhwc_to_nchw_u8", [=] { return make_reorder(image(u8), image(u8, format_tag::nchw)); });
    add("nchw_to_nhwc_f32", [=] { return make_reorder(image(f32, format_tag::nchw), image(f32)); });
    add("QuantizeLinear_nchw_to_nhwc",
        [=] { return make_reorder(image(f32, format_tag::nchw), image(u8), quantizes(rule::ort_f32)); });
    add("pack_1x1_oihw", [] { return make_packing(1, format_tag::oihw); });
    add("pack_3x3_oihw", [] { return make_packing(3, format_tag::oihw); });
    add("pack_3x3_ohwi", [] { return make_packing(3, format_tag::ohwi); });
    add("pack_1x1_hwio", [] { return make_packing(1, format_tag::hwio); });
    add("softmax_f32", [=] { return make_softmax(f32, f32, rule::f32); });
    add("softmax_tflite", [=] { return make_softmax(data_type::s8, data_type::s8, rule::tflite_2step); });
    add("QLinearSoftmax", [=] { return make_softmax(u8, u8, rule::ort_f32); });
    const auto nearest = algorithm::resampling_nearest, linear = algorithm::resampling_linear;
    add(
        "resize_nearest_u8", [=] { return make_resampling(nearest, u8, rule::tflite_2step); }, false);
    add(
        "resize_bilinear_u8", [=] { return make_resampling(linear, u8, rule::tflite_2step); }, false);
    add(
        "resize_bilinear_s8", [=] { return make_resampling(linear, data_type::s8, rule::tflite_2step); },
        false);
    add(
        "resize_bilinear_u8_from_40", [=] { return make_resampling(linear, u8, rule::tflite_2step, 40); },
        false);
    add(
        "Resize_linear_u8", [=] { return make_resampling(linear, u8, rule::ort_f32); }, false);
    add(
        "Resize_linear_u8_from_40", [=] { return make_resampling(linear, u8, rule::ort_f32, 40); }, false);
    add(
        "ResizeBilinear_u8", [=] { return make_resampling(linear, u8, rule::caffe_double_round); }, false);
    add(
        "ResizeBilinear_u8_from_40",
        [=] { return make_resampling(linear, u8, rule::caffe_double_round, 40); }, false);
    add(
        "resize_bilinear_f32", [=] { return make_resampling(linear, f32, rule::f32); }, false);
}

} // namespace

int main(int argc, char **argv) {
    add_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    benchmark::RunSpecifiedBenchmarks();
}
