// LiteRT's profiles of AArch64: what depends on the place of an element, on the compiler and on the first
// core; that files run under them. Expected codes are worked out from the formulas by hand; the vectors of
// the runtime itself are replayed in check_vectors_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "network/tests/one_node.hpp"
#include "octet/profile.hpp"
#include "support/expect_error.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;

const char *const x86 = "litert-2026.08-x86", *const arm = "litert-2026.08-arm64",
                  *const gcc = "litert-2026.08-arm64-gcc", *const a53 = "litert-2026.08-arm64-a53";

network prepared(const one_node &node, const std::string &profile, bool fusion = true) {
    model::graph g = node.graph;
    infer_shapes(g);
    network_options options;
    options.profile = profile;
    options.fusion = fusion;
    return network(g, options);
}

template <typename T = std::int8_t>
std::vector<T> codes_under(const std::string &profile, const one_node &node, bool fusion = true) {
    network net = prepared(node, profile, fusion);
    for (const auto &f : node.fill)
        f(net);
    net.run();
    return net.output(0).as<T>();
}

/// A quarter of -2 and of 2 is a half. Whole groups of 16 elements take it up, TFLite and what is left behind
/// them away from 0.
TEST(ArmProfiles, QUANTIZE_rounds_by_groups_of_16) {
    for (const std::size_t count : {7, 16, 20, 35}) {
        one_node node("QUANTIZE", "tflite");
        std::vector<std::int8_t> x(count, -2);
        x[0] = 2;
        node.input<std::int8_t>({static_cast<dim_t>(count)}, x, .25f).output(data_type::u8, 1.f, 128);
        std::vector<std::uint8_t> away(count, 127), by_place(count, 127);
        away[0] = by_place[0] = 129;
        for (std::size_t i = 0; i < count / 16 * 16; i++)
            by_place[i] = x[i] < 0 ? 128 : 129;
        EXPECT_EQ(codes_under<std::uint8_t>(x86, node), away) << count;
        EXPECT_EQ(codes_under<std::uint8_t>(arm, node), by_place) << count;
        EXPECT_EQ(codes_under<std::uint8_t>(gcc, node), by_place) << count;
    }
}

/// One tap, so that each product is a code; the bias is quantized along dimension 3, as the delegate does not
/// want it.
one_node depthwise(dim_t channels, int bias_axis) {
    one_node node("DEPTHWISE_CONV_2D", "tflite");
    node.set("activation", std::string("NONE")).set("padding", std::string("VALID"));
    node.set("stride_h", 1).set("stride_w", 1).set("depth_multiplier", 1);
    const auto size = static_cast<std::size_t>(channels);
    std::vector<std::int8_t> x(2 * size);
    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = i % 2 == 0 ? -2 : 2;
    node.input<std::int8_t>({1, 1, 2, channels}, x, .25f);
    node.constant<std::int8_t>({1, 1, 1, channels}, std::vector<std::int8_t>(size, 1), 1.f);
    node.constant<std::int32_t>({channels}, std::vector<std::int32_t>(size, 0), .25f);
    node.graph.tensors.back().quant.axis = bias_axis;
    return node.output(data_type::s8, 1.f);
}

/// Delegated, halves go to even: -0.5 and 0.5 are 0. Left to LiteRT they go away from 0, on AArch64 up in
/// whole groups of 8 channels.
TEST(ArmProfiles, the_delegate_leaves_a_bias_along_another_dimension) {
    for (const dim_t channels : {5, 8, 19}) {
        const auto size = static_cast<std::size_t>(channels);
        std::vector<std::int8_t> away, by_place;
        for (std::size_t i = 0; i < 2 * size; i++) {
            const bool is_negative = i % 2 == 0;
            away.push_back(is_negative ? -1 : 1);
            by_place.push_back(!is_negative ? 1 : i % size < size / 8 * 8 ? 0 : -1);
        }
        for (const char *profile : {x86, arm, gcc, a53})
            EXPECT_EQ(codes_under(profile, depthwise(channels, 0)), std::vector<std::int8_t>(2 * size))
                << profile;
        EXPECT_EQ(codes_under(x86, depthwise(channels, 3)), away) << channels;
        for (const char *profile : {arm, gcc, a53, "litert-2026.08-arm64-builtin"})
            EXPECT_EQ(codes_under(profile, depthwise(channels, 3)), by_place) << profile << ' ' << channels;
    }
}

