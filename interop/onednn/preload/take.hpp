#pragma once // SPDX-License-Identifier: Apache-2.0

// Decides which requests are Octet's, and translates them.

#include <memory>

#include "onednn/interface/problem.hpp"

namespace octet::onednn {

/// True for what Octet might take, by operation and types: a look that costs next to nothing, since every
/// float problem of a client comes by.
bool is_candidate(const request &r);

/// The problem, complete. Throws `refusal` or octet::error with the reason why it is not Octet's.
std::shared_ptr<const problem> take(const request &r);

} // namespace octet::onednn
