#pragma once

// The streaming operators: element-wise work whose speed is that of memory. A function of one byte is a table
// (cpu/stream/bytes.hpp); everything else is a short program per element (cpu/stream/plan.hpp).

#include <memory>
#include <string>

#include "cpu/implementation.hpp"

namespace octet::impl::stream {

template <cpu_isa level> std::string refuses(const eltwise_problem &p);
template <cpu_isa level> std::string refuses(const reorder_problem &p);

template <cpu_isa level> std::shared_ptr<const kernel> create(const eltwise_problem &p);
template <cpu_isa level> std::shared_ptr<const kernel> create(const reorder_problem &p);

} // namespace octet::impl::stream
