// A value that is not allowed is ignored, with one message.
// SPDX-License-Identifier: Apache-2.0
#include "common/environment.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "common/text.hpp"

namespace octet::impl {

void report_ignored(const char *name, const char *value, const char *allowed) {
    std::fprintf(stderr, "octet: %s=%s ignored, allowed: %s\n", name, value, allowed);
}

std::int64_t environment_number(const char *name, std::int64_t low, std::int64_t high,
                                std::int64_t otherwise) {
    const char *value = std::getenv(name);
    if (!value)
        return otherwise;
    char *end = nullptr;
    errno = 0;
    const long long number = std::strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < low || number > high) {
        report_ignored(name, value, text("a number from ", low, " to ", high).c_str());
        return otherwise;
    }
    return number;
}

} // namespace octet::impl
