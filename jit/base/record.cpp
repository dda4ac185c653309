// Writes names and bytes of code for profilers and disassemblers. A failure changes nothing but prints one
// message.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/record.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/environment.hpp"
#include "common/text.hpp"
#include "octet/fork_guard.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl::jit {
namespace {

std::string profile_from_environment() {
    const char *value = std::getenv("OCTET_JIT_PROFILE");
    if (value && std::string(value) != "perf") {
        report_ignored("OCTET_JIT_PROFILE", value, "perf");
        return {};
    }
    return value ? value : "";
}

bool is_directory(const std::string &path) {
    struct stat s;
    return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

std::string dump_from_environment() {
    const char *value = std::getenv("OCTET_JIT_DUMP");
    if (value && !is_directory(value)) {
        report_ignored("OCTET_JIT_DUMP", value, "an existing directory");
        return {};
    }
    return value ? value : "";
}

struct recorder {
    std::mutex mutex;
    const fork_guard at_fork{mutex};
    std::string dump = dump_from_environment(), profile = profile_from_environment();
    int count = 0;
};

recorder &the_recorder() {
    static recorder r;
    return r;
}

/// Writes to a file that is this user's alone. Names are predictable, and perf's directory is everybody's: a
/// link or a file that lies in wait there is refused. (Xbyak's own profiler support follows it.)
bool write_to_own_file(const std::string &path, int flags, const std::string &bytes) {
    constexpr int always = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int file = open(path.c_str(), always | flags, S_IRUSR | S_IWUSR);
    if (file < 0)
        return false;
    struct stat s;
    bool is_written = fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && s.st_nlink == 1;
    is_written = is_written && ((flags & O_APPEND) != 0 || ftruncate(file, 0) == 0);
    is_written = is_written && write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    return close(file) == 0 && is_written;
}

/// A tool for developers must not make a primitive fail.
void report_failure(const std::string &path) {
    static bool is_reported = false;
    if (!std::exchange(is_reported, true))
        std::fprintf(stderr,
                     "octet: generated code is not recorded: %s can't be written or is not this user's\n",
                     path.c_str());
}

std::string hexadecimal(std::uintptr_t number) {
    char digits[2 * sizeof number];
    return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

/// perf reads lines of "start size name" in hexadecimal. Other generators of code in the process append to
/// the file too. The process may be a child by now.
void append_to_perf_map(const std::string &name, const void *code, std::size_t bytes) {
    const std::string path = text("/tmp/perf-", getpid(), ".map");
    if (!write_to_own_file(path, O_APPEND,
                           text(hexadecimal(reinterpret_cast<std::uintptr_t>(code)), " ", hexadecimal(bytes),
                                " ", name, "\n")))
        report_failure(path);
}

void dump(const std::string &directory, const std::string &name, const void *code, std::size_t bytes) {
    const std::string path = directory + "/" + name + ".bin";
    if (!write_to_own_file(path, 0, std::string(static_cast<const char *>(code), bytes)))
        report_failure(path);
}

} // namespace

bool is_recorded() {
    recorder &r = the_recorder();
    const std::lock_guard<std::mutex> lock(r.mutex);
    return !r.dump.empty() || !r.profile.empty();
}

void record_code(const std::string &name, const void *code, std::size_t bytes) {
    recorder &r = the_recorder();
    const std::lock_guard<std::mutex> lock(r.mutex);
    if (r.dump.empty() && r.profile.empty())
        return;
    constexpr std::size_t longest_name = 230; // leaves room for the rest of a file's name
    const std::string unique = text("octet_", name.substr(0, longest_name), "_", r.count++);
    if (!r.dump.empty())
        dump(r.dump, unique, code, bytes);
    if (!r.profile.empty())
        append_to_perf_map(unique, code, bytes);
}

} // namespace impl::jit

inline namespace v0 {

void set_jit_dump(const std::string &directory) {
    if (!directory.empty() && !impl::jit::is_directory(directory))
        impl::throw_invalid("set_jit_dump: directory is '", directory,
                            "', allowed: an existing one, or empty for none");
    impl::jit::recorder &r = impl::jit::the_recorder();
    const std::lock_guard<std::mutex> lock(r.mutex);
    r.dump = directory;
}

void set_jit_profile(const std::string &profiler) {
    if (!profiler.empty() && profiler != "perf")
        impl::throw_invalid("set_jit_profile: profiler is '", profiler,
                            "', allowed: perf, or empty for none");
    impl::jit::recorder &r = impl::jit::the_recorder();
    const std::lock_guard<std::mutex> lock(r.mutex);
    r.profile = profiler;
}

} // namespace v0
} // namespace octet
