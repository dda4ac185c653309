// Element-wise primitives: random shapes, layouts and attributes.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/comparison.hpp"
#include "support/algorithms.hpp"

namespace octet::test {
namespace {

// ---- eltwise

comparison random_table(random_source &r) {
    const memory::dims dims = random_dims(r);
    const memory::dims strides = random_strides(r, dims);
    const data_type from = random_code(r);
    comparison p;
    p.in_place = r.chance(20);
    const data_type to = p.in_place ? from : random_code(r);
    const memory::desc src(dims, from, strides);
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = memory::desc(dims, to, p.in_place || r.chance(50) ? strides : random_strides(r, dims));
    const algorithm alg =
        r.pick({algorithm::eltwise_logistic, algorithm::eltwise_tanh, algorithm::eltwise_relu});
    const auto rule = r.pick({requantization_rule::ort_f32, requantization_rule::tflite_2step});
    primitive_attr attr;
    attr.set_requantization(rule);
    attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.01f, 0.1f)});
    const float fixed = alg == algorithm::eltwise_logistic ? 1.f / 256 : 1.f / 128;
    attr.set_scales(OCTET_ARG_DST, 0,
                    {rule == requantization_rule::tflite_2step && alg != algorithm::eltwise_relu
                         ? fixed
                         : r.real(0.01f, 0.1f)});
    attr.set_zero_points(OCTET_ARG_SRC, 0, {random_zero_point(r, from)});
    attr.set_zero_points(OCTET_ARG_DST, 0, {random_zero_point(r, to)});
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return eltwise_forward::primitive_desc({prop_kind::forward_inference, alg, src, dst, 0.f, 0.f}, attr,
                                               eng());
    };
    p.description = "table " + src.to_string() + " strides " + text_of(strides) + " to " + p.dst.to_string();
    return p;
}

/// Any function on any types, with post-ops.
comparison random_function(random_source &r) {
    const memory::dims dims = random_dims(r);
    const memory::dims strides = random_strides(r, dims);
    const data_type from = random_type(r), to = random_type(r);
    comparison p;
    const memory::desc src(dims, from, strides);
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = memory::desc(dims, to, r.chance(80) ? strides : random_strides(r, dims));
    const auto alg = random_algorithm(r, "eltwise_");
    const bool clips = alg == algorithm::eltwise_clip || alg == algorithm::eltwise_clip_v2;
    const float alpha = clips ? -10.f : r.real(0.1f, 2.f),
                beta = clips ? 90.f : r.pick({0.f, 1.f, 2.f, 0.5f});
    random_attributes a;
    add_post_ops(r, p, src, a);
    const auto rule = r.pick({requantization_rule::f32, requantization_rule::f32_v3,
                              requantization_rule::ort_f32, requantization_rule::caffe_double_round});
    a.attr.set_requantization(rule);
    if (rule != requantization_rule::f32) {
        p.dst_scale = r.real(0.01f, 0.5f);
        a.attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.01f, 0.5f)});
        a.attr.set_scales(OCTET_ARG_DST, 0, {p.dst_scale});
    }
    add_zero_point(r, OCTET_ARG_SRC, from, p, a.attr);
    if (to != data_type::s32)
        add_zero_point(r, OCTET_ARG_DST, to, p, a.attr);
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return eltwise_forward::primitive_desc({prop_kind::forward_inference, alg, src, dst, alpha, beta},
                                               a.attr, eng());
    };
    p.description = std::string("eltwise ") +
                    std::to_string(static_cast<int>(alg) - static_cast<int>(algorithm::eltwise_relu)) + " " +
                    to_string(rule) + " " + src.to_string() + " to " + p.dst.to_string() + a.description;
    return p;
}

// ---- reorder

