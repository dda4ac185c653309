// Inputs that must not end the process: runtimes that do not fit, and models that lie.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <random>

#include <dlfcn.h>

#include "interop/onnxruntime/tests/host.hpp"
#include "interop/onnxruntime/tests/random_graphs.hpp"
#include "octet/error.hpp"
#include "support/effort.hpp"

namespace octet::tests {
namespace {

using namespace onnxruntime;

// ---- Runtimes

std::string status_text; ///< status of the stand-in

ort_status *create_status(int, const char *text) {
    status_text = text;
    return reinterpret_cast<ort_status *>(&status_text);
}

const char *said_version = "";
const void *const *table = nullptr;

/// Returns the refusal that the library's entry gives a runtime of this version with these tables; empty for
/// a factory.
std::string refusal(const char *version, const void *const *newest) {
    static const void *const oldest[1] = {reinterpret_cast<const void *>(&create_status)};
    void *library = dlopen(host::provider_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    using entry = ort_status *(*)(const char *, const ort_api_base *, const ort_logger *, void **,
                                  std::size_t, std::size_t *);
    const auto create = reinterpret_cast<entry>(dlsym(library, "CreateEpFactories"));
    said_version = version;
    table = newest;
    const ort_api_base base{[](std::uint32_t asked) { return asked == 1 ? oldest : table; },
                            [] { return said_version; }};
    void *factory = nullptr;
    std::size_t count = 7;
    status_text.clear();
    create("octet", &base, nullptr, &factory, 1, &count);
    return count == 0 ? status_text : "";
}

TEST(OnnxRuntimeVersions, AreRefusedWithASentence) {
    const std::string needed = "Octet's execution provider needs ONNX Runtime 1.23 or a later 1.x, this is ";
    EXPECT_EQ(refusal("1.22.1", nullptr), needed + "1.22.1");
    EXPECT_EQ(refusal("2.0.0", nullptr), needed + "2.0.0");
    EXPECT_EQ(refusal("", nullptr), needed + "unknown");
    EXPECT_EQ(refusal("1.30.0", nullptr), needed + "1.30.0, which has no table of version 23");
    static const void *const holes[400] = {};
    EXPECT_EQ(refusal("1.30.0", holes), needed + "1.30.0, whose table lacks function 0");

    // A table that is full, and whose functions are others.
    static const void *full[400], *plugins[80];
    const auto nothing = reinterpret_cast<const void *>(+[]() -> void * { return nullptr; });
    std::fill(std::begin(full), std::end(full), nothing);
    std::fill(std::begin(plugins), std::end(plugins), nothing);
    EXPECT_EQ(refusal("1.30.0", full), needed + "1.30.0, which has no table of plugins");
    full[api::get_ep_api.index] = reinterpret_cast<const void *>(+[]() -> const void * { return plugins; });
    EXPECT_EQ(refusal("1.30.0", full), needed + "1.30.0, which makes no status");
    full[api::create_status.index] = reinterpret_cast<const void *>(&create_status);
    full[api::get_error_message.index] =
        reinterpret_cast<const void *>(+[](const ort_status *) { return "another text"; });
    EXPECT_EQ(refusal("1.30.0", full), needed + "1.30.0, whose functions are others than expected");
    full[api::session_entries.index] = nullptr;
    EXPECT_EQ(refusal("1.30.0", full), needed + "1.30.0, whose table lacks function 379");
}

// ---- Models

ort_tensor filled(const ort_tensor &info, unsigned seed) {
    std::mt19937 random(seed);
    ort_tensor t = info;
    std::size_t count = 1;
    for (std::int64_t &d : t.dims) {
        d = d < 0 ? 2 : d;
        count *= static_cast<std::size_t>(d);
    }
    if (count > 1 << 20)
        throw error(status::out_of_memory, "too large for a test");
    std::vector<float> values(count);
    for (float &v : values)
        v = std::uniform_real_distribution<float>(-4, 4)(random);
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(values.data());
    t.bytes.assign(bytes, bytes + count * sizeof(float));
    return t;
}

TEST(OnnxRuntimeMutants, RunAsOnTheCpuProviderOrNotAtAll) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    const auto count = static_cast<unsigned>(test::problem_count(400));
    unsigned made = 0, run = 0;
    for (unsigned seed = 0; seed < count; seed++) {
        SCOPED_TRACE("mutant " + std::to_string(seed));
        std::vector<std::uint8_t> model = random_graph(seed / 4).finish();
        std::mt19937 random(seed);
        const auto below = [&](std::size_t n) {
            return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
        };
        for (std::size_t changes = 1 + below(2); changes > 0; changes--)
            model[below(model.size())] = static_cast<std::uint8_t>(below(256));
        std::vector<ort_tensor> inputs, expected;
        session_options how;
        how.who = by::octet;
        how.provider = {{"minimum", "1"}};
        try {
            const session cpu(model, {});
            for (std::size_t i = 0; i < cpu.inputs().size(); i++)
                if (inputs.push_back(filled(cpu.input_info(i), seed)); inputs.back().type != element::f32)
                    throw error(status::unimplemented, "an input of another type");
            made++;
            expected = cpu.run(inputs);
        } catch (const error &) { // not a model; Octet may say what it likes
            try {
                const session octet(model, how);
            } catch (const error &) {
            }
            continue;
        }
        try {
            const std::vector<ort_tensor> actual = session(model, how).run(inputs);
            if (cpu_provider_is_oracle()) {
                EXPECT_EQ(difference(actual, expected), "");
            }
            run++;
        } catch (const error &e) {
            ADD_FAILURE() << e.what();
        }
    }
    std::cout << count << " mutants, " << made << " of them models, " << run << " run by both\n";
    EXPECT_GT(run, count / 10);
}

} // namespace
} // namespace octet::tests
