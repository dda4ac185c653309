#pragma once // SPDX-License-Identifier: Apache-2.0

// Chooses the nodes of a graph that Octet takes. Nodes that tensors of floats, integers or sizes connect stay
// together, in Octet or outside: borders lie on 8-bit codes, or beside operators that Octet lacks, so that
// transformers of either side see what they see in the whole graph. That also keeps an operator with its
// DequantizeLinear and QuantizeLinear.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "onnxruntime/part.hpp"

namespace octet::onnxruntime {

/// Groups that are indivisible: for each node the number of its group.
std::vector<int> groups_of(const graph &g);

/// Parts out of claimed nodes: connected, and without a path that leaves and returns. Groups that would be divided are
/// no longer claimed. Nodes of each part are in order.
std::vector<std::vector<int>> parts_of(const graph &g, const std::vector<int> &groups,
                                       std::vector<bool> &claimed);

/// Why a node that Octet has is not taken for its bytes, empty where it is; asked of a network as it runs,
/// which has more constants than ONNX Runtime: `is_constant` tells which are constant there, too.
std::string why_inexact(const model::graph &g, const model::node &n,
                        const std::function<bool(const model::tensor &)> &is_constant);

/// Makes the parts that can be made. `tell` gets a sentence for each group and part that is left, and each
/// that is taken.
std::vector<std::unique_ptr<part>> claim(const runtime &ort, const graph &g, const session_settings &settings,
                                         const std::function<void(const std::string &)> &tell);

} // namespace octet::onnxruntime
