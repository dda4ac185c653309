#pragma once // SPDX-License-Identifier: Apache-2.0

// The float ends of convolutions whose source is quantized image by image: an image becomes codes, and exact sums of
// products become floats. doc/dynamic.md has the quantizers and orders.

#include "loops/extremes.hpp"
#include "octet/source_quantization.hpp"

namespace octet::loops {

/// What the codes of an image stand for: scale * (code - zero_point).
struct image_parameters {
    float scale;
    std::int32_t zero_point;
};

/// An image of floats to s8 codes that share one scale.
class image_codes {
public:
    image_codes(const source_quantization &q, dim_t count); ///< for the level in use

    dim_t scratch_size() const { return extremes_.scratch_size(); } ///< floats that `run` needs
    image_parameters run(const float *x, std::int8_t *codes, float *scratch) const;

private:
    source_quantization q_;
    dim_t count_;
    extremes_loop extremes_;
    void (*round_)(const float *x, dim_t count, float inverse, float zero_point, std::int8_t *codes);
};

/// {pixels, channels} results from sums: the order's, limited to `low` to `high`. The order is xnnpack,
/// xnnpack_unfused or litert; channels have a scale each, or one.
struct pixel_results {
    combination order;
    dim_t pixels, channels;
    bool has_one_scale;
    float low, high;
};

class pixel_results_loop {
public:
    explicit pixel_results_loop(const pixel_results &p); ///< for the level in use

    /// Without a bias `bias` is null.
    void run(const std::int32_t *sums, float source_scale, const float *scales, const float *bias,
             float *y) const;

private:
    pixel_results p_;
    void (*pixel_)(const pixel_results &p, const std::int32_t *sums, float source_scale, const float *scales,
                   const float *bias, float *y);
};

} // namespace octet::loops
