#pragma once // SPDX-License-Identifier: Apache-2.0

// Pooling with post-ops that its kernel does not have, or with post-ops of a maximum: windows become codes or averages,
// and the stream kernel applies the post-ops to them.

#include "common/pooling_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::pooling_and_stream {

candidate plan(const pooling_problem &p, const machine &m);

} // namespace octet::impl::pooling_and_stream
