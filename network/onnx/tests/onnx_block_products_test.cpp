// Floats times a constant matrix of codes (MatMulNBits): the order of its sums at every level, for sizes
// beside blocks, panels and tiles.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <type_traits>
#include <unistd.h>

#include "network/onnx/tests/contrib_model.hpp"

namespace octet::tests {
namespace {

constexpr std::size_t block = 32;

struct problem {
    std::size_t rows, inner, columns;
    bool has_bias;
    row x, scales, bias;
    std::vector<std::int32_t> w, zeros; ///< as numbers of the type
    std::int32_t offset;                ///< to u8
    bool has_blocks = false;            ///< scales and zeros are those of blocks of rows

    std::size_t parameter(std::size_t b, std::size_t n) const { return has_blocks ? b * columns + n : n; }
    std::int32_t code(std::size_t k, std::size_t n) const { return w[k * columns + n] + offset; }
};

template <typename T> std::vector<std::uint8_t> model_of(const problem &p) {
    const auto k = static_cast<std::int64_t>(p.inner), n = static_cast<std::int64_t>(p.columns);
    const onnx_builder::dims parameters =
        p.has_blocks ? onnx_builder::dims{static_cast<std::int64_t>(p.scales.size()) / n, n}
                     : onnx_builder::dims{n};
    onnx_builder m(21);
    m.input<float>("x", {static_cast<std::int64_t>(p.rows), k});
    m.constant<T>("codes", {k, n}, std::vector<T>(p.w.begin(), p.w.end()));
    m.constant<float>("scales", parameters, p.scales);
    m.constant<T>("zeros", parameters, std::vector<T>(p.zeros.begin(), p.zeros.end()));
    onnx::NodeProto &w = m.node("DequantizeLinear", {"codes", "scales", "zeros"}, {"w"});
    m.set(w, "axis", std::int64_t{p.has_blocks ? 0 : 1});
    if (p.has_blocks)
        m.set(w, "block_size", std::int64_t{block});
    m.node("MatMul", {"x", "w"}, {p.has_bias ? "product" : "y"});
    if (p.has_bias) {
        m.constant<float>("bias", {n}, p.bias);
        m.node("Add", {"product", "bias"}, {"y"});
    }
    m.output("y");
    return m.finish();
}

struct rounded_block {
    std::array<std::int32_t, block> codes{};
    float scale = 0, sum = 0;
};

std::vector<rounded_block> round_row(const float *x, std::size_t inner) {
    std::vector<rounded_block> row((inner + block - 1) / block);
    for (std::size_t b = 0; b < row.size(); b++) {
        const std::size_t count = std::min(block, inner - b * block);
        const float *const v = x + b * block;
        float highest = 0;
        for (std::size_t i = 0; i < count; i++)
            highest = std::max(highest, std::fabs(v[i]));
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < count; i++) {
            const float scaled = v[i] * (highest == 0.f ? 0.f : 127.f / highest);
            if (std::fabs(scaled) < 2147483648.f)
                row[b].codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(std::nearbyint(scaled)));
            sum += row[b].codes[i];
        }
        row[b].scale = highest / 127.f;
        row[b].sum = row[b].scale * static_cast<float>(sum);
    }
    return row;
}

/// The stated order, element by element.
float expected_at(const problem &p, const std::vector<rounded_block> &row, std::size_t n) {
    std::array<float, 16> lanes{};
    const auto add = [&](std::size_t lane, std::size_t b, std::initializer_list<std::size_t> firsts) {
        std::int32_t sum = 0;
        for (const std::size_t first : firsts)
            for (std::size_t i = first; i < first + 4 && b * block + i < p.inner; i++)
                sum += row[b].codes[i] * p.code(b * block + i, n);
        lanes[lane] =
            std::fma(static_cast<float>(sum), row[b].scale * p.scales[p.parameter(b, n)], lanes[lane]);
    };
    const std::size_t fours = row.size() / 4 * 4;
    for (std::size_t b = 0; b < fours; b += 4)
        for (std::size_t k = 0; k < 16; k++) {
            const std::size_t first = k / 4 % 2 * 16 + k % 2 * 4;
            add(k, b + k / 8 + k % 4 / 2 * 2, {first, first + 8});
        }
    for (std::size_t k = 0; k < 8; k++)
        lanes[k] += lanes[k + 8];
    for (std::size_t b = fours; b < row.size(); b++)
        for (std::size_t k = 0; k < 8; k++)
            add(k, b, {k * 4});
    const auto &l = lanes;
    float sum = n < p.columns / 4 * 4 ? (((l[0] + l[1]) + l[2]) + l[3]) + (((l[4] + l[5]) + l[6]) + l[7])
                                      : ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    if (p.has_bias)
        sum += p.bias[n];
    float zero = 0;
    for (std::size_t b = 0; b < row.size(); b++) {
        const std::size_t i = p.parameter(b, n);
        zero = std::fma(row[b].sum, -(p.scales[i] * static_cast<float>(p.zeros[i] + p.offset)), zero);
    }
    return sum + zero;
}

