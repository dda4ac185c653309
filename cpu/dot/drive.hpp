#pragma once // SPDX-License-Identifier: Apache-2.0

// Runs a dot plan: packs what isn't packed, fills the column parameters, and walks bands, panels and lines
// over threads.

#include <memory>
#include <string>

#include "common/convolution_problem.hpp"
#include "common/matmul_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::dot {

candidate plan(const convolution_problem &p, const machine &m);
candidate plan(const matmul_problem &p, const machine &m);
} // namespace octet::impl::dot
