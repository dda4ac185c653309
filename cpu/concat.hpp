#pragma once

#include "cpu/implementation.hpp"

namespace octet::impl {

/// Each part of the destination is written by the best reorder for it.
std::shared_ptr<const kernel> create_concat(const concat_problem &p);

} // namespace octet::impl
