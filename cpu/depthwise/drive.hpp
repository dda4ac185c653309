#pragma once

// Runs a depthwise plan.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::depthwise {

std::string refuses(const convolution_problem &p, const machine &m);

std::shared_ptr<const kernel> create(const convolution_problem &p, const machine &m);

} // namespace octet::impl::depthwise
