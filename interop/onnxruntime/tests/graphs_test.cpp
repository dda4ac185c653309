// Whole models with the provider and without it: all bytes of all outputs are those of ONNX Runtime's CPU
// provider with all its transformers on a CPU with AVX512-VNNI, and where Octet is to compute, it does.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "files/npz.hpp"
#include "interop/onnxruntime/tests/host.hpp"
#include "network/onnx/tests/onnx_encoder.hpp"
#include "octet/error.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> bytes_of_file(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// An array of a .npz as a tensor of this type.
ort_tensor recorded(const tools::named_arrays &values, const std::string &name, ort_tensor type) {
    for (const auto &[of, a] : values)
        if (of == name) {
            type.dims.assign(a.dims.begin(), a.dims.end());
            type.bytes.assign(a.bytes.begin(), a.bytes.end());
            return type;
        }
    throw error(status::invalid_arguments, name + " is not recorded");
}

session_options with_octet(options provider = {}) {
    session_options o;
    o.who = by::octet;
    o.provider = std::move(provider);
    return o;
}

TEST(OnnxRuntimeGraphs, HaveTheBytesOfTheCpuProvider) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    const fs::path folder = fs::path(shared_path()) / "vectors/ort_graphs";
    if (!fs::exists(folder))
        GTEST_SKIP() << "no folder of graphs";
    std::vector<fs::path> models;
    for (const auto &entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".onnx")
            models.push_back(entry.path());
    std::sort(models.begin(), models.end());
    std::size_t claimed = 0, whole = 0;
    for (const fs::path &path : models) {
        SCOPED_TRACE(path.filename().string());
        const auto model = bytes_of_file(path);
        const fs::path arrays = fs::path(path).replace_extension(".npz");
        const auto values = tools::parse_npz(bytes_of_file(arrays), arrays.string());
        try {
            const session cpu(model, {}), octet(model, with_octet({{"minimum", "1"}}));
            std::vector<ort_tensor> inputs;
            for (std::size_t i = 0; i < cpu.inputs().size(); i++)
                inputs.push_back(recorded(values, "in_" + cpu.inputs()[i], cpu.input_info(i)));
            const bool is_claimed = !octet.operators_of(by::octet).empty();
            claimed += is_claimed ? 1 : 0;
            whole += octet.operators_of(by::cpu).empty() ? 1 : 0;
            std::vector<ort_tensor> expected = cpu.run(inputs);
            // As recorded with AVX512-VNNI, whatever this CPU has.
            for (std::size_t i = 0; is_claimed && i < expected.size(); i++)
                expected[i] = recorded(values, "out_" + cpu.outputs()[i], expected[i]);
            EXPECT_EQ(difference(octet.run(inputs), expected), "");
        } catch (const error &e) {
            ADD_FAILURE() << e.what();
        }
    }
    std::cout << models.size() << " models, Octet in " << claimed << ", alone in " << whole << "\n";
    EXPECT_GE(claimed, 137u);
}

ort_tensor ids_of(std::int64_t batch, std::int64_t sequence) {
    ort_tensor t{onnxruntime::element::s64, {batch, sequence}};
    for (std::int64_t i = 0; i < batch * sequence; i++) {
        const std::int64_t id = i * 7 % encoder::words;
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(&id);
        t.bytes.insert(t.bytes.end(), bytes, bytes + sizeof id);
    }
    return t;
}

class Encoders : public testing::TestWithParam<bool> {};

TEST_P(Encoders, TakeAnySizes) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    if (!cpu_provider_is_oracle())
        GTEST_SKIP() << "no AVX512-VNNI";
    const auto model = encoder(GetParam()).finish();
    const session cpu(model, {}), octet(model, with_octet());
    EXPECT_TRUE(octet.operators_of(by::cpu).empty());
    for (const auto &[batch, sequence] : {std::pair{1, 4}, {2, 5}, {1, 33}, {3, 16}, {1, 4}}) {
        const std::vector<ort_tensor> inputs{ids_of(batch, sequence)};
        EXPECT_EQ(difference(octet.run(inputs), cpu.run(inputs)), "") << batch << "x" << sequence;
    }
}

/// ONNX Runtime does not know how long a slice with computed ends is, nor that two tensors are equally long
/// then: it adds and normalizes in two steps.
TEST(OnnxRuntimeOpenSizes, AreNoBetterKnownToOctet) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    if (!cpu_provider_is_oracle())
        GTEST_SKIP() << "no AVX512-VNNI";
    constexpr std::int64_t width = 24;
    onnx_builder b(17);
    b.input<float>("x", {-1, -1, width});
    auto &shape = *b.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(0)->set_dim_param("batch");
    shape.mutable_dim(1)->set_dim_param("sequence");
    b.scalar<float>("s", 0.02f), b.scalar<std::uint8_t>("z", 128), b.scalar<std::int8_t>("wz", 0);
    b.constant<std::int8_t>("w", {width, width}, codes(width * width, 1));
    b.node("Shape", {"x"}, {"sizes"});
    b.constant<std::int64_t>("i0", {1}, {0}), b.constant<std::int64_t>("i1", {1}, {1});
    b.constant<float>("places", {1, 40, width}, with_deviation(40 * width, 1.f, 5));
    b.node("Gather", {"sizes", "i1"}, {"length"});
    b.node("Slice", {"places", "i0", "length", "i1"}, {"place"});
    b.node("Add", {"x", "place"}, {"embedded"});
    b.constant<float>("scale", {width}, with_deviation(width, 1.f, 2)),
        b.constant<float>("bias", {width}, with_deviation(width, 1.f, 3));
    b.node("LayerNormalization", {"embedded", "scale", "bias"}, {"normal"});
    b.node("QuantizeLinear", {"normal", "s", "z"}, {"q"}), b.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
    b.node("DequantizeLinear", {"w", "s", "wz"}, {"dw"}), b.node("MatMul", {"d", "dw"}, {"product"});
    b.node("Add", {"product", "normal"}, {"sum"});
    b.node("LayerNormalization", {"sum", "scale", "bias"}, {"y"});
    b.output<float>("y", {-1, -1, width});
    const auto model = b.finish();
    const session cpu(model, {}), octet(model, with_octet({{"minimum", "1"}}));
    const std::vector<float> x = with_deviation(2 * 5 * width, 1.f, 4);
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(x.data());
    const std::vector<ort_tensor> inputs{
        {onnxruntime::element::f32, {2, 5, width}, {bytes, bytes + x.size() * sizeof(float)}}};
    EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>());
    EXPECT_EQ(difference(octet.run(inputs), cpu.run(inputs)), "");
}

