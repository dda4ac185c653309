#pragma once // SPDX-License-Identifier: Apache-2.0

// Messages of inferences as the core has them.

#include "core/service.hpp"
#include "inference.pb.h"

namespace octet::serve {

/// `raw` are the raw_input_contents, which the message lacks. Throws refusal.
infer_request request_of(const inference::ModelInferRequest &r, const std::vector<byte_range> &raw);
/// The response to a call that went well, without the raw_output_contents.
inference::ModelInferResponse response_of(const service::call &c);

} // namespace octet::serve
