#include "jit/base/record.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <sys/stat.h>
#include <unistd.h>

#include "common/environment.hpp"
#include "common/text.hpp"
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
    std::string dump = dump_from_environment(), profile = profile_from_environment();
    int count = 0;
};

recorder &the_recorder() {
    static recorder r;
    return r;
}

void write_bytes(const std::string &path, const char *mode, const void *bytes, std::size_t size) {
    std::FILE *file = std::fopen(path.c_str(), mode);
    if (!file)
        return; // a tool for developers must not make a primitive fail
    std::fwrite(bytes, 1, size, file);
    std::fclose(file);
}

/// perf reads lines of "start size name" in hexadecimal.
void append_to_perf_map(const std::string &name, const void *code, std::size_t bytes) {
    char line[256];
    const int length = std::snprintf(line, sizeof line, "%llx %zx %s\n",
                                     static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(code)),
                                     bytes, name.c_str());
    if (length > 0 && length < static_cast<int>(sizeof line))
        write_bytes("/tmp/perf-" + std::to_string(getpid()) + ".map", "a", line,
                    static_cast<std::size_t>(length));
}

} // namespace

void record_code(const std::string &name, const void *code, std::size_t bytes) {
    recorder &r = the_recorder();
    const std::lock_guard<std::mutex> lock(r.mutex);
    if (r.dump.empty() && r.profile.empty())
        return;
    const std::string unique = "octet_" + name + "_" + std::to_string(r.count++);
    if (!r.dump.empty())
        write_bytes(r.dump + "/" + unique + ".bin", "wb", code, bytes);
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
