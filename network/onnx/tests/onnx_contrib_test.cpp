// ONNX Runtime's own operators in .onnx files, and its products: against their formulas, written here, and
// what ONNX Runtime 1.30 gave. The same bytes must come out at every level and for every number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/tests/contrib_model.hpp"
#include "network/onnx/tests/onnx_builder.hpp"
#include "network/run/evaluate.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

float f32(double x) { return static_cast<float>(x); }

// ---- Gelu in parts

/// Whether x * 0.5 * (1 + erf(x / sqrt(2))) is found in its parts, multiplied in one of four orders.
bool is_gelu(int order, const std::function<std::string(onnx_builder &)> &write_x) {
    onnx_builder m;
    const std::string x = write_x(m);
    m.scalar<float>("root", 1.41421356f);
    m.scalar<float>("one", 1.f);
    m.scalar<float>("half", 0.5f);
    m.node("Div", {x, "root"}, {"quotient"});
    m.node("Erf", {"quotient"}, {"erf"});
    m.node("Add", {"erf", "one"}, {"sum"});
    switch (order) {
    case 0: // x sum half
        m.node("Mul", {x, "sum"}, {"part"});
        m.node("Mul", {"part", "half"}, {"y"});
        break;
    case 1:
        m.node("Mul", {"sum", x}, {"part"});
        m.node("Mul", {"half", "part"}, {"y"});
        break;
    case 2: // x half sum
        m.node("Mul", {x, "half"}, {"part"});
        m.node("Mul", {"part", "sum"}, {"y"});
        break;
    default: // sum half x
        m.node("Mul", {"sum", "half"}, {"part"});
        m.node("Mul", {"part", x}, {"y"});
    }
    m.output("y");
    const std::vector<std::uint8_t> file = m.finish();
    model::graph g = model::read_onnx(file.data(), file.size(), "gelu.onnx");
    model::transform_as_onnx_runtime(g, model::evaluate);
    return g.nodes.back().op == "Gelu";
}

TEST(OnnxContrib, GeluIsFoundInPartsWhereOnnxRuntimeFindsIt) {
    const auto input = [](onnx_builder &m) { return m.input<float>("x", {2, 3}); };
    const auto scaled = [](onnx_builder &m) {
        m.input<float>("in", {2, 3});
        m.scalar<float>("factor", 0.7f);
        m.node("Mul", {"in", "factor"}, {"x"});
        return std::string("x");
    };
    const auto silu = [](onnx_builder &m) {
        m.input<float>("in", {2, 3});
        m.node("Sigmoid", {"in"}, {"sigmoid"});
        m.node("Mul", {"in", "sigmoid"}, {"x"});
        return std::string("x");
    };
    const auto dequantized = [](onnx_builder &m) {
        m.input<std::uint8_t>("in", {2, 3});
        m.scalar<float>("scale", 0.02f);
        m.node("DequantizeLinear", {"in", "scale"}, {"x"});
        return std::string("x");
    };
    const auto integer_product = [](onnx_builder &m) {
        m.input<float>("in", {2, 3});
        m.constant<std::int8_t>("w", {3, 2}, {1, 2, 3, 4, 5, 6});
        m.scalar<float>("w_scale", 0.01f);
        m.node("DynamicQuantizeLinear", {"in"}, {"codes", "scale", "zero_point"});
        m.node("MatMulInteger", {"codes", "w", "zero_point"}, {"product"});
        onnx_builder::set(m.node("Cast", {"product"}, {"real"}), "to",
                          std::int64_t{onnx::TensorProto::FLOAT});
        m.node("Mul", {"scale", "w_scale"}, {"factor"});
        m.node("Mul", {"real", "factor"}, {"x"});
        return std::string("x");
    };
    for (int order = 0; order < 4; order++) {
        SCOPED_TRACE(order);
        EXPECT_EQ(is_gelu(order, input), order < 3);
        EXPECT_EQ(is_gelu(order, integer_product), order < 3);
        EXPECT_EQ(is_gelu(order, silu), order < 3);
        EXPECT_EQ(is_gelu(order, scaled), order == 2);
        EXPECT_FALSE(is_gelu(order, dequantized));
    }
}

