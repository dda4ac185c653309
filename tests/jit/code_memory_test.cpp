// Memory of finished code: kernels share pages, places are used again, and neither a fork nor a program that
// closes its files disturbs code that runs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit/base/emitter.hpp"
#include "octet/settings.hpp"

namespace octet::impl::jit {
namespace {

std::uintptr_t address_of(const std::shared_ptr<const void> &code) {
    return reinterpret_cast<std::uintptr_t>(code.get());
}

/// A function that returns this number.
std::shared_ptr<const void> returning(int number) {
    emitter e({cpu_isa::avx2});
    e.mov(e.eax, number);
    e.ret();
    return e.finish();
}
int result_of(const std::shared_ptr<const void> &code) {
    return reinterpret_cast<int (*)()>(address_of(code))();
}

TEST(code_memory, kernels_share_pages) {
    std::vector<std::shared_ptr<const void>> codes;
    for (int i = 0; i < 100; i++)
        codes.push_back(returning(i));
    std::vector<std::uintptr_t> pages;
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(result_of(codes[i]), i);
        EXPECT_EQ(address_of(codes[i]) % 64, 0u);
        if (pages.empty() || pages.back() != address_of(codes[i]) / 4096)
            pages.push_back(address_of(codes[i]) / 4096);
    }
    EXPECT_LE(pages.size(), 4u);
}

TEST(code_memory, places_are_used_again) {
    const auto before = returning(1), behind = returning(2);
    auto first = returning(3), second = returning(4), third = returning(5);
    const auto last = returning(6);
    const std::uintptr_t place = address_of(first);
    second.reset(); // neighbours on both sides join, whichever goes first
    third.reset();
    first.reset();
    emitter e({cpu_isa::avx2});
    e.mov(e.eax, 7);
    e.ret();
    e.db(std::vector<std::uint8_t>(150).data(), 150); // fits where three were
    const auto large = e.finish();
    EXPECT_EQ(address_of(large), place);
    EXPECT_EQ(result_of(large), 7);
    EXPECT_EQ(result_of(before), 1);
    EXPECT_EQ(result_of(behind), 2);
    EXPECT_EQ(result_of(last), 6);
}

TEST(code_memory, more_than_one_file_holds) {
    std::vector<std::shared_ptr<const void>> codes;
    for (int i = 0; i < 12; i++) {
        emitter e({cpu_isa::avx2});
        e.mov(e.eax, i);
        e.ret();
        e.db(std::vector<std::uint8_t>(200 * 1024).data(), 200 * 1024);
        codes.push_back(e.finish());
    }
    for (int i = 0; i < 12; i++)
        EXPECT_EQ(result_of(codes[i]), i);
}

TEST(code_memory, recorded_code_has_pages_of_its_own) {
    set_jit_profile("perf");
    const auto recorded = returning(1);
    set_jit_profile("");
    EXPECT_EQ(address_of(recorded) % 4096, 0u);
    EXPECT_EQ(result_of(recorded), 1);
    unlink(("/tmp/perf-" + std::to_string(getpid()) + ".map").c_str());
}

/// Both have the pages, and both let go of a place and take new ones.
TEST(code_memory, a_fork_parts_parent_and_child) {
    const auto kept = returning(1);
    auto dropped = returning(2);
    int to_child[2], to_parent[2];
    ASSERT_EQ(pipe(to_child), 0);
    ASSERT_EQ(pipe(to_parent), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto own = returning(3);
        char ready = 0;
        const bool told = write(to_parent[1], "", 1) == 1 && read(to_child[0], &ready, 1) == 1;
        _exit(told && result_of(kept) == 1 && result_of(dropped) == 2 && result_of(own) == 3 ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    char ready = 0;
    ASSERT_EQ(read(to_parent[0], &ready, 1), 1);
    dropped.reset();
    const auto own = returning(4), more = returning(5);
    ASSERT_EQ(write(to_child[1], "", 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(result_of(kept), 1);
    EXPECT_EQ(result_of(own), 4);
    EXPECT_EQ(result_of(more), 5);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]})
        close(end);
}

/// In a child, whose files are nobody else's.
TEST(code_memory, closed_files_are_not_written_to) {
    const pid_t child = fork();
    if (child == 0) {
        const auto before = returning(1);
        for (int file = 3; file < 256; file++)
            close(file);
        std::FILE *others[64]; // have the numbers now
        for (std::FILE *&other : others)
            other = std::tmpfile();
        const auto after = returning(2);
        bool is_right = result_of(before) == 1 && result_of(after) == 2;
        for (std::FILE *other : others)
            is_right = is_right && other && std::fseek(other, 0, SEEK_END) == 0 && std::ftell(other) == 0;
        _exit(is_right ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// As under systemd's LimitFSIZE=0; the signal would end the child.
TEST(code_memory, a_limit_of_file_sizes_counts) {
    const auto is_right_under = [](rlim_t bytes, bool has_a_file_before) {
        const pid_t child = fork();
        if (child == 0) {
            const auto before = has_a_file_before ? returning(1) : nullptr;
            const struct rlimit limit = {bytes, bytes};
            const bool is_set = setrlimit(RLIMIT_FSIZE, &limit) == 0;
            const auto after = returning(2);
            _exit(is_set && (!before || result_of(before) == 1) && result_of(after) == 2 ? 0 : 1);
        }
        int status = 0;
        return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0;
    };
    for (const rlim_t bytes : {rlim_t{0}, rlim_t{1}, rlim_t{4096}, (rlim_t{1} << 20) - 1, rlim_t{1} << 20})
        for (const bool has_a_file_before : {false, true})
            EXPECT_TRUE(is_right_under(bytes, has_a_file_before)) << bytes << ", " << has_a_file_before;
}

} // namespace
} // namespace octet::impl::jit
