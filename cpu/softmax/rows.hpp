#pragma once // SPDX-License-Identifier: Apache-2.0

// Softmax of rows that are contiguous in memory, the usual case: generated kernels take a batch of rows that
// stays in the caches from its maxima to its results. Everything else is cpu/softmax/softmax.cpp's.

#include <memory>
#include <string>

#include "common/softmax.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::softmax {

std::string refuses_softmax_rows(const softmax_problem &p);
std::shared_ptr<const kernel> create_softmax_rows(instruction_set isa, const softmax_problem &p);

} // namespace octet::impl::softmax
