// Random problems of lrn, shuffle, logsoftmax and of 1x1 convolutions with a depthwise one as their post-op.
// SPDX-License-Identifier: Apache-2.0
#include "random_problem.hpp"

namespace peers {

namespace {

/// dst holds numbers before, too, so that an element that is not written is seen.
void fill_tensors(problem &p, random_source &r, const dims &shape, type element, const std::string &layout) {
    for (tensor *t : {&p.src, &p.dst})
        *t = r.filled(shape, element, range::typical, layout);
}

problem lrn(random_source &r) {
    problem p;
    p.algorithm = r.pick({"lrn_across_channels", "lrn_within_channel"});
    const std::string layout = r.pick({"", "channels_last"});
    const dims shape{r.between(1, 2), r.pick({3, 8, 16, 24, 32, 48}), r.between(1, 9), r.between(1, 9)};
    p.size = r.pick({1, 3, 5, 5, 5, 7, 9});
    p.alpha = r.real(0.0001f, 1.f);
    p.beta = r.pick({0.75f, 0.75f, 1.f, 0.5f});
    p.k = r.pick({1.f, 2.f});
    fill_tensors(p, r, shape, r.pick({type::f32, type::f32, type::bf16}), layout);
    return p;
}

problem shuffle(random_source &r) {
    problem p;
    dims shape;
    for (std::int64_t i = r.between(2, 5); i > 0; i--)
        shape.push_back(r.pick({1, 2, 3, 5, 8, 12}));
    p.axis = static_cast<int>(r.between(0, static_cast<std::int64_t>(shape.size()) - 1));
    p.size = r.pick({1, 2, 3, 4, 6});
    shape[static_cast<std::size_t>(p.axis)] = p.size * r.pick({1, 2, 3, 5, 16});
    const std::string layout = shape.size() < 3 ? "" : r.pick({"", "channels_last"});
    fill_tensors(p, r, shape, r.pick({type::f32, type::s32, type::s8, type::u8}), layout);
    return p;
}

problem logsoftmax(random_source &r) {
    problem p;
    dims shape;
    for (std::int64_t i = r.between(2, 4); i > 0; i--)
        shape.push_back(r.pick({1, 2, 3, 5, 17, 40}));
    p.axis = static_cast<int>(r.between(0, static_cast<std::int64_t>(shape.size()) - 1));
    p.src = r.filled(shape, type::f32, range::typical);
    for (std::size_t at = 0; at < p.src.data.size(); at += sizeof(float)) { // sums of more than one term
        const float x = element<float>(p.src.data, at / sizeof(float)) / 100.f;
        std::memcpy(p.src.data.data() + at, &x, sizeof x);
    }
    p.dst = r.filled(shape, type::f32, range::typical);
    return p;
}

/// Of half the range: pairs of products with u8 stay within 16 bits.
tensor small_weights(random_source &r, const dims &shape) {
    tensor t = r.filled(shape, type::s8, range::typical, "any");
    for (std::uint8_t &code : t.data)
        code = static_cast<std::uint8_t>(static_cast<std::int8_t>(code) / 2);
    return t;
}

problem fused_depthwise(random_source &r) {
    problem p;
    const std::int64_t batch = r.between(1, 2), inputs = r.pick({3, 8, 16, 32}),
                       channels = r.pick({5, 8, 16, 32, 48}), height = r.between(1, 11),
                       width = r.between(1, 11);
    const type between = r.pick({type::u8, type::s8});
    p.kernel = {1, 1};
    p.strides = {1, 1};
    p.dilates = p.padding_l = p.padding_r = {0, 0};
    p.src = r.filled({batch, inputs, height, width}, type::u8, range::typical, "channels_last");
    p.weights = small_weights(r, {channels, inputs, 1, 1});
    if (r.chance(50))
        p.bias = r.filled({channels}, type::f32, range::typical);
    p.attr.scales.set = true;
    p.attr.scales.values = {r.real(0.001f, 0.02f)};
    p.between = r.filled({batch, channels, height, width}, between, range::typical, "channels_last");

    post_op dw;
    dw.name = "dw";
    dw.stride = r.between(1, 2);
    dw.sum_type = r.pick({type::u8, type::s8, type::s32, type::f32});
    dw.input = small_weights(r, {channels, 1, 1, 3, 3});
    if (r.chance(50))
        dw.bias = r.filled({channels}, type::f32, range::typical);
    for (std::int64_t i = r.chance(50) ? 1 : channels; i > 0; i--)
        dw.scales.push_back(r.real(0.001f, 0.05f));
    post_op relu;
    relu.name = "relu";
    if (r.chance(50))
        p.attr.post_ops.push_back(relu);
    p.attr.post_ops.push_back(dw);
    if (r.chance(30))
        p.attr.post_ops.push_back(relu);
    p.dst =
        r.filled({batch, channels, (height + dw.stride - 1) / dw.stride, (width + dw.stride - 1) / dw.stride},
                 dw.sum_type, range::typical, "channels_last");
    return p;
}

} // namespace

problem random_other_problem(operation op, random_source &r) {
    problem p = op == operation::lrn          ? lrn(r)
                : op == operation::shuffle    ? shuffle(r)
                : op == operation::logsoftmax ? logsoftmax(r)
                                              : fused_depthwise(r);
    p.op = op;
    return p;
}

} // namespace peers
