// Sequential scopes nest: each restores what it found.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/sequential_scope.hpp"

namespace octet::impl {

namespace {
thread_local bool in_scope = false;
}

sequential_scope::sequential_scope() : before_(in_scope) { in_scope = true; }
sequential_scope::~sequential_scope() { in_scope = before_; }

bool is_sequential() { return in_scope; }

} // namespace octet::impl
