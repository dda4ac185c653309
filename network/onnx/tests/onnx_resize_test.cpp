// ONNX Runtime's Resize: what version 1.30 gave, bit for bit, at every level and for every number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "network/onnx/tests/contrib_model.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

// ---- Resize

struct nearest_case {
    const char *coordinates, *mode, *to_12, *to_4; ///< digits: which of 7 elements
};
const nearest_case nearest_cases[] = {
    {"half_pixel", "round_prefer_floor", "001223344566", "0246"},
    {"half_pixel", "round_prefer_ceil", "001223344566", "0246"},
    {"half_pixel", "floor", "000122334556", "0235"},
    {"half_pixel", "ceil", "011233445666", "1346"},
    {"pytorch_half_pixel", "round_prefer_floor", "001223344566", "0246"},
    {"pytorch_half_pixel", "round_prefer_ceil", "001223344566", "0246"},
    {"pytorch_half_pixel", "floor", "000122334556", "0235"},
    {"pytorch_half_pixel", "ceil", "011233445666", "1346"},
    {"align_corners", "round_prefer_floor", "011223344556", "0246"},
    {"align_corners", "round_prefer_ceil", "011223344556", "0246"},
    {"align_corners", "floor", "001122334456", "0246"},
    {"align_corners", "ceil", "012233445566", "0246"},
    {"asymmetric", "round_prefer_floor", "011223345566", "0235"},
    {"asymmetric", "round_prefer_ceil", "011223445566", "0245"},
    {"asymmetric", "floor", "001122344556", "0135"},
    {"asymmetric", "ceil", "012233455666", "0246"},
    {"tf_half_pixel_for_nn", "round_prefer_floor", "011233445666", "1346"},
    {"tf_half_pixel_for_nn", "round_prefer_ceil", "011233445666", "1346"},
    {"tf_half_pixel_for_nn", "floor", "001223344566", "0246"},
    {"tf_half_pixel_for_nn", "ceil", "112334455666", "1356"},
};

TEST(OnnxResize, NearestElementsAreThoseOfOnnxRuntime) {
    const row x{0, 1, 2, 3, 4, 5, 6};
    for (const nearest_case &c : nearest_cases)
        for (const bool grows : {true, false}) {
            contrib_model file;
            file.input<float>("x", {7});
            file.constant<std::int64_t>("sizes", {1}, {grows ? 12 : 4});
            onnx::NodeProto &node = file.node("Resize", {"x", "", "", "sizes"}, {"y"});
            onnx_builder::set(node, "mode", "nearest");
            onnx_builder::set(node, "coordinate_transformation_mode", c.coordinates);
            onnx_builder::set(node, "nearest_mode", c.mode);
            std::string digits;
            for (const float v : file.run_once(x))
                digits += static_cast<char>('0' + static_cast<int>(v));
            EXPECT_EQ(digits, grows ? c.to_12 : c.to_4) << c.coordinates << ", " << c.mode;
        }
}

struct linear_case {
    const char *coordinates;
    std::uint32_t y[24]; ///< bits
};
const linear_case linear_cases[] = {
    {"half_pixel",
     {0x40400000, 0x3fbc3c3e, 0xbf61e1e0, 0x3fe5a5a8, 0x4063c3c5, 0x3fe5a5a6, 0xbf70f0e0, 0xc08f0f0e,
      0x40c00000, 0x4079696a, 0x3f29696c, 0xbead2d30, 0xbed2d2e0, 0x3ff87878, 0x3fe4b4ba, 0xbed6968c,
      0x41100000, 0x40ca5a5b, 0x400d2d2e, 0xc01e1e20, 0xc08c3c3f, 0x4005a5a5, 0x40907879, 0x4068787a}},
    {"align_corners",
     {0x40400000, 0x3f36db6b, 0xbe92491c, 0x4024924a, 0x40492491, 0x3fb6db6c, 0xbfc92494, 0xc0a00000,
      0x40c00000, 0x4036db6d, 0x3e924922, 0xbf124922, 0x3e124940, 0x401b6db8, 0x3fb24924, 0xbf400000,
      0x41100000, 0x40a00000, 0x3f5b6db0, 0xc06db6db, 0xc036db6a, 0x405b6dba, 0x408b6db7, 0x40600000}},
    {"asymmetric",
     {0x40400000, 0x3f25a5a8, 0xbdf0f120, 0x4034b4b2, 0x403c3c3e, 0x3f969698, 0xc00b4b46, 0xc0a00000,
      0x40e00000, 0x405e1e20, 0x3eb4b4c0, 0xbfe6e6e6, 0xbedcdcfc, 0x4052d2d1, 0x40050508, 0x3f2aaab0,
      0x41100000, 0x409c3c3d, 0x3f1696a0, 0xc083c3c2, 0xc007878e, 0x408b4b4a, 0x40869697, 0x40600000}},
};

