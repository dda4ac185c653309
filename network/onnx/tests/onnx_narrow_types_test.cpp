// Tensors of 4 and 2 bits and of f16: how files have them, blocked QuantizeLinear and DequantizeLinear with them, and
// the products and tables that ONNX Runtime computes with them.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "network/onnx/tests/contrib_model.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

/// Types by their numbers in ONNX.
constexpr int uint4 = 21, int4 = 22, uint2 = 25, int2 = 26, float16 = onnx::TensorProto::FLOAT16;

int bits_of(int type) { return type == uint4 || type == int4 ? 4 : 2; }
bool is_signed(int type) { return type == int4 || type == int2; }

/// Codes in the lowest bits of their bytes, over the whole tensor.
std::vector<std::uint8_t> packed(const std::vector<int> &codes, int bits) {
    std::vector<std::uint8_t> bytes((codes.size() * static_cast<std::size_t>(bits) + 7) / 8);
    for (std::size_t i = 0; i < codes.size(); i++) {
        const std::size_t bit = i * static_cast<std::size_t>(bits);
        bytes[bit / 8] =
            static_cast<std::uint8_t>(bytes[bit / 8] | (codes[i] & ((1 << bits) - 1)) << bit % 8);
    }
    return bytes;
}

/// Codes of a type from its lowest on, again and again.
std::vector<int> every_code(int type, std::size_t count, int step = 1) {
    const int all = 1 << bits_of(type);
    std::vector<int> codes;
    for (std::size_t i = 0; i < count; i++)
        codes.push_back(static_cast<int>(i) * step % all - (is_signed(type) ? all / 2 : 0));
    return codes;
}

std::string constant(onnx_builder &m, const std::string &name, int type, const dims &shape,
                     const std::vector<std::uint8_t> &bytes, bool in_fields = false) {
    onnx::TensorProto &t = *m.graph().add_initializer();
    t.set_name(name);
    t.set_data_type(type);
    for (const std::int64_t d : shape)
        t.add_dims(d);
    if (in_fields)
        for (const std::uint8_t b : bytes)
            t.add_int32_data(b);
    else
        t.set_raw_data(bytes.data(), bytes.size());
    return name;
}
std::string codes_of_type(onnx_builder &m, const std::string &name, int type, const dims &shape,
                          const std::vector<int> &codes) {
    return constant(m, name, type, shape, packed(codes, bits_of(type)));
}

std::string refusal(const contrib_model &m, const network_options &options = {}) {
    const std::vector<std::uint8_t> file = m.finish();
    try {
        network(file.data(), file.size(), "narrow.onnx", options);
        return "none";
    } catch (const error &e) {
        return e.what();
    }
}

TEST(NarrowTypes, DequantizeConstants) {
    for (const int type : {uint4, int4, uint2, int2})
        for (const bool in_fields : {false, true}) {
            const std::vector<int> codes = every_code(type, 21);
            contrib_model m;
            constant(m, "codes", type, {3, 7}, packed(codes, bits_of(type)), in_fields);
            m.constant<float>("scale", {}, {0.25f});
            codes_of_type(m, "zero", type, {}, {1});
            m.input<float>("x", {3, 7});
            m.node("DequantizeLinear", {"codes", "scale", "zero"}, {"floats"});
            m.node("Add", {"x", "floats"}, {"y"});
            row expected;
            for (const int c : codes)
                expected.push_back(static_cast<float>(c - 1) * 0.25f);
            EXPECT_EQ(m.run(row(21)), expected) << type;
        }
}

TEST(NarrowTypes, HaveAsManyBytesAsTheyNeed) {
    contrib_model m;
    constant(m, "codes", int4, {3, 7}, std::vector<std::uint8_t>(21));
    m.constant<float>("scale", {}, {0.25f});
    m.node("DequantizeLinear", {"codes", "scale"}, {"y"});
    EXPECT_NE(refusal(m).find("holds 21 bytes of data, but its dimensions give 11"), std::string::npos)
        << refusal(m);
}