/// Level, step over the level, name.
TEST(OnnxContrib, PassesAreToldInTheirOrder) {
    onnx_builder m;
    m.input<float>("in", {2, 3});
    m.scalar<float>("zero", 0.f), m.scalar<float>("one", 1.f), m.scalar<float>("half", 0.5f);
    m.scalar<float>("root", 1.4142135f);
    m.node("Neg", {"in"}, {"x"});
    m.node("Div", {"x", "root"}, {"quotient"});
    m.node("Add", {"quotient", "zero"}, {"same"});
    m.node("Erf", {"same"}, {"erf"});
    m.node("Add", {"erf", "one"}, {"sum"});
    m.node("Mul", {"x", "sum"}, {"part"});
    m.node("Mul", {"part", "half"}, {"y"});
    m.output("y");
    const std::vector<std::uint8_t> file = m.finish();
    const network net(file.data(), file.size(), "gelu.onnx");
    EXPECT_EQ(net.passes(),
              (std::vector<std::string>{"L1.1 Level1_RuleBasedTransformer", "L2.1 GeluFusionL2"}));
}

// ---- Products

TEST(OnnxContrib, DynamicQuantizeMatMulQuantizesAndMultiplies) {
    constexpr std::size_t m = 6, k = 40, n = 37;
    const row x = numbers(m * k, 3.f), bias = numbers(n, 1.f, 2);
    const std::vector<std::int8_t> w = codes<std::int8_t>(k * n);
    contrib_model file;
    file.input<float>("x", {2, 3, k});
    file.constant("w", {k, n}, w);
    file.scalar("scale", 0.02f);
    file.scalar<std::int8_t>("zero_point", 3);
    file.constant("bias", {n}, bias);
    file.own("DynamicQuantizeMatMul", {"x", "w", "scale", "zero_point", "bias"});
    const row y = file.run(x);

    const float low = std::min(0.f, *std::min_element(x.begin(), x.end())),
                high = std::max(0.f, *std::max_element(x.begin(), x.end())), scale = (high - low) / 255.f;
    const float zero_point = std::nearbyint(std::clamp(0.f - low / scale, 0.f, 255.f)),
                factor = scale * 0.02f;
    ASSERT_EQ(y.size(), m * n);
    for (std::size_t i = 0; i < m; i++)
        for (std::size_t j = 0; j < n; j++) {
            int sum = 0;
            for (std::size_t c = 0; c < k; c++) {
                const float code =
                    std::nearbyint(std::clamp(x[i * k + c] / scale, -zero_point, 255.f - zero_point));
                sum += static_cast<int>(code) * (w[c * n + j] - 3);
            }
            const float product = static_cast<float>(sum) * factor;
            ASSERT_EQ(y[i * n + j], product + bias[j]) << i << ", " << j;
        }
}

TEST(OnnxContrib, FusedMatMulScalesAndTransposes) {
    constexpr std::size_t m = 5, k = 40, n = 19;
    const row a = numbers(2 * k * m, 2.f), b = numbers(2 * n * k, 2.f, 7);
    contrib_model file;
    file.input<float>("a", {2, k, m});
    file.input<float>("b", {2, n, k});
    onnx::NodeProto &node = file.own("FusedMatMul", {"a", "b"});
    onnx_builder::set(node, "transA", std::int64_t{1});
    onnx_builder::set(node, "transB", std::int64_t{1});
    onnx_builder::set(node, "alpha", 0.3f);
    const row y = file.run(a, b);
    ASSERT_EQ(y.size(), 2 * m * n);
    for (std::size_t g = 0; g < 2; g++)
        for (std::size_t i = 0; i < m; i++)
            for (std::size_t j = 0; j < n; j++) {
                float sum = 0.f;
                for (std::size_t c = 0; c < k; c++)
                    sum = std::fma(a[(g * k + c) * m + i], b[(g * n + j) * k + c], sum);
                ASSERT_EQ(y[(g * m + i) * n + j], sum * 0.3f);
            }
}