TEST(OnnxResize, LinearPlanesAreThoseOfOnnxRuntime) {
    const row x{3, -1, 4, 1, -5, 9, 2, -6, 5, 3.5f};
    for (const linear_case &c : linear_cases) {
        contrib_model file;
        file.input<float>("x", {1, 1, 2, 5});
        file.constant<float>("scales", {4}, {1, 1, 1.5f, 1.7f});
        onnx::NodeProto &node = file.node("Resize", {"x", "", "scales"}, {"y"});
        onnx_builder::set(node, "mode", "linear");
        onnx_builder::set(node, "coordinate_transformation_mode", c.coordinates);
        const row y = file.run(x);
        ASSERT_EQ(y.size(), std::size(c.y));
        EXPECT_EQ(std::memcmp(y.data(), c.y, sizeof c.y), 0) << c.coordinates;
    }
}

struct cubic_case {
    float a;
    std::int64_t excludes;
    std::uint32_t y[24]; ///< bits
};
const cubic_case cubic_cases[] = {
    {-0.75f, 0, {0x4035f8da, 0x3f2fad84, 0xbfa6c561, 0x4015b672, 0x409d7df6, 0x40261191,
                 0xbfe134d6, 0xc0a9ac21, 0x40d12362, 0x408266c7, 0x3f27ef40, 0xbf9b051c,
                 0xbf119bfd, 0x40182605, 0x401369d7, 0xbeeb7c64, 0x4123a531, 0x40eed7e5,
                 0x40275a53, 0xc0985dc9, 0xc0c1e4f6, 0x400a3a81, 0x40cbb710, 0x408c3c95}},
    {-0.5f, 1, {0x40397eec, 0x3f8d15f8, 0xbf9ba9d9, 0x400e4425, 0x40940954, 0x400c9477,
                0xbfbee073, 0xc0a79d2e, 0x40cd90eb, 0x4087db7f, 0x3f1c6560, 0xbf6f44fa,
                0xbf226e9c, 0x4016a8fa, 0x40080e7a, 0xbf097610, 0x411f3130, 0x40ec7180,
                0x401c079d, 0xc082f351, 0xc0bca4fb, 0x4020bd7b, 0x40b7c696, 0x40853faa}},
};

TEST(OnnxResize, CubicPlanesAreThoseOfOnnxRuntime) {
    const row x{3, -1, 4, 1, -5, 9, 2, -6, 5, 3.5f};
    for (const cubic_case &c : cubic_cases) {
        contrib_model file;
        file.input<float>("x", {1, 1, 2, 5});
        file.constant<float>("scales", {4}, {1, 1, 1.5f, 1.7f});
        onnx::NodeProto &node = file.node("Resize", {"x", "", "scales"}, {"y"});
        onnx_builder::set(node, "mode", "cubic");
        onnx_builder::set(node, "cubic_coeff_a", c.a);
        onnx_builder::set(node, "exclude_outside", c.excludes);
        const row y = file.run(x);
        ASSERT_EQ(y.size(), std::size(c.y));
        EXPECT_EQ(std::memcmp(y.data(), c.y, sizeof c.y), 0) << c.a;
    }
}

/// Columns 0 1 2 3 and 4 5 6 7, resized where `axes` say; graphs with ONNX Runtime beside them are in
/// tests/onnxruntime.
struct axes_case {
    onnx_builder::dims axes, sizes;
    const char *policy;
    row y;
};
const axes_case axes_cases[] = {
    {{3}, {2}, "stretch", {0, 2, 4, 6}},
    {{-1, 2}, {2, 1}, "stretch", {0, 2}},
    {{2, 3}, {1, 3}, "not_larger", {0, 2}},
    {{2, 3}, {1, 4}, "not_smaller", {0, 1, 2, 3, 4, 5, 6, 7}},
    {{-2, -1},
     {1, 2},
     "not_larger",
     {0, 1, 2, 3, 4, 5, 6, 7}}, // negative numbers name none that a policy resizes
    {{2, -1}, {1, 2}, "not_smaller", {0, 1, 2, 3}},
};

