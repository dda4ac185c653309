// MatMulNBits of ONNX Runtime: which of its arithmetics a node has, and what is refused. The orders of sums are tested
// in loops/tests; the numbers here are those that ONNX Runtime 1.30 gave.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include "network/onnx/tests/contrib_model.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

/// A product of {rows, 40} floats and 40 codes for each of some columns, all alike, in two blocks of 32.
struct product {
    std::int64_t bits = 4, columns = 1, rows = 1;
    std::optional<std::int64_t> level;
    std::int64_t inner = 40, block = 32;

    row x() const {
        row values;
        for (std::int64_t r = 0; r < rows; r++)
            for (int k = 0; k < 40; k++)
                values.push_back(static_cast<float>(k % 7 - 3) + static_cast<float>(k) / 64.f);
        return values;
    }
    std::vector<std::uint8_t> codes() const {
        std::vector<std::uint8_t> bytes;
        for (std::int64_t n = 0; n < columns; n++)
            for (int k = 0; k < 64; k++) {
                const int code = k >= 40 ? 0 : bits == 4 ? 5 * k % 16 : 37 * k % 256;
                if (bits == 8 || k % 2 == 0)
                    bytes.push_back(static_cast<std::uint8_t>(code));
                else
                    bytes.back() = static_cast<std::uint8_t>(bytes.back() | code << 4);
            }
        return bytes;
    }
    template <typename T> std::vector<T> repeated(const std::vector<T> &of_column) const {
        std::vector<T> all;
        for (std::int64_t n = 0; n < columns; n++)
            all.insert(all.end(), of_column.begin(), of_column.end());
        return all;
    }
    row scales() const { return repeated<float>({0.1f, 0.3f}); }
    std::vector<std::uint8_t> zero_points() const {
        return bits == 4 ? repeated<std::uint8_t>({5 | 9 << 4}) : repeated<std::uint8_t>({5, 9});
    }
    dims code_dims() const { return {columns, 2, 32 * bits / 8}; }

    onnx::NodeProto &node(contrib_model &m, const onnx_builder::names &inputs) const {
        onnx::NodeProto &n = m.own("MatMulNBits", inputs);
        m.set(n, "K", inner);
        m.set(n, "N", columns);
        m.set(n, "bits", bits);
        m.set(n, "block_size", block);
        if (level)
            m.set(n, "accuracy_level", *level);
        return n;
    }
    contrib_model model() const {
        contrib_model m;
        m.input<float>("x", {rows, 40});
        m.constant<std::uint8_t>("codes", code_dims(), codes());
        m.constant<float>("scales", {columns, 2}, scales());
        m.constant<std::uint8_t>("zeros", {static_cast<std::int64_t>(zero_points().size())}, zero_points());
        m.constant<float>("bias", {columns}, row(static_cast<std::size_t>(columns), 0.5f));
        node(m, {"x", "codes", "scales", "zeros", "", "bias"});
        return m;
    }
    row result() const { return model().run(x()); }
    row all(float y) const { return row(static_cast<std::size_t>(rows * columns), y); }
};

product of(std::int64_t bits, std::int64_t rows, std::int64_t columns,
           std::optional<std::int64_t> level = {}) {
    return {bits, columns, rows, level};
}

TEST(MatMulNBits, RoundsRowsAtLevel4) {
    for (const std::int64_t rows : {1, 2, 3}) {
        const product four = of(4, rows, 1, 4), eight = of(8, rows, 5, 4);
        EXPECT_EQ(four.result(), four.all(-0x1.7cfc90p+2f));
        EXPECT_EQ(eight.result()[4], 0x1.eee988p+9f);
    }
}

TEST(MatMulNBits, DequantizesFourBitsAheadAtOtherLevels) {
    EXPECT_EQ(of(4, 1, 1).result(), row{-0x1.7e6666p+2f});
    EXPECT_EQ(of(4, 2, 1).result(), row(2, -0x1.7e666ap+2f));
    for (const std::int64_t level : {0, 1, 2, 3, 5, -1})
        EXPECT_EQ(of(4, 2, 1, level).result(), row(2, -0x1.7e666ap+2f)) << level;
}

