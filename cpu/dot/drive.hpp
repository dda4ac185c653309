#pragma once

// Runs a dot plan: packs what isn't packed, fills the column parameters, and walks bands, panels and lines
// over threads.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::dot {

std::string refuses(const convolution_problem &p, const machine &m);
std::string refuses(const matmul_problem &p, const machine &m);

std::shared_ptr<const kernel> create(const convolution_problem &p, const machine &m);
std::shared_ptr<const kernel> create(const matmul_problem &p, const machine &m);

} // namespace octet::impl::dot
