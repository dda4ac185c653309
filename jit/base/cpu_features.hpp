#pragma once // SPDX-License-Identifier: Apache-2.0

// What this CPU, and the system on it, let generated code use. Asked once by cpu/machine/isa.cpp, whose cap
// may allow less; nothing else asks the CPU.

namespace octet::impl::jit {

/// A set of cpu_feature (common/machine.hpp); none where the system does not let generated code run.
unsigned detect_cpu_features();

} // namespace octet::impl::jit
