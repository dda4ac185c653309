#pragma once // SPDX-License-Identifier: Apache-2.0

// The dialects that there are. Only this folder names them.

#include "network/dialect.hpp"

namespace octet::model {

extern const dialect onnx_dialect, tflite_dialect;

} // namespace octet::model