comparison random_reorder_of(random_source &r, const memory::dims &dims, const memory::dims &strides,
                             const memory::dims &dst_strides) {
    const data_type from = r.chance(10) ? data_type::s16 : random_type(r),
                    to = r.chance(10) ? data_type::s16 : random_type(r);
    comparison p;
    const memory::desc src(dims, from, strides);
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = memory::desc(dims, to, dst_strides);
    using rule_t = requantization_rule;
    rule_t rule = r.pick({rule_t::f32, rule_t::f32_v3, rule_t::ort_f32, rule_t::ort_f32, rule_t::tflite_2step,
                          rule_t::tflite_single_rounding, rule_t::caffe_double_round, rule_t::rounded_shift});
    if (rule == rule_t::rounded_shift && (from == data_type::f32 || to == data_type::f32))
        rule = rule_t::ort_f32;
    if (to == data_type::f32 && rule != rule_t::ort_f32 && rule != rule_t::f32_v3)
        rule = rule_t::f32;
    random_attributes a;
    if (r.chance(30))
        add_post_ops(r, p, src, a);
    a.attr.set_requantization(rule);
    const int channel = static_cast<int>(r.between(0, static_cast<dim_t>(dims.size()) - 1));
    const bool per_channel = r.chance(50) && (rule == rule_t::f32 || rule == rule_t::ort_f32);
    const auto count = static_cast<std::size_t>(per_channel ? dims[static_cast<std::size_t>(channel)] : 1);
    const auto scales = [&] {
        std::vector<float> values(count);
        for (float &s : values)
            s = r.chance(5) ? 0x1p70f : r.real(0.01f, 0.5f);
        return values;
    };
    const int mask = per_channel ? 1 << channel : 0;
    if (rule == rule_t::f32) {
        if (r.chance(80))
            a.attr.set_output_scales(mask, scales());
    } else if (rule == rule_t::rounded_shift) {
        a.attr.set_requantization(rule, 0, {random_multiplier(r, rule, 1)});
    } else {
        const std::vector<float> dst_scales = scales();
        p.dst_scale = dst_scales[0];
        const auto set_scales = [&](int arg, std::vector<float> values) {
            if (detail::add_special_scales(r, values, arg != OCTET_ARG_DST)) {
                a.attr.set_scales_mask(arg, mask);
                p.args[OCTET_ARG_ATTR_SCALES | arg] = vector_memory(eng(), values);
            } else {
                a.attr.set_scales(arg, mask, values);
            }
        };
        set_scales(OCTET_ARG_SRC, scales());
        set_scales(OCTET_ARG_DST, dst_scales);
        if (rule == rule_t::tflite_2step || rule == rule_t::tflite_single_rounding) {
            a.attr.set_scales(OCTET_ARG_SRC, 0, {0.1f});
            a.attr.set_scales(OCTET_ARG_DST, 0, {p.dst_scale = r.real(0.05f, 0.5f)});
        }
    }
    if (from != data_type::f32 || rule == rule_t::f32)
        add_zero_point(r, OCTET_ARG_SRC, from, p, a.attr);
    if (to != data_type::s32)
        add_zero_point(r, OCTET_ARG_DST, to, p, a.attr);
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return reorder::primitive_desc(eng(), src, eng(), dst, a.attr);
    };
    p.description = std::string("reorder ") + to_string(rule) + ":" + std::to_string(mask) + " " +
                    src.to_string() + " " + text_of(strides) + " to " + p.dst.to_string() + a.description;
    return p;
}

comparison random_reorder(random_source &r) {
    const memory::dims dims = random_dims(r), strides = random_strides(r, dims);
    return random_reorder_of(r, dims, strides, r.chance(70) ? strides : random_strides(r, dims));
}

/// Between nchw and nhwc, too large for one block of the computation in two orders.
comparison random_blocks(random_source &r) {
    const memory::dims dims{r.between(1, 3), r.pick<dim_t>({3, 64, 128, r.between(60, 300)}),
                            r.pick<dim_t>({1, 56, r.between(20, 90)}),
                            r.pick<dim_t>({56, r.between(20, 90)})};
    const dim_t c = dims[1], h = dims[2], w = dims[3];
    memory::dims from{c * h * w, h * w, w, 1}, to{c * h * w, 1, w * c, c};
    if (r.chance(50))
        std::swap(from, to);
    return random_reorder_of(r, dims, from, to);
}

