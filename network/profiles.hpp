#pragma once // SPDX-License-Identifier: Apache-2.0

// The runtimes that networks of TFLite can run under, as rows: operator, condition on its tensors, and what
// the runtime computes there. The first row of an operator whose condition holds counts, so a runtime's
// delegate comes before what takes the rest. Nothing else decides which arithmetic a node has. To add a
// runtime: a bit of `runs_in`, its line in `runtimes`, its rows (tflite/profiles/rows.hpp). Libraries whose
// contracts have no network (oneDNN, PyTorch) are rows of the same table that nothing lowers.

#include <string>

#include "network/lower/lowering.hpp"
#include "octet/profile.hpp"

namespace octet::model {

struct runtime;

/// The runtime of a name, for networks of a framework; null for an empty name and for the framework's default. Throws
/// octet::error for a name that there is not, and for a profile that no network of the framework has.
const runtime *find_runtime(const std::string &name, const std::string &framework);

/// The runtime that a whole graph gets: where its delegate first takes a node and then fails, all nodes fall
/// to what takes the rest. `at` gives a node's lowering.
const runtime &runtime_of(const runtime &r, const graph &g, const std::function<lowering(std::size_t)> &at);

/// The groups of elements of the node's result behind whose last whole one the runtime computes otherwise; of
/// size 0 where all elements have one code.
element_groups broken_groups(const runtime *r, const lowering &node);

/// Lowers a node as the runtime computes it; without a runtime (null) by the operator's own contract. Throws
/// `unimplemented`, with condition and substitute, where the runtime's arithmetic is not known.
std::unique_ptr<step> lower_under(const runtime *r, const lowering &node);

} // namespace octet::model