/// Results beyond the range of four bits have its ends.
TEST(NarrowTypes, QuantizeIntoTheirRange) {
    for (const int type : {uint4, int4, uint2, int2}) {
        const int low = is_signed(type) ? -(1 << (bits_of(type) - 1)) : 0,
                  high = low + (1 << bits_of(type)) - 1;
        for (const std::int64_t block : {0, 2}) {
            contrib_model m;
            m.input<float>("x", {2, 4});
            const dims shape = block == 0 ? dims{4} : dims{2, 2};
            m.constant<float>("scale", shape, {0.5f, 1.f, 2.f, 0.5f});
            codes_of_type(m, "zero", type, shape, {0, 1, 0, 1});
            onnx::NodeProto &q = m.node("QuantizeLinear", {"x", "scale", "zero"}, {"codes"}),
                            &d = m.node("DequantizeLinear", {"codes", "scale", "zero"}, {"y"});
            for (onnx::NodeProto *n : {&q, &d}) {
                m.set(*n, "axis", std::int64_t{1});
                if (block != 0)
                    m.set(*n, "block_size", block);
            }
            const row x{-100.f, -0.75f, 0.25f, 100.f, 1.5f, 3.f, -1.f, 0.75f};
            row expected;
            for (std::size_t i = 0; i < x.size(); i++) {
                const std::size_t s = block == 0 ? i % 4 : i / 4 * 2 + i % 4 / 2;
                const float scale = std::vector<float>{0.5f, 1.f, 2.f, 0.5f}[s],
                            zero = s % 2 == 0 ? 0.f : 1.f;
                const float code = std::nearbyint(x[i] / scale) + zero;
                expected.push_back(
                    (std::fmin(std::fmax(code, static_cast<float>(low)), static_cast<float>(high)) - zero) *
                    scale);
            }
            EXPECT_EQ(m.run(x), expected) << type << ", blocks of " << block;
        }
    }
}

TEST(NarrowTypes, AreNoInputsAndOutputsOfNetworks) {
    contrib_model m;
    m.input<float>("x", {2, 4});
    m.constant<float>("scale", {}, {0.5f});
    codes_of_type(m, "zero", int4, {}, {0});
    m.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
    EXPECT_NE(refusal(m).find("s4, allowed"), std::string::npos) << refusal(m);
}

/// A product of {2, 64} floats with {64, columns} codes behind DequantizeLinear.
contrib_model dequantized_product(int type, std::int64_t columns, std::int64_t block, bool has_zeros = true) {
    contrib_model m;
    m.input<float>("x", {2, 64});
    const dims shape = block == 0 ? dims{columns} : dims{64 / block, columns};
    const auto count = static_cast<std::size_t>(block == 0 ? columns : 64 / block * columns);
    codes_of_type(m, "codes", type, {64, columns},
                  every_code(type, 64 * static_cast<std::size_t>(columns), 5));
    m.constant<float>("scales", shape, numbers(count, 0.1f));
    onnx::NodeProto &n = m.node("DequantizeLinear", {"codes", "scales"}, {"weights"});
    if (has_zeros) {
        codes_of_type(m, "zeros", type, shape, every_code(type, count, 3));
        n.add_input("zeros");
    }
    m.set(n, "axis", std::int64_t{block == 0 ? 1 : 0});
    if (block != 0)
        m.set(n, "block_size", block);
    m.node("MatMul", {"x", "weights"}, {"y"});
    return m;
}

/// What MatMulNBits of the same codes gives.
row product_of_blocks(int type, std::int64_t columns, std::int64_t given_block, bool has_zeros,
                      std::int64_t level, std::int64_t block) {
    const int bits = bits_of(type), shift = is_signed(type) ? 1 << (bits - 1) : 0;
    const std::int64_t blocks = 64 / block, given = given_block == 0 ? 1 : 64 / given_block;
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const std::vector<int> codes = every_code(type, size(64 * columns), 5),
                           zeros = has_zeros ? every_code(type, size(given * columns), 3)
                                             : std::vector<int>(size(given * columns));
    const row scales = numbers(size(given * columns), 0.1f);
    std::vector<std::uint8_t> all_codes, all_zeros;
    row all_scales;
    for (std::int64_t n = 0; n < columns; n++) {
        std::vector<int> column, column_zeros;
        for (std::int64_t k = 0; k < 64; k++)
            column.push_back(codes[size(k * columns + n)] + shift);
        for (std::int64_t b = 0; b < blocks; b++) {
            const std::size_t at = size((given_block == 0 ? 0 : b) * columns + n);
            column_zeros.push_back(zeros[at] + shift);
            all_scales.push_back(scales[at]);
        }
        for (const std::uint8_t byte : packed(column, bits))
            all_codes.push_back(byte);
        for (const std::uint8_t byte : packed(column_zeros, bits))
            all_zeros.push_back(byte);
    }
    contrib_model m;
    m.input<float>("x", {2, 64});
    m.constant<std::uint8_t>("codes", {columns, blocks, block * bits / 8}, all_codes);
    m.constant<float>("scales", {columns, blocks}, all_scales);
    m.constant<std::uint8_t>("zeros", {static_cast<std::int64_t>(all_zeros.size())}, all_zeros);
    onnx::NodeProto &n = m.own("MatMulNBits", {"x", "codes", "scales", "zeros"});
    m.set(n, "K", std::int64_t{64});
    m.set(n, "N", columns);
    m.set(n, "bits", std::int64_t{bits});
    m.set(n, "block_size", block);
    m.set(n, "accuracy_level", level);
    return m.run_once(numbers(128, 2.f));
}

