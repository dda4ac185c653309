#pragma once

// Runs the phases of a deconvolution, each with the dot kernel or, where channels meet only themselves, with
// the depthwise one.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::deconvolution {

std::string refuses(const deconvolution_problem &p, const machine &m);
std::shared_ptr<const kernel> create(const deconvolution_problem &p, const machine &m);

} // namespace octet::impl::deconvolution