TEST(MatMulNBits, DequantizesEightBitsInTheOrderOfComputedMatrices) {
    EXPECT_EQ(of(8, 1, 1).result(), row{0x1.ef7334p+9f});
    EXPECT_EQ(of(8, 2, 1, 0).result(), row(2, 0x1.ef7332p+9f));
}

/// Weights that the network is given, at any level.
TEST(MatMulNBits, DequantizesComputedWeightsInEachRun) {
    const auto result = [](const product &p) {
        contrib_model m;
        m.input<float>("x", {p.rows, 40});
        m.input<std::uint8_t>("codes", p.code_dims());
        m.input<float>("scales", {p.columns * 2});
        m.input<std::uint8_t>("zeros", {static_cast<std::int64_t>(p.zero_points().size())});
        m.constant<float>("bias", {p.columns}, row(static_cast<std::size_t>(p.columns), 0.5f));
        p.node(m, {"x", "codes", "scales", "zeros", "", "bias"});
        return m.run(p.x(), p.codes(), p.scales(), p.zero_points());
    };
    for (const std::int64_t level : {0, 4}) {
        EXPECT_EQ(result(of(4, 1, 1, level)), row{-0x1.7e6666p+2f});
        EXPECT_EQ(result(of(4, 1, 2, level)), row(2, -0x1.7e6664p+2f));
        EXPECT_EQ(result(of(4, 1, 4, level)), row(4, -0x1.7e6668p+2f));
        EXPECT_EQ(result(of(4, 2, 1, level)), row(2, -0x1.7e666ap+2f));
    }
}

/// Zero points that floats are, and blocks by index: the product is of codes, then the zero point is added.
TEST(MatMulNBits, TakesZeroPointsOfFloatsAndBlocksByIndex) {
    const product p = of(4, 2, 3, 4);
    std::vector<std::int32_t> blocks;
    for (int k = 0; k < 40; k++)
        blocks.push_back(k % 2);
    const auto with = [&](bool has_index) {
        contrib_model m = p.model();
        m.constant<float>("floats", {3, 2}, p.repeated<float>({5.5f, 9.25f}));
        m.constant<std::int32_t>("blocks", {40}, blocks);
        onnx::NodeProto &n = *m.graph().mutable_node(0);
        n.set_input(3, "floats");
        if (has_index)
            n.set_input(4, "blocks");
        return m.run(p.x());
    };
    for (const bool has_index : {false, true}) {
        float y = 0.f;
        for (int k = 0; k < 40; k++) {
            const int b = has_index ? k % 2 : k / 32;
            const float s = b == 0 ? 0.1f : 0.3f, z = b == 0 ? 5.5f : 9.25f;
            const float v = static_cast<float>(5 * k % 16) * s + -s * z;
            y = std::fma(p.x()[static_cast<std::size_t>(k)], v, y);
        }
        EXPECT_EQ(with(has_index), p.all(0.5f + y)) << has_index;
    }
}

/// The file of a product with four blocks of 128 codes of 4 bits in each column.
std::vector<std::uint8_t> product_of_blocks(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                                            std::int64_t level) {
    contrib_model m;
    m.input<float>("x", {rows, inner});
    m.constant<std::uint8_t>("codes", {columns, 4, 64}, codes<std::uint8_t>(columns * 4 * 64));
    m.constant<float>("scales", {columns, 4}, numbers(columns * 4, 0.1f));
    onnx::NodeProto &n = m.own("MatMulNBits", {"x", "codes", "scales"});
    m.set(n, "K", inner);
    m.set(n, "N", columns);
    m.set(n, "bits", std::int64_t{4});
    m.set(n, "block_size", std::int64_t{128});
    m.set(n, "accuracy_level", level);
    return m.finish();
}