template <typename T> problem problem_of(std::size_t m, std::size_t k, std::size_t n, bool has_blocks) {
    const std::size_t parameters = has_blocks ? (k + block - 1) / block * n : n;
    const auto seed = static_cast<unsigned>(m * 7919 + k * 31 + n);
    problem p{m,
              k,
              n,
              seed % 2 == 0,
              numbers(m * k, 2.f, seed),
              numbers(parameters, 0.01f, seed + 1),
              numbers(n, 1.f, seed + 2),
              {},
              {},
              std::is_signed_v<T> ? 128 : 0,
              has_blocks};
    for (const T code : codes<T>(k * n, seed + 3))
        p.w.push_back(code);
    for (const T code : codes<T>(parameters, seed + 4))
        p.zeros.push_back(code);
    for (std::size_t i = 0; i + 5 < p.x.size(); i += 61)
        p.x[i] *= 100.f;
    return p;
}

row result_of(network &net, const row &x) {
    net.input(0).copy_from(x);
    net.run();
    return net.output(0).as<float>();
}

template <typename T> void expect_sums(std::size_t m, std::size_t k, std::size_t n, bool has_blocks = false) {
    const problem p = problem_of<T>(m, k, n, has_blocks);
    row expected;
    for (std::size_t r = 0; r < m; r++) {
        const std::vector<rounded_block> rounded = round_row(p.x.data() + r * k, k);
        for (std::size_t c = 0; c < n; c++)
            expected.push_back(expected_at(p, rounded, c));
    }
    const std::vector<std::uint8_t> file = model_of<T>(p);
    const int usual = get_num_threads();
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int threads : {1, 3}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            network net(file.data(), file.size(), "blocks.onnx");
            EXPECT_EQ(result_of(net, p.x), expected)
                << m << "x" << k << "x" << n << " at " << to_string(level) << ", " << threads << " threads";
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(usual);
}

TEST(BlockProducts, AddUpInTheStatedOrder) {
    for (const std::size_t k : {1, 31, 33, 96, 128, 300, 384})
        for (const std::size_t n : {1, 6, 16, 19, 70}) {
            expect_sums<std::int8_t>(n % 5 + 1, k, n);
            expect_sums<std::uint8_t>(7 - n % 5, k, n);
            expect_sums<std::int8_t>(n % 5 + 2, k, n, true);
        }
    expect_sums<std::uint8_t>(70, 512, 260); // several parts of rows, several threads
}

/// Codes at both ends, whose sums of two products exceed 16 bits.
TEST(BlockProducts, HaveExactSumsOfTheLargestCodes) {
    const std::size_t k = 256, n = 16;
    problem p{1,
              k,
              n,
              false,
              row(k, 3.f),
              row(n, 1.f),
              {},
              std::vector<std::int32_t>(k * n, 255),
              std::vector<std::int32_t>(n, 0),
              0};
    const std::vector<std::uint8_t> file = model_of<std::uint8_t>(p);
    const float expected = expected_at(p, round_row(p.x.data(), k), 0);
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        network net(file.data(), file.size(), "blocks.onnx");
        EXPECT_EQ(result_of(net, p.x), row(n, expected)) << to_string(level);
    }
    set_max_cpu_isa(cpu_isa::all);
}

/// Codes are packed again when a saved plan is read, and belong to no caller any more.
TEST(BlockProducts, AreTheSameFromASavedPlan) {
    const problem p = problem_of<std::int8_t>(3, 100, 40, true);
    const std::string path =
        (std::filesystem::temp_directory_path() / ("octet_blocks_" + std::to_string(::getpid()) + ".octet"))
            .string();
    std::vector<std::uint8_t> file = model_of<std::int8_t>(p);
    network original(file.data(), file.size(), "blocks.onnx");
    const row expected = result_of(original, p.x);
    std::fill(file.begin(), file.end(), std::uint8_t{0});
    EXPECT_EQ(result_of(original, p.x), expected);
    original.save(path);
    network loaded(path);
    EXPECT_EQ(result_of(loaded, p.x), expected);
    loaded.save(path);
    network again(path);
    EXPECT_EQ(result_of(again, p.x), expected);
    std::filesystem::remove(path);
}

} // namespace
} // namespace octet::tests
