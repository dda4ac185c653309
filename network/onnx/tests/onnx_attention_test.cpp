// Attention and MultiHeadAttention of ONNX Runtime: what one gives for a sequence, it gives for its parts one
// after the other. Their bytes are compared with ONNX Runtime's in tests/onnxruntime.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/contrib_model.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

constexpr std::int64_t batch = 2, heads = 3, head = 8, width = heads * head;

/// One row for each of a sequence, and what its keys and values are.
struct attended {
    row y;
    std::vector<row> present;
};

/// Causal: rows [first, first + length) of sequences of `all` rows.
attended attend(bool is_of_projections, const row &x, std::int64_t all, std::int64_t first,
                std::int64_t length, const std::vector<row> &past) {
    onnx_builder m;
    const std::int64_t in = is_of_projections ? width : 3 * width;
    onnx_builder::names inputs = {m.input<float>("x", {batch, length, in})}, outputs = {"y", "present"};
    if (is_of_projections) {
        m.constant("w", {width, 3 * width}, numbers(static_cast<std::size_t>(width * 3 * width), 0.3f, 2));
        m.constant("bias", {3 * width}, numbers(static_cast<std::size_t>(3 * width), 0.2f, 3));
        inputs.insert(inputs.end(), {"w", "bias"});
        if (first > 0)
            inputs.insert(inputs.end(), {"", m.input<float>("past", {2, batch, heads, first, head})});
    } else {
        onnx_builder::set(m.node("Split", inputs, {"q", "k", "v"}), "axis", std::int64_t{2});
        inputs = {"q", "k", "v"};
        outputs.push_back("values");
        if (first > 0)
            inputs.insert(inputs.end(), {"", "", "", m.input<float>("past", {batch, heads, first, head}),
                                         m.input<float>("past values", {batch, heads, first, head})});
    }
    onnx::NodeProto &node = m.node(is_of_projections ? "Attention" : "MultiHeadAttention", inputs, outputs,
                                   onnx_builder::microsoft);
    onnx_builder::set(node, "num_heads", heads);
    onnx_builder::set(node, "unidirectional", std::int64_t{1});
    for (const std::string &name : outputs)
        m.output(name);
    const std::vector<std::uint8_t> file = m.finish();
    network net(file.data(), file.size(), "attention.onnx");
    row rows;
    for (std::int64_t b = 0; b < batch; b++)
        rows.insert(rows.end(), x.begin() + (b * all + first) * in,
                    x.begin() + (b * all + first + length) * in);
    net.input(0).copy_from(rows);
    for (std::size_t i = 0; i < past.size(); i++)
        net.input(i + 1).copy_from(past[i]);
    net.run();
    attended result{net.output(0).as<float>(), {}};
    for (std::size_t i = 1; i < outputs.size(); i++)
        result.present.push_back(net.output(i).as<float>());
    return result;
}

TEST(OnnxAttention, PastKeysAndValuesGiveWhatTheWholeSequenceGives) {
    constexpr std::int64_t all = 7;
    for (const bool is_of_projections : {true, false})
        for (const std::int64_t first : {1, 4, 6}) {
            const row x =
                numbers(static_cast<std::size_t>(batch * all * width * (is_of_projections ? 1 : 3)), 1.f);
            const attended whole = attend(is_of_projections, x, all, 0, all, {}),
                           before = attend(is_of_projections, x, all, 0, first, {}),
                           behind = attend(is_of_projections, x, all, first, all - first, before.present);
            EXPECT_EQ(behind.present, whole.present);
            for (std::int64_t b = 0; b < batch; b++)
                for (std::int64_t i = first * width; i < all * width; i++)
                    ASSERT_NEAR(
                        behind.y[static_cast<std::size_t>(b * (all - first) * width + i - first * width)],
                        whole.y[static_cast<std::size_t>(b * all * width + i)], 2e-6)
                        << is_of_projections << " " << first;
        }
}

/// The mask is checked by ONNX Runtime, too: it is the caller's.
TEST(OnnxAttention, AnEndOfTheMaskBelowZeroIsAnErrorOfTheRun) {
    contrib_model m;
    m.input<float>("x", {batch, 4, width});
    m.input<std::int32_t>("ends", {batch});
    m.constant("w", {width, 3 * width}, numbers(static_cast<std::size_t>(width * 3 * width), 0.3f, 2));
    m.constant("bias", {3 * width}, numbers(static_cast<std::size_t>(3 * width), 0.2f, 3));
    onnx_builder::set(m.own("Attention", {"x", "w", "bias", "ends"}), "num_heads", heads);
    const row x = numbers(static_cast<std::size_t>(batch * 4 * width), 1.f);
    m.run(x, std::vector<std::int32_t>{4, 0});
    test::expect_invalid([&] { m.run_once(x, std::vector<std::int32_t>{4, -1}); }, {"-1", "0 or more"});
}

TEST(OnnxAttention, RefusesInputsThatDoNotFit) {
    const auto refuses = [](const dims &k, const dims &v, std::initializer_list<std::string_view> words) {
        contrib_model m;
        m.input<float>("q", {batch, 4, width}), m.input<float>("k", k), m.input<float>("v", v);
        onnx_builder::set(m.own("MultiHeadAttention", {"q", "k", "v"}), "num_heads", heads);
        test::expect_invalid([&] { m.run_once(); }, words);
    };
    refuses({batch, 4, width + 1}, {batch, 4, width}, {"MultiHeadAttention", "the keys", "2x4x25"});
    refuses({batch, 4, width}, {batch, 5, width}, {"MultiHeadAttention", "the values", "2x5x24"});
    refuses({1, 4, width}, {batch, 4, width}, {"MultiHeadAttention", "the keys", "1x4x24"});
    contrib_model packed;
    packed.input<float>("q", {batch, 4, heads, 3, head});
    onnx_builder::set(packed.own("MultiHeadAttention", {"q"}), "num_heads", heads);
    test::expect_unimplemented([&] { packed.run_once(); }, {"MultiHeadAttention", "packed"});
}

} // namespace
} // namespace octet::tests
