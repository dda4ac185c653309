// Files that take the place of others as a whole: what readers and other writers see of it, and which places
// are refused.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "octet/error.hpp"
#include "octet/network.hpp"
#include "storage/replacement.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;
using test::refusal;

class Replacement : public ::testing::Test {
protected:
    Replacement() {
        std::string pattern = (fs::temp_directory_path() / "octet_replacement_XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~Replacement() override { fs::remove_all(folder_); }

    std::string path(const std::string &name) const { return (folder_ / name).string(); }
    std::string content(const std::string &name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void put(const std::string &name, const std::string &text) const {
        storage::replace_file(path(name), text.data(), text.size());
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto &entry : fs::directory_iterator(folder_))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }

    fs::path folder_;
};

TEST_F(Replacement, LeavesTheOldFileToThoseWhoHaveIt) {
    const std::string first(10000, 'a'), second(100, 'b');
    put("file", first);
    const int file = open(path("file").c_str(), O_RDONLY);
    const auto *mapped =
        static_cast<const char *>(mmap(nullptr, first.size(), PROT_READ, MAP_PRIVATE, file, 0));
    put("file", second);
    EXPECT_EQ(std::string(mapped, first.size()), first);
    EXPECT_EQ(content("file"), second);
    munmap(const_cast<char *>(mapped), first.size());
    close(file);
    EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(Replacement, OfSeveralWritersPutsOneWholeFile) {
    put("file", std::string(50000, 'a'));
    std::atomic<bool> is_over{false};
    std::atomic<int> torn{0};
    std::vector<std::thread> writers;
    for (const char letter : {'b', 'c', 'd'})
        writers.emplace_back([&, letter] {
            for (std::size_t i = 0; i < 100; i++)
                put("file", std::string(50000 + 100 * i, letter));
        });
    std::thread reader([&] {
        while (!is_over) {
            const std::string got = content("file");
            torn += got.size() < 50000 || got.find_first_not_of(got[0]) != std::string::npos;
        }
    });
    for (std::thread &writer : writers)
        writer.join();
    is_over = true;
    reader.join();
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(Replacement, OfWhatIsNoFileIsRefused) {
    fs::create_directory(path("folder"));
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    fs::create_symlink(path("absent"), path("dangling"));
    const auto complaint = [&](const std::string &where) {
        return refusal([&] { storage::replacement file(where); });
    };
    EXPECT_EQ(complaint(path("folder")), path("folder") + ": is a directory");
    EXPECT_EQ(complaint(path("pipe")), path("pipe") + ": is not a regular file");
    EXPECT_EQ(complaint("/dev/full"), "/dev/full: is not a regular file");
    EXPECT_EQ(complaint(path("dangling")),
              path("dangling") + ": is a symbolic link to a file that does not exist");
    EXPECT_EQ(complaint(path("absent/file")),
              path("absent/file") + ": cannot be written: No such file or directory");
    EXPECT_EQ(complaint(""), ": cannot be written: No such file or directory");
    EXPECT_EQ(names(), (std::vector<std::string>{"dangling", "folder", "pipe"}));
}

TEST_F(Replacement, OfANameWithAZeroByteIsRefused) {
    const std::string name("a\0b", 3);
    EXPECT_EQ(refusal([&] { storage::replace_file(path(name), "x", 1); }),
              path("a") + ": a zero byte follows in the name, which no file has");
    EXPECT_EQ(names(), std::vector<std::string>());
    put("a", "not a network");
    EXPECT_EQ(refusal([&] { network{path(name)}; }),
              path("a") + ": a zero byte follows in the name, which no file has");
}

TEST_F(Replacement, FollowsALinkToAFileAndKeepsIt) {
    fs::create_directory(path("elsewhere"));
    put("elsewhere/file", "old");
    fs::create_symlink("elsewhere/file", path("link"));
    put("link", "new");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(content("elsewhere/file"), "new");
    EXPECT_FALSE(fs::is_symlink(path("elsewhere/file")));
}

TEST_F(Replacement, HasTheOldFilesPermissions) {
    put("file", "old");
    fs::permissions(path("file"), fs::perms{0640});
    put("file", "new");
    EXPECT_EQ(fs::status(path("file")).permissions(), fs::perms{0640});
}

TEST_F(Replacement, ThatIsNotCommittedLeavesNothing) {
    put("file", "old");
    {
        storage::replacement file(path("file"));
        file.write("new");
    }
    EXPECT_EQ(content("file"), "old");
    EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(Replacement, ThatDoesNotFitLeavesTheOldFile) {
    put("file", "old");
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string complaint = refusal([&] { put("file", std::string(5000, 'x')); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(complaint, path("file") + ": cannot be written: File too large");
    EXPECT_EQ(content("file"), "old");
    EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

} // namespace
} // namespace octet::tests
