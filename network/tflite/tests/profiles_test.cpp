// Profiles: names and refusals; the delegate's conditions, which choose between two contracts; the fall of a
// whole graph; and that plans, contexts and joined operators keep the arithmetic. Expected codes are worked
// out from the formulas by hand. The vectors of the runtimes themselves are replayed in check_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>

#include "network/tests/one_node.hpp"
#include "octet/profile.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

const char *const x86 = "litert-2026.08-x86", *const arm = "litert-2026.08-arm64";

std::string message_of(const std::function<void()> &f) {
    try {
        f();
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

/// Codes of a one-node network of TFLite under a profile.
std::vector<std::int8_t> codes_under(const std::string &profile, one_node node, bool fusion = true) {
    infer_shapes(node.graph);
    network_options options;
    options.profile = profile;
    options.fusion = fusion;
    network net(node.graph, options);
    for (const auto &f : node.fill)
        f(net);
    net.run();
    return net.output(0).as<std::int8_t>();
}

one_node sum(const char *op, float scale_a, float scale_b, float scale_y) {
    one_node node(op, "tflite");
    node.set("activation", std::string("NONE"));
    return node.input<std::int8_t>({1, 4}, {1, -1, 3, -3}, scale_a)
        .input<std::int8_t>({1, 4}, {0, 0, 0, 0}, scale_b)
        .output(data_type::s8, scale_y);
}

TEST(Profiles, have_names_frameworks_and_rows) {
    std::set<std::string> names;
    for (const profile &p : all_profiles()) {
        EXPECT_TRUE(names.insert(p.name).second) << p.name;
        EXPECT_FALSE(p.entries.empty()) << p.name;
        for (const profile_entry &e : p.entries) {
            EXPECT_FALSE(e.arithmetic.empty()) << p.name << ' ' << e.op;
            EXPECT_FALSE(e.source.empty()) << p.name << ' ' << e.op;
        }
    }
    for (const char *name : {"tflm-90b983c", x86, arm, "litert-builtin-ref", "ort-1.30", "onednn-2.6.3",
                             "onednn-3", "pytorch-1.13-qnnpack", "pytorch-1.13-onednn"})
        EXPECT_EQ(names.count(name), 1u) << name;
}

TEST(Profiles, an_unknown_name_gets_the_closest_ones) {
    const std::string message = message_of([] { find_profile("litert-2026.08-x68"); });
    EXPECT_NE(message.find("no profile 'litert-2026.08-x68'; the closest are litert-2026.08-x86, "),
              std::string::npos)
        << message;
    EXPECT_NE(message_of([] { find_profile("litert-arm"); }).find("the closest are litert-2026.08-arm64, "),
              std::string::npos);
    EXPECT_NE(message_of([] { codes_under("tflm", sum("ADD", 1, 1, 1)); }).find("tflm-90b983c"),
              std::string::npos);
}

TEST(Profiles, of_another_framework_and_with_a_rule_are_refused) {
    EXPECT_NE(
        message_of([] {
            codes_under("ort-1.30", sum("ADD", 1, 1, 1));
        }).find("profile ort-1.30 is of onnx networks, allowed for this tflite network: tflm-90b983c, "),
        std::string::npos);
    EXPECT_NE(
        message_of([] { codes_under("onednn-3", sum("ADD", 1, 1, 1)); }).find("library of single operations"),
        std::string::npos);
    one_node node = sum("ADD", 1, 1, 1);
    infer_shapes(node.graph);
    network_options options;
    options.profile = x86;
    options.rule = requantization_rule::ort_f32;
    EXPECT_EQ(message_of([&] { network(node.graph, options); }),
              "profile litert-2026.08-x86 and rule ort_f32 are given, allowed: one of them");
}

/// Half codes: one rounding with ties up; MBQM's last step rounds them away from zero.
TEST(Profiles, the_delegate_takes_sums_by_their_ratios) {
    EXPECT_EQ(codes_under(x86, sum("ADD", .5f, .5f, 1.f)), (std::vector<std::int8_t>{1, 0, 2, -1}));
    EXPECT_EQ(codes_under("", sum("ADD", .5f, .5f, 1.f)), (std::vector<std::int8_t>{1, -1, 2, -2}));
    EXPECT_EQ(codes_under("tflm-90b983c", sum("ADD", .5f, .5f, 1.f)),
              (std::vector<std::int8_t>{1, -1, 2, -2}));
    // s_2 / s_y below 2^-10: the built-in kernel, and without the delegate in any case
    EXPECT_EQ(codes_under(x86, sum("ADD", .5f, 0x1p-11f, 1.f)), (std::vector<std::int8_t>{1, -1, 2, -2}));
    EXPECT_EQ(codes_under(x86, sum("ADD", .5f, 0x1p-10f, 1.f)), (std::vector<std::int8_t>{1, 0, 2, -1}));
    EXPECT_EQ(codes_under("litert-2026.08-x86-builtin", sum("ADD", .5f, .5f, 1.f)),
              (std::vector<std::int8_t>{1, -1, 2, -2}));
}

one_node product(const char *op, float scale_w, bool is_constant, float scale_y = 1.f) {
    one_node node(op, "tflite");
    node.set("activation", std::string("NONE"));
    node.input<std::int8_t>({4, 1}, {2, -2, 6, -6}, .25f);
    node.add<std::int8_t>({1, 1}, {1}, is_constant, scale_w);
    return node.output(data_type::s8, scale_y);
}

/// Half codes again: to even; a filter that is no constant is ruy's, whose ties go up twice.
TEST(Profiles, a_filter_that_is_no_constant_is_not_delegated) {
    EXPECT_EQ(codes_under(x86, product("FULLY_CONNECTED", 1.f, true)),
              (std::vector<std::int8_t>{0, 0, 2, -2}));
    EXPECT_EQ(codes_under(x86, product("FULLY_CONNECTED", 1.f, false)),
              (std::vector<std::int8_t>{1, 0, 2, -1}));
    EXPECT_EQ(codes_under("litert-builtin-ref", product("FULLY_CONNECTED", 1.f, true)),
              (std::vector<std::int8_t>{1, -1, 2, -2}));
}

/// Adds a product of the network's first output, which is `size` codes, as one more output.
model::tensor &add_product(one_node &node, dim_t size) {
    model::tensor w, y;
    w.name = "w", w.type = y.type = data_type::s8, w.dims = {1, size}, y.dims = {1, 1};
    w.quant = {{1.f}, {0}, 0}, y.quant = {{1.f}, {0}, 0}, y.name = "v";
    w.is_constant = true;
    w.data = std::vector<std::uint8_t>(static_cast<std::size_t>(size), 1);
    node.graph.tensors.push_back(w);
    node.graph.tensors.push_back(y);
    const int first = static_cast<int>(node.graph.tensors.size()) - 2;
    node.graph.nodes.push_back({"FULLY_CONNECTED",
                                {node.graph.outputs[0], first},
                                {first + 1},
                                {{"activation", std::string("NONE")}}});
    node.graph.outputs.push_back(first + 1);
    return node.graph.tensors[static_cast<std::size_t>(first)];
}

/// XNNPACK refuses a scale of 256 that the delegate lets pass: then no node is delegated, the sum before it neither.
TEST(Profiles, one_node_that_XNNPACK_refuses_takes_the_delegate_from_all) {
    one_node node = sum("ADD", .5f, .5f, 1.f);
    model::tensor &weights = add_product(node, 4);
    EXPECT_EQ(codes_under(x86, node), (std::vector<std::int8_t>{1, 0, 2, -1}));
    weights.quant.scales = {256.f};
    EXPECT_EQ(codes_under(x86, node), (std::vector<std::int8_t>{1, -1, 2, -2}));
}

TEST(Profiles, what_has_no_contract_says_which_profiles_have_one) {
    one_node node("TANH", "tflite");
    node.input<float>({1, 2}, {-1, 1}).output(data_type::f32);
    const std::string message = message_of([&] { codes_under(x86, node); });
    EXPECT_NE(
        message.find("node 0 (TANH): profile litert-2026.08-x86 has no contract for TANH (f32 to f32): "),
        std::string::npos)
        << message;
    EXPECT_NE(message.find("; profiles with one: exact-f32; litert-2026.08-x86+NAME takes it"),
              std::string::npos)
        << message;
}

TEST(Profiles, a_substitute_belongs_to_the_name) {
    EXPECT_EQ(find_profile("litert-2026.08-arm64+litert-2026.08-x86").name, arm);
    EXPECT_NE(message_of([] {
                  find_profile("litert-2026.08-arm64+litert-2026.08-x68");
              }).find("no profile 'litert-2026.08-x68'"),
              std::string::npos);
}

TEST(Profiles, a_plus_needs_a_name_on_either_side) {
    for (const char *name : {"tflm-90b983c+", "+tflm-90b983c", "+", "tflm-90b983c++exact-f32"})
        EXPECT_NE(message_of([&] {
                      codes_under(name, sum("ADD", 1, 1, 1));
                  }).find("', a name stands on either side of a +; the closest are "),
                  std::string::npos)
            << name;
    EXPECT_NE(message_of([] { codes_under("tflm-90b983c+", sum("ADD", 1, 1, 1)); })
                  .find("no profile 'tflm-90b983c+', a name stands on either side of a +; the closest "
                        "are tflm-90b983c, "),
              std::string::npos);
}

/// A name comes from a file of a model's repository, too.
TEST(Profiles, a_name_has_at_most_four_parts) {
    EXPECT_EQ(find_profile("tflm-90b983c+litert-2026.08-x86+litert-2026.08-arm64+exact-f32").name,
              "tflm-90b983c");
    std::string chain = "tflm-90b983c";
    for (int i = 0; i < 4; i++)
        chain += "+exact-f32";
    const std::string allowed = " has 5 parts, allowed: up to 4";
    EXPECT_NE(message_of([&] { find_profile(chain); }).find(allowed), std::string::npos);
    EXPECT_NE(message_of([&] { codes_under(chain, sum("ADD", 1, 1, 1)); }).find(allowed), std::string::npos);
    const std::string message = message_of([] { find_profile(std::string(1 << 24, '+')); });
    EXPECT_NE(message.find(" has 16777217 parts, allowed: up to 4"), std::string::npos);
    EXPECT_LT(message.size(), 200u);
}

TEST(Profiles, the_substitute_for_floats_stands_behind_a_name_alone) {
    EXPECT_NE(message_of([] { codes_under("exact-f32", sum("ADD", 1, 1, 1)); })
                  .find("profile exact-f32 stands behind another with a +, allowed for this tflite network: "
                        "tflm-90b983c, "),
              std::string::npos);
}

/// DEQUANTIZE, a function of floats, QUANTIZE: refused, or computed by the substitute; the codes around keep
/// their runtime.
one_node chain_through_floats(const char *op) {
    one_node node("DEQUANTIZE", "tflite");
    node.input<std::int8_t>({1, 5}, {-128, -3, 0, 5, 127}, .5f, 1).output(data_type::f32);
    const auto append = [&](const char *name, data_type type, float scale) {
        model::tensor t;
        t.name = name, t.type = type;
        if (scale > 0)
            t.quant = {{scale}, {3}, 0};
        node.graph.tensors.push_back(t);
        const int last = static_cast<int>(node.graph.tensors.size()) - 1;
        node.graph.nodes.push_back({name, {node.graph.outputs[0]}, {last}, {}});
        node.graph.outputs = {last};
    };
    append(op, data_type::f32, 0);
    append("QUANTIZE", data_type::s8, 1.f / 64);
    return node;
}

TEST(Profiles, chains_of_floats_run_under_a_named_substitute) {
    const std::vector<std::int8_t> tanh_codes = {-61, -59, -27, 65, 67}; // tanh of -64.5, -2, -0.5, 2, 63
    for (const char *name : {"litert-2026.08-x86", "litert-builtin-ref", "tflm-90b983c"}) {
        const std::string with = std::string(name) + "+exact-f32";
        EXPECT_EQ(codes_under(with, chain_through_floats("TANH")), tanh_codes) << name;
        EXPECT_EQ(codes_under(with, chain_through_floats("TANH"), false), tanh_codes) << name;
        EXPECT_EQ(codes_under(with, chain_through_floats("RELU6")),
                  (std::vector<std::int8_t>{3, 3, 3, 127, 127}))
            << name;
        EXPECT_NE(message_of([&] { codes_under(name, chain_through_floats("TANH")); }), "") << name;
    }
    EXPECT_NE(message_of([&] {
                  codes_under("litert-2026.08-arm64", chain_through_floats("TANH"));
              }).find("litert-2026.08-arm64+NAME takes it from one of them"),
              std::string::npos);
}

/// Products of u8 codes have no contract on little cores: floats do not help, another profile does.
TEST(Profiles, the_substitute_for_floats_computes_nothing_else) {
    one_node node("FULLY_CONNECTED", "tflite");
    node.set("activation", std::string("NONE"));
    node.input<std::uint8_t>({1, 1}, {6}, .25f)
        .constant<std::uint8_t>({1, 1}, {1}, 1.f)
        .output(data_type::u8, 1.f);
    const std::string a53 = "litert-2026.08-arm64-a53",
                      message = message_of([&] { codes_under(a53 + "+exact-f32", node); });
    EXPECT_NE(message.find("has no contract for FULLY_CONNECTED "), std::string::npos) << message;
    infer_shapes(node.graph);
    network_options options;
    options.profile = a53 + "+exact-f32+litert-2026.08-arm64";
    EXPECT_EQ(message_of([&] { network(node.graph, options); }), "");
}

TEST(Profiles, operators_on_two_floats_have_activations_and_broadcast) {
    const auto result = [](const char *op, const char *activation) {
        one_node node(op, "tflite");
        node.set("activation", std::string(activation));
        node.input<float>({2, 2}, {1.f, -2.f, 3.f, .25f})
            .constant<float>({2}, {2.f, -1.f})
            .output(data_type::f32);
        infer_shapes(node.graph);
        network_options options;
        options.profile = "litert-2026.08-x86+exact-f32";
        network net(node.graph, options);
        for (const auto &f : node.fill)
            f(net);
        net.run();
        return net.output(0).as<float>();
    };
    EXPECT_EQ(result("ADD", "NONE"), (std::vector<float>{3.f, -3.f, 5.f, -.75f}));
    EXPECT_EQ(result("SUB", "RELU"), (std::vector<float>{0.f, 0.f, 1.f, 1.25f}));
    EXPECT_EQ(result("MUL", "RELU_N1_TO_1"), (std::vector<float>{1.f, 1.f, 1.f, -.25f}));
    EXPECT_EQ(result("PRELU", "NONE"), (std::vector<float>{1.f, 2.f, 3.f, .25f}));
    EXPECT_EQ(result("SQUARED_DIFFERENCE", "NONE"), (std::vector<float>{1.f, 1.f, 1.f, 1.5625f}));
}

/// Under a substitute the default runtime is still itself: sums joined to products, fixed-point steps.
TEST(Profiles, the_default_keeps_its_arithmetic_with_a_substitute) {
    EXPECT_EQ(codes_under("tflm-90b983c+exact-f32", sum("ADD", .5f, .5f, 1.f)),
              codes_under("", sum("ADD", .5f, .5f, 1.f)));
    EXPECT_EQ(codes_under("tflm-90b983c+litert-2026.08-x86", product("FULLY_CONNECTED", 1.f, true)),
              codes_under("", product("FULLY_CONNECTED", 1.f, true)));
}

/// CONCATENATION of u8 codes with other scales, which TensorFlow Lite Micro refuses. s = 0.5: 1 and 3 are
/// halves, which go away from zero.
TEST(Profiles, CONCATENATION_rescales_u8_codes) {
    one_node node("CONCATENATION", "tflite");
    node.set("axis", 1).set("activation", std::string("NONE"));
    node.input<std::uint8_t>({1, 4}, {0, 1, 3, 255}, .5f, 2)
        .input<std::uint8_t>({1, 2}, {7, 200}, 1.f, 10)
        .output(data_type::u8, 1.f, 10);
    infer_shapes(node.graph);
    const auto codes = [&](const char *profile) {
        network_options options;
        options.profile = profile;
        network net(node.graph, options);
        for (const auto &f : node.fill)
            f(net);
        net.run();
        return net.output(0).as<std::uint8_t>();
    };
    for (const char *profile : {x86, arm, "litert-builtin-ref"})
        EXPECT_EQ(codes(profile), (std::vector<std::uint8_t>{9, 9, 11, 137, 7, 200})) << profile;
    EXPECT_NE(message_of([&] { codes(""); }).find("differ in scale or zero point"), std::string::npos);
}

/// Results in s8 need the scale and zero point that LiteRT asks for, to a thousandth; those in s16 and u8 may
/// have any.
TEST(Profiles, SOFTMAX_has_a_contract_for_every_result) {
    const auto refusal = [](const char *profile, data_type from, data_type to, float scale,
                            std::int32_t zero_point) {
        one_node node("SOFTMAX", "tflite");
        node.set("beta", 1.f);
        if (from == data_type::s8)
            node.input<std::int8_t>({1, 2}, {1, 2}, 1.f);
        else
            node.input<std::uint8_t>({1, 2}, {1, 2}, 1.f);
        node.output(to, scale, zero_point);
        return message_of([&] {
            infer_shapes(node.graph);
            network_options options;
            options.profile = profile;
            network(node.graph, options);
        });
    };
    constexpr data_type s8 = data_type::s8, u8 = data_type::u8, s16 = data_type::s16;
    for (const char *profile : {x86, arm, "litert-2026.08-arm64-gcc"}) {
        EXPECT_EQ(refusal(profile, s8, s8, 1.f / 256, -128), "");
        EXPECT_EQ(refusal(profile, s8, s8, 1.0009f / 256, -128), "");
        EXPECT_NE(refusal(profile, s8, s8, 1.f / 128, -128).find("allowed are 1/256"), std::string::npos);
        EXPECT_NE(refusal(profile, s8, s8, 1.f / 256, 0).find("allowed are 1/256"), std::string::npos);
        EXPECT_EQ(refusal(profile, s8, s16, 1.f / 65536, -32768), "");
        EXPECT_EQ(refusal(profile, u8, s16, 1.f / 32768, 0), "");
        EXPECT_EQ(refusal(profile, u8, u8, 1.f / 100, 7), "");
    }
    EXPECT_EQ(refusal("litert-builtin-ref", s8, s16, 1.f / 65536, -32768), "");
    EXPECT_NE(refusal("litert-2026.08-arm64+litert", s8, s8, 1.f / 256, -128).find("no profile 'litert'"),
              std::string::npos);
}

/// On Arm, MUL rounds ties up.
TEST(Profiles, MUL_rounds_as_its_machine_does) {
    one_node node("MUL", "tflite");
    node.set("activation", std::string("NONE"));
    node.input<std::int8_t>({1, 4}, {1, -1, 3, -3}, .5f)
        .input<std::int8_t>({1, 4}, {1, 1, 1, 1}, 1.f)
        .output(data_type::s8, 1.f);
    EXPECT_EQ(codes_under(x86, node), (std::vector<std::int8_t>{0, 0, 2, -2}));
    EXPECT_EQ(codes_under(arm, node), (std::vector<std::int8_t>{1, 0, 2, -1}));
}

/// LEAKY_RELU with a slope of 1/3 is 85/256 in XNNPACK; joined to a product it must stay that, and be what
/// takes the rest computes where the graph falls to that.
TEST(Profiles, joined_functions_keep_their_arithmetic) {
    one_node node = product("FULLY_CONNECTED", 2.f, true);
    model::tensor y = node.graph.tensors.back();
    y.name = "z";
    node.graph.tensors.push_back(y);
    const int last = static_cast<int>(node.graph.tensors.size()) - 1;
    node.graph.nodes.push_back({"LEAKY_RELU", {node.graph.outputs[0]}, {last}, {{"alpha", 1.f / 3}}});
    node.graph.outputs = {last};
    const auto joined = codes_under(x86, node), apart = codes_under(x86, node, false);
    EXPECT_EQ(joined, apart);
    EXPECT_EQ(joined, (std::vector<std::int8_t>{1, 0, 3, -1}));
    add_product(node, 4).quant.scales = {256.f};
    EXPECT_EQ(codes_under(x86, node), codes_under(x86, node, false));
    EXPECT_NE(codes_under(x86, node), joined);
}

/// The sum behind a product takes its place; its arithmetic is that of the condition on scales, which the
/// second one fails.
TEST(Profiles, sums_are_joined_to_products) {
    for (const char *profile :
         {"", x86, arm, "litert-2026.08-x86-builtin", "litert-builtin-ref", "tflm-90b983c+exact-f32"})
        for (const float scale : {.5f, 0x1p-12f})
            for (const char *activation : {"NONE", "RELU"}) {
                one_node node("FULLY_CONNECTED", "tflite");
                node.set("activation", std::string("NONE"));
                std::vector<std::int8_t> x(64 * 5), other(64);
                for (std::size_t i = 0; i < x.size(); i++)
                    x[i] = static_cast<std::int8_t>(i * 37 + i / 7);
                for (std::size_t i = 0; i < other.size(); i++)
                    other[i] = static_cast<std::int8_t>(i * 53);
                node.input<std::int8_t>({64, 5}, x, .25f, 3);
                node.constant<std::int8_t>({1, 5}, {3, -1, 7, 2, -5}, .125f);
                node.output(data_type::s8, .5f, -2);
                node.input<std::int8_t>({64, 1}, other, .5f, 5);
                node.graph.nodes[0].inputs.pop_back();
                model::tensor y = node.graph.tensors[static_cast<std::size_t>(node.graph.outputs[0])],
                              copy = y;
                copy.name =
                    "copy"; // the sum's operand is an operator's own, so that its bytes may be overwritten
                y.name = "z", y.quant = {{.75f}, {1}, 0};
                copy.quant = {{scale}, {5}, 0};
                node.graph.tensors.push_back(copy);
                node.graph.tensors.push_back(y);
                const int last = static_cast<int>(node.graph.tensors.size()) - 1,
                          given = node.graph.inputs.back();
                node.graph.nodes.push_back({"QUANTIZE", {given}, {last - 1}, {}});
                node.graph.nodes.push_back({"ADD",
                                            {node.graph.outputs[0], last - 1},
                                            {last},
                                            {{"activation", std::string(activation)}}});
                node.graph.outputs = {last};
                EXPECT_EQ(codes_under(profile, node), codes_under(profile, node, false))
                    << profile << ' ' << scale;
                network_options options;
                options.profile = profile;
                infer_shapes(node.graph);
                EXPECT_EQ(network(node.graph, options).get_graph().nodes.size(), 2u) << profile;
            }
}

TEST(Profiles, saved_plans_keep_their_profile) {
    one_node node = sum("ADD", .5f, .5f, 1.f);
    infer_shapes(node.graph);
    network_options options;
    options.profile = x86;
    const std::string path = testing::TempDir() + "octet_profile_plan.octet";
    network(node.graph, options).save(path);
    network restored(path);
    EXPECT_EQ(restored.options().profile, x86);
    for (const auto &f : node.fill)
        f(restored);
    restored.run();
    EXPECT_EQ(restored.output(0).as<std::int8_t>(), (std::vector<std::int8_t>{1, 0, 2, -1}));
    options.profile = arm;
    EXPECT_NE(message_of([&] { network(path, options); }).find("the plan was saved with litert-2026.08-x86"),
              std::string::npos);
    std::filesystem::remove(path);
}

/// A whole file runs, with other codes than by default.
TEST(Profiles, a_file_runs_under_one) {
    const std::string digits = source_path("examples/digits/digits_int8.tflite");
    network_options options;
    options.profile = x86;
    network usual(digits), net(digits, options);
    for (network *n : {&usual, &net}) {
        for (std::size_t i = 0; i < n->input(0).size_in_bytes(); i++)
            static_cast<std::uint8_t *>(n->input(0).data())[i] = static_cast<std::uint8_t>(i * 37);
        n->run();
    }
    EXPECT_EQ(net.options().profile, x86);
    EXPECT_TRUE(usual.options().profile.empty());
}

} // namespace
} // namespace octet::tests
