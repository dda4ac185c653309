#pragma once // SPDX-License-Identifier: Apache-2.0

// Softmax, a family of its own. Contiguous rows have kernels of their own (cpu/softmax/rows.hpp). Everything
// else takes two parts: the maximum and the sum of each row along the axis, then the stream kernel, to which
// these are tensors broadcast along the axis. Integer forms look exponentials up, f32 stores them in between.

#include <memory>
#include <string>

#include "common/softmax_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::softmax {

candidate plan(const softmax_problem &p, const machine &m);

} // namespace octet::impl::softmax
