#pragma once

// The streaming operators: element-wise work whose speed is that of memory. A function of one byte is a
// table, equal types and numbers are a copy (cpu/stream/bytes.hpp); everything else is a short program per
// element (cpu/stream/plan.hpp).

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::stream {

/// For eltwise, reorder, binary, sum, prelu and softmax.
template <typename Problem> std::string refuses(const Problem &p, const machine &m);
template <typename Problem> std::shared_ptr<const kernel> create(const Problem &p, const machine &m);

} // namespace octet::impl::stream
