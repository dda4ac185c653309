#pragma once // SPDX-License-Identifier: Apache-2.0

namespace octet::test {

/// Calls of operator new in this process so far, by any thread.
long allocation_count();

/// False under sanitizers, whose own operators must stay: then nothing is counted.
bool counts_allocations();

} // namespace octet::test