/// ONNX Runtime rounds the source of a product whose weights alone are codes, unless something else reads the
/// codes, too: here another product, which nothing but them connects with the first.
TEST(OnnxRuntimeSharedWeights, ReadersAreKnownToOctet) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    constexpr std::int64_t rows = 3, inner = 128, columns = 24;
    onnx_builder b(17);
    b.input<float>("x", {rows, inner});
    b.scalar<float>("s", 0.02f), b.scalar<std::int8_t>("z", 3);
    b.constant<std::int8_t>("w", {inner, columns}, codes(inner * columns, 1));
    b.node("DequantizeLinear", {"w", "s", "z"}, {"d"});
    b.node("MatMul", {"x", "d"}, {"y"});
    b.node("Tanh", {"x"}, {"t"}), b.node("MatMul", {"t", "d"}, {"u"});
    b.output<float>("y", {rows, columns});
    b.output<float>("u", {rows, columns});
    const auto model = b.finish();
    const session cpu(model, {}), octet(model, with_octet({{"minimum", "1"}, {"claim", "all"}}));
    EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>());
    const std::vector<ort_tensor> inputs{random_reals({rows, inner}, 1, 2.f)};
    EXPECT_EQ(difference(octet.run(inputs), cpu.run(inputs)), "");
}

/// ONNX Runtime has an order of sums for single rows, where it did not pack the matrix. So a row has other
/// bits in a batch.
TEST(OnnxRuntimeSingleRows, HaveTheBitsOfTheirBatch) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    if (!cpu_provider_is_oracle())
        GTEST_SKIP() << "no AVX512-VNNI";
    constexpr std::int64_t inner = 70, columns = 37;
    struct product {
        const char *op;
        onnx_builder::dims others; ///< dimensions of the rows behind the batch
        bool is_computed, has_bias;
    };
    for (const product &p : {product{"MatMul", {}, false, false},
                             {"MatMul", {}, false, true},
                             {"MatMul", {1}, false, false},
                             {"MatMul", {1}, true, false},
                             {"Gemm", {}, false, true},
                             {"Gemm", {}, true, false}}) {
        SCOPED_TRACE(p.op + std::string(p.is_computed ? " of a computed matrix, " : ", ") +
                     std::to_string(p.others.size() + 2) + " dimensions" + (p.has_bias ? " and a bias" : ""));
        onnx_builder b(17);
        const auto pair = [&](const std::string &real) {
            b.node("QuantizeLinear", {real, "s", "z"}, {real + "_q"});
            b.node("DequantizeLinear", {real + "_q", "s", "z"}, {real + "_d"});
            return real + "_d";
        };
        onnx_builder::dims rows{-1};
        rows.insert(rows.end(), p.others.begin(), p.others.end());
        rows.push_back(inner);
        b.input<float>("x", rows);
        b.scalar<float>("s", 0.02f), b.scalar<std::uint8_t>("z", 128), b.scalar<std::int8_t>("wz", 0);
        if (p.is_computed)
            b.input<float>("w", {inner, columns});
        else
            b.constant<std::int8_t>("w", {inner, columns}, codes(inner * columns, 1));
        b.constant<float>("bias", {columns}, with_deviation(columns, 1.f, 3));
        const std::string x = pair("x"), w = p.is_computed ? pair("w") : "w_d";
        if (!p.is_computed)
            b.node("DequantizeLinear", {"w", "s", "wz"}, {w});
        const bool is_gemm = p.op == std::string("Gemm");
        onnx_builder::names operands{x, w};
        if (is_gemm && p.has_bias)
            operands.push_back("bias");
        b.node(p.op, operands, {"product"});
        if (!is_gemm && p.has_bias)
            b.node("Add", {"product", "bias"}, {"sum"});
        b.node("Tanh", {!is_gemm && p.has_bias ? "sum" : "product"}, {"y"});
        rows.back() = columns;
        b.output<float>("y", rows);
        const auto model = b.finish();
        const session cpu(model, {}), octet(model, with_octet({{"minimum", "1"}}));
        EXPECT_EQ(octet.operators_of(by::cpu), std::vector<std::string>());
        for (const std::int64_t batch : {1, 2, 5, 1}) {
            rows[0] = batch, rows.back() = inner;
            std::vector<ort_tensor> inputs{random_reals(rows, 7, 2.f)};
            if (p.is_computed)
                inputs.push_back(random_reals({inner, columns}, 8, 2.f));
            EXPECT_EQ(difference(octet.run(inputs), cpu.run(inputs)), "") << "batch " << batch;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Quantization, Encoders, testing::Bool(),
                         [](const auto &run_as) { return run_as.param ? "dynamic" : "static"; });

} // namespace
} // namespace octet::tests
