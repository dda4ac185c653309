// A program that LD_PRELOAD gives liboctet_onnxruntime_preload, and that registers or names the provider
// itself. Here the library is opened and its table taken, which is what a program calls.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <dlfcn.h>

#include <gtest/gtest.h>

#include "interop/onnxruntime/tests/host.hpp"
#include "interop/onnxruntime/tests/pairs.hpp"
#include "interop/onnxruntime/tests/program_slots.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

using namespace onnxruntime::program;

class onnxruntime_preload : public ::testing::Test {
protected:
    void SetUp() override {
        if (!host::get())
            GTEST_SKIP() << "no ONNX Runtime";
        library_ = dlopen(program_path("../interop/onnxruntime/liboctet_onnxruntime_preload.so").c_str(),
                          RTLD_NOW | RTLD_LOCAL);
        if (!library_)
            GTEST_SKIP() << "no preload library beside the provider of this build";
        using get_base = const onnxruntime::ort_api_base *(*)();
        ort_ = std::make_unique<onnxruntime::runtime>(
            *reinterpret_cast<get_base>(dlsym(library_, "OrtGetApiBase"))());
    }

    /// Parts of a session that Octet computes. The session is made by the library's table, with these devices
    /// of the program's.
    std::ptrdiff_t taken(const std::vector<const void *> &devices = {}) const {
        const onnxruntime::runtime &ort = *ort_;
        void *const env = host::get()->env(), *options = nullptr, *made = nullptr;
        const std::vector<std::uint8_t> model = pairs().finish();
        ort(create_options, &options);
        ort(add_entry, options, "session.record_ep_graph_assignment_info", "1");
        for (const void *const device : devices)
            ort(append_provider, options, env, &device, std::size_t{1},
                static_cast<const char *const *>(nullptr), static_cast<const char *const *>(nullptr),
                std::size_t{0});
        ort(create_session, static_cast<const void *>(env), static_cast<const void *>(model.data()),
            model.size(), static_cast<const void *>(options), &made);
        ort(release_options, options);
        const void *const *parts = nullptr;
        std::size_t count = 0;
        ort(assigned_subgraphs, static_cast<const void *>(made), &parts, &count);
        const auto is_octets = [&](const void *part) {
            return ort.text(assigned_provider, part) == "OctetExecutionProvider";
        };
        const auto octets = std::count_if(parts, parts + count, is_octets);
        ort(release_session, made);
        return octets;
    }

private:
    void *library_ = nullptr;
    std::unique_ptr<onnxruntime::runtime> ort_;
};

TEST_F(onnxruntime_preload, takes_the_provider_that_the_program_has_registered) { EXPECT_EQ(taken(), 1); }

TEST_F(onnxruntime_preload, leaves_a_session_that_has_the_provider) {
    EXPECT_EQ(taken({host::get()->device()}), 1);
}

TEST_F(onnxruntime_preload, registers_the_provider_again_when_it_is_gone) {
    for (int i = 0; i < 2; i++) {
        host::get()->remove_provider();
        EXPECT_EQ(taken(), 1);
    }
    host::get()->remove_provider();
    host::get()->add_provider();
}

} // namespace
} // namespace octet::tests
