#pragma once // SPDX-License-Identifier: Apache-2.0

// Environment variables. A wrong value is reported once on stderr and ignored.

#include <cstdint>

namespace octet::impl {

/// The variable as a number in [low, high], or `otherwise` if unset or wrong.
std::int64_t environment_number(const char *name, std::int64_t low, std::int64_t high,
                                std::int64_t otherwise);

/// Prints "octet: NAME=value ignored, allowed: …" once.
void report_ignored(const char *name, const char *value, const char *allowed);

} // namespace octet::impl
