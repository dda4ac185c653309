// Settings by call and by environment. The environment is read once per process, so those tests start a
// child.
// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"
#include "support/paths.hpp"

using namespace octet;
using octet::test::expect_invalid;

namespace {

/// The child's report under these assignments ("NAME=value …"): its settings, and its complaints.
struct report {
    std::map<std::string, std::string> settings;
    std::vector<std::string> complaints;
};

report run_probe(const std::string &environment, const std::string &arguments = {}) {
    const std::string command =
        "env " + environment + " " + octet::tests::program_path("settings_probe") + " " + arguments + " 2>&1";
    FILE *pipe = popen(command.c_str(), "r");
    if (!pipe)
        throw std::runtime_error("popen");
    std::string output;
    std::array<char, 256> part{};
    while (fgets(part.data(), part.size(), pipe))
        output += part.data();
    EXPECT_EQ(pclose(pipe), 0) << output;

    report r;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (line.rfind("octet: ", 0) == 0)
            r.complaints.push_back(line);
        else
            r.settings[line.substr(0, space)] = line.substr(space + 1);
    }
    return r;
}

/// A machine may have the level by name alone (support/every_level.cpp).
bool cpu_has_tiles() {
    constexpr unsigned amx_tile = 1 << 24;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & amx_tile) != 0;
}

/// With them, the whole process could no longer have small signal stacks.
TEST(environment, asks_for_tile_registers_only_where_they_may_be_used) {
    const bool has_them = get_machine_cpu_isa() == cpu_isa::avx512_amx && cpu_has_tiles();
    EXPECT_EQ(run_probe("OCTET_MAX_CPU_ISA=avx512_vnni", "--matmul").settings.at("tiles"), "0");
    EXPECT_EQ(run_probe("OCTET_MAX_CPU_ISA=avx512_amx", "--matmul").settings.at("tiles"),
              has_them ? "1" : "0");
    EXPECT_EQ(get_cpu_isa_refusal(), "") << "a machine that has them lets processes use them";
}

TEST(environment, sets_everything) {
    const report r = run_probe(
        "OCTET_MAX_CPU_ISA=ref OCTET_NUM_THREADS=3 OCTET_VERBOSE=2 OCTET_PRIMITIVE_CACHE_CAPACITY=12345");
    EXPECT_EQ(r.settings.at("isa"), "ref");
    EXPECT_EQ(r.settings.at("threads"), "3");
    EXPECT_EQ(r.settings.at("verbose"), "2");
    EXPECT_EQ(r.settings.at("cache"), "12345");
    EXPECT_TRUE(r.complaints.empty());
}

/// Finished code lies in files in memory, which are mapped as executable at once.
TEST(environment, kernels_run_where_no_page_may_become_executable) {
    const report r = run_probe("", "--no-generated-code");
    EXPECT_EQ(r.settings.at("matmul"), "126"); // 10 * (1 + 2 + 3 + 4) + (5 + 6 + 7 + 8)
    if (r.settings.at("forbidden") != "1")
        GTEST_SKIP() << "this kernel can't forbid executable memory";
    EXPECT_EQ(r.settings.at("isa"), run_probe("").settings.at("isa"));
}

TEST(environment, dumps_and_names_generated_code) {
    if (get_machine_cpu_isa() == cpu_isa::ref)
        GTEST_SKIP() << "no generated code on this machine";
    const std::string directory = testing::TempDir() + "octet_jit_dump";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    run_probe("OCTET_JIT_DUMP=" + directory, "--generate-code");
    int files = 0;
    for (const auto &file : std::filesystem::directory_iterator(directory)) {
        const std::string name =
            file.path().filename().string(); // octet_dot-…, octet_split_words_dot-…, by the level
        EXPECT_EQ(name.rfind("octet_", 0), 0u) << name;
        EXPECT_NE(name.find("dot-"), std::string::npos) << name;
        EXPECT_GT(file.file_size(), 0u);
        files++;
    }
    EXPECT_GT(files, 0);
    expect_invalid([] { set_jit_dump("/no/such/directory"); }, {"set_jit_dump"});
    expect_invalid([] { set_jit_profile("vtune"); }, {"set_jit_profile"});
}

TEST(environment, has_defaults) {
    const report r = run_probe(
        "-u OCTET_MAX_CPU_ISA -u OCTET_NUM_THREADS -u OCTET_VERBOSE -u OCTET_PRIMITIVE_CACHE_CAPACITY");
    EXPECT_EQ(r.settings.at("isa"), to_string(get_machine_cpu_isa()));
    EXPECT_GE(std::stoi(r.settings.at("threads")), 1);
    EXPECT_LE(std::stoi(r.settings.at("threads")), static_cast<int>(std::thread::hardware_concurrency()));
    EXPECT_EQ(r.settings.at("verbose"), "0");
    EXPECT_GT(std::stoll(r.settings.at("cache")), 1 << 20);
    EXPECT_TRUE(r.complaints.empty());
}

