#pragma once

namespace octet::tests {

/// Calls of operator new in this process so far, by any thread.
long allocation_count();

} // namespace octet::tests
