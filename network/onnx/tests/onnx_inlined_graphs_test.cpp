// If, Loop and Scan whose way the file tells: networks of the nodes in their graphs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;
using floats = std::vector<float>;

void set_graph(onnx::NodeProto &n, const std::string &name, b &body) {
    *b::attribute(n, name, onnx::AttributeProto::GRAPH).mutable_g() = body.graph();
}

void add_bool(b &m, const std::string &name, bool value) {
    onnx::TensorProto &t = *m.graph().add_initializer();
    t.set_name(name);
    t.set_data_type(onnx::TensorProto::BOOL);
    t.add_int32_data(value);
}

floats run(const b &m, const floats &x) {
    const std::vector<std::uint8_t> file = m.finish();
    network net(file.data(), file.size(), "net.onnx");
    net.input(0).copy_from(x);
    net.run();
    return net.output(0).as<float>();
}

std::string refusal(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    try {
        network(file.data(), file.size(), "net.onnx");
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

/// y = x + 1, or x * x; both branches name their result alike, and read x from outside.
b choice(bool condition) {
    b m(17);
    m.input<float>("x", {3});
    add_bool(m, "condition", condition);
    onnx::NodeProto &n = m.node("If", {"condition"}, {"y"});
    b then(17), other(17);
    then.constant<float>("one", {1}, {1.f});
    then.node("Add", {"x", "one"}, {"result"});
    then.output("result");
    other.node("Mul", {"x", "x"}, {"result"});
    other.output("result");
    set_graph(n, "then_branch", then);
    set_graph(n, "else_branch", other);
    m.output<float>("y", {3});
    return m;
}

TEST(OnnxInlinedGraphs, AConstantConditionChoosesABranch) {
    EXPECT_EQ(run(choice(true), {1, 2, 3}), (floats{2, 3, 4}));
    EXPECT_EQ(run(choice(false), {1, 2, 3}), (floats{1, 4, 9}));
}

/// A state that begins as x and is doubled, then gets x added, `trips` times; y has the state of each copy before.
b loop(std::int64_t trips, bool goes_on = true) {
    b m(17);
    m.input<float>("x", {2});
    m.scalar<std::int64_t>("trips", trips);
    onnx::NodeProto &n = m.node("Loop", {"trips", "", "x"}, {"last", "y"});
    b body(17);
    for (const char *name : {"number", "condition", "state"})
        body.graph().add_input()->set_name(name);
    if (goes_on)
        body.node("Identity", {"condition"}, {"next"});
    else
        add_bool(body, "next", false);
    body.node("Add", {"state", "state"}, {"twice"});
    body.node("Add", {"twice", "x"}, {"after"});
    for (const char *name : {"next", "after", "state"})
        body.output(name);
    set_graph(n, "body", body);
    return m;
}

TEST(OnnxInlinedGraphs, ALoopIsRepeatedForItsTripCount) {
    b last = loop(3), all = loop(3), once = loop(3, false);
    last.output<float>("last", {2});
    all.output<float>("y", {3, 2});
    once.output<float>("last", {2});
    EXPECT_EQ(run(last, {1, -2}), (floats{15, -30}));
    EXPECT_EQ(run(all, {1, -2}), (floats{1, -2, 3, -6, 7, -14}));
    EXPECT_EQ(run(once, {1, -2}), (floats{3, -6})) << "a body that says not to go on";
}

TEST(OnnxInlinedGraphs, ALoopWithoutTripsGivesWhatItBeganWith) {
    b m = loop(0);
    m.node("Neg", {"last"}, {"z"});
    m.output<float>("z", {2});
    onnx::NodeProto &n = *m.graph().mutable_node(0);
    n.mutable_output()->RemoveLast();
    EXPECT_EQ(run(m, {1, -2}), (floats{-1, 2}));
}

/// Sums along an axis of x {2, 3}, each as a line of y, from the end if it is reversed.
b scan(std::int64_t axis, bool is_reversed) {
    b m(17);
    m.input<float>("x", {2, 3});
    m.constant<float>("zeros", {axis == 0 ? 3 : 2}, floats(axis == 0 ? 3 : 2, 0.f));
    onnx::NodeProto &n = m.node("Scan", {"zeros", "x"}, {"last", "y"});
    b::set(n, "num_scan_inputs", std::int64_t{1});
    b::set(n, "scan_input_axes", b::dims{axis});
    b::set(n, "scan_input_directions", b::dims{is_reversed});
    b::set(n, "scan_output_axes", b::dims{axis});
    b::set(n, "scan_output_directions", b::dims{is_reversed});
    b body(17);
    for (const char *name : {"sum", "part"})
        body.graph().add_input()->set_name(name);
    body.node("Add", {"sum", "part"}, {"next"});
    body.output("next");
    body.output("next");
    set_graph(n, "body", body);
    m.output<float>("y", {2, 3});
    return m;
}

TEST(OnnxInlinedGraphs, AScanGoesOverTheSizeOfItsInput) {
    const floats x{1, 2, 3, 10, 20, 30};
    EXPECT_EQ(run(scan(0, false), x), (floats{1, 2, 3, 11, 22, 33}));
    EXPECT_EQ(run(scan(0, true), x), (floats{11, 22, 33, 10, 20, 30}));
    EXPECT_EQ(run(scan(1, false), x), (floats{1, 3, 6, 10, 30, 60}));
    EXPECT_EQ(run(scan(1, true), x), (floats{6, 5, 3, 60, 50, 30}));
}

TEST(OnnxInlinedGraphs, ComputedConditionsAndTooManyNodesAreRefused) {
    b computed = choice(true);
    computed.graph().clear_initializer();
    computed.node("Greater", {"x", "x"}, {"condition"});
    EXPECT_NE(refusal(computed).find("If"), std::string::npos) << refusal(computed);
    b endless = loop(1'000'000);
    endless.output<float>("last", {2});
    EXPECT_NE(refusal(endless).find("Loop 'last' becomes more than 100000 nodes"), std::string::npos)
        << refusal(endless);
}

} // namespace
} // namespace octet::tests