/// Factors before and behind a product become one.
TEST(OnnxContrib, ConstantFactorsOfAProductBecomeOne) {
    constexpr std::size_t m = 4, k = 24, n = 10;
    const row a = numbers(m * k, 2.f), b = numbers(k * n, 2.f, 7);
    contrib_model file;
    file.input<float>("a", {m, k});
    file.input<float>("b", {k, n});
    file.scalar("factor", 0.37f);
    file.scalar("divisor", 5.7f);
    file.node("Mul", {"factor", "b"}, {"scaled"});
    file.node("MatMul", {"a", "scaled"}, {"product"});
    file.node("Div", {"product", "divisor"}, {"y"});
    const row y = file.run(a, b);
    const float alpha = 0.37f * (1.f / 5.7f);
    for (std::size_t i = 0; i < m; i++)
        for (std::size_t j = 0; j < n; j++) {
            float sum = 0.f;
            for (std::size_t c = 0; c < k; c++)
                sum = std::fma(a[i * k + c], b[c * n + j], sum);
            ASSERT_EQ(y[i * n + j], sum * alpha);
        }
}

// ---- Functions with a bias

/// Sums of blocks, in order, after the bias.
row product_in_blocks(const row &a, const row &b, const row &bias, std::size_t k, std::size_t n,
                      std::size_t block) {
    row y;
    for (std::size_t i = 0; i < a.size() / k; i++)
        for (std::size_t j = 0; j < n; j++) {
            float sum = bias.empty() ? 0.f : bias[j];
            for (std::size_t first = 0; first < k; first += block) {
                float part = 0.f;
                for (std::size_t c = first; c < std::min(k, first + block); c++)
                    part = std::fma(a[i * k + c], b[c * n + j], part);
                sum = first == 0 && bias.empty() ? part : part + sum;
            }
            y.push_back(sum);
        }
    return y;
}

TEST(OnnxProducts, OfConstantMatricesAreSumsOfBlocksOf256) {
    for (const std::size_t k : {256u, 257u, 700u})
        for (const std::size_t rows : {1u, 6u})
            for (const std::size_t n : {1u, 37u})
                for (const char *const form : {"MatMul", "MatMul and Add", "Gemm"}) {
                    const row x = numbers(rows * k, 2.f), w = numbers(k * n, 1.f, 3),
                              bias = numbers(n, 4.f, 5);
                    const auto size = [](std::size_t s) { return static_cast<std::int64_t>(s); };
                    contrib_model file;
                    file.input<float>("x", {size(rows), size(k)});
                    file.constant("w", {size(k), size(n)}, w);
                    file.constant("bias", {size(n)}, bias);
                    const std::string op = form;
                    if (op == "MatMul and Add") {
                        file.node("MatMul", {"x", "w"}, {"product"});
                        file.node("Add", {"product", "bias"}, {"y"});
                    } else if (op == "Gemm") {
                        file.node(op, {"x", "w", "bias"}, {"y"});
                    } else {
                        file.node(op, {"x", "w"}, {"y"});
                    }
                    if (n == 1 && op == "MatMul and Add") // a number, not a row: behind the product
                        continue;
                    EXPECT_EQ(file.run(x), product_in_blocks(x, w, op == "MatMul" ? row() : bias, k, n, 256))
                        << form << ", " << rows << " x " << k << " x " << n;
                }
}

TEST(OnnxProducts, OfComputedMatricesAreSumsOfBlocksThatFitACache) {
    constexpr std::size_t rows = 3, k = 700;
    for (const auto &[n, block] : {std::pair<std::size_t, std::size_t>{800, 128},
                                   {65, 128},
                                   {64, 256},
                                   {33, 256},
                                   {32, 512},
                                   {16, 1024},
                                   {2, 1024}}) {
        const row a = numbers(rows * k, 2.f), b = numbers(k * n, 1.f, 3);
        contrib_model file;
        file.input<float>("a", {rows, k});
        file.input<float>("b", {k, static_cast<std::int64_t>(n)});
        file.node("MatMul", {"a", "b"}, {"y"});
        EXPECT_EQ(file.run(a, b), product_in_blocks(a, b, {}, k, n, block)) << n << " columns";
    }
}