/// With blocks of 128 the last row of an odd number has another order, and a single row has one without codes.
TEST(MatMulNBits, HasOneOrderForAllRowsIfAsked) {
    constexpr std::int64_t inner = 512, columns = 8;
    const auto results = [&](std::int64_t rows, std::int64_t level, bool are_alike) {
        const std::vector<std::uint8_t> file = product_of_blocks(rows, inner, columns, level);
        network_options options;
        options.rows_alike = are_alike;
        network net(file.data(), file.size(), "rows.onnx", options);
        row x = numbers(4 * inner, 1.f);
        x.resize(static_cast<std::size_t>(rows * inner));
        net.input(0).copy_from(x);
        net.run();
        row y = net.output(0).as<float>();
        y.resize(columns);
        return y;
    };
    for (const std::int64_t level : {0, 4}) {
        EXPECT_EQ(results(1, level, true), results(4, level, true)) << level;
        EXPECT_EQ(results(4, level, false), results(4, level, true)) << level;
        EXPECT_NE(results(1, level, false), results(1, level, true)) << level << ": as in ONNX Runtime";
    }
}

/// Octet's own order: a row has the same bits in every batch, and a saved plan keeps the order.
TEST(MatMulNBits, AddsUpBlocksOneByOneIfAsked) {
    constexpr std::int64_t inner = 512, columns = 8;
    network_options ordered;
    ordered.nbits = "ordered";
    const auto model = [&](std::int64_t rows, std::int64_t level) {
        return product_of_blocks(rows, inner, columns, level);
    };
    const auto first_row = [&](network net, std::int64_t rows) {
        row x = numbers(4 * inner, 1.f);
        x.resize(static_cast<std::size_t>(rows * inner));
        net.input(0).copy_from(x);
        net.run();
        row y = net.output(0).as<float>();
        y.resize(columns);
        return y;
    };
    for (const std::int64_t level : {0, 4}) {
        const std::vector<std::uint8_t> one = model(1, level), three = model(3, level),
                                        four = model(4, level);
        const row alone = first_row(network(one.data(), one.size(), "one", ordered), 1);
        EXPECT_EQ(first_row(network(three.data(), three.size(), "three", ordered), 3), alone) << level;
        EXPECT_EQ(first_row(network(four.data(), four.size(), "four", ordered), 4), alone) << level;
        EXPECT_NE(first_row(network(one.data(), one.size(), "one"), 1), alone) << level;
        const std::vector<std::uint8_t> plan = network(one.data(), one.size(), "one", ordered).save(),
                                        usual = network(one.data(), one.size(), "one").save();
        network again(plan.data(), plan.size(), "plan");
        EXPECT_EQ(again.options().nbits, "ordered");
        EXPECT_EQ(first_row(std::move(again), 1), alone) << level;
        test::expect_unimplemented([&] { network(usual.data(), usual.size(), "plan", ordered); },
                                   {"nbits ordered: the plan was saved with onnxruntime"});
    }
    network_options other;
    other.nbits = "exact";
    const std::vector<std::uint8_t> file = model(1, 4);
    test::expect_invalid([&] { network(file.data(), file.size(), "one", other); },
                         {"nbits is 'exact', allowed: onnxruntime, ordered"});
}

TEST(MatMulNBits, IsTheSameFromASavedPlan) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("octet_nbits_" + std::to_string(::getpid()) + ".octet"))
            .string();
    for (const std::int64_t level : {0, 4}) {
        const product p = of(4, 2, 3, level);
        const std::vector<std::uint8_t> file = p.model().finish();
        network(file.data(), file.size(), "nbits.onnx").save(path);
        network loaded(path);
        loaded.input(0).copy_from(p.x());
        loaded.run();
        EXPECT_EQ(loaded.output(0).as<float>(), p.result()) << level;
    }
    std::filesystem::remove(path);
}

