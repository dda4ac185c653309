// The machine code of a fixed list of problems, as one line of text for each problem and level, whatever levels
// the machine has:
//
//   level  problem  implementation  pieces of code  their bytes  hash of all of them
//
// For whoever changes generators without wanting to change code: run it with the library before and after,
// and compare the two files; only lines that differ need an explanation. The list has each family with each
// type, rule and post-op that decides its code, at sizes with whole tiles, vector groups and tails.
//
//   code_dump DIRECTORY > before.txt      # DIRECTORY: an empty one, for the pieces
//   code_dump DIRECTORY keep              # leaves the pieces there, for a disassembler
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace {

using namespace octet;
using dims = memory::dims;
using rule_t = requantization_rule;
using type = data_type;

struct named_problem {
    std::string name;
    std::function<primitive()> create;
};

std::vector<named_problem> problems;
const engine cpu(engine::kind::cpu, 0);
const auto inference = prop_kind::forward_inference;

template <typename Primitive, typename... Arguments>
void add(const std::string &name, const primitive_attr &attr, Arguments... arguments) {
    problems.push_back({name, [=]() -> primitive {
                            return Primitive(typename Primitive::primitive_desc(cpu, arguments..., attr));
                        }});
}

/// Numbers of the rule for `channels` channels, or one for all of them (mask 0).
primitive_attr attributes(rule_t rule, int mask, dim_t channels, double factor = 0.003) {
    primitive_attr attr;
    std::vector<double> scales;
    for (dim_t c = 0; c < (mask ? channels : 1); c++)
        scales.push_back(factor * (1 + 0.01 * static_cast<double>(c % 7)));
    const std::vector<float> floats(scales.begin(), scales.end());
    if (rule == rule_t::f32_v3) { // oneDNN 3.x has a scale per tensor instead of output scales
        attr.set_requantization(rule);
        attr.set_scales(OCTET_ARG_SRC, 0, {0.5f});
        attr.set_scales(OCTET_ARG_WEIGHTS, 0, {floats[0]});
        attr.set_scales(OCTET_ARG_DST, 0, {2.f});
        return attr;
    }
    switch (parameters_of(rule)) {
    case rule_parameters::none:
        attr.set_requantization(rule);
        break;
    case rule_parameters::scales:
        attr.set_requantization(rule);
        attr.set_output_scales(mask, floats);
        break;
    case rule_parameters::real_scales:
        if (rule == rule_t::caffe_double_round)
            attr.set_requantization(rule, mask, floats);
        else
            attr.set_requantization(rule, mask, scales);
        break;
    case rule_parameters::multipliers: {
        std::vector<fixed_point_multiplier> multipliers;
        for (const double s : scales)
            multipliers.push_back(rule == rule_t::gemmlowp_legacy_scale
                                      ? fixed_point_multiplier{static_cast<std::int32_t>(s * 100000), 15, 3}
                                      : from_double(rule, s));
        attr.set_requantization(rule, mask, multipliers);
    }
    }
    return attr;
}

primitive_attr with_zero_points(primitive_attr attr) {
    attr.set_zero_points(OCTET_ARG_SRC, 0, {3});
    attr.set_zero_points(OCTET_ARG_DST, 0, {-5});
    return attr;
}

primitive_attr with(primitive_attr attr, const std::function<void(post_ops &)> &append) {
    post_ops ops;
    append(ops);
    attr.set_post_ops(ops);
    return attr;
}

std::string name_of(type t) {
    switch (t) {
    case type::f32:
        return "f32";
    case type::s32:
        return "s32";
    case type::s8:
        return "s8";
    case type::u8:
        return "u8";
    default:
        return "s16";
    }
}

std::vector<algorithm> algorithms(const std::string &family) {
    std::vector<algorithm> all;
    for (int i = 0; std::string("unknown") != to_string(static_cast<algorithm>(i)); i++)
        if (const auto alg = static_cast<algorithm>(i); std::string(to_string(alg)).rfind(family, 0) == 0)
            all.push_back(alg);
    return all;
}
const std::vector<algorithm> eltwise_algorithms = algorithms("eltwise_"),
                             binary_algorithms = algorithms("binary_");

struct convolution_shape {
    const char *name;
    dim_t groups, ic, oc, ih, k, stride, pad, dilation;
};

void convolution(const std::string &name, const convolution_shape &s, type src, type weights, type dst,
                 const primitive_attr &attr) {
    const dim_t oh = (s.ih + 2 * s.pad - (s.k - 1) * (s.dilation + 1) - 1) / s.stride + 1;
    const memory::desc x({2, s.ic, s.ih, s.ih}, src, format_tag::nhwc);
    const memory::desc w = s.groups > 1 ? memory::desc({s.groups, s.oc / s.groups, s.ic / s.groups, s.k, s.k},
                                                       weights, format_tag::any)
                                        : memory::desc({s.oc, s.ic, s.k, s.k}, weights, format_tag::any);
    const memory::desc b({s.oc}, type::s32, format_tag::a), y({2, s.oc, oh, oh}, dst, format_tag::nhwc);
    add<convolution_forward>(
        "conv " + std::string(s.name) + " " + name_of(src) + ":" + name_of(dst) + " " + name, attr, inference,
        algorithm::convolution_direct, x, w, b, y, dims{s.stride, s.stride}, dims{s.dilation, s.dilation},
        dims{s.pad, s.pad}, dims{s.pad, s.pad});
}

const convolution_shape plain_3x3{"3x3 96>80", 1, 96, 80, 14, 3, 1, 1, 0};
const convolution_shape depthwise_3x3{"dw3x3 136", 136, 136, 136, 14, 3, 1, 1, 0};

void add_convolutions() {
    const convolution_shape shapes[] = {{"1x1 64>64", 1, 64, 64, 14, 1, 1, 0, 0},
                                        {"1x1 16>96", 1, 16, 96, 28, 1, 1, 0, 0},
                                        {"1x1s2 256>128", 1, 256, 128, 14, 1, 2, 0, 0},
                                        {"3x3 17>33", 1, 17, 33, 7, 3, 1, 1, 0},
                                        {"3x3s2 64>64", 1, 64, 64, 28, 3, 2, 1, 0},
                                        {"3x3d1 32>48", 1, 32, 48, 14, 3, 1, 2, 1},
                                        {"7x7s2 3>64", 1, 3, 64, 32, 7, 2, 3, 0},
                                        {"3x3g4 64", 4, 64, 64, 14, 3, 1, 1, 0},
                                        {"3x3g32 128", 32, 128, 128, 14, 3, 1, 1, 0},
                                        {"dw3x3s2 64", 64, 64, 64, 14, 3, 2, 1, 0},
                                        {"dw5x5 40", 40, 40, 40, 14, 5, 1, 2, 0},
                                        {"dw3x3 7", 7, 7, 7, 9, 3, 1, 1, 0},
                                        {"dw7x7 64", 64, 64, 64, 14, 7, 1, 3, 0},
                                        plain_3x3,
                                        depthwise_3x3};
    for (const convolution_shape &s : shapes)
        for (const type src : {type::u8, type::s8}) {
            convolution("f32:oc", s, src, type::s8, type::u8, attributes(rule_t::f32, 2, s.oc));
            convolution("tflite_2step:oc zp", s, src, type::s8, type::s8,
                        with_zero_points(attributes(rule_t::tflite_2step, 2, s.oc)));
        }
    for (const convolution_shape &s : {plain_3x3, depthwise_3x3}) {
        for (const rule_t rule : all_requantization_rules())
            for (const int mask : {0, 2}) {
                const primitive_attr attr = attributes(rule, mask, s.oc);
                const std::string name = std::string(to_string(rule)) + (mask ? ":oc" : "");
                convolution(name, s, type::u8, type::s8, type::s32, attr);
                convolution(name + " zp", s, type::u8, type::s8, type::u8, with_zero_points(attr));
            }
        for (const type dst : {type::f32, type::s32, type::s8, type::u8})
            convolution("plain", s, type::s8, type::u8, dst, {});
        primitive_attr both_sides = with_zero_points(attributes(rule_t::f32, 0, s.oc));
        both_sides.set_zero_points(OCTET_ARG_WEIGHTS, 0, {7});
        convolution("weights zp", s, type::u8, type::u8, type::u8, both_sides);
        primitive_attr at_run_time = attributes(rule_t::f32, 0, s.oc);
        at_run_time.set_output_scales(2, {OCTET_RUNTIME_F32_VAL});
        at_run_time.set_zero_points(OCTET_ARG_DST, 0, {OCTET_RUNTIME_S32_VAL});
        convolution("run time", s, type::u8, type::s8, type::u8, at_run_time);
    }
}

void add_post_ops() {
    const convolution_shape &s = plain_3x3;
    const primitive_attr f32 = attributes(rule_t::f32, 2, s.oc),
                         fixed = attributes(rule_t::tflite_2step, 2, s.oc),
                         ort = attributes(rule_t::ort_f32, 0, s.oc);
    const auto conv = [&](const std::string &name, const primitive_attr &attr) {
        convolution(name, s, type::u8, type::s8, type::u8, attr);
    };
    for (const algorithm alg : eltwise_algorithms) {
        const std::string name =
            "eltwise" + std::to_string(static_cast<int>(alg) - static_cast<int>(algorithm::eltwise_relu));
        const auto append = [&](post_ops &ops) { ops.append_eltwise(1.f, alg, 0.5f, 2.f); };
        conv("f32 " + name, with(f32, append));
        convolution("f32 " + name, depthwise_3x3, type::u8, type::s8, type::f32,
                    with(attributes(rule_t::f32, 0, 1), append));
    }
    for (const algorithm alg : binary_algorithms)
        for (const bool full : {false, true}) {
            const memory::desc src1(full ? dims{2, s.oc, 14, 14} : dims{1, s.oc, 1, 1}, type::f32,
                                    format_tag::nhwc);
            conv("f32 binary" + std::to_string(static_cast<int>(alg)) + (full ? " full" : " oc"),
                 with(f32, [&](post_ops &ops) { ops.append_binary(alg, src1); }));
        }
    post_op::table table;
    table.type = type::u8;
    for (std::size_t i = 0; i < table.entries.size(); i++)
        table.entries[i] = static_cast<std::uint8_t>(i * 7);
    const auto add_factors = add_multipliers_of(rule_t::tflite_2step, 0.3f, 0.2f, 0.4f);
    const fixed_point_multiplier half{1 << 30, 0, 0};
    const std::pair<const char *, std::function<void(post_ops &)>> stages[] = {
        {"sum", [](post_ops &ops) { ops.append_sum(); }},
        {"sum*", [](post_ops &ops) { ops.append_sum(0.5f, 3); }},
        {"sum relu",
         [](post_ops &ops) {
             ops.append_sum();
             ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
         }},
        {"clip", [](post_ops &ops) { ops.append_clip(3, 99); }},
        {"add", [](post_ops &ops) { ops.append_add(9); }},
        {"prelu", [](post_ops &ops) { ops.append_prelu(2); }},
        {"rescaled_sum",
         [&](post_ops &ops) {
             ops.append_rescaled_sum({half, 3, type::undef, rule_t::tflite_2step});
         }},
        {"leaky_relu",
         [&](post_ops &ops) {
             ops.append_leaky_relu({half, half, rule_t::tflite_2step});
         }},
        {"table", [&](post_ops &ops) { ops.append_table(table); }},
        {"add table",
         [&](post_ops &ops) {
             ops.append_add(4);
             ops.append_table(table);
         }},
        {"qlinear_add",
         [](post_ops &ops) {
             ops.append_qlinear_add({0.5f, 0.25f, 3.f, 4, false});
         }},
        {"scaled_add",
         [&](post_ops &ops) {
             ops.append_scaled_add({add_factors, 1, 2, rule_t::tflite_2step});
         }},
    };
    for (const auto &[name, append] : stages) {
        conv(std::string("f32 ") + name, with(f32, append));
        conv(std::string("tflite_2step ") + name, with(fixed, append));
        conv(std::string("ort_f32 ") + name, with(ort, append));
        convolution(std::string("tflite_2step ") + name, depthwise_3x3, type::s8, type::s8, type::u8,
                    with(attributes(rule_t::tflite_2step, 0, 1), append));
    }
}

void add_products() {
    for (const rule_t rule : all_requantization_rules())
        for (const dim_t rows : {1, 7, 64}) {
            const std::string name = std::string(to_string(rule)) + " " + std::to_string(rows);
            const dim_t n = 100, k = 72;
            add<inner_product_forward>("ip " + name, attributes(rule, 2, n), inference,
                                       memory::desc({rows, k}, type::u8, format_tag::ab),
                                       memory::desc({n, k}, type::s8, format_tag::any),
                                       memory::desc({rows, n}, type::u8, format_tag::ab));
            add<matmul>("matmul " + name, attributes(rule, 0, n),
                        memory::desc({3, rows, k}, type::s8, format_tag::abc),
                        memory::desc({3, k, n}, type::s8, format_tag::any),
                        memory::desc({3, rows, n}, type::s8, format_tag::abc));
        }
    for (const rule_t rule : {rule_t::f32, rule_t::tflite_2step, rule_t::none})
        for (const dim_t stride : {1, 2})
            add<deconvolution_forward>(
                "deconv " + std::string(to_string(rule)) + " s" + std::to_string(stride),
                attributes(rule, 2, 48), inference, algorithm::deconvolution_direct,
                memory::desc({1, 64, 9, 9}, type::u8, format_tag::nhwc),
                memory::desc({48, 64, 3, 3}, type::s8, format_tag::any),
                memory::desc({1, 48, 8 * stride + 3, 8 * stride + 3}, type::s8, format_tag::nhwc),
                dims{stride, stride}, dims{0, 0}, dims{0, 0}, dims{0, 0});
}

void add_windows() {
    for (const type t : {type::u8, type::s8, type::f32, type::s32})
        for (const dim_t channels : {7, 64, 100}) {
            const memory::desc x({1, channels, 14, 14}, t, format_tag::nhwc);
            const std::string name = name_of(t) + " " + std::to_string(channels);
            const bool is_code = t == type::u8 || t == type::s8; // a type that pooling takes
            for (const algorithm alg : {algorithm::pooling_max, algorithm::pooling_avg_include_padding,
                                        algorithm::pooling_avg_exclude_padding})
                if (is_code)
                    add<pooling_forward>("pool " + std::to_string(static_cast<int>(alg)) + " " + name, {},
                                         inference, alg, x,
                                         memory::desc({1, channels, 7, 7}, t, format_tag::nhwc), dims{2, 2},
                                         dims{3, 3}, dims{0, 0}, dims{1, 1}, dims{1, 1});
            for (const algorithm alg : {algorithm::resampling_nearest, algorithm::resampling_linear}) {
                add<resampling_forward>("resample x2 " + std::to_string(static_cast<int>(alg)) + " " + name,
                                        {}, inference, alg, x,
                                        memory::desc({1, channels, 28, 28}, t, format_tag::nhwc));
                add<resampling_forward>("resample 14>9 " + std::to_string(static_cast<int>(alg)) + " " + name,
                                        {}, inference, alg, x,
                                        memory::desc({1, channels, 9, 9}, t, format_tag::nhwc));
            }
        }
    for (const rule_t rule : all_requantization_rules())
        add<pooling_forward>("pool avg " + std::string(to_string(rule)), attributes(rule, 0, 1, 0.02),
                             inference, algorithm::pooling_avg_include_padding,
                             memory::desc({1, 72, 7, 7}, type::u8, format_tag::nhwc),
                             memory::desc({1, 72, 1, 1}, type::u8, format_tag::nhwc), dims{7, 7}, dims{7, 7},
                             dims{0, 0}, dims{0, 0}, dims{0, 0});
}

void add_elementwise() {
    const dims shape{2, 37, 9, 11};
    const auto nhwc = [=](type t) { return memory::desc(shape, t, format_tag::nhwc); };
    for (const type t : {type::f32, type::s32, type::s8, type::u8}) {
        for (const algorithm alg : eltwise_algorithms)
            add<eltwise_forward>("eltwise " + std::to_string(static_cast<int>(alg)) + " " + name_of(t), {},
                                 inference, alg, nhwc(t), nhwc(t), 0.5f, 2.f);
        for (const algorithm alg : binary_algorithms)
            add<binary>("binary " + std::to_string(static_cast<int>(alg)) + " " + name_of(t), {}, alg,
                        nhwc(t), nhwc(t), nhwc(t));
        add<prelu_forward>("prelu " + name_of(t), {}, inference, nhwc(t),
                           memory::desc({1, 37, 1, 1}, type::f32, format_tag::nhwc), nhwc(t));
        add<sum>("sum " + name_of(t), {}, nhwc(t), std::vector<float>{1.f, 0.5f, 2.f},
                 std::vector<memory::desc>{nhwc(t), nhwc(t), nhwc(t)});
        add<concat>("concat " + name_of(t), {}, memory::desc({2, 74, 9, 11}, t, format_tag::nhwc), 1,
                    std::vector<memory::desc>{nhwc(t), nhwc(t)});
        for (const int axis : {1, 3})
            for (const algorithm alg : {algorithm::softmax_accurate, algorithm::softmax_log})
                add<softmax_forward>("softmax " + std::to_string(static_cast<int>(alg)) + " axis " +
                                         std::to_string(axis) + " " + name_of(t),
                                     attributes(rule_t::f32, 0, 1, 100.), inference, alg, nhwc(t), nhwc(t),
                                     axis);
        for (const type to : {type::f32, type::s32, type::s8, type::u8}) {
            const std::string name = name_of(t) + ":" + name_of(to);
            problems.push_back(
                {"reorder scaled " + name, [=]() -> primitive {
                     return reorder(reorder::primitive_desc(
                         cpu, nhwc(t), cpu, nhwc(to), with_zero_points(attributes(rule_t::f32, 2, 37))));
                 }});
            problems.push_back({"reorder nchw " + name, [=]() -> primitive {
                                    return reorder(reorder::primitive_desc(
                                        cpu, memory::desc(shape, t, format_tag::nchw), cpu, nhwc(to)));
                                }});
        }
    }
    for (const rule_t rule : all_requantization_rules())
        problems.push_back({"reorder s32:s8 " + std::string(to_string(rule)), [=]() -> primitive {
                                return reorder(reorder::primitive_desc(
                                    cpu, nhwc(type::s32), cpu, nhwc(type::s8), attributes(rule, 2, 37)));
                            }});
}

/// The FNV-1a hash of bytes.
std::uint64_t hash(const std::string &bytes) {
    std::uint64_t h = 14695981039346656037u;
    for (const char c : bytes)
        h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}

/// Prints what creating the problem has put into the directory. Pieces are compared as a set: their names and
/// the order of their creation are no code.
void report(const std::string &level, const named_problem &problem, const std::filesystem::path &directory,
            bool keep) {
    std::string implementation;
    const std::filesystem::path own = directory / std::to_string(&problem - problems.data());
    std::filesystem::create_directories(own);
    set_jit_dump(own.string());
    try {
        const primitive p = problem.create();
        implementation = p.plan_str();
    } catch (const error &e) {
        implementation = std::string("refused: ") + e.what();
    }
    std::vector<std::string> pieces;
    for (const auto &entry : std::filesystem::directory_iterator(own)) {
        std::ifstream file(entry.path(), std::ios::binary);
        pieces.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::sort(pieces.begin(), pieces.end());
    std::string all;
    for (const std::string &piece : pieces)
        all += std::to_string(piece.size()) + ":" + piece;
    std::printf("%-12s %-45s %2zu pieces %6zu bytes %016llx  %s\n", level.c_str(), problem.name.c_str(),
                pieces.size(), all.size(), static_cast<unsigned long long>(hash(all)),
                implementation.c_str());
    if (!keep)
        std::filesystem::remove_all(own);
}

} // namespace

int main(int argc, char **argv) {
    const bool keep = argc == 3 && std::string(argv[2]) == "keep";
    if (argc < 2 || argv[1][0] == '-' || argc != 2 + keep) {
        std::fprintf(stderr,
                     "usage: code_dump DIRECTORY [keep], an empty directory for the pieces of code\n");
        return 2;
    }
    set_primitive_cache_capacity(0); // each problem generates all of its code
    set_num_threads(1);
    add_convolutions();
    add_post_ops();
    add_products();
    add_windows();
    add_elementwise();
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        set_max_cpu_isa(level);
        for (const named_problem &problem : problems)
            report(to_string(level), problem, std::filesystem::path(argv[1]) / to_string(level), keep);
    }
}
