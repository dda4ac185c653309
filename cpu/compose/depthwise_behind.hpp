#pragma once // SPDX-License-Identifier: Apache-2.0

// A convolution and a depthwise convolution of its whole result, which lies in scratch memory between the two.

#include <memory>
#include <utility>
#include <vector>

#include "cpu/implementation.hpp"

namespace octet::impl {

/// `names`: the arguments of the second that have another name in the fused operation, as {its own, the other}.
std::shared_ptr<const kernel> depthwise_behind(std::shared_ptr<const kernel> first,
                                               std::shared_ptr<const kernel> second,
                                               std::size_t bytes_between,
                                               std::vector<std::pair<int, int>> names);

} // namespace octet::impl
