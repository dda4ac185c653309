// octet save: what it writes is a model like any other, with the same bytes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

using nlohmann::json;

class SaveTest : public CommandTest {
protected:
    json object(std::vector<std::string> arguments) const {
        arguments.push_back("--json");
        const outcome got = octet(arguments);
        EXPECT_EQ(got.exit_code, 0) << command_line(arguments) << '\n' << got.err;
        return json::parse(got.out, nullptr, false);
    }
};

TEST_F(SaveTest, SavedNetworksRunTheSame) {
    for (const std::string &source : {model, source_path("examples/digits/digits_int8.onnx")}) {
        const std::string plan = path("digits.octet");
        const json saved = object({"save", source, plan, "--batch", "3"});
        EXPECT_EQ(saved["file"], plan);
        EXPECT_EQ(saved["bytes"], fs::file_size(plan));
        ASSERT_EQ(
            octet({"run", source, "--batch", "3", "--repeat", "1", "--output-dir", path("out")}).exit_code,
            0);
        const json run = object({"run", plan, "--repeat", "1", "--against", path("out")});
        EXPECT_EQ(run["equal"], true) << run;
        const json inspected = object({"inspect", plan});
        EXPECT_EQ(inspected["saved"], true);
        EXPECT_EQ(inspected["inputs"][0]["dims"][0], 3);
        EXPECT_EQ(octet({"explain", plan}).exit_code, 0);
        ASSERT_EQ(
            octet({"run", source, "--batch", "2", "--repeat", "1", "--output-dir", path("two")}).exit_code,
            0);
        const json of_two = object({"run", plan, "--batch", "2", "--repeat", "1", "--against", path("two")});
        EXPECT_EQ(of_two["equal"], true) << of_two;
    }
}

TEST_F(SaveTest, PlacesThatCannotBeWrittenAreRefused) {
    write("copy.tflite", content_of(model));
    expect_refusals({
        {{"save", "M"}, "FILE is required (see octet save --help)"},
        {{"save", "D/absent", "D/x.octet"}, "D/absent: does not exist"},
        {{"save", "M", "D/folder"}, "D/folder: is a directory"},
        {{"save", "M", "/dev/full"}, "/dev/full: is not a regular file"},
        {{"save", "M", "D/absent/x.octet"}, "D/absent/x.octet: cannot be written: No such file or directory"},
        {{"save", "M", "D/empty/x.octet"}, "D/empty/x.octet: cannot be written: Not a directory"},
        {{"save", "D/copy.tflite", "D/copy.tflite"}, "D/copy.tflite: is the model itself"},
    });
    EXPECT_EQ(content_of(path("copy.tflite")), content_of(model));
}

/// Each puts a whole plan, and who reads meanwhile has one of them.
TEST_F(SaveTest, ProcessesThatSaveToOnePathDoNotDisturbReaders) {
    const std::string plan = path("shared/digits.octet");
    fs::create_directory(path("shared"));
    ASSERT_EQ(octet({"save", model, plan}).exit_code, 0);
    std::atomic<int> failed{0};
    std::vector<std::thread> processes;
    for (const char *batch : {"1", "64", "7"})
        processes.emplace_back([&, batch] {
            for (int i = 0; i < 10; i++)
                failed += octet({"save", model, plan, "--batch", batch}).exit_code != 0;
        });
    std::string complaints;
    for (int i = 0; i < 20; i++) {
        const outcome got = octet({"run", plan, "--repeat", "1"});
        if (got.exit_code != 0)
            complaints += got.err;
    }
    for (std::thread &process : processes)
        process.join();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(complaints, "");
    std::vector<std::string> left;
    for (const auto &entry : fs::directory_iterator(path("shared")))
        left.push_back(entry.path().filename());
    EXPECT_EQ(left, std::vector<std::string>{"digits.octet"});
}

/// A link under the name that unfinished plans had once led to a file of the one who saves.
TEST_F(SaveTest, LinksOfOthersAreNotFollowed) {
    write("victim", "precious");
    fs::create_symlink(path("victim"), path("x.octet.unfinished"));
    EXPECT_EQ(octet({"save", model, path("x.octet")}).exit_code, 0);
    EXPECT_EQ(content_of(path("victim")), "precious");
}

TEST_F(SaveTest, DamagedPlansAreNamed) {
    ASSERT_EQ(octet({"save", model, path("digits.octet")}).exit_code, 0);
    const std::string whole = content_of(path("digits.octet"));
    write("short.octet", whole.substr(0, whole.size() / 2));
    std::string changed = whole;
    changed[whole.size() - 1000] ^= 1;
    write("changed.octet", changed);
    for (const char *command : {"run", "inspect", "explain"})
        expect_refusals({{{command, "D/short.octet"}, "D/short.octet: …"},
                         {{command, "D/changed.octet"}, "D/changed.octet: …"}});
}

} // namespace
} // namespace octet::tests
