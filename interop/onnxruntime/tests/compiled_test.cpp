// Plans that outlive a session: compiled models (EPContext) and the cache of option cache_dir. What does not
// fit is refused or made anew, with a sentence.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "interop/onnxruntime/tests/pairs.hpp"
#include "octet/error.hpp"
#include "octet/settings.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;

class OnnxRuntimeCompiled : public testing::Test {
protected:
    void SetUp() override {
        if (!host::get())
            GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
        fs::create_directories(folder_);
        host::get()->take_log();
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path write(const std::string &name, const std::vector<std::uint8_t> &bytes) const {
        std::ofstream(folder_ / name, std::ios::binary)
            .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return folder_ / name;
    }
    /// Compiles the model into "compiled.onnx"; empty, or why not.
    std::string compile(const fs::path &model, const std::string &embed) const {
        try {
            const session made(model, with_octet({}, {{"ep.context_enable", "1"},
                                                      {"ep.context_embed_mode", embed},
                                                      {"ep.context_file_path", compiled().string()}}));
        } catch (const error &e) {
            return e.what();
        }
        return "";
    }
    fs::path compiled() const { return folder_ / "compiled.onnx"; }
    std::vector<fs::path> plans() const {
        std::vector<fs::path> found;
        for (const auto &entry : fs::directory_iterator(folder_))
            if (entry.path().extension() == ".octet")
                found.push_back(entry.path());
        return found;
    }
    static std::string failure(const fs::path &model) {
        try {
            const session s(model, with_octet());
            return "";
        } catch (const error &e) {
            return e.what();
        }
    }
    static bool contains(const std::string &text, const std::string &part) {
        return text.find(part) != std::string::npos;
    }
    static bool told(const std::string &part) {
        for (const std::string &line : host::get()->take_log())
            if (contains(line, part))
                return true;
        return false;
    }

    const fs::path folder_ = fs::temp_directory_path() / ("octet_compiled_" + std::to_string(getpid()));
};

TEST_F(OnnxRuntimeCompiled, RunFromPlansInsideOrBeside) {
    for (const std::string embed : {"0", "1"})
        for (const std::int64_t batch : {std::int64_t{2}, std::int64_t{-1}}) {
            SCOPED_TRACE("embed " + embed + ", batch " + std::to_string(batch));
            const auto model = pairs("Sinh", batch).finish();
            ASSERT_EQ(compile(write("model.onnx", model), embed), "");
            EXPECT_EQ(plans().size(), embed == "0" ? 2u : 0u);
            const session cpu(model, {}), octet(compiled(), with_octet({{"log", "1"}}));
            EXPECT_EQ(octet.operators_of(by::octet), (std::vector<std::string>{"EPContext", "EPContext"}));
            EXPECT_TRUE(told("compiled before"));
            for (const std::int64_t size : {std::int64_t{2}, batch < 0 ? std::int64_t{5} : batch}) {
                const std::vector<ort_tensor> x{reals({size, 3, 8, 8}, 7)};
                EXPECT_EQ(difference(octet.run(x), cpu.run(x)), "");
            }
            for (const fs::path &plan : plans())
                fs::remove(plan);
            fs::remove(compiled());
        }
}

/// ONNX Runtime keeps the text with the model, and asks before it loads the plans.
TEST_F(OnnxRuntimeCompiled, TellForWhichMachineTheyAre) {
    ASSERT_EQ(compile(write("model.onnx", pairs().finish()), "0"), "");
    onnx::ModelProto model;
    {
        std::ifstream file(compiled(), std::ios::binary);
        ASSERT_TRUE(model.ParseFromIstream(&file));
    }
    std::string *told = nullptr;
    for (auto &property : *model.mutable_metadata_props())
        if (property.key() == "ep_compatibility_info.OctetExecutionProvider")
            told = property.mutable_value();
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(*told, std::string("octet ") + version() + " " + to_string(get_effective_cpu_isa()));
    const auto failure_with = [&](const std::string &text) {
        *told = text;
        std::ofstream file(compiled(), std::ios::binary);
        model.SerializeToOstream(&file);
        file.close();
        return failure(compiled());
    };
    EXPECT_EQ(failure_with(*told), "");
    EXPECT_TRUE(contains(failure_with("octet 0.0.1 avx2"), "not supported"))
        << failure_with("octet 0.0.1 avx2");
    EXPECT_EQ(failure_with("a text of somebody else's"), "");
}

TEST_F(OnnxRuntimeCompiled, AreRefusedWithPlansThatAreNotTheirs) {
    ASSERT_EQ(compile(write("model.onnx", pairs().finish()), "0"), "");
    ASSERT_EQ(plans().size(), 1u);
    const fs::path plan = plans()[0], kept = folder_ / "kept";
    fs::copy_file(plan, kept);

    fs::resize_file(plan, fs::file_size(plan) - 64);
    EXPECT_TRUE(contains(failure(compiled()), "bytes, but was saved with")) << failure(compiled());
    {
        fs::copy_file(kept, plan, fs::copy_options::overwrite_existing);
        std::fstream file(plan, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-100, std::ios::end);
        file.put('x');
    }
    EXPECT_TRUE(contains(failure(compiled()), "the file is damaged")) << failure(compiled());
    std::ofstream(plan, std::ios::binary) << "something else";
    EXPECT_TRUE(contains(failure(compiled()), "is not the plan that was written with this model"));
    fs::remove(plan);
    EXPECT_TRUE(contains(failure(compiled()), "does not exist; it was written beside the compiled model"))
        << failure(compiled());
    fs::copy_file(kept, plan);
    EXPECT_EQ(failure(compiled()), "");
}

TEST_F(OnnxRuntimeCompiled, NeedAPlaceForTheirPlans) {
    std::ifstream file;
    ASSERT_EQ(compile(write("model.onnx", pairs().finish()), "0"), "");
    file.open(compiled(), std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    try {
        const session s(bytes, with_octet());
        ADD_FAILURE() << "a model in memory has no folder";
    } catch (const error &e) {
        EXPECT_TRUE(contains(e.what(), "make the session of the model's path")) << e.what();
    }
}

TEST_F(OnnxRuntimeCompiled, PlansAreKeptInADirectory) {
    const auto model = pairs("Sinh", -1).finish();
    const std::vector<ort_tensor> x{reals({3, 3, 8, 8}, 8)}, expected = session(model, {}).run(x);
    const auto how = with_octet({{"cache_dir", folder_.string()}, {"log", "1"}});
    EXPECT_EQ(difference(session(model, how).run(x), expected), "");
    ASSERT_EQ(plans().size(), 2u);
    const auto written = fs::last_write_time(plans()[0]);
    EXPECT_EQ(difference(session(model, how).run(x), expected), "");
    EXPECT_EQ(fs::last_write_time(plans()[0]), written);
    EXPECT_EQ(plans().size(), 2u);

    host::get()->take_log();
    const std::vector<fs::path> all = plans();
    fs::copy_file(all[0], all[1], fs::copy_options::overwrite_existing); // another part's
    EXPECT_EQ(difference(session(model, how).run(x), expected), "");
    EXPECT_TRUE(told("plan is made anew: "));
    std::ofstream(all[0], std::ios::binary) << "no plan";
    EXPECT_EQ(difference(session(model, how).run(x), expected), "");
    EXPECT_TRUE(told("is no saved plan"));
    host::get()->take_log();
    EXPECT_EQ(difference(session(model, how).run(x), expected), "");
    EXPECT_FALSE(told("made anew"));

    const auto other = pairs("Cosh", -1).finish(); // the same parts around another operator
    EXPECT_EQ(difference(session(other, how).run(x), session(other, {}).run(x)), "");
}

} // namespace
} // namespace octet::tests
