// The destination of verbose mode's lines, and their first columns.
// SPDX-License-Identifier: Apache-2.0
#include "api/verbose.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <utility>

#include "common/environment.hpp"
#include "common/text.hpp"
#include "octet/fork_guard.hpp"
#include "octet/settings.hpp"
#include "octet/version.hpp"

namespace octet {

namespace impl {
namespace {

std::atomic<int> &verbose_level() {
    static std::atomic<int> level{static_cast<int>(environment_number("OCTET_VERBOSE", 0, 2, 0))};
    return level;
}

/// The file that rows go to, and whether it has its head already.
class log_target {
public:
    void set(log_function target) {
        const std::lock_guard<std::mutex> lock(mutex_);
        target_ = std::move(target);
        has_head_ = false;
    }
    void write(const std::string &row) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!has_head_) {
            has_head_ = true;
            put("octet_verbose,event,engine,implementation,problem,milliseconds");
            put(text("octet_verbose,info,cpu,,octet ", version(), " isa:", to_string(get_effective_cpu_isa()),
                     " threads:", get_num_threads()));
            if (const std::string refusal = get_cpu_isa_refusal(); !refusal.empty())
                put("octet_verbose,info,cpu,," + refusal);
        }
        put(row);
    }

private:
    void put(const std::string &row) {
        if (target_)
            return target_(row);
        const std::string line = row + "\n"; // one write, so that other output does not get into the row
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fflush(stdout);
    }

    std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    log_function target_; ///< empty: standard output
    bool has_head_ = false;
};

log_target &the_log() {
    static log_target &log =
        *new log_target; // never destroyed: primitives may still run while the process ends
    return log;
}

} // namespace

void log_event(const char *event, const std::string &implementation, const std::string &rest) {
    the_log().write(text("octet_verbose,", event, ",cpu,", implementation, ",", rest));
}

double now_ms() {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(since_start).count();
}

std::string milliseconds_text(double milliseconds) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, milliseconds, std::chars_format::fixed, 4).ptr;
    return std::string(text, end);
}

} // namespace impl

inline namespace v0 {

void set_verbose(int level) {
    if (level < 0 || level > 2)
        impl::throw_invalid("set_verbose: level is ", level, ", allowed: 0, 1, 2");
    impl::verbose_level() = level;
}
int get_verbose() { return impl::verbose_level(); }

void set_log(log_function target) { impl::the_log().set(std::move(target)); }

const char *version() { return OCTET_VERSION_STRING; }
int numerics_version() { return OCTET_NUMERICS_VERSION; }

} // namespace v0
} // namespace octet
