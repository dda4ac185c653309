#pragma once // SPDX-License-Identifier: Apache-2.0

// Threads of the measurements themselves, which are not those of any library.

#include <functional>

namespace octet::tools {

/// Runs body(thread) on all threads, started together; returns the seconds until the last one ends.
double seconds_together(int threads, const std::function<void(int)> &body);

} // namespace octet::tools
