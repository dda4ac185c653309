#pragma once

// Runs tasks: the loops around the stream kernel.

#include "cpu/registry.hpp"
#include "cpu/stream/plan.hpp"

namespace octet::impl::stream {

offer plan_task(instruction_set isa, const task &t);
/// The dimension that numbers of a task that isn't refused vary over; -1: they don't.
int channel_of(const task &t);

} // namespace octet::impl::stream