comparison random_copy(random_source &r) {
    const memory::dims dims = random_dims(r);
    const data_type type =
        r.pick({data_type::u8, data_type::s8, data_type::f32, data_type::s32, data_type::s16});
    const memory::desc src(dims, type, random_strides(r, dims));
    comparison p;
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = memory::desc(dims, type, random_strides(r, dims));
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return reorder::primitive_desc(eng(), src, eng(), dst);
    };
    p.description = "copy " + src.to_string() + " to " + p.dst.to_string();
    return p;
}

/// Around the sizes of parts, strips and tiles; sometimes rows that share cache sets.
comparison random_transpose(random_source &r) {
    memory::dims dims{r.between(1, 2), r.pick<dim_t>({1, 15, 16, 17, 33, 64, 257, r.between(1, 300)}),
                      r.pick<dim_t>({3, 63, 64, 65, 128, 200, 513, r.between(1, 300)})};
    if (r.chance(5))
        dims = {1, r.pick<dim_t>({16, 65, 83, 130}), r.pick<dim_t>({2048, 4096})};
    const data_type type = r.pick({data_type::u8, data_type::u8, data_type::f32});
    memory::desc rows(dims, type, format_tag::ncw), columns(dims, type, format_tag::nwc);
    if (r.chance(50))
        std::swap(rows, columns);
    comparison p;
    p.srcs = {{OCTET_ARG_SRC, rows}};
    p.dst = columns;
    p.make = [=]() -> primitive_desc_base { return reorder::primitive_desc(eng(), rows, eng(), columns); };
    p.description = "transpose " + rows.to_string() + " " + text_of(dims) + " to " + columns.to_string();
    return p;
}

// ---- binary, sum, PReLU

/// A tensor that the destination's shape broadcasts from; mostly of its layout.
memory::desc random_operand(random_source &r, const memory::dims &dims, data_type type,
                            const memory::dims &strides) {
    if (r.chance(50))
        return memory::desc(dims, type, strides);
    memory::dims smaller = dims;
    const bool all = r.chance(30);
    for (std::size_t d = 0; d < dims.size(); d++)
        if (all || r.chance(60))
            smaller[d] = 1;
    return memory::desc(smaller, type, memory::dims{});
}

