// Seeds in ONNX: encoders on floats and integers, and networks that lie about sizes and indices.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/onnx_encoder.hpp"
#include "network/tests/fuzz/seeds.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

/// x u8 {2, 3} through one node with constant integers, to y.
template <typename... Attributes>
fuzz_seed one_node(const char *name, fuzz_outcome expected, const char *op,
                   const std::vector<std::pair<b::dims, b::dims>> &constants,
                   const Attributes &...attributes) {
    b m;
    m.input<std::uint8_t>("x", {2, 3});
    b::names names = {"x"};
    for (const auto &[shape, values] : constants) {
        names.push_back("c" + std::to_string(names.size()));
        m.constant<std::int64_t>(names.back(), shape, values);
    }
    onnx::NodeProto &n = m.node(op, names, {"y"});
    (b::set(n, attributes.first, attributes.second), ...);
    m.output("y");
    return {name, m.finish(), expected};
}

/// Range of constants.
fuzz_seed range(const char *name, fuzz_outcome expected, std::int64_t start, std::int64_t limit,
                std::int64_t step) {
    b m;
    m.input<std::uint8_t>("x", {2, 3});
    m.scalar<std::int64_t>("start", start), m.scalar<std::int64_t>("limit", limit),
        m.scalar<std::int64_t>("step", step);
    m.node("Range", {"start", "limit", "step"}, {"y"});
    m.node("Identity", {"x"}, {"z"});
    m.output("y"), m.output("z");
    return {name, m.finish(), expected};
}

/// Images through the families of operators on floats, with some that join others, and operators with any number of
/// operands.
fuzz_seed float_image() {
    b m;
    const auto floats = [&](const char *name, const b::dims &shape, unsigned seed) {
        std::size_t count = 1;
        for (const std::int64_t d : shape)
            count *= static_cast<std::size_t>(d);
        return m.constant(name, shape, with_deviation(count, 0.4f, seed));
    };
    m.input<float>("x", {1, 4, 6, 6});
    floats("w1", {8, 4, 3, 3}, 1), floats("b1", {8}, 2), floats("w2", {8, 4, 3, 3}, 3),
        floats("slope", {8, 1, 1}, 4);
    floats("w3", {8, 5}, 5), floats("b3", {5}, 6);
    m.node("Conv", {"x", "w1", "b1"}, {"c1"});
    m.node("Conv", {"x", "w2"}, {"c2"});
    m.node("Add", {"c1", "c2"}, {"sum"});
    m.node("Relu", {"sum"}, {"relu"});
    b::set(m.node("MaxPool", {"relu"}, {"pooled"}), "kernel_shape", b::dims{2, 2});
    m.node("PRelu", {"c2", "slope"}, {"prelu"});
    m.node("Max", {"c1", "c2", "prelu"}, {"max"});
    m.node("Min", {"max", "relu", "slope"}, {"min"});
    m.node("Sum", {"min", "c1", "c2"}, {"all"});
    m.node("Mean", {"all", "max", "min", "prelu"}, {"mean"});
    b::set(m.node("Split", {"mean"}, {"left", "right"}), "axis", std::int64_t{1});
    b::set(m.node("Concat", {"right", "left", "right"}, {"joined"}), "axis", std::int64_t{1});
    m.node("Greater", {"left", "right"}, {"is_greater"});
    m.node("Where", {"is_greater", "left", "right"}, {"chosen"});
    m.constant<std::int64_t>("pads", {8}, {0, 0, 1, 0, 0, 0, 0, 2});
    m.node("Pad", {"chosen", "pads"}, {"padded"});
    b::set(m.node("Transpose", {"padded"}, {"turned"}), "perm", b::dims{0, 2, 3, 1});
    b::set(m.node("ReduceMean", {"turned"}, {"reduced"}), "axes", b::dims{1});
    m.node("GlobalMaxPool", {"joined"}, {"largest"});
    m.node("GlobalAveragePool", {"mean"}, {"average"});
    m.node("Flatten", {"average"}, {"flat"});
    m.node("MatMul", {"flat", "w3"}, {"product"});
    m.node("Add", {"product", "b3"}, {"biased"});
    m.node("Sigmoid", {"biased"}, {"gate"});
    m.node("Mul", {"biased", "gate"}, {"swish"});
    m.node("Softmax", {"swish"}, {"y"});
    for (const char *name : {"y", "pooled", "reduced", "largest"})
        m.output(name);
    return {"float_image", m.finish(), fuzz_outcome::ran};
}

/// Remainders of two integers.
fuzz_seed remainders() {
    b m;
    m.input<std::uint8_t>("x", {2, 3});
    b::set(m.node("Cast", {"x"}, {"wide"}), "to", std::int64_t{onnx::TensorProto::INT32});
    m.constant<std::int32_t>("divisors", {3}, {3, -5, 0});
    m.node("Mod", {"wide", "divisors"}, {"y"});
    m.output("y");
    return {"remainders", m.finish(), fuzz_outcome::ran};
}

} // namespace

std::vector<fuzz_seed> onnx_seeds() {
    constexpr auto ran = fuzz_outcome::ran, refused = fuzz_outcome::refused;
    using number = std::pair<const char *, std::int64_t>;
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    return {
        {"encoder_dynamic", encoder(true, 5).finish(), ran},
        {"encoder_static", encoder(false, 5).finish(), ran},
        one_node("gather_inside", ran, "Gather", {{{2}, {1, -2}}}),
        one_node("gather_outside", refused, "Gather", {{{2}, {1, 2}}}),
        one_node("gather_far_outside", refused, "Gather", {{{1}, {-huge}}}),
        one_node("gather_axis", refused, "Gather", {{{1}, {0}}}, number("axis", -huge)),
        one_node("slice_far", ran, "Slice", {{{1}, {-huge}}, {{1}, {huge}}, {{1}, {1}}, {{1}, {1}}}),
        one_node("slice_backwards", ran, "Slice", {{{1}, {huge}}, {{1}, {-huge}}, {{1}, {1}}, {{1}, {-2}}}),
        one_node("slice_step_of_minimum", ran, "Slice",
                 {{{1}, {2}}, {{1}, {-huge}}, {{1}, {1}}, {{1}, {-huge}}}),
        one_node("slice_nothing", ran, "Slice", {{{1}, {2}}, {{1}, {1}}}),
        one_node("expand_huge", refused, "Expand", {{{3}, {huge, 1, 3}}}),
        one_node("reshape_huge", refused, "Reshape", {{{3}, {huge, huge, -1}}}),
        float_image(),
        remainders(),
        range("range_short", ran, 3, 0, -1),
        range("range_huge", refused, -huge, huge, 1),
        range("range_step_of_zero", refused, 0, 1, 0),
    };
}

} // namespace octet::tests