TEST(NarrowTypes, ProductsBecomeThoseOfBlocks) {
    for (const int type : {uint4, int4, uint2, int2})
        for (const std::int64_t given : {0, 16, 32})
            for (const bool has_zeros : {false, true})
                for (const std::int64_t level : {0, 4}) {
                    const std::vector<std::uint8_t> file =
                        dequantized_product(type, 8, given, has_zeros).finish();
                    network_options options;
                    options.qdq_nbits_level = level;
                    network net(file.data(), file.size(), "product.onnx", options);
                    EXPECT_EQ(net.operators_left(), std::vector<std::string>{"MatMulNBits"});
                    net.input(0).copy_from(numbers(128, 2.f));
                    net.run();
                    EXPECT_EQ(net.output(0).as<float>(),
                              product_of_blocks(type, 8, given, has_zeros, level, given == 0 ? 32 : given))
                        << type << ", blocks of " << given << ", level " << level;
                }
}

TEST(NarrowTypes, TheSessionChoosesBlocksWhereTheFileHasNone) {
    const std::vector<std::uint8_t> file = dequantized_product(int4, 5, 0).finish();
    for (const auto &[chosen, block] : {std::pair(0, 32), {-1, 64}, {16, 16}}) {
        network_options options;
        options.qdq_nbits_block = chosen;
        network net(file.data(), file.size(), "product.onnx", options);
        net.input(0).copy_from(numbers(128, 2.f));
        net.run();
        EXPECT_EQ(net.output(0).as<float>(), product_of_blocks(int4, 5, 0, true, 4, block)) << chosen;
    }
    network_options options;
    options.qdq_nbits_block = 48;
    EXPECT_NE(refusal(dequantized_product(int4, 5, 0), options)
                  .find("qdq_nbits_block is 48, allowed: 0, -1, 16, 32, 64, 128, 256"),
              std::string::npos);
    options = {};
    options.qdq_nbits_level = 5;
    EXPECT_NE(refusal(dequantized_product(int4, 5, 0), options).find("qdq_nbits_level is 5, allowed: 0 to 4"),
              std::string::npos);
}

TEST(NarrowTypes, RefuseWhatOnnxRuntimeMixesUp) {
    for (const int type : {uint2, int2})
        EXPECT_NE(
            refusal(dequantized_product(type, 6, 32))
                .find("has 6 columns, allowed behind DequantizeLinear are multiples of 4: ONNX Runtime mixes "
                      "up others"),
            std::string::npos)
            << refusal(dequantized_product(type, 6, 32));
}

/// A table of {4, 6} or {6, 4} codes of four bits in blocks of 16, gathered along either axis.
TEST(NarrowTypes, GatherFromTablesOfFourBits) {
    for (const int type : {uint4, int4})
        for (const std::int64_t gather_axis : {0, 1})
            for (const std::int64_t quantize_axis : {0, 1})
                for (const bool has_zeros : {false, true}) {
                    constexpr std::int64_t rows = 20, columns = 33;
                    const dims blocks = quantize_axis == 0 ? dims{2, columns} : dims{rows, 3};
                    const auto count = static_cast<std::size_t>(blocks[0] * blocks[1]);
                    const std::vector<int> codes = every_code(type, rows * columns, 7),
                                           zeros = has_zeros ? every_code(type, count, 3)
                                                             : std::vector<int>(count);
                    const row scales = numbers(count, 0.1f);
                    contrib_model m;
                    codes_of_type(m, "table", type, {rows, columns}, codes);
                    m.constant<float>("scales", blocks, scales);
                    m.input<std::int32_t>("indices", {2});
                    onnx::NodeProto &n = m.own("GatherBlockQuantized", {"table", "indices", "scales"});
                    if (has_zeros) {
                        codes_of_type(m, "zeros", type, blocks, zeros);
                        n.add_input("zeros");
                    }
                    m.set(n, "block_size", std::int64_t{16});
                    m.set(n, "gather_axis", gather_axis);
                    m.set(n, "quantize_axis", quantize_axis);
                    row expected;
                    const auto at = [&](std::int64_t r, std::int64_t c) {
                        const auto block = static_cast<std::size_t>(quantize_axis == 0 ? r / 16 * columns + c
                                                                                       : r * 3 + c / 16);
                        expected.push_back(
                            static_cast<float>(codes[static_cast<std::size_t>(r * columns + c)] -
                                               zeros[block]) *
                            scales[block]);
                    };
                    if (gather_axis == 0)
                        for (const std::int64_t r : {std::int64_t{3}, rows - 1})
                            for (std::int64_t c = 0; c < columns; c++)
                                at(r, c);
                    else
                        for (std::int64_t r = 0; r < rows; r++)
                            for (const std::int64_t c : {std::int64_t{3}, columns - 1})
                                at(r, c);
                    EXPECT_EQ(m.run(std::vector<std::int32_t>{3, -1}), expected)
                        << type << ", axes " << gather_axis << ", " << quantize_axis;
                }
}

