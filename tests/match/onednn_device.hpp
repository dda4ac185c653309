#pragma once // SPDX-License-Identifier: Apache-2.0

// The only function of the library that has oneDNN in it.

#include <cstdint>

/// oneDNN's matmul of u8 or s8 rows with s8 weights under one output scale, with source and destination zero points. In a library of its
/// own, since Octet has functions of oneDNN's names.
extern "C" void onednn_device_matmul(const std::int8_t *x, std::int64_t rows, std::int64_t length,
                                     const std::int8_t *weights, float scale, std::int32_t src_zero_point,
                                     std::int32_t dst_zero_point, bool is_u8, std::uint8_t *y);