TEST(environment, a_wrong_value_is_reported_once_and_ignored) {
    struct wrong {
        const char *name, *value, *setting, *allowed;
    };
    const report defaults = run_probe(
        "-u OCTET_MAX_CPU_ISA -u OCTET_NUM_THREADS -u OCTET_VERBOSE -u OCTET_PRIMITIVE_CACHE_CAPACITY");
    for (const wrong &w : {wrong{"OCTET_MAX_CPU_ISA", "sse2", "isa", "ref, avx2"},
                           {"OCTET_MAX_CPU_ISA", "''", "isa", "ref, avx2"},
                           {"OCTET_MAX_CPU_ISA", "AVX2", "isa", "ref, avx2"},
                           {"OCTET_NUM_THREADS", "-1", "threads", "0 to 4096"},
                           {"OCTET_NUM_THREADS", "two", "threads", "0 to 4096"},
                           {"OCTET_NUM_THREADS", "2x", "threads", "0 to 4096"},
                           {"OCTET_NUM_THREADS", "''", "threads", "0 to 4096"},
                           {"OCTET_NUM_THREADS", "99999999999999999999", "threads", "0 to 4096"},
                           {"OCTET_VERBOSE", "3", "verbose", "0 to 2"},
                           {"OCTET_VERBOSE", "yes", "verbose", "0 to 2"},
                           {"OCTET_PRIMITIVE_CACHE_CAPACITY", "-5", "cache", "0 to"},
                           {"OCTET_PRIMITIVE_CACHE_CAPACITY", "64M", "cache", "0 to"}}) {
        const report r = run_probe(std::string(w.name) + "=" + w.value);
        EXPECT_EQ(r.settings.at(w.setting), defaults.settings.at(w.setting)) << w.name << "=" << w.value;
        ASSERT_EQ(r.complaints.size(), 1u) << w.name << "=" << w.value;
        EXPECT_NE(r.complaints[0].find(w.name), std::string::npos) << r.complaints[0];
        EXPECT_NE(r.complaints[0].find(w.allowed), std::string::npos) << r.complaints[0];
    }
}

TEST(settings, isa_levels_have_names) {
    for (const cpu_isa level : {cpu_isa::ref, cpu_isa::avx2, cpu_isa::avx_vnni, cpu_isa::avx512_core,
                                cpu_isa::avx512_vnni, cpu_isa::avx512_amx})
        EXPECT_EQ(cpu_isa_from_string(to_string(level)), level);
    expect_invalid([] { cpu_isa_from_string("sse2"); },
                   {"'sse2'", "allowed: ref, avx2, avx_vnni, avx512_core, avx512_vnni"});
}

TEST(settings, the_isa_cap_caps) {
    const cpu_isa before = get_effective_cpu_isa();
    const std::vector<cpu_isa> available = get_available_cpu_isas();
    EXPECT_EQ(available.front(), cpu_isa::ref);
    EXPECT_TRUE(std::is_sorted(available.begin(), available.end()));
    EXPECT_EQ(available.back(), get_machine_cpu_isa());
    for (const cpu_isa level : available) {
        set_max_cpu_isa(level);
        EXPECT_EQ(get_effective_cpu_isa(), level);
    }
    set_max_cpu_isa(cpu_isa::all);
    EXPECT_EQ(get_effective_cpu_isa(), get_machine_cpu_isa())
        << "a cap above the machine gives no more than the machine";
    set_max_cpu_isa(before);
    for (const int no_level : {-1, static_cast<int>(cpu_isa::all) + 1, 99})
        expect_invalid([no_level] { set_max_cpu_isa(static_cast<cpu_isa>(no_level)); },
                       {"set_max_cpu_isa: level is " + std::to_string(no_level),
                        "allowed: ref, avx2, avx_vnni, avx512_core, avx512_vnni"});
    EXPECT_EQ(get_effective_cpu_isa(), before);
}

TEST(settings, wrong_values_are_refused) {
    const int threads = get_num_threads(), verbose = get_verbose();
    expect_invalid([] { set_num_threads(-1); }, {"set_num_threads: threads is -1", "to 4096"});
    expect_invalid([] { set_num_threads(5000); }, {"set_num_threads: threads is 5000"});
    expect_invalid([] { set_verbose(3); }, {"set_verbose: level is 3", "0, 1, 2"});
    expect_invalid([] { set_verbose(-1); }, {"set_verbose: level is -1"});
    EXPECT_EQ(get_num_threads(), threads);
    EXPECT_EQ(get_verbose(), verbose);
}

TEST(settings, threads_are_kept) {
    set_num_threads(7);
    EXPECT_EQ(get_num_threads(), 7);
    set_num_threads(0);
    EXPECT_GE(get_num_threads(), 1);
}

TEST(settings, the_version_has_three_numbers) {
    int major = -1, minor = -1, patch = -1;
    char rest = 0;
    EXPECT_EQ(std::sscanf(version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3) << version();
}

} // namespace
