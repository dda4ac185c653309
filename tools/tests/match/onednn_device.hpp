#pragma once // SPDX-License-Identifier: Apache-2.0

// The only functions of the library that has oneDNN in it, which is one of its own, since Octet has functions
// of oneDNN's names.

#include <cstdint>

/// oneDNN's matmul of s8 rows with s8 weights {channels, length} under an output scale per channel, with
/// source and destination zero points.
extern "C" void onednn_device_matmul(const std::int8_t *x, std::int64_t rows, std::int64_t length,
                                     const std::int8_t *weights, const float *scales, std::int64_t channels,
                                     std::int32_t src_zero_point, std::int32_t dst_zero_point, bool is_u8,
                                     std::uint8_t *y);

/// oneDNN's sum or product of codes with a scale per operand.
extern "C" void onednn_device_binary(bool multiplies, const std::uint8_t *a, const std::uint8_t *b,
                                     std::int64_t count, float scale_a, float scale_b, bool is_u8,
                                     std::uint8_t *y);
