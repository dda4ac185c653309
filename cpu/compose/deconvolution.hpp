#pragma once

// Runs the phases of a deconvolution, each with the dot kernel or, where channels meet only themselves, with
// the depthwise one.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::deconvolution {

std::string refuses(const deconvolution_problem &p);
template <cpu_isa level> std::shared_ptr<const kernel> create(const deconvolution_problem &p);

} // namespace octet::impl::deconvolution
