#pragma once // SPDX-License-Identifier: Apache-2.0

// How many threads a loop may have, before anyone asks what runs them (parallel.cpp).

namespace octet::impl {

/// CPUs that the process may use.
int machine_threads();

/// The number of threads that `num_threads_scope`, `set_num_threads` or the environment ask for; 0: none does.
int requested_threads();

} // namespace octet::impl
