#pragma once // SPDX-License-Identifier: Apache-2.0

// The one check of a descriptor where it enters the library. `memory::desc` shows its fields to everybody, as
// oneDNN's does, so a caller may have written anything into them; behind this check every function of
// common/layout takes a descriptor as it is: sizes and offsets fit 64 bits, no division meets a zero, a packed
// layout is one that the library itself makes.

#include "octet/memory.hpp"

namespace octet::impl {

/// Throws `invalid_arguments` naming the field, what it is and what is allowed: "convolution: src: ndims is 99,
/// …". The zero descriptor passes: whoever needs a tensor asks for one.
void check_descriptor(const char *operation, const char *name, const memory_desc &md);
/// Throws `invalid_arguments` where elements that share bytes would begin a row, or the tensor, within a byte.
void check_bytes(const char *operation, const char *name, const memory_desc &md);
/// Checks a descriptor whose sizes may come with the execution (layout/runtime.hpp): what is known is checked.
void check_description(const char *operation, const char *name, const memory_desc &md);

} // namespace octet::impl
