#pragma once

// Runs pooling kernels over lines of channels-last images, in parallel.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::pool {

std::string refuses(const pooling_problem &p, const machine &m);
std::shared_ptr<const kernel> create(const pooling_problem &p, const machine &m);

} // namespace octet::impl::pool
