#pragma once // SPDX-License-Identifier: Apache-2.0

// Runs a depthwise plan.

#include <memory>
#include <string>

#include "common/convolution_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::depthwise {

candidate plan(const convolution_problem &p, const machine &m);
} // namespace octet::impl::depthwise
