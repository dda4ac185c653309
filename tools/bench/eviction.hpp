#pragma once // SPDX-License-Identifier: Apache-2.0

// Cold caches, as a layer finds them in a network whose other layers ran since.

namespace octet::tools {

/// Fills the caches of all CPUs that the process may use with other bytes: twice the last level as the system reports
/// it, 64 to 256 MiB, because virtual machines report what they don't have.
void evict_caches();

} // namespace octet::tools
