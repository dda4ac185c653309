#pragma once

// Runs a depthwise plan.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::depthwise {

std::string refuses(const convolution_problem &p);

template <cpu_isa level> std::shared_ptr<const kernel> create(const convolution_problem &p);

} // namespace octet::impl::depthwise
