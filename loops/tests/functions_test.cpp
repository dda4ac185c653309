// Functions of single floats: near the C library's, and equal to it behind the last four elements.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "loops/functions.hpp"
#include "loops/library_functions.hpp"
#include "loops/softmax.hpp"
#include "loops/tests/every_form.hpp"
#include "support/expect_same.hpp"

namespace octet::tests {
namespace {

using loops::function;

struct named {
    function f;
    double (*exact)(double x);
};
const named functions[] = {
    {function::ceiling, [](double x) { return std::ceil(x); }},
    {function::celu, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {function::cosine, [](double x) { return std::cos(x); }},
    {function::elu, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {function::floor, [](double x) { return std::floor(x); }},
    {function::logarithm, [](double x) { return std::log(x); }},
    {function::negative, [](double x) { return -x; }},
    {function::sign, [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
    {function::sine, [](double x) { return std::sin(x); }},
    {function::softplus, [](double x) { return std::log1p(std::exp(x)); }},
    {function::softsign, [](double x) { return x / (1 + std::abs(x)); }},
    {function::thresholded_relu, [](double x) { return x > 1 ? x : 0; }},
};

TEST(Functions, AreNearTheirFormulas) {
    const auto count =
        static_cast<std::int64_t>(3 * 8192 + 3); // on several threads, three of them behind fours
    for (const named &n : functions) {
        floats x = numbers(count, 30.f);
        if (n.f == function::logarithm)
            for (float &v : x)
                v = std::abs(v) + 1e-3f;
        const floats y = same_everywhere([&] {
            floats result(x.size());
            loops::function_loop(n.f, 1.f).run(x.data(), result.data(), count);
            return result;
        });
        for (std::size_t i = 0; i < y.size(); i++) {
            const double wanted = n.exact(static_cast<double>(x[i]));
            ASSERT_NEAR(static_cast<double>(y[i]), wanted, 1e-6 + 4e-7 * std::abs(wanted))
                << "function " << static_cast<int>(n.f) << " of " << x[i];
        }
    }
}

TEST(Functions, EndWithTheLibrarysFormula) {
    const floats x = {0.5f, -0.5f, 2.f, -2.f, 0.7f, -0.7f, 3.25f};
    floats y(x.size());
    loops::function_loop(function::sine, 0.f).run(x.data(), y.data(), 7);
    for (std::size_t i = 4; i < x.size(); i++)
        test::expect_same(y[i], std::sin(x[i]), "element ", i);
}

/// FNV-1a over the results of each `step`th float from `first` to `last`, as bits.
template <typename Function>
std::uint64_t hash_of_results(const Function &f, std::uint32_t first, std::uint32_t last,
                              std::uint32_t step) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::uint64_t bits = first; bits <= last; bits += step) {
        const auto x = loops::bits_of<float>(static_cast<std::uint32_t>(bits));
        if (x == x)
            hash = (hash ^ loops::bits_of<std::uint32_t>(f(x))) * 0x100000001b3u;
    }
    return hash;
}

/// The hashes are those of tanhf and log1pf of glibc 2.36 on x86; on AArch64 it has others.
TEST(LibraryFunctions, HaveTheBitsOfOneLibraryEverywhere) {
    EXPECT_EQ(hash_of_results(loops::library_tanh, 0, 0xffffffffu, 4099), 0xd60004088d3cafc0u);
    EXPECT_EQ(hash_of_results(loops::library_log1p, 0, 0x3f800000u, 1021), 0x8134a33a0723360bu);
    EXPECT_TRUE(std::isnan(loops::library_tanh(NAN)));
    EXPECT_TRUE(std::isnan(loops::library_log1p(NAN)));
}

TEST(Softmax, SubtractsTheLargestAndAddsOverLanes) {
    for (const std::int64_t n : {1, 15, 16, 33, 1000}) {
        const floats x = numbers(n, 5.f);
        const floats y = same_everywhere([&] {
            const loops::softmax_loops loops;
            floats result(x.size() + 1);
            loops.subtract_largest(x.data(), n, result.data());
            result.back() = loops.sum(x.data(), n);
            return result;
        });
        float largest = x[0], lanes[16] = {};
        for (const float v : x)
            largest = std::max(largest, v);
        for (std::size_t i = 0; i < x.size(); i++) {
            test::expect_same(y[i], x[i] - largest, n, " elements, element ", i);
            lanes[i % 16] += x[i];
        }
        for (int i = 0; i < 8; i++)
            lanes[i] += lanes[i + 8];
        const float sum =
            ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
        test::expect_same(y.back(), sum, "sum of ", n);
    }
}

} // namespace
} // namespace octet::tests
