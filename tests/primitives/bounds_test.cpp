// Floats that no s32 holds, infinities and NaN, in front of post-ops with finite bounds: generated code may leave
// out the checks of a conversion, or clamp codes instead of values, only where nothing can be as large.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

using rules = requantization_rule;

constexpr dim_t channels = 40; // two vectors and a half of the widest level

struct post_op_case {
    const char *name;
    void (*append)(post_ops &ops);
};

const post_op_case clips[] = {
    {"clip", [](post_ops &ops) { ops.append_clip(-20, 300); }},
    {"eltwise_clip", [](post_ops &ops) { ops.append_eltwise(1.f, algorithm::eltwise_clip, -20.f, 300.f); }},
    {"bounded_relu",
     [](post_ops &ops) { ops.append_eltwise(1.f, algorithm::eltwise_bounded_relu, 6.f, 0.f); }},
    {"relu", [](post_ops &ops) { ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f); }},
    {"linear, relu",
     [](post_ops &ops) {
         ops.append_eltwise(1.f, algorithm::eltwise_linear, -0.5f, 3.f);
         ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
     }},
    {"nothing", [](post_ops &) {}},
};

memory floats(const memory::desc &md) {
    const float inf = std::numeric_limits<float>::infinity();
    const float values[] = {1e10f,         -1e10f,        255.5f, -128.5f, 2147483648.f,
                            -2147483904.f, inf,           -inf,   3e38f,   -3e38f,
                            2147483520.f,  std::nanf(""), 0.f,    7.f,     1e-40f};
    memory m(md, eng());
    auto *to = static_cast<float *>(m.get_data_handle());
    for (std::size_t i = 0; i < md.get_size() / sizeof(float); i++)
        to[i] = values[i % std::size(values)];
    return m;
}

using maker = std::function<primitive_desc_base(const memory::desc &dst, const primitive_attr &attr)>;

/// The levels against the reference behind each of the post-ops.
void compare_levels(const maker &make, const std::unordered_map<int, memory> &args,
                    const memory::dims &dst_dims, const primitive_attr &base = {},
                    std::initializer_list<data_type> types = {data_type::u8, data_type::s8}) {
    for (const post_op_case &c : clips)
        for (const data_type type : types) {
            post_ops ops;
            c.append(ops);
            primitive_attr attr = base;
            attr.set_post_ops(ops);
            const memory::desc dst(dst_dims, type, format_tag::nhwc);
            const auto run_at = [&](cpu_isa level) {
                set_max_cpu_isa(level);
                std::unordered_map<int, memory> all = args;
                const memory y(dst, eng());
                std::memset(y.get_data_handle(), 85, dst.get_size());
                all[OCTET_ARG_DST] = y;
                primitive(make(dst, attr)).execute(stream(eng()), all);
                const auto *codes = static_cast<const std::uint8_t *>(y.get_data_handle());
                return bytes(codes, codes + dst.get_size());
            };
            const bytes expected = run_at(cpu_isa::ref);
            for (const cpu_isa level : get_available_cpu_isas())
                EXPECT_EQ(difference(expected, run_at(level)), "")
                    << c.name << ", " << to_string(level) << (type == data_type::u8 ? ", u8" : ", s8");
        }
    set_max_cpu_isa(cpu_isa::all);
}

memory::desc nhwc(data_type type, dim_t size) {
    return memory::desc({1, channels, size, size}, type, format_tag::nhwc);
}
const memory::dims dims3{1, channels, 3, 3}, dims6{1, channels, 6, 6};

TEST(Bounds, OfResampling) {
    const memory x = floats(nhwc(data_type::f32, 3));
    for (const algorithm alg : {algorithm::resampling_nearest, algorithm::resampling_linear})
        compare_levels(
            [&](const memory::desc &dst, const primitive_attr &attr) -> primitive_desc_base {
                return resampling_forward::primitive_desc(
                    {prop_kind::forward_inference, alg, x.get_desc(), dst}, attr, eng());
            },
            {{OCTET_ARG_SRC, x}}, dims6);
}

TEST(Bounds, OfReorder) {
    const memory x = floats(nhwc(data_type::f32, 3));
    for (const rules rule : {rules::f32, rules::ort_f32}) {
        primitive_attr attr;
        attr.set_requantization(rule);
        compare_levels(
            [&](const memory::desc &dst, const primitive_attr &a) -> primitive_desc_base {
                return reorder::primitive_desc(eng(), x.get_desc(), eng(), dst, a);
            },
            {{OCTET_ARG_SRC, x}}, dims3, attr);
    }
}

