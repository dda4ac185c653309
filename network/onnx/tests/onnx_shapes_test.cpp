// Shapes of networks whose sizes are open: computed by operators of the network itself, known once its inputs have
// sizes, and computed anew for other ones.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;
using dims = memory::dims;

model::graph read(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    return model::read_onnx(file.data(), file.size(), "net.onnx");
}

model::tensor &named(model::graph &g, const std::string &name) {
    for (model::tensor &t : g.tensors)
        if (t.name == name)
            return t;
    throw std::out_of_range(name);
}

std::vector<std::int32_t> integers(model::graph &g, const std::string &name) {
    const model::tensor &t = named(g, name);
    std::vector<std::int32_t> values(t.data.size() / sizeof(std::int32_t));
    if (!values.empty())
        std::memcpy(values.data(), t.data.data(), t.data.size());
    return values;
}

std::string defect(model::graph g) {
    try {
        infer_shapes(g);
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

/// x {n, s, 6} -> {n, s, 2, 3} -> {n, 2, s, 3}, as exporters write the heads of an attention.
b heads() {
    b m;
    m.input<std::uint8_t>("x", {-1, 4, 6});
    auto &shape = *m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(1)->set_dim_param("sequence");
    m.node("Shape", {"x"}, {"shape"});
    m.scalar<std::int64_t>("zero", 0), m.scalar<std::int64_t>("one", 1);
    m.constant<std::int64_t>("axis", {1}, {0});
    m.constant<std::int64_t>("heads", {2}, {2, 3});
    for (const char *const i : {"zero", "one"}) {
        m.node("Gather", {"shape", i}, {std::string("d_") + i});
        m.node("Unsqueeze", {std::string("d_") + i, "axis"}, {std::string("u_") + i});
    }
    b::set(m.node("Concat", {"u_zero", "u_one", "heads"}, {"new_shape"}), "axis", std::int64_t{0});
    m.node("Reshape", {"x", "new_shape"}, {"split"});
    b::set(m.node("Transpose", {"split"}, {"y"}), "perm", b::dims{0, 2, 1, 3});
    m.output("y");
    return m;
}

TEST(OnnxShapes, AreInferredAgainForOtherSizes) {
    model::graph g = read(heads());
    const std::size_t nodes = g.nodes.size();
    model::tensor &x = g.tensors[static_cast<std::size_t>(g.inputs[0])];
    EXPECT_EQ(x.dims, (dims{1, -1, 6}));
    EXPECT_EQ(x.dim_names, (std::vector<std::string>{"n", "sequence", ""}));
    EXPECT_EQ(defect(g), "input 'x': dimension 1 ('sequence') has no fixed size, and none is given");
    for (const dim_t size : {5, 1, 7}) {
        x.dims = {size + 1, size, 6};
        infer_shapes(g);
        EXPECT_EQ(g.nodes.size(), nodes);
        EXPECT_EQ(integers(g, "new_shape"),
                  (std::vector<std::int32_t>{static_cast<int>(size) + 1, static_cast<int>(size), 2, 3}));
        EXPECT_EQ(named(g, "y").dims, (dims{size + 1, 2, size, 3}));
    }
    x.dims = {2, 2, 6};
    infer_shapes(g);
    network net(g);
    EXPECT_EQ(net.get_graph().nodes.size(), 2u); // Reshape and Transpose
    std::vector<std::uint8_t> values(24), expected;
    for (std::size_t i = 0; i < 24; i++)
        values[i] = static_cast<std::uint8_t>(i);
    for (const int n : {0, 12})
        for (const int h : {0, 3})
            for (const int s : {0, 6})
                for (const int d : {0, 1, 2})
                    expected.push_back(static_cast<std::uint8_t>(n + s + h + d));
    net.input(0).copy_from(values);
    net.run();
    EXPECT_EQ(net.output(0).as<std::uint8_t>(), expected);
}

/// x {n, 4} -> `shape`, with the first dimension left open.
b reshaped(const std::vector<std::int64_t> &shape) {
    b m;
    m.input<float>("x", {-1, 4});
    m.constant<std::int64_t>("shape", {static_cast<std::int64_t>(shape.size())}, shape);
    m.node("Reshape", {"x", "shape"}, {"y"});
    m.output("y");
    return m;
}

TEST(OnnxShapes, FirstDimensionsThatCannotBeOneStayOpen) {
    const model::graph g = read(reshaped({3, 2, 2})); // only three rows fit
    EXPECT_EQ(g.tensors[static_cast<std::size_t>(g.inputs.at(0))].dims, (dims{-1, 4}));
    const auto output = [&](const network_options &options) { return network(g, options).output().dims(); };
    network_options by_shape, by_batch, too_many;
    by_shape.shapes = {{"x", {3, 4}}};
    by_batch.batch = 3;
    too_many.batch = 5;
    EXPECT_EQ(output(by_shape), (dims{3, 2, 2}));
    EXPECT_EQ(output(by_batch), (dims{3, 2, 2}));
    EXPECT_THROW(output(too_many), error);
    try {
        network(g).run();
        ADD_FAILURE();
    } catch (const error &e) {
        EXPECT_NE(std::string(e.what()).find("with 1, node 0 (Reshape)"), std::string::npos) << e.what();
    }
}

/// Constants name the old batch, or the new one.
TEST(OnnxShapes, BatchesThatConstantsName) {
    network_options two;
    two.batch = 2;
    EXPECT_EQ(network(read(reshaped({1, 2, 2})), two).output().dims(), (dims{2, 2, 2}));
    EXPECT_EQ(network(read(reshaped({2, -1})), two).output().dims(), (dims{2, 4}));
}

TEST(OnnxShapes, PaddingOfAWordFollowsTheSize) {
    b m;
    m.input<std::uint8_t>("x", {1, 2, -1, 5});
    auto &pool = m.node("MaxPool", {"x"}, {"y"});
    b::set(pool, "kernel_shape", b::dims{3, 3});
    b::set(pool, "strides", b::dims{2, 2});
    b::set(pool, "auto_pad", "SAME_UPPER");
    m.output("y");
    model::graph g = read(m);
    for (const auto &[size, before, after] : {std::tuple{5, 1, 1}, {6, 0, 1}, {5, 1, 1}}) {
        g.tensors[static_cast<std::size_t>(g.inputs[0])].dims[2] = size;
        infer_shapes(g);
        EXPECT_EQ(std::get<std::vector<std::int64_t>>(g.nodes[0].attributes.at("pads")),
                  (std::vector<std::int64_t>{before, 1, after, 1}));
        EXPECT_EQ(named(g, "y").dims, (dims{1, 2, 3, 3}));
    }
}

/// Values of an operator on constants.
struct integer_node {
    b m;
    integer_node() {
        m.input<std::uint8_t>("x", {2, 3});
        m.node("Identity", {"x"}, {"identity"});
        m.output("identity");
    }
    std::vector<std::int32_t> operator()(onnx::NodeProto &n, dims *shape = nullptr) {
        n.add_output("y");
        model::graph g = read(m);
        if (shape)
            *shape = named(g, "y").dims;
        return integers(g, "y");
    }
};

using list = std::vector<std::int32_t>;

TEST(OnnxShapes, IntegersThatDependOnSizesAloneAreFollowed) {
    const auto of = [](const std::string &op, const std::vector<b::dims> &inputs, auto... attributes) {
        integer_node t;
        b::names names;
        for (const b::dims &values : inputs) {
            names.push_back("c" + std::to_string(names.size()));
            const bool is_scalar = op == "Range";
            t.m.constant<std::int64_t>(
                names.back(), is_scalar ? b::dims{} : b::dims{static_cast<std::int64_t>(values.size())},
                values);
        }
        auto &n = t.m.node(op, names, {});
        (b::set(n, attributes.first, attributes.second), ...);
        return t(n);
    };
    using number = std::pair<const char *, std::int64_t>;
    EXPECT_EQ(of("Add", {{1, 2}, {3}}), (list{4, 5}));
    EXPECT_EQ(of("Sub", {{1, 2}, {3, 5}}), (list{-2, -3}));
    EXPECT_EQ(of("Mul", {{1 << 20, 2}, {1 << 10, -1}}), (list{1 << 30, -2}));
    test::expect_unimplemented(
        [&] {
            of("Mul", {{1 << 20, 2}, {1 << 20, -1}});
        },
        {"(Mul): its result for 1048576 and 1048576 leaves 32 bits, which INT64 has"});
    EXPECT_EQ(of("Div", {{-7, 7, 1}, {2, 2, 0}}), (list{-3, 3, 0}));
    EXPECT_EQ(of("Range", {{2}, {9}, {3}}), (list{2, 5, 8}));
    EXPECT_EQ(of("Range", {{3}, {0}, {-1}}), (list{3, 2, 1}));
    EXPECT_EQ(of("ConstantOfShape", {{2, 2}}, number("value", 7)), (list{7, 7, 7, 7}));
    EXPECT_EQ(of("Expand", {{1, 2}, {2, 2}}), (list{1, 2, 1, 2}));
    EXPECT_EQ(of("Gather", {{5, 6, 7}, {-1, 0}}), (list{7, 5}));
    EXPECT_EQ(of("Concat", {{5, 6}, {7}}, number("axis", 0)), (list{5, 6, 7}));
    EXPECT_EQ(of("Slice", {{1, 2, 3, 4, 5}, {-4}, {std::int64_t{1} << 62}}), (list{2, 3, 4, 5}));
    EXPECT_EQ(of("Slice", {{1, 2, 3, 4, 5}, {-1}, {-6}, {0}, {-2}}), (list{5, 3, 1}));
    EXPECT_EQ(of("Slice", {{1, 2, 3, 4, 5}, {4}, {1}, {0}, {-1}}), (list{5, 4, 3}));
    EXPECT_EQ(of("Slice", {{1, 2, 3}, {5}, {9}}), list());
    EXPECT_EQ(of("Cast", {{3, -4}}, number("to", 6)), (list{3, -4}));
}

/// Along a dimension in the middle; but rows of a table of codes, which an embedding has, are for the run to find.
TEST(OnnxShapes, RowsThatAreGathered) {
    const auto gathered = [](auto first) {
        using element = decltype(first);
        b m;
        m.input<float>("x", {1});
        m.constant<element>("table", {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
        m.constant<std::int64_t>("rows", {2, 2}, {2, 0, -1, 1});
        b::set(m.node("Gather", {"table", "rows"}, {"y"}), "axis", std::int64_t{1});
        m.output("y");
        return read(m);
    };
    model::graph g = gathered(std::int64_t{});
    EXPECT_EQ(named(g, "y").dims, (dims{2, 2, 2, 2}));
    EXPECT_EQ(integers(g, "y"), (list{5, 6, 1, 2, 5, 6, 3, 4, 11, 12, 7, 8, 11, 12, 9, 10}));
    g = gathered(std::uint8_t{});
    EXPECT_EQ(named(g, "y").dims, (dims{2, 2, 2, 2}));
    EXPECT_TRUE(named(g, "y").data.empty());
}

/// "To the end" is a bound; elements beyond 32 bits would have other values.
TEST(OnnxShapes, ConstantsBeyond32BitsAreBounds) {
    constexpr std::int64_t beyond = std::int64_t{1} << 62;
    const auto with = [](const char *op, const b::names &inputs, bool is_sliced) {
        b m;
        m.input<float>("x", {4});
        m.constant<std::int64_t>("one", {1}, {1}), m.constant<std::int64_t>("beyond", {1}, {beyond});
        m.constant<std::uint8_t>("no", {1}, {0});
        m.node(op, inputs, {"bound"});
        if (is_sliced)
            m.node("Slice", {"x", "one", "bound"}, {"y"});
        m.output(is_sliced ? "y" : "bound");
        return m;
    };
    for (const auto &[op, inputs] : {std::pair<const char *, b::names>{"Add", {"beyond", "one"}},
                                     {"Identity", {"beyond"}},
                                     {"Min", {"beyond", "beyond"}}})
        EXPECT_EQ(network(read(with(op, inputs, true))).output().dims(), (b::dims{3})) << op;
    for (const auto &[op, inputs] : {std::pair<const char *, b::names>{"Add", {"beyond", "one"}},
                                     {"Identity", {"beyond"}},
                                     {"Mul", {"beyond", "one"}}})
        test::expect_unimplemented([&, op = op, inputs = inputs] { read(with(op, inputs, false)); },
                                   {"an INT64 at the ends of 32 bits or beyond"});
}

/// INT64 that is not known: the run is refused. INT32 wraps around.
TEST(OnnxShapes, ProductsOf64BitsDoNotWrap) {
    const auto product = [](auto element, const std::vector<std::int32_t> &x) {
        b m;
        m.input<decltype(element)>("x", {2});
        m.node("Mul", {"x", "x"}, {"y"});
        m.output("y");
        network net(read(m));
        net.input().copy_from(x);
        net.run();
        return net.output().template as<std::int32_t>();
    };
    EXPECT_EQ(product(std::int64_t(), {-3, 46340}), (list{9, 2147395600}));
    EXPECT_EQ(product(std::int32_t(), {-3, 1 << 20}), (list{9, 0}));
    test::expect_unimplemented(
        [&] {
            product(std::int64_t(), {-3, 1 << 20});
        },
        {"1048576 and 1048576 leaves 32 bits, which INT64 has here"});
}

/// ONNX's own networks of tests make their weights so.
TEST(OnnxShapes, TensorsAreWrittenFromConstants) {
    b m;
    m.input<float>("x", {2, 1500});
    m.constant<std::int64_t>("shape", {2}, {2, 1500});
    onnx::NodeProto &weights = m.node("ConstantOfShape", {"shape"}, {"weights"});
    onnx::TensorProto &value_of_all =
        *b::attribute(weights, "value", onnx::AttributeProto::TENSOR).mutable_t();
    value_of_all.set_data_type(onnx::TensorProto::FLOAT);
    value_of_all.add_dims(1);
    value_of_all.add_float_data(2.5f);
    m.node("ConstantOfShape", {"shape"}, {"zeros"});
    m.node("Mul", {"x", "weights"}, {"product"});
    m.node("Add", {"product", "zeros"}, {"y"});
    m.output("y");
    for (const auto &[name, value] : {std::pair{"start", 0.1f}, {"limit", 2.f}, {"step", 0.3f}})
        m.scalar<float>(name, value);
    m.node("Range", {"start", "limit", "step"}, {"range"});
    m.output("range");
    network net(read(m));
    net.input().copy_from(std::vector<float>(3000, 2.f));
    net.run();
    EXPECT_EQ(net.output(0).as<float>(), std::vector<float>(3000, 5.f));
    float value = 0.1f; // each is the one before and the step
    const std::vector<float> range = net.output(1).as<float>();
    ASSERT_EQ(range.size(), 7u);
    for (const float r : range) {
        EXPECT_EQ(r, value);
        value += 0.3f;
    }
}

/// As exporters write interpolations: sizes become floats, are scaled, and sizes again; or their quotients are scales.
TEST(OnnxShapes, FloatsOnTheWayToSizesAreFollowed) {
    constexpr std::int64_t f32 = 1, s64 = 7;
    for (const bool by_scales : {false, true}) {
        b m;
        m.input<float>("x", {1, 1, 5, 7});
        m.node("Shape", {"x"}, {"shape"});
        b::set(m.node("Cast", {"shape"}, {"real"}), "to", f32);
        m.constant<float>("factors", {4}, {1.f, 1.f, 1.5f, 1.7f});
        m.node("Mul", {"real", "factors"}, {"larger"}); // 7.5, 11.9
        b::set(m.node("Cast", {"larger"}, {"sizes"}), "to", s64);
        b::set(m.node("Cast", {"sizes"}, {"real sizes"}), "to", f32);
        m.node("Div", {"real sizes", "real"}, {"scales"});
        auto &resize =
            m.node("Resize", by_scales ? b::names{"x", "", "scales"} : b::names{"x", "", "", "sizes"}, {"y"});
        b::set(resize, "coordinate_transformation_mode", "asymmetric");
        b::set(resize, "nearest_mode", "floor");
        m.output("y");
        network net(read(m));
        EXPECT_EQ(net.output().dims(), (dims{1, 1, 7, 11}));
        EXPECT_EQ(net.get_graph().nodes.size(), 1u) << "what is known is not computed again";
    }
}

TEST(OnnxShapes, WhatCannotBeSaysWhy) {
    const auto defect_of = [](const std::string &op, const std::vector<std::pair<b::dims, b::dims>> &inputs,
                              auto... attributes) {
        b m;
        m.input<std::uint8_t>("x", {2, 3});
        b::names names = {"x"};
        for (const auto &[shape, values] : inputs) {
            names.push_back("c" + std::to_string(names.size()));
            m.constant<std::int64_t>(names.back(), shape, values);
        }
        auto &n = m.node(op, names, {"y"});
        (b::set(n, attributes.first, attributes.second), ...);
        m.output("y");
        try {
            read(m);
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    using number = std::pair<const char *, std::int64_t>;
    EXPECT_EQ(defect_of("Gather", {{{1}, {0}}}, number("axis", 2)),
              "net.onnx: node 0 (Gather): axis 2 is outside the 2 dimensions");
    EXPECT_EQ(defect_of("Slice", {{{1}, {0}}, {{2}, {1, 2}}}),
              "net.onnx: node 0 (Slice): there are 1 starts, 2 ends, 1 axes and 1 steps, allowed are as many "
              "of each");
    EXPECT_EQ(defect_of("Slice", {{{2}, {0, 0}}, {{2}, {1, 2}}, {{2}, {1, -1}}}),
              "net.onnx: node 0 (Slice): axis -1 is named twice");
    EXPECT_EQ(defect_of("Slice", {{{1}, {0}}, {{1}, {1}}, {{1}, {0}}, {{1}, {0}}}),
              "net.onnx: node 0 (Slice): a step is 0");
    EXPECT_EQ(defect_of("Split", {{{1}, {3}}}),
              "net.onnx: node 0 (Split): the parts 3 are not 1 of 2 elements");
    EXPECT_EQ(defect_of("Expand", {{{2}, {3, 3}}}),
              "net.onnx: node 0 (Expand): inputs 2x3 and 3x3 do not broadcast");
    EXPECT_EQ(defect_of("Expand", {{{2}, {-3, 3}}}), "net.onnx: node 0 (Expand): the shape -3x3 is none");
    EXPECT_EQ(defect_of("Cast", {}), "net.onnx: node 0 (Cast): attribute 'to' is missing");
    EXPECT_EQ(defect_of("Cast", {}, number("to", 11)),
              "net.onnx: node 0 (Cast): attribute 'to' is type 11, "
              "allowed: FLOAT, FLOAT16, UINT8, INT8, INT32, INT64, BOOL");
    EXPECT_EQ(defect_of("Reshape", {{{7}, {1, 1, 1, 1, 1, 1, 6}}}),
              "net.onnx: node 0 (Reshape): the shape has 7 dimensions, allowed are up to 6");
}

} // namespace
} // namespace octet::tests