TEST(OnnxFunctions, HardSigmoidAndHardSwishRoundTheProduct) {
    const row x = numbers(4099, 5.f);
    for (const bool is_swish : {false, true}) {
        contrib_model file;
        file.input<float>("x", {4099});
        onnx::NodeProto &node = file.node(is_swish ? "HardSwish" : "HardSigmoid", {"x"}, {"y"});
        if (!is_swish)
            onnx_builder::set(node, "alpha", 0.3f);
        const row y = file.run(x);
        for (std::size_t i = 0; i < x.size(); i++) {
            const float product = x[i] * (is_swish ? 1.f / 6.f : 0.3f);
            const float sigmoid = std::clamp(product + 0.5f, 0.f, 1.f);
            ASSERT_EQ(y[i], is_swish ? x[i] * sigmoid : sigmoid) << x[i];
        }
    }
}

TEST(OnnxContrib, GeluWithABiasIsASumAndGelu) {
    const row x = numbers(6 * 37, 3.f), bias = numbers(37, 1.f, 5);
    for (const bool is_fast : {false, true}) {
        contrib_model file, parts;
        for (contrib_model *f : {&file, &parts}) {
            f->input<float>("x", {6, 37});
            f->constant("bias", {37}, bias);
        }
        file.own(is_fast ? "FastGelu" : "BiasGelu", {"x", "bias"});
        parts.node("Add", {"x", "bias"}, {"sum"});
        onnx::NodeProto &gelu = parts.node("Gelu", {"sum"}, {"y"});
        if (is_fast)
            onnx_builder::set(gelu, "approximate", "tanh");
        EXPECT_EQ(file.run(x), parts.run(x));
    }
}

// ---- Normalizations

/// (x - mean) / deviation * scale + shift of rows, by Welford's updates or by two sums.
row normalized(row x, const row &scale, const row &shift, float epsilon, bool by_updates) {
    const std::size_t n = scale.size();
    for (std::size_t first = 0; first < x.size(); first += n) {
        float *v = &x[first], mean = 0, squares = 0;
        for (std::size_t i = 0; i < n; i++)
            if (by_updates) {
                const float before = v[i] - mean;
                mean += before / f32(static_cast<double>(i + 1));
                squares += before * (v[i] - mean);
            } else {
                mean += v[i];
            }
        if (!by_updates) {
            mean /= f32(static_cast<double>(n));
            for (std::size_t i = 0; i < n; i++)
                squares += (v[i] - mean) * (v[i] - mean);
        }
        const float deviation = std::sqrt(squares / f32(static_cast<double>(n)) + epsilon);
        for (std::size_t i = 0; i < n; i++) {
            v[i] = (v[i] - mean) / deviation * scale[i];
            v[i] = shift.empty() ? v[i] : v[i] + shift[i];
        }
    }
    return x;
}

TEST(OnnxContrib, SkipLayerNormalizationUpdatesMeans) {
    constexpr std::size_t n = 37, rows = 11;
    const row x = numbers(rows * n, 2.f), skip = numbers(rows * n, 2.f, 3), scale = numbers(n, 2.f, 4),
              shift = numbers(n, 1.f, 5), bias = numbers(n, 1.f, 6);
    for (const bool has_all : {true, false}) {
        contrib_model file;
        file.input<float>("x", {1, rows, n});
        file.input<float>("skip", {1, rows, n});
        file.constant("scale", {n}, scale);
        file.constant("shift", {n}, shift);
        file.constant("bias", {n}, bias);
        onnx::NodeProto &node = file.own("SkipLayerNormalization",
                                         has_all ? onnx_builder::names{"x", "skip", "scale", "shift", "bias"}
                                                 : onnx_builder::names{"x", "skip", "scale"});
        onnx_builder::set(node, "epsilon", 1e-5f);
        row sum(x.size());
        for (std::size_t i = 0; i < x.size(); i++)
            sum[i] = has_all ? x[i] + skip[i] + bias[i % n] : x[i] + skip[i];
        EXPECT_EQ(file.run(x, skip), normalized(sum, scale, has_all ? shift : row(), 1e-5f, true));
    }
}

