// Records of kernels for tools: perf's map and dumps get decodable names, and a file that lies in wait under
// a predictable name is not written to.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <unistd.h>

#include "jit/kernels/transpose.hpp"
#include "octet/settings.hpp"

namespace octet::impl::jit {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A kernel that no one else has; emission needs no CPU of the level.
shared_code<const transpose_args> make_kernel() {
    return transpose_code(transpose_spec{{cpu_isa::avx512_core}, 2, 3, false});
}

class Record : public testing::Test {
protected:
    Record() {
        fs::remove(map_);
        fs::remove_all(directory_);
        fs::create_directory(directory_);
    }
    ~Record() override {
        set_jit_profile("");
        set_jit_dump("");
        fs::remove(map_);
        fs::remove_all(directory_);
    }

    const fs::path map_ = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    const fs::path directory_ = testing::TempDir() + "octet_record_" + std::to_string(getpid());
    const fs::path victim_ = directory_ / "victim";
};

TEST_F(Record, PerfMapHasAddressSizeAndName) {
    std::ofstream(map_) << "1000 10 of_another_generator\n";
    set_jit_profile("perf");
    const auto kernel = make_kernel();
    std::ifstream in(map_);
    std::string line, name;
    std::getline(in, line);
    EXPECT_EQ(line, "1000 10 of_another_generator");
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    in >> std::hex >> address >> bytes >> name;
    EXPECT_EQ(address, reinterpret_cast<std::uintptr_t>(kernel->function()));
    EXPECT_EQ(bytes, kernel->code_bytes());
    EXPECT_EQ(name.rfind("octet_transpose-avx512_core-16bit-3x8rows_", 0), 0u) << name;
}

TEST_F(Record, DumpHasTheCode) {
    set_jit_dump(directory_);
    const auto kernel = make_kernel();
    const fs::path file = fs::directory_iterator(directory_)->path();
    EXPECT_EQ(file.filename().string().rfind("octet_transpose-avx512_core-16bit-3x8rows_", 0), 0u) << file;
    const auto *code = reinterpret_cast<const char *>(reinterpret_cast<std::uintptr_t>(kernel->function()));
    EXPECT_EQ(content_of(file), std::string(code, kernel->code_bytes()));
}

TEST_F(Record, PerfMapThatIsALinkIsRefused) {
    std::ofstream(victim_) << "precious";
    const auto refuses = [this](const char *how) {
        set_jit_profile("perf");
        make_kernel();
        set_jit_profile("");
        EXPECT_EQ(content_of(victim_), "precious") << how;
        fs::remove(map_);
    };
    fs::create_symlink(victim_, map_);
    refuses("symbolic link");
    fs::create_symlink(directory_ / "none", map_);
    refuses("symbolic link to nothing");
    EXPECT_FALSE(fs::exists(directory_ / "none"));
    std::error_code cannot; // across file systems
    fs::create_hard_link(victim_, map_, cannot);
    refuses("hard link");
}

TEST_F(Record, DumpThatIsALinkIsRefused) {
    set_jit_dump(directory_);
    make_kernel();
    const std::string name = fs::directory_iterator(directory_)->path().stem();
    const std::size_t number_at = name.rfind('_') + 1;
    const int next = std::stoi(name.substr(number_at)) + 1;
    std::ofstream(victim_) << "precious";
    fs::create_symlink(victim_, directory_ / (name.substr(0, number_at) + std::to_string(next) + ".bin"));
    make_kernel();
    EXPECT_EQ(content_of(victim_), "precious");
}

} // namespace
} // namespace octet::impl::jit
