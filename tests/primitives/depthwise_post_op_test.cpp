// A depthwise convolution behind another one gives what the two convolutions give one after the other.
// SPDX-License-Identifier: Apache-2.0
#include "support/naive.hpp"

namespace octet::test {
namespace {

constexpr auto inference = prop_kind::forward_inference;
constexpr auto direct = algorithm::convolution_direct;
constexpr int of_depthwise = OCTET_ARG_ATTR_POST_OP_DW;

/// The depthwise part of a random problem.
struct depthwise_part {
    dim_t kernel, stride, padding;
    data_type bias, dst;
    int mask;
    std::vector<float> scales;
};

depthwise_part random_part(inputs &in, dim_t channels) {
    constexpr data_type types[] = {data_type::u8, data_type::s8, data_type::s32, data_type::f32};
    depthwise_part p{in.between(1, 5), in.between(1, 3), 0, data_type::undef, types[in.between(0, 3)], 0,
                     {0.01f}};
    p.padding = in.between(0, p.kernel - 1);
    if (in.one_in(2))
        p.bias = data_type::f32;
    if (in.one_in(2)) {
        p.mask = 1 << 1;
        p.scales.clear();
        for (dim_t c = 0; c < channels; c++)
            p.scales.push_back(0.001f * static_cast<float>(in.between(1, 20)));
    }
    return p;
}

convolution_forward::desc convolution_of(const memory::desc &src, const memory::desc &weights,
                                         const memory::desc &bias, const memory::desc &dst,
                                         const depthwise_part &p) {
    dims behind;
    for (std::size_t d = 2; d < 4; d++)
        behind.push_back((dst.dims()[d] - 1) * p.stride + p.kernel - src.dims()[d] - p.padding);
    return {inference, direct, src, weights, bias, dst, {p.stride, p.stride}, {p.padding, p.padding}, behind};
}

TEST(depthwise_post_op, is_the_second_of_two_convolutions) {
    inputs in(174);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        const dim_t n = in.between(1, 2), ic = in.between(1, 40), oc = in.between(1, 40),
                    h = in.between(4, 12), w = in.between(4, 12);
        const format_tag tag = in.one_in(2) ? format_tag::nhwc : format_tag::nchw;
        const data_type between = in.one_in(2) ? data_type::u8 : data_type::s8;
        const depthwise_part part = random_part(in, oc);
        const memory::desc src_md({n, ic, h, w}, data_type::u8, tag),
            bias_md({oc}, data_type::f32, format_tag::x),
            weights_md({oc, ic, 1, 1}, data_type::s8, format_tag::oihw),
            between_md({n, oc, h, w}, between, tag),
            own_md({oc, 1, 1, part.kernel, part.kernel}, data_type::s8, format_tag::goihw),
            operand_md({1, oc, 1, 1}, data_type::f32, format_tag::nchw),
            dst_md({n, oc, (h + part.stride - 1) / part.stride, (w + part.stride - 1) / part.stride},
                   part.dst, tag);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md),
                     bias = random_memory(in, bias_md), own = random_memory(in, own_md),
                     own_bias = random_memory(in, bias_md), operand = random_memory(in, operand_md);
        const convolution_forward::desc first(inference, direct, src_md, weights_md, bias_md, between_md,
                                              {1, 1}, {0, 0}, {0, 0});

        post_ops before, behind, chain;
        if (in.one_in(2)) {
            before.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
            chain = before;
        }
        chain.append_dw(data_type::s8, part.bias, part.dst, part.kernel, part.stride, part.padding, part.mask,
                        part.scales);
        const bool has_operand = in.one_in(2);
        if (has_operand) {
            behind.append_binary(algorithm::binary_add, operand_md);
            chain.append_binary(algorithm::binary_add, operand_md);
        }
        primitive_attr of_first, of_second, of_both;
        of_first.set_output_scales(0, {0.01f});
        of_both = of_first;
        of_first.set_post_ops(before);
        of_both.set_post_ops(chain);
        of_second.set_output_scales(part.mask, part.scales);
        of_second.set_post_ops(behind);

        const bool has_bias = part.bias != data_type::undef;
        const memory middle(between_md, cpu), expected(dst_md, cpu), dst(dst_md, cpu);
        convolution_forward(convolution_forward::primitive_desc(first, of_first, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src},
                                   {OCTET_ARG_WEIGHTS, weights},
                                   {OCTET_ARG_BIAS, bias},
                                   {OCTET_ARG_DST, middle}});
        std::unordered_map<int, memory> args = {
            {OCTET_ARG_SRC, middle}, {OCTET_ARG_WEIGHTS, own}, {OCTET_ARG_DST, expected}};
        if (has_bias)
            args[OCTET_ARG_BIAS] = own_bias;
        if (has_operand)
            args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = operand;
        const memory::desc second_bias = has_bias ? bias_md : memory::desc();
        convolution_forward(
            convolution_forward::primitive_desc(convolution_of(between_md, own_md, second_bias, dst_md, part),
                                                of_second, cpu))
            .execute(stream(cpu), args);

        const convolution_forward::primitive_desc pd(first, of_both, cpu);
        EXPECT_EQ(primitive_desc_from_string(pd.problem_str(), cpu).problem_str(), pd.problem_str());
        ASSERT_EQ(pd.dst_desc(), dst_md);
        const memory packed(pd.arg_desc(of_depthwise | OCTET_ARG_WEIGHTS), cpu);
        reorder(reorder::primitive_desc(own, packed)).execute(stream(cpu), own, packed);
        args = {{OCTET_ARG_SRC, src},
                {OCTET_ARG_WEIGHTS, weights},
                {OCTET_ARG_BIAS, bias},
                {of_depthwise | OCTET_ARG_WEIGHTS, packed},
                {OCTET_ARG_DST, dst}};
        if (has_bias)
            args[of_depthwise | OCTET_ARG_BIAS] = own_bias;
        if (has_operand)
            args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(before.len() + 1) | OCTET_ARG_SRC_1] = operand;
        convolution_forward(pd).execute(stream(cpu), args);
        ASSERT_EQ(std::memcmp(dst.get_data_handle(), expected.get_data_handle(), dst_md.get_size()), 0)
            << pd.problem_str();
    }
}

TEST(depthwise_post_op, what_it_does_not_read_is_refused) {
    post_ops ops;
    EXPECT_THROW(ops.append_dw(data_type::s8, data_type::undef, data_type::u8, 0, 1, 0, 0, {1.f}), error);
    EXPECT_THROW(ops.append_dw(data_type::s8, data_type::undef, data_type::u8, 3, 0, 1, 0, {1.f}), error);
    EXPECT_THROW(ops.append_dw(data_type::s8, data_type::undef, data_type::u8, 3, 1, 3, 0, {1.f}), error);
    ops.append_dw_k3s1p1(data_type::s8, data_type::undef, data_type::u8, 0, {1.f});
    ops.append_sum(1.f);
    primitive_attr attr;
    attr.set_post_ops(ops);
    const memory::desc md({1, 4, 5, 5}, data_type::u8, format_tag::nhwc),
        weights({4, 4, 1, 1}, data_type::s8, format_tag::oihw);
    const convolution_forward::desc d(inference, direct, md, weights, md, {1, 1}, {0, 0}, {0, 0});
    EXPECT_THROW(convolution_forward::primitive_desc(d, attr, cpu), error);
}

} // namespace
} // namespace octet::test
