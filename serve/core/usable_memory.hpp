#pragma once

#include <cstddef>

namespace octet::serve {

/// Bytes that the process may have: what its control groups, its limits and the machine allow, the least of them.
std::size_t usable_memory();

} // namespace octet::serve
