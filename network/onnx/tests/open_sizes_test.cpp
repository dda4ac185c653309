// Sizes that an .onnx file leaves open: inputs get them, one after the other, and the network follows; from C, too.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/onnx/tests/onnx_encoder.hpp"
#include "octet/network.hpp"
#include "octet/octet.h"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using test::refusal;
using b = onnx_builder;
using dims = memory::dims;

network made(const b &m, const network_options &options = {}) {
    const std::vector<std::uint8_t> file = m.finish();
    return {file.data(), file.size(), "open.onnx", options};
}

std::vector<std::int32_t> ids(std::size_t count) {
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = static_cast<std::int32_t>(i * 7 % encoder::words);
    return values;
}

std::vector<float> with_fixed_sizes(const encoder &e, dim_t batch, dim_t sequence) {
    network_options options;
    options.dimensions = {{"batch", batch}, {"sequence", sequence}};
    network net = made(e, options);
    net.input().copy_from(ids(static_cast<std::size_t>(batch * sequence)));
    net.run();
    return net.output().as<float>();
}

/// a {n, s} + b {n, s} and, where `is_shared`, with one name for s.
b sum_of_two(bool is_shared) {
    b m;
    int i = 0;
    for (const char *const name : {"a", "b"}) {
        m.input<float>(name, {-1, -1});
        auto &shape = *m.graph().mutable_input(i++)->mutable_type()->mutable_tensor_type()->mutable_shape();
        shape.mutable_dim(1)->clear_dim_param();
        if (is_shared)
            shape.mutable_dim(1)->set_dim_param("s");
    }
    m.node("Add", {"a", "b"}, {"y"});
    m.output("y");
    return m;
}

TEST(OpenSizes, MayBeTheInnerSizeOfAProduct) {
    b m;
    m.input<float>("x", {-1, 3});
    m.constant<float>("w", {17, 1}, std::vector<float>(17, 1.f)); // a size that no list of likely ones has
    b::set(m.node("Gemm", {"x", "w"}, {"y"}), "transA", std::int64_t{1});
    m.output("y");
    const std::vector<std::uint8_t> bytes = m.finish();
    const auto with = [&](dim_t rows) {
        network_options options;
        options.shapes = {{"x", {rows, 3}}};
        network net(bytes.data(), bytes.size(), "open.onnx", options);
        net.run();
        return net.output().dims();
    };
    EXPECT_EQ(with(17), (dims{3, 1}));
    EXPECT_NE(refusal([&] { with(16); }).find("matrices 3x16 and 17x1 do not fit"), std::string::npos);
    const std::string none = refusal([&] { network(bytes.data(), bytes.size(), "open.onnx").run(); });
    EXPECT_NE(none.find("none is given"), std::string::npos) << none;
    EXPECT_NE(none.find("options batch, shapes and dimensions give one"), std::string::npos) << none;
}

TEST(OpenSizes, FollowTheInput) {
    const encoder e(true);
    network net = made(e);
    tensor_view input = net.input("ids");
    EXPECT_EQ(input.dims(), (dims{1, -1}));
    EXPECT_EQ(input.data_type(), data_type::s32);
    const std::string open = "has an open size: resize of the input or the network gives it one";
    EXPECT_NE(refusal([&] { input.copy_from(ids(5)); }).find(open), std::string::npos);
    EXPECT_NE(refusal([&] { input.data(); }).find(open), std::string::npos);
    EXPECT_NE(refusal([&] { net.output().as<float>(); }).find(open), std::string::npos);
    EXPECT_EQ(refusal([&] { net.run(); }),
              "input 'ids': dimension 1 ('sequence') has no fixed size, and none is given; resize of the "
              "input or the network gives one");
    EXPECT_EQ(refusal([&] { net.save("/tmp/octet_open.octet"); }), refusal([&] { net.run(); }));
    // More than plans are kept, and the first ones again: the view stays valid from one run to the next.
    for (dim_t i = 0; i < 40; i++) {
        const dim_t batch = i % 2 + 1, sequence = i % 20 + 1;
        input.resize({batch, sequence});
        EXPECT_EQ(input.dims(), (dims{batch, sequence}));
        EXPECT_EQ(net.input().dims(), input.dims());
        input.copy_from(ids(input.element_count()));
        net.run();
        EXPECT_EQ(net.output().as<float>(), with_fixed_sizes(e, batch, sequence)) << batch << ' ' << sequence;
    }
    network other = net.new_context();
    EXPECT_EQ(other.input().dims(), (dims{1, -1}));
    other.resize({0, {}, {{"sequence", 4}}});
    EXPECT_EQ(other.input().dims(), (dims{1, 4}));
    EXPECT_EQ(net.input().dims(), (dims{2, 20}));
}

