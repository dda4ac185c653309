// Options that decide what ONNX Runtime makes of a graph: a saved plan keeps them for sizes that are planned anew,
// and a plan that was saved with others is refused.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/contrib_model.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

constexpr std::int64_t inner = 64, columns = 8;

/// A product with weights of four bits that are dequantized.
std::vector<std::uint8_t> product_of_blocks() {
    contrib_model m;
    m.input<float>("x", {2, inner});
    onnx::TensorProto &weights = *m.graph().add_initializer();
    weights.set_name("codes");
    weights.set_data_type(22); // int4
    weights.add_dims(inner);
    weights.add_dims(columns);
    const std::vector<std::uint8_t> pairs = codes<std::uint8_t>(inner * columns / 2);
    weights.set_raw_data(pairs.data(), pairs.size());
    m.constant<float>("scales", {columns}, numbers(columns, 0.1f));
    m.set(m.node("DequantizeLinear", {"codes", "scales"}, {"weights"}), "axis", std::int64_t{1});
    m.node("MatMul", {"x", "weights"}, {"y"});
    return m.finish();
}

/// Two products read codes of s8, which stay signed therefore.
std::vector<std::uint8_t> signed_products() {
    contrib_model m;
    m.input<float>("x", {2, inner});
    m.constant<float>("scale", {}, {0.01f});
    m.constant<std::int8_t>("zero", {}, {0});
    m.node("QuantizeLinear", {"x", "scale", "zero"}, {"x_codes"});
    m.node("DequantizeLinear", {"x_codes", "scale", "zero"}, {"x_floats"});
    for (const std::string y : {"y", "z"}) {
        m.constant<std::int8_t>(y + "_codes", {inner, columns}, codes<std::int8_t>(inner * columns));
        m.node("DequantizeLinear", {y + "_codes", "scale", "zero"}, {y + "_weights"});
        m.node("MatMul", {"x_floats", y + "_weights"}, {y});
    }
    m.output("z");
    return m.finish();
}

/// The bytes of three rows, for which a network of two is planned anew.
row three_rows(network net) {
    net.resize({3, {}, {}});
    net.input(0).copy_from(numbers(3 * inner, 1.f));
    net.run();
    return net.output(0).as<float>();
}

network loaded(const std::vector<std::uint8_t> &bytes, const network_options &options = {}) {
    return network(bytes.data(), bytes.size(), "plan", options);
}

struct option_of_test {
    std::vector<std::uint8_t> (*file)();
    void (*set)(network_options &);
    const char *refusal;
};

const option_of_test options_of_test[] = {
    {signed_products, [](network_options &o) { o.qdq_is_int8_allowed = true; },
     "plan: qdq_is_int8_allowed 1: the plan was saved with 0"},
    {product_of_blocks, [](network_options &o) { o.qdq_nbits_level = 0; },
     "plan: qdq_nbits_level 0: the plan was saved with 4"},
    {product_of_blocks, [](network_options &o) { o.qdq_nbits_block = 16; },
     "plan: qdq_nbits_block 16: the plan was saved with 0"},
};

TEST(SavedOptions, HoldForSizesThatArePlannedAnew) {
    for (const option_of_test &t : options_of_test) {
        const std::vector<std::uint8_t> file = t.file();
        network_options options;
        t.set(options);
        const network net = loaded(file, options);
        const std::vector<std::uint8_t> plan = net.save();
        const row expected = three_rows(loaded(file, options));
        EXPECT_NE(three_rows(loaded(file)), expected) << t.refusal << ": the option changes nothing";
        EXPECT_EQ(three_rows(loaded(plan)), expected) << t.refusal;
        EXPECT_EQ(three_rows(loaded(plan, options)), expected) << t.refusal;
    }
}

TEST(SavedOptions, OthersAreRefused) {
    for (const option_of_test &t : options_of_test) {
        network_options options;
        t.set(options);
        const std::vector<std::uint8_t> usual = loaded(t.file()).save();
        test::expect_unimplemented([&] { loaded(usual, options); }, {t.refusal});
    }
}

} // namespace
} // namespace octet::tests
