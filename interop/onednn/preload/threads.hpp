#pragma once // SPDX-License-Identifier: Apache-2.0

// Octet's loops on the threads that the client has. A program of oneDNN with OpenMP has a pool already, and a
// second one next to it would fight for the same cores. So loops run on the client's: found at run time,
// without linking OpenMP.

namespace octet::onednn {

/// Makes Octet use the threads of the real library's runtime. Called once, when the first problem is taken.
void use_clients_threads();

} // namespace octet::onednn
