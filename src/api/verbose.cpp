#include "api/verbose.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>

#include "common/environment.hpp"
#include "common/text.hpp"
#include "octet/settings.hpp"
#include "octet/version.hpp"

namespace octet {

namespace impl {
namespace {

std::atomic<int> &verbose_level() {
    static std::atomic<int> level{static_cast<int>(environment_number("OCTET_VERBOSE", 0, 2, 0))};
    return level;
}

} // namespace

void print_verbose(const std::string &event, const std::string &line) {
    const std::string full = "octet_verbose," + event + ",cpu," + line + "\n";
    std::fwrite(full.data(), 1, full.size(), stdout);
    std::fflush(stdout);
}

double now_ms() {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(since_start).count();
}

} // namespace impl

inline namespace v0 {

void set_verbose(int level) {
    if (level < 0 || level > 2)
        impl::throw_invalid("set_verbose: level is ", level, ", allowed: 0, 1, 2");
    impl::verbose_level() = level;
}
int get_verbose() { return impl::verbose_level(); }

const char *version() { return OCTET_VERSION_STRING; }

} // namespace v0
} // namespace octet
