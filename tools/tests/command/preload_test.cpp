// octet preload as a user meets it: the program's own exit code and arguments, and a sentence where nothing
// called oneDNN.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/paths.hpp"
#include "tools/tests/command/process.hpp"

namespace octet::tests {
namespace {

const std::string command = program_path("../tools/octet");
const std::string client = program_path("interop/interop_handles");

outcome preload(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "preload");
    return run_program(command, arguments);
}

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

TEST(preload, passes_arguments_output_and_exit_code) {
    const outcome o = preload({"sh", "-c", "echo \"$@\"; exit 7", "sh", "--verbose", "--help", "-c"});
    EXPECT_EQ(o.out, "--verbose --help -c\n");
    EXPECT_EQ(o.exit_code, 7);
    EXPECT_EQ(preload({"sh", "-c", "kill -TERM $$"}).exit_code, 128 + 15);
}

TEST(preload, says_if_nothing_called_onednn) {
    const outcome o = preload({"/bin/true"});
    EXPECT_EQ(o.exit_code, 0);
    EXPECT_TRUE(contains(o.err, "octet: nothing called oneDNN")) << o.err;
}

TEST(preload, takes_over_a_client) {
    const outcome quiet = preload({client});
    EXPECT_EQ(quiet.exit_code, 0);
    EXPECT_TRUE(contains(quiet.err, " on Octet: ")) << quiet.err; // the summary, and nothing else
    EXPECT_TRUE(contains(quiet.err, " on oneDNN: ")) << quiet.err;
    EXPECT_TRUE(contains(quiet.err, "convolution (no 8-bit source)")) << quiet.err;
    EXPECT_TRUE(contains(quiet.err, " % of the time of primitives was Octet's\n")) << quiet.err;
    EXPECT_EQ(std::count(quiet.err.begin(), quiet.err.end(), '\n'), 3) << quiet.err;
    EXPECT_EQ(quiet.out, run_program(client, {}).out);
    const outcome verbose = preload({"--verbose", client});
    EXPECT_EQ(verbose.out, quiet.out);
    EXPECT_TRUE(contains(verbose.err, "octet: taken: convolution src:u8")) << verbose.err;
    EXPECT_TRUE(contains(verbose.err, "octet: falls back to oneDNN: convolution src:f32")) << verbose.err;
}

TEST(preload, sets_threads_and_level_of_the_program) {
    const outcome o =
        preload({"--isa", "ref", "--threads", "3", "sh", "-c", "echo $OCTET_MAX_CPU_ISA $OCTET_NUM_THREADS"});
    EXPECT_EQ(o.out, "ref 3\n") << o.err;
}

TEST(preload, keeps_freed_memory_unless_told_otherwise) {
    const std::vector<std::string> show{"sh", "-c", "echo $MALLOC_TRIM_THRESHOLD_ $MALLOC_MMAP_THRESHOLD_"};
    EXPECT_EQ(preload(show).out, "67108864 33554432\n");
    EXPECT_EQ(
        run_program("/usr/bin/env", {"MALLOC_TOP_PAD_=1", command, "preload", "sh", "-c", show.back()}).out,
        "\n");
}

TEST(preload, refuses_what_cannot_start) {
    const outcome none = preload({});
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_TRUE(contains(none.err, "PROGRAM")) << none.err;
    const outcome absent = preload({"no_such_program_at_all"});
    EXPECT_EQ(absent.exit_code, 2);
    EXPECT_TRUE(contains(absent.err, "no_such_program_at_all: cannot be started")) << absent.err;
}

} // namespace
} // namespace octet::tests
