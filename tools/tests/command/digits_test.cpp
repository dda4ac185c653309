// The table that octet_digits prints: its numbers must agree with each other, and with the bytes, which are
// the same on every machine.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <sstream>

#include "support/paths.hpp"
#include "tools/tests/command/process.hpp"

namespace octet::tests {
namespace {

struct row {
    std::size_t correct, different;
    double accuracy, share;
};

struct digits_output {
    std::size_t images = 0, bytes = 0;
    std::map<std::string, row> rows; ///< by contract
};

digits_output read_output(const std::string &text) {
    digits_output result;
    std::smatch found;
    if (std::regex_search(text, found, std::regex("(\\d+) test images, (\\d+) bytes of operator outputs"))) {
        result.images = std::stoul(found[1]);
        result.bytes = std::stoul(found[2]);
    }
    // contract, who, correct, accuracy, same as f32, bytes, share, us/image
    const std::regex line_form("(\\w+) .* (\\d+) +([\\d.]+)% +\\d+ +(\\d+) +([\\d.]+)% +\\d+  .*");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (std::regex_match(line, found, line_form))
            result.rows[found[1]] = {std::stoul(found[2]), std::stoul(found[4]), std::stod(found[3]),
                                     std::stod(found[5])};
    return result;
}

TEST(DigitsExample, NumbersAgreeWithEachOther) {
    const outcome run = run_program(program_path("../examples/digits/octet_digits"), {});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const digits_output printed = read_output(run.out);
    EXPECT_EQ(printed.images, 360u);
    EXPECT_EQ(printed.bytes, 360u * (4 * 1024 + 256 + 512 + 2 * 128 + 2 * 32 + 2 * 10))
        << "README.md's table";
    ASSERT_EQ(printed.rows.size(), 14u) << run.out;
    for (const auto &[contract, r] : printed.rows) {
        EXPECT_LE(r.different, printed.bytes) << contract;
        EXPECT_NEAR(r.share, 100. * static_cast<double>(r.different) / static_cast<double>(printed.bytes),
                    0.005001)
            << contract;
        EXPECT_NEAR(r.accuracy, 100. * static_cast<double>(r.correct) / static_cast<double>(printed.images),
                    0.005001)
            << contract;
    }
    EXPECT_EQ(printed.rows.at("tflite_2step").correct, 356u) << "of 360, as README.md says";
    EXPECT_EQ(printed.rows.at("ort_f32").correct, 357u);
}

TEST(DigitsExample, CountsOnlyBytesThatTheContractChanges) {
    digits_output printed = read_output(run_program(program_path("../examples/digits/octet_digits"), {}).out);
    EXPECT_EQ(printed.rows["tflite_2step"].different, 0u) << "the contract that the others are compared with";
    EXPECT_EQ(printed.rows["f32"].different, 27539u) << "nothing is joined behind this rule";
}

} // namespace
} // namespace octet::tests