/// One copy for all sizes, also of constants that are gone.
TEST(MatMulNBits, PacksItsWeightsOnceForAllSizes) {
    for (const std::int64_t level : {0, 4}) {
        const product one = of(4, 1, 64, level), three = of(4, 3, 64, level);
        const std::vector<std::uint8_t> file = one.model().finish();
        model::graph g = model::read_onnx(file.data(), file.size(), "nbits.onnx");
        g.tensors[static_cast<std::size_t>(g.inputs[0])].dim_names = {"rows", ""};
        std::vector<std::vector<std::uint8_t>> lent;
        for (model::tensor &t : g.tensors)
            if (t.is_constant) {
                lent.push_back(t.data.copy());
                t.data = model::borrowed(lent.back().data(), lent.back().size());
            }
        network net(std::move(g));
        const std::size_t bytes = net.weight_bytes();
        EXPECT_GE(bytes, one.codes().size() + sizeof(float) * one.scales().size()) << level;
        net.forget_borrowed();
        for (std::vector<std::uint8_t> &constant : lent)
            std::fill(constant.begin(), constant.end(), std::uint8_t{0x55});
        net.resize({3});
        EXPECT_EQ(net.weight_bytes(), bytes) << level;
        net.input(0).copy_from(three.x());
        net.run();
        EXPECT_EQ(net.output(0).as<float>(), three.result()) << level;
    }
}

/// The sentence that refuses a model, for what it contradicts or what there is not.
void expect_refusal(const contrib_model &m, const std::string &sentence,
                    status wanted = status::invalid_arguments) {
    const std::vector<std::uint8_t> file = m.finish();
    test::expect_error(wanted, [&] { network(file.data(), file.size(), "nbits.onnx"); },
                       {"MatMulNBits", sentence});
}

TEST(MatMulNBits, RefusesAttributesAndOperandsThatDoNotFit) {
    product p = of(4, 1, 1);
    contrib_model m = p.model();
    for (onnx::AttributeProto &a : *m.graph().mutable_node(0)->mutable_attribute())
        if (a.name() == "bits")
            a.set_i(3);
    expect_refusal(m, "attribute 'bits' is 3, allowed are 2, 4, 8");
    p.block = 48;
    expect_refusal(p.model(), "attribute 'block_size' is 48, allowed are 16, 32, 64, 128, 256");
    p.block = 64;
    expect_refusal(p.model(), "input 1 has dimensions 1x2x16, allowed are 1x1x32");
    p.block = 32;
    p.inner = 41;
    expect_refusal(p.model(), "input 0 has dimensions 1x40, of which the last is not K, 41");
    p.inner = 40;
    m = p.model();
    m.constant<float>("three", {1, 3}, row(3));
    m.graph().mutable_node(0)->set_input(2, "three");
    expect_refusal(m, "input 2 has dimensions 1x3, allowed are 1x2, or all in one");
    m = p.model();
    m.set(*m.graph().mutable_node(0), "weight_prepacked", std::int64_t{1});
    expect_refusal(m, "attribute 'weight_prepacked' is 1, allowed is 0", status::unimplemented);
}

TEST(MatMulNBits, RefusesWhatOnnxRuntimeComputesWrongly) {
    const auto with_index = [](const product &p, std::int32_t last, bool has_zero_points) {
        contrib_model m = p.model();
        std::vector<std::int32_t> blocks(40);
        blocks.back() = last;
        m.constant<std::int32_t>("blocks", {40}, blocks);
        onnx::NodeProto &n = *m.graph().mutable_node(0);
        n.set_input(4, "blocks");
        if (!has_zero_points)
            n.set_input(3, "");
        return m;
    };
    expect_refusal(with_index(of(4, 1, 1), 1, true), "with zero points of UINT8, which ONNX Runtime ignores",
                   status::unimplemented);
    expect_refusal(with_index(of(8, 1, 1), 1, false), "input 4 (g_idx) is given with 8 bits, allowed are 4",
                   status::unimplemented);
    expect_refusal(with_index(of(4, 1, 1), 2, false), "input 4 (g_idx) has 2, allowed are 0 to 1");
    const product p = of(4, 1, 1, 4);
    for (const bool are_scales : {true, false}) {
        contrib_model m = p.model();
        onnx::NodeProto &n = *m.graph().mutable_node(0);
        n.set_input(are_scales ? 2 : 3,
                    are_scales ? m.input<float>("given", {1, 2}) : m.input<std::uint8_t>("given", {1, 1}));
        expect_refusal(m,
                       std::string("input ") + (are_scales ? "2" : "3") +
                           " is computed, allowed is a constant at accuracy level 4",
                       status::unimplemented);
    }
    contrib_model m = of(8, 1, 1).model();
    m.constant<float>("floats", {1, 2}, row(2));
    m.graph().mutable_node(0)->set_input(3, "floats");
    expect_refusal(m, "input 3 (zero_points) has floats with 8 bits, allowed are those of UINT8");
}