comparison random_binary_problem(random_source &r) {
    const memory::dims dims = random_dims(r);
    const memory::dims strides = random_strides(r, dims);
    using rule_t = requantization_rule;
    const rule_t rule =
        r.pick({rule_t::f32, rule_t::f32, rule_t::ort_f32, rule_t::ort_f32, rule_t::tflite_2step,
                rule_t::tflite_single_rounding, rule_t::caffe2_2step, rule_t::caffe_double_round});
    const bool any_type = rule == rule_t::f32;
    const auto type = [&] { return any_type ? random_type(r) : random_code(r); };
    comparison p;
    const bool flips = r.chance(50);
    memory::desc src0(dims, type(), strides), src1 = random_operand(r, dims, type(), strides);
    if (flips)
        std::swap(src0, src1);
    p.srcs = {{OCTET_ARG_SRC_0, src0}, {OCTET_ARG_SRC_1, src1}};
    p.dst = memory::desc(dims, type(), r.chance(90) ? strides : random_strides(r, dims));
    auto alg = random_algorithm(r, "binary_");
    if (rule == rule_t::caffe2_2step || r.chance(50))
        alg = algorithm::binary_add;
    else if (r.chance(50) || rule == rule_t::tflite_2step || rule == rule_t::tflite_single_rounding)
        alg = r.pick({algorithm::binary_mul, algorithm::binary_mul, algorithm::binary_sub});
    random_attributes a;
    if (rule != rule_t::ort_f32 && r.chance(40))
        add_post_ops(r, p, p.dst, a);
    a.attr.set_requantization(rule);
    if (rule != rule_t::f32 || r.chance(50)) {
        a.attr.set_scales(OCTET_ARG_SRC_0, 0, {r.real(0.01f, 0.1f)});
        a.attr.set_scales(OCTET_ARG_SRC_1, 0, {r.real(0.01f, 0.1f)});
    }
    if (rule != rule_t::f32) {
        a.attr.set_scales(OCTET_ARG_DST, 0, {p.dst_scale = r.real(0.01f, 0.2f)});
        add_zero_point(r, OCTET_ARG_SRC_0, src0.data_type(), p, a.attr);
        add_zero_point(r, OCTET_ARG_SRC_1, src1.data_type(), p, a.attr);
    }
    if (p.dst.data_type() != data_type::s32)
        add_zero_point(r, OCTET_ARG_DST, p.dst.data_type(), p, a.attr);
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return binary::primitive_desc({alg, src0, src1, dst}, a.attr, eng());
    };
    p.description = std::string("binary ") +
                    std::to_string(static_cast<int>(alg) - static_cast<int>(algorithm::binary_add)) + " " +
                    to_string(rule) + " " + src0.to_string() + " " + text_of(src0.dims()) + " and " +
                    src1.to_string() + " " + text_of(src1.dims()) + " to " + p.dst.to_string() + " " +
                    text_of(strides) + a.description;
    return p;
}

comparison random_sum(random_source &r) {
    const memory::dims dims = random_dims(r);
    const memory::dims strides = random_strides(r, dims);
    comparison p;
    std::vector<memory::desc> srcs;
    std::vector<float> scales;
    for (dim_t n = r.between(1, r.chance(20) ? 12 : 5); n > 0; n--) {
        srcs.emplace_back(dims, random_type(r), strides);
        p.srcs.emplace_back(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(srcs.size()) - 1, srcs.back());
        scales.push_back(r.pick({1.f, 0.25f, -0.3f}));
    }
    p.dst = memory::desc(dims, random_type(r), strides);
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return sum::primitive_desc(dst, scales, srcs, eng());
    };
    p.description = "sum of " + std::to_string(srcs.size()) + " to " + p.dst.to_string();
    return p;
}

comparison random_prelu(random_source &r) {
    const memory::dims dims = random_dims(r);
    const memory::dims strides = random_strides(r, dims);
    const memory::desc src(dims, random_type(r), strides),
        weights = random_operand(r, dims, random_type(r), strides);
    comparison p;
    p.srcs = {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}};
    p.dst = memory::desc(dims, random_type(r), strides);
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return prelu_forward::primitive_desc({prop_kind::forward_inference, src, weights, dst}, eng());
    };
    p.description = "prelu " + src.to_string() + " by " + weights.to_string() + " to " + p.dst.to_string();
    return p;
}

TEST(Streams, TablesEqualReference) { compare_many(random_table, 4000000); }
TEST(Streams, FunctionsEqualReference) { compare_many(random_function, 4100000); }
TEST(Streams, ReordersEqualReference) { compare_many(random_reorder, 4200000); }
TEST(Streams, BlocksEqualReference) { compare_many(random_blocks, 4900000, 20); }
TEST(Streams, CopiesEqualReference) { compare_many(random_copy, 4300000); }
TEST(Streams, TransposesEqualReference) { compare_many(random_transpose, 4800000); }
TEST(Streams, BinaryEqualsReference) { compare_many(random_binary_problem, 4400000); }
TEST(Streams, SumEqualsReference) { compare_many(random_sum, 4500000); }
TEST(Streams, PreluEqualsReference) { compare_many(random_prelu, 4600000); }

} // namespace
} // namespace octet::test