/// A group of elements that begins in one row and ends in the next would give a row other codes in another
/// batch; groups of channels do not.
TEST(ArmProfiles, groups_across_rows_keep_a_network_from_batches) {
    const auto why = [](const one_node &node, const std::string &profile) {
        model::graph g = node.graph;
        infer_shapes(g);
        return model::why_not_batched(g, profile);
    };
    for (const dim_t count : {16, 20}) {
        one_node node("QUANTIZE", "tflite");
        node.input<std::int8_t>({1, count}, std::vector<std::int8_t>(static_cast<std::size_t>(count)), .25f);
        node.output(data_type::u8, 1.f, 128);
        EXPECT_EQ(why(node, x86), "");
        const std::string reason = why(node, arm);
        EXPECT_EQ(reason.find("groups of 16 elements") != std::string::npos, count == 20) << reason;
    }
    EXPECT_EQ(why(depthwise(5, 3), arm), "");
}

/// Functions that are computed by place are joined to no other operator, unless no element lies behind a
/// whole group.
TEST(ArmProfiles, functions_by_place_stay_alone) {
    for (const dim_t columns : {5, 8}) {
        one_node node("FULLY_CONNECTED", "tflite");
        node.set("activation", std::string("NONE"));
        std::vector<std::int8_t> x(3);
        std::vector<std::int8_t> w(3 * static_cast<std::size_t>(columns));
        for (std::size_t i = 0; i < x.size(); i++)
            x[i] = static_cast<std::int8_t>(i * 37 - 50);
        for (std::size_t i = 0; i < w.size(); i++)
            w[i] = static_cast<std::int8_t>(i * 53 % 199 - 99);
        node.input<std::int8_t>({1, 3}, x, .125f, 3);
        node.constant<std::int8_t>({columns, 3}, w, 1.f / 64).output(data_type::s8, .0625f, -2);
        model::tensor y = node.graph.tensors.back();
        y.name = "z";
        y.quant = {{.125f}, {-100}, 0};
        node.graph.tensors.push_back(y);
        const int last = static_cast<int>(node.graph.tensors.size()) - 1;
        node.graph.nodes.push_back({"HARD_SWISH", {node.graph.outputs[0]}, {last}, {}});
        node.graph.outputs = {last};
        EXPECT_EQ(prepared(node, arm).get_graph().nodes.size(), columns % 8 == 0 ? 1u : 2u);
        EXPECT_EQ(prepared(node, x86).get_graph().nodes.size(), 1u);
        EXPECT_EQ(codes_under(arm, node), codes_under(arm, node, false)) << columns;
    }
}

/// Two equal codes share a half. With 3 at a scale of 1/256, T = 65535, S = 196605 and r = f32(256 / 196605),
/// whose product is 85.33: 85.
TEST(ArmProfiles, SOFTMAX_of_equal_codes_shares_equally) {
    for (const char *profile : {x86, arm, gcc})
        for (const dim_t count : {2, 3}) {
            one_node node("SOFTMAX", "tflite");
            node.set("beta", 1.f)
                .input<std::int8_t>({1, count}, std::vector<std::int8_t>(static_cast<std::size_t>(count), 7),
                                    .1f);
            node.output(data_type::s8, 1.f / 256, -128);
            EXPECT_EQ(codes_under(profile, node),
                      std::vector<std::int8_t>(static_cast<std::size_t>(count), count == 2 ? 0 : 85 - 128))
                << profile;
        }
}

