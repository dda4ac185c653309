#pragma once // SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>

namespace octet::serve {

/// Bytes that the process may have: what its control groups, its limits and the machine allow, the least of them.
std::size_t usable_memory();
/// A number of bytes of /proc/self/status, "VmRSS" for example; 0 where there is none.
std::size_t process_memory(const std::string &field);

} // namespace octet::serve
