#pragma once // SPDX-License-Identifier: Apache-2.0

// The choice of an implementation. cpu/choice/registry.cpp has one table of families per operation, best
// first. Each is asked once, for the machine at the level in use, and the first that does not refuse is used;
// the last one ("ref") takes everything the front accepts.

#include <string>
#include <vector>

#include "cpu/implementation.hpp"

namespace octet::impl {

template <typename Problem> struct selection {
    const char *name = nullptr; ///< "jit:dot/avx512_vnni", of a table that stays; null: nobody takes it
    bool is_reference = false;
    candidate taken = candidate::refused({});
    machine here;                      ///< the machine that it plans for
    std::vector<std::string> refusals; ///< "name: reason", "name and name: reason", each reason once
};

template <typename Problem> selection<Problem> select(const Problem &problem);

} // namespace octet::impl