TEST(OnnxContrib, SkipLayerNormalizationNeedsABiasOfOneRow) {
    const row numbers_of_row = numbers(4, 1.f);
    for (const std::size_t size : {std::size_t(3), std::size_t(5), std::size_t(8)}) {
        contrib_model file;
        file.input<float>("x", {1, 3, 4});
        file.input<float>("skip", {1, 3, 4});
        file.constant("scale", {4}, numbers_of_row);
        file.constant("shift", {4}, numbers_of_row);
        file.constant("bias", {static_cast<std::int64_t>(size)}, numbers(size, 1.f));
        file.own("SkipLayerNormalization", {"x", "skip", "scale", "shift", "bias"});
        test::expect_invalid([&] { file.run_once(row(12), row(12)); },
                             {"input 4 (" + std::to_string(size) + ") is not one value for each of 4"});
    }
}

TEST(OnnxContrib, EmbedLayerNormalizationAddsRowsOfTables) {
    constexpr std::size_t n = 20, length = 9, words = 30;
    const row word = numbers(words * n, 1.f), place = numbers(12 * n, 1.f, 2), kind = numbers(2 * n, 1.f, 3),
              scale = numbers(n, 2.f, 4), shift = numbers(n, 1.f, 5);
    std::vector<std::int32_t> ids(2 * length), segments(2 * length), mask(2 * length, 1);
    for (std::size_t i = 0; i < ids.size(); i++) {
        ids[i] = static_cast<std::int32_t>(i * 7 % words);
        segments[i] = i % length > 4;
    }
    mask[length - 1] = 0;
    contrib_model file;
    for (const char *const name : {"ids", "segments", "mask"})
        file.input<std::int32_t>(name, {2, length});
    file.constant("word", {words, n}, word);
    file.constant("place", {12, n}, place);
    file.constant("kind", {2, n}, kind);
    file.constant("scale", {n}, scale);
    file.constant("shift", {n}, shift);
    onnx::NodeProto &node = file.node("EmbedLayerNormalization",
                                      {"ids", "segments", "word", "place", "kind", "scale", "shift", "mask"},
                                      {"y", "counted"}, onnx_builder::microsoft);
    onnx_builder::set(node, "epsilon", 1e-12f);
    row sum;
    for (std::size_t r = 0; r < ids.size(); r++)
        for (std::size_t i = 0; i < n; i++)
            sum.push_back(word[static_cast<std::size_t>(ids[r]) * n + i] + place[r % length * n + i] +
                          kind[static_cast<std::size_t>(segments[r]) * n + i]);
    EXPECT_EQ(file.run(ids, segments, mask), normalized(sum, scale, shift, 1e-12f, false));

    ids[3] = static_cast<std::int32_t>(words);
    test::expect_invalid([&] { file.run_once(ids, segments, mask); }, {"EmbedLayerNormalization", "0 to 29"});
}

// ---- Attention

/// softmax(q k / sqrt(head) + penalty) v in binary64; projections have q, k and v side by side.
std::vector<double> attention(const std::vector<double> &projections, std::size_t batch, std::size_t length,
                              std::size_t width, std::size_t heads, const std::vector<bool> &counts) {
    const std::size_t head = width / heads;
    std::vector<double> y(batch * length * width);
    const auto at = [&](std::size_t b, std::size_t i, std::size_t part, std::size_t c) {
        return projections[((b * length + i) * 3 + part) * width + c];
    };
    for (std::size_t b = 0; b < batch; b++)
        for (std::size_t h = 0; h < heads; h++)
            for (std::size_t i = 0; i < length; i++) {
                std::vector<double> share(length);
                double sum = 0;
                for (std::size_t j = 0; j < length; j++) {
                    double score = 0;
                    for (std::size_t c = h * head; c < (h + 1) * head; c++)
                        score += at(b, i, 0, c) * at(b, j, 1, c);
                    share[j] =
                        counts[b * length + j] ? std::exp(score / std::sqrt(static_cast<double>(head))) : 0;
                    sum += share[j];
                }
                for (std::size_t c = h * head; c < (h + 1) * head; c++)
                    for (std::size_t j = 0; j < length; j++)
                        y[(b * length + i) * width + c] += share[j] / sum * at(b, j, 2, c);
            }
    return y;
}

