#pragma once // SPDX-License-Identifier: Apache-2.0

// Options of a .tflite operator as named attributes: a transcription. What an operator needs, and which
// values it allows, is decided where it is lowered.

#include <map>
#include <string>

#include "network/graph/graph.hpp"
#include "tflite_generated.h"

namespace octet::model {

/// "padding" ("SAME", "VALID"), "activation" ("NONE", "RELU", …), "stride_h", "stride_w", "dilation_h",
/// "dilation_w", "filter_h", "filter_w", "depth_multiplier", "keep_num_dims", "weights_format", "adj_x",
/// "adj_y", "beta", "axis", "keep_dims", "new_shape", "squeeze_dims", "begin_mask" and its kin, "batch_dims",
/// "mode" ("REFLECT", "SYMMETRIC"), "block_size". Booleans are 0 or 1. Only fields that the operator's options
/// have.
std::map<std::string, attribute> read_attributes(const octet::tflite::Operator &source);

} // namespace octet::model
