#pragma once // SPDX-License-Identifier: Apache-2.0

// The description of a model for the protocols, in the JSON of the REST form: gRPC's messages have the same
// fields.

#include <nlohmann/json.hpp>

#include "core/service.hpp"

namespace octet::serve {

/// Names, versions, inputs and outputs.
nlohmann::ordered_json describe(const served_model &m, const std::vector<std::string> &versions);
/// As Triton's configuration of a model, which its clients ask for sizes of batches.
nlohmann::ordered_json describe_configuration(const served_model &m);
/// As Triton's statistics: {"model_stats": […]}.
nlohmann::ordered_json describe_statistics(const std::vector<std::shared_ptr<served_model>> &models);

} // namespace octet::serve
