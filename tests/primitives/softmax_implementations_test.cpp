// Softmax in every arithmetic, along every axis.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

using rules = requantization_rule;

comparison with_softmax(const memory::desc &src, const memory::desc &dst, const primitive_attr &attr,
                        int axis, algorithm alg) {
    comparison p;
    p.any_nan_will_do = true;
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = dst;
    p.make = [=]() -> primitive_desc_base {
        return softmax_forward::primitive_desc({prop_kind::forward_inference, alg, src, dst, axis}, attr,
                                               eng());
    };
    p.description = "softmax " + src.to_string() + " to " + dst.to_string() + " along axis " +
                    std::to_string(axis) + " of " + text_of(src.dims());
    return p;
}

/// Sometimes rows whose sums of exponentials exceed what Q12.19 holds.
memory::dims dims_of_rows(random_source &r, int &axis) {
    memory::dims dims = random_dims(r);
    axis = static_cast<int>(r.between(0, static_cast<dim_t>(dims.size()) - 1));
    if (r.chance(5))
        dims = {r.between(1, 2), r.between(3000, 9000)};
    if (r.chance(60))
        axis = static_cast<int>(dims.size()) - 1;
    axis = std::min(axis, static_cast<int>(dims.size()) - 1);
    return dims;
}

/// Rules that stand for LiteRT's tables of exponentials.
bool is_of_litert(rules rule) {
    return rule == rules::xnnpack_f32 || rule == rules::xnnpack_rndnu || rule == rules::ruy_2step;
}

comparison random_integer_softmax(random_source &r) {
    int axis;
    const memory::dims dims = dims_of_rows(r, axis);
    const memory::dims strides = random_strides(r, dims);
    const auto rule = r.pick({rules::tflite_2step, rules::tflite_single_rounding, rules::ort_f32,
                              rules::xnnpack_f32, rules::xnnpack_rndnu, rules::ruy_2step});
    const data_type from = random_code(r);
    data_type to = from;
    primitive_attr attr;
    attr.set_requantization(rule);
    if (rule == rules::ort_f32) {
        attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.001f, 0.3f)});
        attr.set_scales(OCTET_ARG_DST, 0, {r.pick({1.f / 256, r.real(0.0001f, 0.1f)})});
        attr.set_zero_points(OCTET_ARG_DST, 0, {random_zero_point(r, to)});
    } else if (is_of_litert(rule)) {
        if (rule != rules::ruy_2step && r.chance(20))
            to = data_type::s16;
        attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.001f, 1.f)});
        if (r.chance(50))
            attr.set_scales(OCTET_ARG_DST, 0,
                            {r.pick({1.f / 255, 0x1p-13f, 0x1p-14f, r.real(0.0001f, 9.f)})});
        if (r.chance(50))
            attr.set_zero_points(OCTET_ARG_DST, 0, {random_zero_point(r, to)});
    } else {
        to = r.pick({data_type::s8, data_type::u8, data_type::s16});
        const double scale = static_cast<double>(r.real(0.001f, 1.f));
        attr.set_input_multiplier(OCTET_ARG_SRC, from_double(rule, std::min(scale * 0x1p26, 2147483647.)));
    }
    return with_softmax(memory::desc(dims, from, strides),
                        memory::desc(dims, to, r.chance(90) ? strides : random_strides(r, dims)), attr, axis,
                        algorithm::softmax_accurate);
}

comparison random_f32_softmax(random_source &r) {
    int axis;
    const memory::dims dims = dims_of_rows(r, axis);
    const memory::dims strides = random_strides(r, dims);
    const data_type from = random_type(r), to = random_type(r);
    comparison p;
    p.any_nan_will_do = true;
    p.dst = memory::desc(dims, to, r.chance(90) ? strides : random_strides(r, dims));
    const memory::desc src(dims, from, strides);
    random_attributes a;
    add_post_ops(r, p, src, a);
    std::unordered_map<int, memory> args = p.args;
    const auto rule = r.pick({rules::f32, rules::f32_v3});
    a.attr.set_requantization(rule);
    if (rule == rules::f32 && r.chance(50)) {
        a.attr.set_output_scales(0, {to == data_type::f32 ? 0.3f : 200.f});
    } else if (rule == rules::f32_v3) {
        a.attr.set_scales(OCTET_ARG_SRC, 0, {r.real(0.5f, 2.f)});
        a.attr.set_scales(OCTET_ARG_DST, 0, {r.real(0.004f, 0.01f)});
    }
    p = with_softmax(src, p.dst, a.attr, axis, r.pick({algorithm::softmax_accurate, algorithm::softmax_log}));
    p.args = args;
    return p;
}

/// More elements than a block has.
comparison random_large_softmax(random_source &r) {
    const memory::dims dims{r.between(100, 130), r.between(8, 12), 1024};
    const int axis = static_cast<int>(r.between(0, 2));
    const data_type to = r.pick({data_type::f32, data_type::u8});
    primitive_attr attr;
    if (to == data_type::u8)
        attr.set_output_scales(0, {255.f});
    return with_softmax(memory::desc(dims, data_type::f32, memory::dims{}),
                        memory::desc(dims, to, memory::dims{}), attr, axis, algorithm::softmax_accurate);
}

/// Rows and columns around those that kernels take at a time; codes that use all or few of the results.
comparison softmax_of_rows(random_source &r, dim_t rows, dim_t columns, requantization_rule rule) {
    const data_type type = rule == rules::f32 ? data_type::f32 : random_code(r);
    const float scale = r.pick({0.01f, 0.06f, 0.1f, 0.4f});
    primitive_attr attr;
    attr.set_requantization(rule);
    if (rule == rules::ort_f32) {
        attr.set_scales(OCTET_ARG_SRC, 0, {scale});
        attr.set_scales(OCTET_ARG_DST, 0, {1.f / 256});
        attr.set_zero_points(OCTET_ARG_DST, 0, {random_zero_point(r, type)});
    } else if (is_of_litert(rule)) {
        attr.set_scales(OCTET_ARG_SRC, 0, {scale});
    } else if (rule == rules::tflite_2step) {
        attr.set_input_multiplier(OCTET_ARG_SRC, from_double(rule, static_cast<double>(scale) * 0x1p26));
    }
    const dim_t gap = r.between(0, 3);
    const memory::desc md({rows, columns}, type, memory::dims{columns + gap, 1});
    comparison p = with_softmax(md, md, attr, 1, algorithm::softmax_accurate);
    p.in_place = r.chance(30);
    return p;
}

TEST(Softmax, RowsAndColumnsAroundBatchesEqualReference) {
    std::map<std::string, int> counts;
    random_source r(5300000);
    for (const auto rule : {rules::f32, rules::tflite_2step, rules::ort_f32, rules::xnnpack_f32,
                            rules::xnnpack_rndnu, rules::ruy_2step})
        for (const dim_t rows : {1, 15, 16, 17, 63, 64, 65, 97})
            for (const dim_t columns : {1, 3, 4, 5, 16, 33, 63, 64, 65, 128, 130, 259})
                compare_implementations(softmax_of_rows(r, rows, columns, rule), r, counts);
}

TEST(Softmax, BlocksEqualReference) {
    std::map<std::string, int> counts;
    for (std::uint32_t seed = 0; seed < 3; seed++) {
        random_source r(5200000 + seed);
        compare_implementations(random_large_softmax(r), r, counts);
    }
}

TEST(Softmax, IntegerFormsEqualReference) { compare_many(random_integer_softmax, 5000000); }
TEST(Softmax, F32EqualsReference) { compare_many(random_f32_softmax, 5100000); }

} // namespace
} // namespace octet::test
