#pragma once // SPDX-License-Identifier: Apache-2.0

// The features of this CPU, and of the system on it, that generated code may use. Asked once by
// cpu/machine/isa.cpp, whose cap may allow less; nothing else asks the CPU.

namespace octet::impl::jit {

/// A set of cpu_feature (common/machine.hpp); none where the system does not let generated code run.
unsigned detect_cpu_features();

/// 0 if this process may use tile registers, else the system's error. Linux saves their 8 KiB only for
/// processes that ask, and refuses small signal stacks to those that did.
int ask_for_tile_registers();

} // namespace octet::impl::jit
