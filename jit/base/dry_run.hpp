#pragma once // SPDX-License-Identifier: Apache-2.0

// Vector registers are counted by emitting for nothing: the code is thrown away, what it took at a time is the
// count. So counts agree with the code without anyone keeping them up to date.

#include <functional>
#include <string>

#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

/// Vector registers that emit(emitter) takes at most at a time; they may be more than there are. Counts are
/// remembered by a key that decides, with the instruction set, what is emitted: a dry run takes as long as a
/// small kernel.
int count_registers(instruction_set isa, const std::string &key, const std::function<void(emitter &)> &emit);

} // namespace octet::impl::jit
