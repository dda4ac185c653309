// Each framework's coordinates of a position, then its neighbours and weights.
// SPDX-License-Identifier: Apache-2.0
#include "common/resampling.hpp"

#include <algorithm>
#include <cmath>

#include "common/requantize.hpp"

namespace octet::impl {

namespace {

bool aligns_corners(resampling_coordinates c) {
    return c == resampling_coordinates::align_corners ||
           c == resampling_coordinates::align_corners_half_pixel;
}
bool is_half_pixel(resampling_coordinates c) {
    return c == resampling_coordinates::half_pixel || c == resampling_coordinates::align_corners_half_pixel;
}

float f32(dim_t n) { return static_cast<float>(n); }

/// oneDNN: ratio applied as a product and a quotient.
float half_pixel_coordinate(dim_t i, dim_t in, dim_t out) {
    return (f32(i) + 0.5f) * f32(in) / f32(out) - 0.5f;
}

/// ONNX Runtime: quotient by the scale of sizes.
float ort_coordinate(resampling_coordinates c, dim_t i, dim_t in, dim_t out) {
    const float scale = f32(out) / f32(in);
    if (out == in)
        return f32(i);
    if (c == resampling_coordinates::half_pixel)
        return (f32(i) + 0.5f) / scale - 0.5f;
    if (c == resampling_coordinates::asymmetric)
        return f32(i) / scale;
    return out == 1 ? 0.f : f32(i) * f32(in - 1) / f32(out - 1);
}

/// TFLite: floor, or with align_corners the nearest, of a position in f32.
dim_t tflite_nearest(resampling_coordinates c, dim_t i, dim_t in, dim_t out) {
    const bool aligned = aligns_corners(c);
    const float scale = aligned && out > 1 ? f32(in - 1) / f32(out - 1) : f32(in) / f32(out);
    const float position = (f32(i) + (is_half_pixel(c) ? 0.5f : 0.f)) * scale;
    return static_cast<dim_t>(aligned ? round_half_away(position) : std::floor(position));
}

/// ONNX Runtime's round_prefer_floor.
dim_t ort_nearest(float x) {
    return static_cast<dim_t>(x == std::floor(x) + 0.5f ? std::floor(x) : std::round(x));
}

} // namespace

dim_t nearest_index(const resampling_problem &p, int axis, dim_t i) {
    const dim_t in = p.in[axis], out = p.out[axis];
    dim_t index = 0;
    if (is_tflite(p.out_stage.rule))
        index = tflite_nearest(p.coordinates, i, in, out);
    else if (is_ort(p.out_stage.rule))
        index = ort_nearest(ort_coordinate(p.coordinates, i, in, out));
    else if (p.coordinates == resampling_coordinates::half_pixel)
        index = static_cast<dim_t>(round_half_away(half_pixel_coordinate(i, in, out)));
    else
        index = static_cast<dim_t>(round_half_away(ort_coordinate(p.coordinates, i, in, out)));
    return clamp<dim_t>(index, 0, in - 1);
}

interpolation interpolate(const resampling_problem &p, int axis, dim_t i) {
    const dim_t in = p.in[axis], out = p.out[axis];
    if (is_ort(p.out_stage.rule)) {
        const float x = clamp(ort_coordinate(p.coordinates, i, in, out), 0.f, f32(in - 1));
        const dim_t low = std::min(static_cast<dim_t>(x), in - 1), high = std::min(low + 1, in - 1);
        if (low == high)
            return {low, high, 0.5f, 0.5f};
        return {low, high, std::fabs(x - f32(high)), std::fabs(x - f32(low))};
    }
    const float x = p.coordinates == resampling_coordinates::half_pixel
                        ? half_pixel_coordinate(i, in, out)
                        : ort_coordinate(p.coordinates, i, in, out);
    const dim_t low = std::max<dim_t>(static_cast<dim_t>(x), 0);
    const dim_t high = std::min(static_cast<dim_t>(std::ceil(std::max(x, 0.f))), in - 1);
    const float weight = std::fabs(x - f32(low));
    return {low, high, 1.f - weight, weight};
}

namespace {

/// XNNPACK: positions in f32, of which the fraction gets 11 bits.
fixed_interpolation interpolate_xnnpack(const resampling_problem &p, int axis, dim_t i) {
    const dim_t in = p.in[axis], out = p.out[axis];
    const dim_t less = aligns_corners(p.coordinates) && out > 1 ? 1 : 0;
    const float scale = f32(in - less) / f32(out - less);
    const bool is_half = p.coordinates == resampling_coordinates::half_pixel;
    const float first = is_half ? 0.5f * scale - 0.5f : 0.f;
    float x =
        facts_of(p.out_stage.rule).is_of_aarch64 ? std::fma(f32(i), scale, first) : f32(i) * scale + first;
    if (is_half)
        x = std::max(x, 0.f);
    x = std::min(x, f32(in - 1));
    const auto low = static_cast<dim_t>(x);
    constexpr float one = 2048;
    const auto weight = static_cast<std::int64_t>(round_to_even((x - f32(low)) * one));
    return {low, std::min(low + 1, in - 1), static_cast<std::int64_t>(one) - weight, weight};
}

} // namespace

int fixed_weight_bits(requantization_rule rule) { return is_xnnpack(rule) ? 11 : 10; }

bool weighs_half_up(requantization_rule rule) {
    return is_xnnpack(rule) || (is_tflite(rule) && facts_of(rule).fixed_point.last == ties_go::up);
}

fixed_interpolation interpolate_fixed(const resampling_problem &p, int axis, dim_t i) {
    if (is_xnnpack(p.out_stage.rule))
        return interpolate_xnnpack(p, axis, i);
    const dim_t in = p.in[axis], out = p.out[axis];
    constexpr dim_t one = 1024;
    const bool aligned = aligns_corners(p.coordinates) && out > 1;
    const dim_t step = aligned ? (one * (in - 1) + (out - 1) / 2) / (out - 1) : (one * in + out / 2) / out;
    const dim_t position =
        i * step + (p.coordinates == resampling_coordinates::half_pixel ? step / 2 - one / 2 : 0);
    // A rounded step may lead beyond the last element.
    const dim_t low = clamp<dim_t>(position / one, 0, in - 1),
                high = std::min((position + one - 1) / one, in - 1);
    const dim_t weight = position - one * low;
    return {low, high, one - weight, weight};
}

} // namespace octet::impl
