#pragma once // SPDX-License-Identifier: Apache-2.0

// A step for operators whose outputs take elements of input 0 by a map (graph/element_map.hpp).

#include <vector>

#include "network/graph/element_map.hpp"
#include "network/lower/lowering.hpp"

namespace octet::model {

/// Input 0 as it lies in its buffer.
placed_dims placed_input(const lowering &l);

/// `fill`: the bytes of an element that is outside.
std::unique_ptr<step> rearranged(const lowering &l, element_map from, std::vector<std::uint8_t> fill = {});

/// Like `rearranged`, but `dst` is the output's buffer under other dimensions, those of `from`.
std::unique_ptr<step> rearranged_as(const lowering &l, const buffer &dst, element_map from,
                                    std::vector<std::uint8_t> fill = {});

/// Elements of input 0 in a mode of `padded`.
std::unique_ptr<step> make_any_padding(const lowering &l, const memory::dims &before,
                                       const memory::dims &after, const std::string &mode,
                                       const std::vector<std::uint8_t> &element);

} // namespace octet::model