TEST(Bounds, OfElementwise) {
    const memory x = floats(nhwc(data_type::f32, 3));
    compare_levels(
        [&](const memory::desc &dst, const primitive_attr &a) -> primitive_desc_base {
            return eltwise_forward::primitive_desc(eng(), prop_kind::forward_inference,
                                                   algorithm::eltwise_linear, x.get_desc(), dst, 2.f, 1.f, a);
        },
        {{OCTET_ARG_SRC, x}}, dims3);
    compare_levels(
        [&](const memory::desc &dst, const primitive_attr &a) -> primitive_desc_base {
            return binary::primitive_desc({algorithm::binary_mul, x.get_desc(), x.get_desc(), dst}, a, eng());
        },
        {{OCTET_ARG_SRC_0, x}, {OCTET_ARG_SRC_1, x}}, dims3);
}

/// The scale of the source takes averages of codes anywhere.
TEST(Bounds, OfAverages) {
    for (const data_type type : {data_type::u8, data_type::s8})
        for (const float scale : {1e8f, 3e38f, 0.1f}) {
            const memory x(nhwc(type, 3), eng());
            random_source r(1);
            r.fill(x);
            primitive_attr attr;
            attr.set_requantization(rules::ort_f32);
            attr.set_scales(OCTET_ARG_SRC, 0, {scale});
            attr.set_scales(OCTET_ARG_DST, 0, {0.3f});
            attr.set_zero_points(OCTET_ARG_SRC, 0, {100});
            const auto make = [&](const memory::desc &dst, const primitive_attr &a) -> primitive_desc_base {
                return pooling_forward::primitive_desc(
                    {prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding, x.get_desc(), dst,
                     memory::dims{1, 1}, memory::dims{2, 2}, memory::dims{0, 0}, memory::dims{0, 0}},
                    a, eng());
            };
            compare_levels(make, {{OCTET_ARG_SRC, x}}, {1, channels, 2, 2}, attr, {type});
        }
}

/// f32_v3 divides by the destination's scale last, so also what a post-op added.
TEST(Bounds, OfADivisionBehindPostOps) {
    const memory x(nhwc(data_type::u8, 3), eng());
    const memory::desc weights({channels, channels, 1, 1}, data_type::s8, format_tag::oihw);
    random_source r(2);
    r.fill(x);
    for (const bool sums : {true, false})
        for (const float scale : {1e-9f, 1.f}) {
            primitive_attr attr;
            attr.set_requantization(rules::f32_v3);
            attr.set_scales(OCTET_ARG_SRC, 0, {1e-3f});
            attr.set_scales(OCTET_ARG_DST, 0, {scale});
            post_ops ops;
            if (sums)
                ops.append_sum(1.f);
            else
                ops.append_eltwise(1.f, algorithm::eltwise_linear, 1e-4f, 100.f);
            attr.set_post_ops(ops);
            const memory::desc dst(dims3, data_type::u8, format_tag::nhwc);
            const auto run_at = [&](cpu_isa level) {
                set_max_cpu_isa(level);
                const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                              algorithm::convolution_direct,
                                                              x.get_desc(),
                                                              weights,
                                                              dst,
                                                              {1, 1},
                                                              {0, 0},
                                                              {0, 0},
                                                              {0, 0}},
                                                             attr, eng());
                const memory y(dst, eng()), w(pd.weights_desc(), eng());
                std::memset(w.get_data_handle(), 1, w.get_desc().get_size());
                std::memset(y.get_data_handle(), 77, dst.get_size());
                convolution_forward(pd).execute(
                    stream(eng()), {{OCTET_ARG_SRC, x}, {OCTET_ARG_WEIGHTS, w}, {OCTET_ARG_DST, y}});
                const auto *codes = static_cast<const std::uint8_t *>(y.get_data_handle());
                return bytes(codes, codes + dst.get_size());
            };
            const bytes expected = run_at(cpu_isa::ref);
            for (const cpu_isa level : get_available_cpu_isas())
                EXPECT_EQ(difference(expected, run_at(level)), "") << to_string(level) << ", sum " << sums;
        }
    set_max_cpu_isa(cpu_isa::all);
}

} // namespace
} // namespace octet::test