TEST(ArmProfiles, products_of_u8_codes_have_a_contract_but_on_little_cores) {
    one_node node("FULLY_CONNECTED", "tflite");
    node.set("activation", std::string("NONE"));
    node.input<std::uint8_t>({1, 2}, {3, 4}, .5f)
        .constant<std::uint8_t>({1, 2}, {5, 6}, .5f)
        .output(data_type::u8, 1.f);
    EXPECT_EQ(codes_under<std::uint8_t>(arm, node),
              (std::vector<std::uint8_t>{10})); // (15 + 24) / 4, rounded
    const std::string message = test::refusal([&] { prepared(node, a53); });
    EXPECT_NE(message.find("profile litert-2026.08-arm64-a53 has no contract for FULLY_CONNECTED"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("a multiplier of 16 bits"), std::string::npos) << message;
    EXPECT_NE(message.find("profiles with one: "), std::string::npos) << message;
}

/// Ten shares of each of the 360 digits.
std::vector<std::int8_t> shares_of_digits(const std::string &profile,
                                          const std::vector<std::uint8_t> &pixels) {
    network_options options;
    options.profile = profile;
    network net(source_path("examples/digits/digits_int8.tflite"), options);
    std::vector<std::int8_t> shares;
    const std::size_t size = net.input(0).size_in_bytes();
    for (std::size_t image = 0; image < pixels.size(); image += size) {
        for (std::size_t i = 0; i < size; i++)
            static_cast<std::int8_t *>(net.input(0).data())[i] =
                static_cast<std::int8_t>(8 * pixels[image + i] - 128);
        net.run();
        const auto row = net.output(0).as<std::int8_t>();
        shares.insert(shares.end(), row.begin(), row.end());
    }
    return shares;
}

/// README's line on the repository's own file: 98.9 % of the digits are right, and shares differ from those
/// of x86 by 1 at most.
TEST(ArmProfiles, the_example_runs_under_all) {
    constexpr std::size_t header = 32, images = 360, classes = 10, size = 64;
    std::ifstream file(source_path("examples/digits/digits_test.bin"), std::ios::binary);
    std::vector<std::uint8_t> pixels(images * size), labels(images);
    file.seekg(header);
    file.read(reinterpret_cast<char *>(pixels.data()), static_cast<std::streamsize>(pixels.size()));
    file.read(reinterpret_cast<char *>(labels.data()), static_cast<std::streamsize>(labels.size()));
    ASSERT_TRUE(file.good());
    const std::vector<std::int8_t> usual = shares_of_digits(x86, pixels);
    for (const char *profile : {x86, arm, gcc, a53, "litert-2026.08-arm64-builtin"}) {
        const std::vector<std::int8_t> got = shares_of_digits(profile, pixels);
        ASSERT_EQ(got.size(), images * classes);
        int right = 0, farthest = 0;
        for (std::size_t i = 0; i < images; i++) {
            const auto row = got.begin() + static_cast<std::ptrdiff_t>(i * classes);
            right += std::max_element(row, row + classes) - row == labels[i];
        }
        // The built-in kernel rounds products otherwise.
        if (std::string(profile).find("builtin") == std::string::npos)
            for (std::size_t i = 0; i < got.size(); i++)
                farthest = std::max(farthest, std::abs(got[i] - usual[i]));
        EXPECT_GE(right, 356) << profile;
        EXPECT_LE(farthest, 1) << profile;
    }
}

TEST(ArmProfiles, every_shared_file_runs_under_all) {
    const fs::path folder = fs::path(shared_path()) / "models";
    if (!fs::is_directory(folder))
        GTEST_SKIP() << folder << " does not exist";
    int files = 0;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".tflite")
            continue;
        files++;
        for (const char *profile : {x86, arm, gcc, a53}) {
            network_options options;
            options.profile = profile;
            EXPECT_EQ(test::refusal([&] { network(entry.path().string(), options).run(); }), "")
                << entry.path() << ' ' << profile;
        }
    }
    EXPECT_EQ(files, 13);
}

} // namespace
} // namespace octet::tests
