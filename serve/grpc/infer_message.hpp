#pragma once // SPDX-License-Identifier: Apache-2.0

// Messages of inferences as the core has them.

#include "core/service.hpp"
#include "inference.grpc.pb.h"

namespace octet::serve {

/// Its bytes stay in the message. Throws refusal.
infer_request request_of(const inference::ModelInferRequest &r);
/// Of a call that went well.
void fill(inference::ModelInferResponse &r, const service::call &c);

} // namespace octet::serve
