#pragma once // SPDX-License-Identifier: Apache-2.0

// Runs pooling kernels over lines of channels-last images, in parallel.

#include <memory>
#include <string>

#include "common/pooling_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::pool {

candidate plan(const pooling_problem &p, const machine &m);
} // namespace octet::impl::pool
