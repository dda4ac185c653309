#pragma once // SPDX-License-Identifier: Apache-2.0

// Runs the phases of a deconvolution, each with the dot kernel or, where channels meet only themselves, with
// the depthwise one.

#include <memory>
#include <string>

#include "common/deconvolution_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::deconvolution {

candidate plan(const deconvolution_problem &p, const machine &m);
} // namespace octet::impl::deconvolution