TEST(OpenSizes, InputsAreFilledOneAfterTheOther) {
    for (const bool is_shared : {false, true}) {
        network net = made(sum_of_two(is_shared));
        for (const dim_t size : {3, 5, 4}) {
            std::vector<float> a(static_cast<std::size_t>(2 * size), 1.5f), sum = a;
            for (std::size_t i = 0; i < a.size(); i++)
                sum[i] = 1.5f + static_cast<float>(i);
            std::vector<float> counted(a.size());
            for (std::size_t i = 0; i < a.size(); i++)
                counted[i] = static_cast<float>(i);
            net.input("a").resize({2, size});
            net.input("a").copy_from(a);
            net.input("b").resize({2, size});
            net.input("b").copy_from(counted);
            EXPECT_EQ(net.output().dims(), (dims{2, size})); // before it runs
            net.run();
            EXPECT_EQ(net.output().as<float>(), sum);
            net.run(); // inputs keep their contents
            EXPECT_EQ(net.output().as<float>(), sum);
        }
    }
}

TEST(OpenSizes, DimensionsOfOneNameAreOneSize) {
    network net = made(sum_of_two(true));
    net.input("a").resize({2, 3});
    EXPECT_EQ(net.output().dims(), (dims{2, 3}));
    EXPECT_EQ(net.input("b").dims(), (dims{2, 3}));
    network apart = made(sum_of_two(false));
    apart.input("a").resize({2, 3});
    EXPECT_NE(refusal([&] { apart.run(); }).find("input 'b': dimension 1"), std::string::npos);
    apart.input("b").resize({2, 4});
    EXPECT_NE(refusal([&] { apart.run(); }).find("node 0 (Add)"), std::string::npos);
    apart.input("b").resize({1, 3}); // broadcast
    apart.input("b").copy_from(std::vector<float>{1, 2, 3});
    apart.run();
    EXPECT_EQ(apart.output().as<float>(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST(OpenSizes, WhatKeepsItsSizeKeepsItsContentsAndBuffers) {
    network net = made(sum_of_two(false));
    std::vector<float> bound = {1, 2, 3}, result(3);
    net.input("a").resize({1, 3});
    net.input("b").resize({1, 3});
    net.bind_input(0, bound.data(), 12);
    net.bind_output(0, result.data(), 12);
    net.input("b").resize({1, 1});
    net.input("b").copy_from(std::vector<float>{10});
    net.run();
    EXPECT_EQ(result, (std::vector<float>{11, 12, 13}));
    net.input("b").resize({2, 3});
    EXPECT_NE(refusal([&] { net.run(); }).find("buffer of 'y': 12 bytes are given, allowed is 24"),
              std::string::npos);
    net.input("b").resize({1, 3});
    net.input("b").copy_from(std::vector<float>{0, 0, 1});
    net.run();
    EXPECT_EQ(result, (std::vector<float>{1, 2, 4}));
}

/// Joins keys as a decoder does, those of the past and new ones; with `codes` in u8.
b joined(bool codes) {
    b m;
    m.input<float>("past", {2, -1, 3}), m.input<float>("new", {2, 4, 3});
    m.scalar<float>("scale", 0.5f), m.scalar<std::uint8_t>("zero", 128), m.scalar<float>("two", 2.f);
    const auto pair = [&](const std::string &x) {
        if (!codes)
            return x;
        m.node("QuantizeLinear", {x, "scale", "zero"}, {x + "_codes"});
        m.node("DequantizeLinear", {x + "_codes", "scale", "zero"}, {x + "_real"});
        return x + "_real";
    };
    m.node("Mul", {"past", "two"}, {"doubled"});
    b::set(m.node("Concat", {pair("doubled"), pair("new")}, {"all"}), "axis", std::int64_t{1});
    m.node("Identity", {pair("all")}, {"y"});
    m.output("y"), m.output("doubled");
    return m;
}

TEST(OpenSizes, MayBeZeroWhereTensorsAreJoined) {
    for (const bool codes : {false, true}) {
        network net = made(joined(codes));
        std::vector<float> added(2 * 4 * 3);
        for (std::size_t i = 0; i < added.size(); i++)
            added[i] = static_cast<float>(i) - 7;
        for (const dim_t past : {0, 2, 0, 1}) {
            net.input("past").resize({2, past, 3});
            net.input("new").resize({2, 4, 3});
            net.input("new").copy_from(added);
            net.input("past").copy_from(std::vector<float>(static_cast<std::size_t>(2 * past * 3), 5.f));
            net.run();
            ASSERT_EQ(net.output("y").dims(), (dims{2, past + 4, 3}));
            EXPECT_EQ(net.output("doubled").dims(), (dims{2, past, 3}));
            EXPECT_EQ(net.output("doubled").as<float>(),
                      std::vector<float>(static_cast<std::size_t>(2 * past * 3), 10.f));
            std::vector<float> expected;
            for (std::ptrdiff_t batch = 0; batch < 2; batch++) {
                expected.insert(expected.end(), static_cast<std::size_t>(past * 3), 10.f);
                expected.insert(expected.end(), added.begin() + 12 * batch, added.begin() + 12 * (batch + 1));
            }
            EXPECT_EQ(net.output("y").as<float>(), expected) << past << (codes ? " in codes" : "");
        }
    }
}

TEST(OpenSizes, OfZeroThatAnOperatorCannotHaveAreRefused) {
    b m;
    m.input<float>("x", {2, -1});
    b::set(m.node("ReduceMax", {"x"}, {"y"}), "axes", b::dims{1});
    m.output("y");
    network net = made(m);
    net.input().resize({2, 0});
    const std::string sentence = refusal([&] { net.run(); });
    EXPECT_NE(sentence.find("node 0 (ReduceMax)"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("has no elements"), std::string::npos) << sentence;
}

TEST(OpenSizes, Refusals) {
    network net = made(sum_of_two(true));
    EXPECT_EQ(refusal([&] { net.input("a").resize({3}); }),
              "input 'a': shape 3 is given, allowed are 2 dimensions");
    EXPECT_EQ(refusal([&] {
                  net.input("a").resize({3, -1});
              }),
              "input 'a': shape 3x-1 is given, allowed are dimensions of 0 or more");
    EXPECT_NE(refusal([&] {
                  net.input("a").resize({1 << 20, 1 << 20});
              }).find("2^31 - 1 bytes"),
              std::string::npos);
    EXPECT_NE(refusal([&] {
                  net.output().resize({3, 1});
              }).find("only inputs take other sizes"),
              std::string::npos);
    b unknown = sum_of_two(true);
    unknown.node("NoSuchOperator", {"y"}, {"z"});
    EXPECT_NE(refusal([&] { made(unknown); }).find("NoSuchOperator"), std::string::npos);
}

TEST(OpenSizes, FromC) {
    const std::vector<std::uint8_t> file = sum_of_two(true).finish();
    octet_network *net = nullptr;
    octet_tensor *a = nullptr, *y = nullptr;
    ASSERT_EQ(octet_network_create_from_memory(&net, file.data(), file.size(), "open.onnx", nullptr),
              octet_success)
        << octet_last_error();
    ASSERT_EQ(octet_network_input(net, 0, &a), octet_success);
    ASSERT_EQ(octet_network_output(net, 0, &y), octet_success);
    std::int64_t shape[OCTET_MAX_DIMS] = {};
    std::size_t count = 0;
    EXPECT_EQ(octet_tensor_dims(a, shape, &count), octet_success);
    EXPECT_EQ(shape[1], -1);
    EXPECT_EQ(octet_network_run(net), octet_invalid_arguments);
    const std::int64_t wanted[] = {1, 2};
    EXPECT_EQ(octet_tensor_resize(nullptr, wanted, 2), octet_invalid_arguments);
    EXPECT_EQ(octet_tensor_resize(a, nullptr, 2), octet_invalid_arguments);
    EXPECT_EQ(octet_tensor_resize(a, wanted, 1), octet_invalid_arguments);
    EXPECT_EQ(octet_tensor_resize(a, wanted, 99), octet_invalid_arguments);
    ASSERT_EQ(octet_tensor_resize(a, wanted, 2), octet_success) << octet_last_error();
    const float values[] = {3, 4};
    EXPECT_EQ(octet_tensor_copy_from_float(a, values, 2), octet_success) << octet_last_error();
    EXPECT_EQ(octet_network_run(net), octet_success) << octet_last_error();
    float sums[2] = {};
    EXPECT_EQ(octet_tensor_copy_to_float(y, sums, 2), octet_success) << octet_last_error();
    EXPECT_EQ(sums[0], 3); // b, which has the same size by its name, is zero
    EXPECT_EQ(sums[1], 4);
    octet_network_destroy(net);
}

} // namespace
} // namespace octet::tests