/// A table whose rows begin with bytes stays packed.
TEST(NarrowTypes, GatherRowsOfPackedTables) {
    for (const int type : {uint4, int4}) {
        const std::vector<int> codes = every_code(type, 3 * 34, 7);
        contrib_model m;
        codes_of_type(m, "table", type, {3, 34}, codes);
        m.constant<float>("scales", {3, 3}, numbers(9, 0.1f));
        codes_of_type(m, "zeros", type, {3, 3}, every_code(type, 9, 3));
        m.input<std::int32_t>("indices", {1});
        onnx::NodeProto &n = m.own("GatherBlockQuantized", {"table", "indices", "scales", "zeros"});
        m.set(n, "block_size", std::int64_t{16});
        row expected;
        for (std::size_t c = 0; c < 34; c++)
            expected.push_back(static_cast<float>(codes[2 * 34 + c] - every_code(type, 9, 3)[6 + c / 16]) *
                               numbers(9, 0.1f)[6 + c / 16]);
        EXPECT_EQ(m.run(std::vector<std::int32_t>{2}), expected) << type;
    }
}

/// f16 is widened, everything is computed in f32, and the result rounded once.
TEST(NarrowTypes, ProductsOfFloats16AreThoseOfFloatsRounded) {
    const auto model = [](bool is_narrow, std::int64_t level) {
        contrib_model m;
        const auto floats = [&](const std::string &name, const dims &shape, const row &values) {
            m.constant<float>(name + "_wide", shape, values);
            m.set(m.node("Cast", {name + "_wide"}, {name + "_narrow"}), "to", std::int64_t{float16});
            if (!is_narrow)
                m.set(m.node("Cast", {name + "_narrow"}, {name}), "to", std::int64_t{1});
            return is_narrow ? name + "_narrow" : name;
        };
        m.input<float>("x", {3, 64});
        m.set(m.node("Cast", {"x"}, {"narrow"}), "to", std::int64_t{float16});
        m.set(m.node("Cast", {"narrow"}, {"wide"}), "to", std::int64_t{1});
        m.constant<std::uint8_t>("codes", {5, 2, 16}, codes<std::uint8_t>(160));
        const std::string scales = floats("scales", {5, 2}, numbers(10, 0.1f)),
                          bias = floats("bias", {5}, numbers(5, 1.f, 2));
        onnx::NodeProto &n =
            m.node("MatMulNBits", {is_narrow ? "narrow" : "wide", "codes", scales, "", "", bias}, {"product"},
                   onnx_builder::microsoft);
        m.set(n, "K", std::int64_t{64});
        m.set(n, "N", std::int64_t{5});
        m.set(n, "bits", std::int64_t{4});
        m.set(n, "block_size", std::int64_t{32});
        m.set(n, "accuracy_level", level);
        if (!is_narrow)
            m.set(m.node("Cast", {"product"}, {"rounded"}), "to", std::int64_t{float16});
        m.set(m.node("Cast", {is_narrow ? "product" : "rounded"}, {"y"}), "to", std::int64_t{1});
        return m;
    };
    for (const std::int64_t level : {0, 4}) {
        const row x = numbers(3 * 64, 2.f);
        EXPECT_EQ(model(true, level).run(x), model(false, level).run_once(x)) << level;
    }
}

TEST(NarrowTypes, OtherOperatorsRefuseFloats16) {
    contrib_model m;
    m.input<float>("x", {2});
    m.set(m.node("Cast", {"x"}, {"narrow"}), "to", std::int64_t{float16});
    m.node("Add", {"narrow", "narrow"}, {"y"});
    EXPECT_NE(refusal(m).find("is f16, allowed"), std::string::npos) << refusal(m);
}

} // namespace
} // namespace octet::tests
