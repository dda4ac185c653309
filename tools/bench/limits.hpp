#pragma once // SPDX-License-Identifier: Apache-2.0

// The machine's best figures, measured in the same run as the layers.

#include <cstddef>

#include "octet/settings.hpp"

namespace octet::tools {

/// Operations per second (a product and its addition are two) of the multiply-add instruction that kernels of
/// this level are made of, of codes or of floats, from registers, on `threads` threads at a time. 0 where the level
/// has none.
double measure_peak(cpu_isa level, bool is_f32, int threads);

/// Seconds that `threads` threads take to read these bytes once, to write them once, in contiguous shares: the mean of
/// so many passes one after the other. Bytes that are written begin a cache line.
///@{
double measure_read(const void *bytes, std::size_t size, int threads, int passes = 1);
double measure_write(void *bytes, std::size_t size, int threads, int passes = 1);
///@}
/// Passes over so many bytes after which the clock's resolution and the start of threads don't matter.
int passes_over(std::size_t size);

} // namespace octet::tools