void expect_near(const row &y, const std::vector<double> &expected) {
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t i = 0; i < y.size(); i++)
        ASSERT_NEAR(y[i], expected[i], 2e-5) << i;
}

TEST(OnnxContrib, AttentionOfFloatsAndOfCodes) {
    constexpr std::size_t batch = 2, length = 7, width = 24, heads = 3;
    const row x = numbers(batch * length * width, 1.f), w = numbers(width * 3 * width, 0.3f, 2),
              bias = numbers(3 * width, 0.2f, 3);
    const std::vector<std::uint8_t> x_codes = codes<std::uint8_t>(x.size(), 4);
    const std::vector<std::int8_t> w_codes = codes<std::int8_t>(w.size(), 5);
    std::vector<std::int32_t> mask(batch * length, 1), lengths(batch, length);
    lengths[1] = length - 2;
    mask[2 * length - 1] = mask[2 * length - 2] = 0;
    const std::vector<bool> counts(mask.begin(), mask.end());
    for (const bool is_quantized : {false, true})
        for (const bool has_lengths : {false, true}) {
            contrib_model file;
            if (is_quantized)
                file.input<std::uint8_t>("x", {batch, length, width});
            else
                file.input<float>("x", {batch, length, width});
            file.input<std::int32_t>("mask", has_lengths ? dims{batch} : dims{batch, length});
            file.constant("bias", {3 * width}, bias);
            file.scalar("x_scale", 0.01f);
            file.scalar("w_scale", 0.003f);
            file.scalar<std::uint8_t>("x_zero", 120);
            file.scalar<std::int8_t>("w_zero", -4);
            is_quantized ? file.constant("w", {width, 3 * width}, w_codes)
                         : file.constant("w", {width, 3 * width}, w);
            onnx::NodeProto &node =
                is_quantized ? file.own("QAttention",
                                        {"x", "w", "bias", "x_scale", "w_scale", "mask", "x_zero", "w_zero"})
                             : file.own("Attention", {"x", "w", "bias", "mask"});
            onnx_builder::set(node, "num_heads", static_cast<std::int64_t>(heads));
            std::vector<double> projections;
            for (std::size_t r = 0; r < batch * length; r++)
                for (std::size_t c = 0; c < 3 * width; c++) {
                    double sum = 0;
                    for (std::size_t k = 0; k < width; k++)
                        sum += is_quantized ? (x_codes[r * width + k] - 120) *
                                                  (w_codes[k * 3 * width + c] + 4) * 0.01 * 0.003
                                            : static_cast<double>(x[r * width + k]) *
                                                  static_cast<double>(w[k * 3 * width + c]);
                    projections.push_back(sum + static_cast<double>(bias[c]));
                }
            const std::vector<std::int32_t> &given = has_lengths ? lengths : mask;
            expect_near(is_quantized ? file.run(x_codes, given) : file.run(x, given),
                        attention(projections, batch, length, width, heads, counts));
        }
}

TEST(OnnxContrib, RefusesWhatAttentionLacks) {
    contrib_model file;
    file.input<float>("x", {1, 4, 12});
    file.constant("w", {12, 36}, numbers(12 * 36, 1.f));
    file.constant("bias", {36}, numbers(36, 1.f));
    onnx::NodeProto &node = file.own("Attention", {"x", "w", "bias"});
    onnx_builder::set(node, "num_heads", std::int64_t{5});
    test::expect_unimplemented([&] { file.run_once(numbers(48, 1.f)); },
                               {"Attention", "3 times a multiple of 'num_heads', 5"});
}

} // namespace
} // namespace octet::tests
