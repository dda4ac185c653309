#pragma once // SPDX-License-Identifier: Apache-2.0

// Conversion between real numbers and the codes of a network's tensor, for callers who have the numbers but
// not the network's buffers.

#include <cstddef>
#include <string>

#include "octet/export.hpp"
#include "octet/graph.hpp"

namespace octet {
inline namespace v0 {
namespace model {

/// Writes the codes of `count` real numbers, as the framework's own quantizing operator makes them ("onnx":
/// QuantizeLinear, else TensorFlow Lite's QUANTIZE): the bytes that `tensor_view::copy_from` writes. `type`
/// is s8, u8 or s16. Throws octet::error, and writes nothing, for another type and where `q` does not have
/// exactly one scale.
OCTET_API void quantize(const std::string &framework, data_type type, const quantization &q,
                        const float *reals, std::size_t count, void *codes);

/// Writes the real numbers that `count` codes stand for, scale * (code - zero point) in f32: the numbers that
/// `tensor_view::as<float>` gives. Throws octet::error, and writes nothing, as `quantize` does.
OCTET_API void dequantize(data_type type, const quantization &q, const void *codes, std::size_t count,
                          float *reals);

} // namespace model
} // namespace v0
} // namespace octet
