// Random graphs with the provider and without it, byte by byte; a failure names the seed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "interop/onnxruntime/tests/host.hpp"
#include "interop/onnxruntime/tests/random_graphs.hpp"
#include "octet/error.hpp"
#include "support/effort.hpp"

namespace octet::tests {
namespace {

unsigned first_seed() {
    const char *given = std::getenv("OCTET_ORACLE_SEED");
    return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 0;
}

TEST(OnnxRuntimeRandomGraphs, HaveTheBytesOfTheCpuProvider) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    if (!cpu_provider_is_oracle())
        GTEST_SKIP() << "no AVX512-VNNI";
    const auto count = static_cast<unsigned>(test::problem_count(150));
    unsigned refused = 0, mixed = 0, whole = 0;
    for (unsigned seed = first_seed(); seed < first_seed() + count; seed++) {
        SCOPED_TRACE("OCTET_ORACLE_SEED=" + std::to_string(seed));
        const random_graph g(seed);
        const auto model = g.finish();
        session_options plain; // some ask for operators on s8 as they are
        if (seed % (g.is_signed() ? 2 : 5) == 0)
            plain.entries = {{"session.qdqisint8allowed", "1"}};
        session_options how = plain;
        how.who = by::octet;
        how.provider = {{"minimum", "1"}};
        std::vector<ort_tensor> inputs, expected;
        for (const auto &dims : g.input_dims)
            inputs.push_back(random_reals(dims, seed, 4.f));
        try {
            expected = session(model, plain).run(inputs);
        } catch (const error &) { // such a graph ONNX Runtime does not run
            refused++;
            continue;
        }
        try {
            const session octet(model, how);
            const bool is_in = !octet.operators_of(by::octet).empty(),
                       is_alone = octet.operators_of(by::cpu).empty();
            mixed += is_in && !is_alone ? 1 : 0;
            whole += is_alone ? 1 : 0;
            EXPECT_EQ(difference(octet.run(inputs), expected), "");
            for (ort_tensor &x : inputs) // once more, in the same contexts
                x = random_reals(x.dims, seed + 1, 4.f);
            EXPECT_EQ(difference(octet.run(inputs), session(model, plain).run(inputs)), "");
        } catch (const error &e) {
            ADD_FAILURE() << e.what();
        }
    }
    std::cout << count << " graphs: Octet alone in " << whole << ", beside the CPU provider in " << mixed
              << ", refused by both " << refused << "\n";
    EXPECT_LT(refused, count / 5);
    EXPECT_GT(whole, count / 10);
    EXPECT_GT(mixed, count / 10);
}

} // namespace
} // namespace octet::tests