/// Rows of a table; indices count from the end where they are negative.
TEST(GatherBlockQuantized, DequantizesRows) {
    const auto model = [](std::int64_t bits, std::int64_t columns, bool has_zero_points) {
        contrib_model m;
        m.constant<std::uint8_t>("table", {3, columns * bits / 8},
                                 codes<std::uint8_t>(3 * static_cast<std::size_t>(columns * bits) / 8));
        m.constant<float>("scales", {3, 2}, {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f});
        m.constant<std::uint8_t>(
            "zeros", {3, (2 * bits + 7) / 8},
            std::vector<std::uint8_t>(static_cast<std::size_t>(3 * ((2 * bits + 7) / 8)), 0x65));
        m.input<std::int32_t>("indices", {2, 1});
        onnx::NodeProto &n = m.own("GatherBlockQuantized", {"table", "indices", "scales"});
        if (has_zero_points)
            n.add_input("zeros");
        m.set(n, "bits", bits);
        m.set(n, "block_size", std::int64_t{16});
        return m;
    };
    for (const std::int64_t bits : {2, 4, 8})
        for (const bool has_zero_points : {false, true}) {
            constexpr std::int64_t columns = 24;
            const auto in_a_byte = static_cast<std::size_t>(8 / bits);
            const std::vector<std::uint8_t> table =
                codes<std::uint8_t>(3 * static_cast<std::size_t>(columns * bits) / 8);
            row expected;
            for (const std::size_t r : {std::size_t{2}, std::size_t{1}})
                for (std::size_t k = 0; k < columns; k++) {
                    const auto at = [&](std::uint8_t byte, std::size_t i) {
                        return byte >> i * static_cast<std::size_t>(bits) & ((1 << bits) - 1);
                    };
                    const int q = at(table[(r * columns + k) / in_a_byte], k % in_a_byte);
                    const int z = has_zero_points ? at(0x65, k / 16 % in_a_byte) : 1 << (bits - 1);
                    const float scale = static_cast<float>(2 * r + k / 16 + 1) / 10.f;
                    expected.push_back(static_cast<float>(q - z) * scale);
                }
            EXPECT_EQ(model(bits, columns, has_zero_points).run(std::vector<std::int32_t>{-1, 1}), expected)
                << bits;
        }
    test::expect_invalid(
        [&] {
            model(4, 24, false).run_once(std::vector<std::int32_t>{0, 3});
        },
        {"index 1 is 3, allowed: -3 to 2"});
}

TEST(GatherBlockQuantized, RefusesTablesThatDoNotFit) {
    contrib_model m;
    m.constant<std::uint8_t>("table", {2, 16}, codes<std::uint8_t>(32));
    m.constant<float>("scales", {2, 2}, row(4, 1.f));
    m.input<std::int32_t>("indices", {2});
    onnx::NodeProto &n = m.own("GatherBlockQuantized", {"table", "indices", "scales"});
    m.set(n, "block_size", std::int64_t{64});
    const auto refused = [&](status wanted, const char *sentence) {
        const std::vector<std::uint8_t> file = m.finish();
        test::expect_error(wanted, [&] { network(file.data(), file.size(), "gather.onnx"); }, {sentence});
    };
    refused(status::invalid_arguments, "input 2 has dimensions 2x2, allowed are 2x1");
    n.mutable_attribute(0)->set_i(48);
    refused(status::invalid_arguments, "attribute 'block_size' is 48, allowed are powers of 2 from 16 on");
    n.mutable_attribute(0)->set_i(16);
    m.set(n, "quantize_axis", std::int64_t{0});
    refused(status::unimplemented, "allowed are two dimensions, gathered along 0, with blocks along 1");
}

} // namespace
} // namespace octet::tests