TEST(OnnxResize, ResizesTheAxesThatAreNamed) {
    for (const axes_case &c : axes_cases) {
        contrib_model file;
        file.input<float>("x", {1, 1, 2, 4});
        file.constant<std::int64_t>("sizes", {static_cast<std::int64_t>(c.sizes.size())}, c.sizes);
        onnx::NodeProto &node = file.node("Resize", {"x", "", "", "sizes"}, {"y"});
        onnx_builder::set(node, "coordinate_transformation_mode", "asymmetric");
        onnx_builder::set(node, "axes", c.axes);
        onnx_builder::set(node, "keep_aspect_ratio_policy", c.policy);
        EXPECT_EQ(file.run(row{0, 1, 2, 3, 4, 5, 6, 7}), c.y) << c.policy;
    }
}

TEST(OnnxResize, RefusesAxesThatItCannotName) {
    const auto refusal_of = [](const onnx_builder::dims &axes, const char *policy) {
        contrib_model file;
        file.input<float>("x", {1, 1, 2, 4});
        file.constant<std::int64_t>("sizes", {2}, {1, 2});
        onnx::NodeProto &node = file.node("Resize", {"x", "", "", "sizes"}, {"y"});
        onnx_builder::set(node, "axes", axes);
        onnx_builder::set(node, "keep_aspect_ratio_policy", policy);
        return test::refusal([&] { file.run(row(8)); });
    };
    const auto expect = [&](const onnx_builder::dims &axes, const char *policy, const char *part) {
        EXPECT_NE(refusal_of(axes, policy).find(part), std::string::npos) << refusal_of(axes, policy);
    };
    expect({2, -2}, "stretch", "attribute 'axes' names dimension 2 twice");
    expect({2, 4}, "stretch", "axis 4 is outside the 4 dimensions");
    expect({2, 3}, "wider",
           "'keep_aspect_ratio_policy' is 'wider', allowed: stretch, not_larger, not_smaller");
    expect({1, 2, 3}, "stretch", "input 1x1x2x4 cannot be resized to 1x2");
}

TEST(OnnxResize, RefusesWhatItLacks) {
    contrib_model file;
    file.input<float>("x", {1, 1, 2, 5});
    file.constant<float>("scales", {4}, {1, 2, 2, 2});
    onnx::NodeProto &node = file.node("Resize", {"x", "", "scales"}, {"y"});
    onnx_builder::set(node, "mode", "cubic");
    test::expect_unimplemented([&] { file.run_once(numbers(10, 1.f)); },
                               {"mode cubic of f32 1x1x2x5", "the last two of 2 or 4 dimensions of f32"});
    node.mutable_attribute(0)->set_s("lanczos");
    test::expect_unimplemented([&] { file.run_once(numbers(10, 1.f)); },
                               {"'mode' is 'lanczos'", "nearest, linear, cubic"});
    node.mutable_attribute(0)->set_s("");
    test::expect_unimplemented([&] { file.run_once(numbers(10, 1.f)); }, {"'mode' is '', allowed: nearest"});
}

TEST(OnnxResize, MakesNoTablesOfSizesBeyondTheLimit) {
    contrib_model file;
    file.input<std::uint8_t>("x", {1, 1, 1, 4});
    file.constant<std::int64_t>("sizes", {4}, {1, 1, 1, 1 << 28});
    for (const char *mode : {"nearest", "linear"}) {
        contrib_model one = file;
        onnx_builder::set(one.node("Resize", {"x", "", "", "sizes"}, {"y"}), "mode", mode);
        const std::vector<std::uint8_t> bytes = one.finish();
        network_options options;
        options.memory_limit = 1 << 20;
        // The sentence of the check that comes before lowering, which makes the table.
        test::expect_error(status::out_of_memory,
                           [&] { network(bytes.data(), bytes.size(), "resize.onnx", options); },
                           {"tensor 'y' alone needs 268435456 bytes"});
    }
}

} // namespace
} // namespace octet::tests
