#pragma once // SPDX-License-Identifier: Apache-2.0

// The model of `octet serve --demo`.

#include <string>

#include "core/model.hpp"

namespace octet::serve {

/// The digits network of examples/digits, under the name `digits`.
model_source demo_model();
/// How to ask it, with curl, at "127.0.0.1:8000".
std::string demo_greeting(const std::string &address);

} // namespace octet::serve
