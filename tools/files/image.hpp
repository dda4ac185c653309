#pragma once // SPDX-License-Identifier: Apache-2.0

// PNG and JPEG files as inputs of networks. Pixels are those of libpng and libjpeg-turbo, which most frameworks
// read images with (Pillow, OpenCV), so that the same file gives the same input.

#include <optional>
#include <string>
#include <vector>

#include "files/array.hpp"

namespace octet::tools {

/// 8-bit pixels with red, green, blue and alpha.
struct image {
    dim_t height = 0, width = 0;
    std::vector<std::uint8_t> rgba; ///< row by row
};

/// Throws octet::error, which begins with `name`, for damaged files and more than 2^26 pixels.
///@{
image parse_png(const std::vector<std::uint8_t> &file, const std::string &name);
image parse_jpeg(const std::vector<std::uint8_t> &file, const std::string &name);
///@}

/// How pixels become numbers: (pixel * scale - mean) / std, in float32, one operation after the other; without a
/// scale pixel / 255. `mean` and `std` have one value, or one per channel.
struct pixel_options {
    bool resize = false; ///< to the tensor's size, linear between centres of pixels; else sizes must be equal
    std::optional<float> scale;
    std::vector<float> mean, std;

    bool are_reals() const { return scale || !mean.empty() || !std.empty(); }
};

/// The image as elements of a tensor of 1, 3 or 4 channels (1: the luma of ITU-R 601), {N, H, W, C} or
/// {N, C, H, W} as its dimensions say and, where both fit, its framework; N is 1 or left out. Floats are as
/// above. Codes are the pixels themselves (s8: pixel - 128) unless an option asks for numbers, which then
/// become codes by the tensor's scale. Throws octet::error, which begins with `source`, where it does not fit.
tensor_values values_for(const image &i, const target &to, const pixel_options &options,
                         const std::string &source);

} // namespace octet::tools
