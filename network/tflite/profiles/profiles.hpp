#pragma once // SPDX-License-Identifier: Apache-2.0

// The runtimes that networks of TFLite can run under, as rows: operator, condition on its tensors, and what
// the runtime computes there. The first row of an operator whose condition holds counts, so a runtime's
// delegate comes before what takes the rest. Nothing else decides which arithmetic a node has. To add a
// runtime: a bit of `runs_in`, its line in `runtimes`, its rows (rows.hpp). Libraries whose contracts have no
// network (oneDNN, PyTorch) are rows of the same table that nothing lowers.

#include "network/runtime.hpp"
#include "octet/profile.hpp"

namespace octet::model {

/// See `dialect::find_runtime`.
std::shared_ptr<const runtime> find_tflite_runtime(const std::string &profile);

} // namespace octet::model
