// Both fits are weighted least squares: codes for a trial scale, then the scale that suits these codes best.
// SPDX-License-Identifier: Apache-2.0
#include "common/ggml_fit.hpp"

#include <algorithm>
#include <cmath>

#include "common/rounding.hpp"

namespace octet::impl {

int nearest_code(float x) { return static_cast<int>(round_to_even(x)); }

namespace {

/// The sums of a fit with a minimum, over the elements with weights w and codes l.
struct affine_sums {
    float l = 0.f, l2 = 0.f, xl = 0.f;
};

class affine_fit {
public:
    explicit affine_fit(const float *x) : x_(x) {
        float squares = 0.f;
        for (int i = 0; i < count; i++)
            squares += x[i] * x[i];
        const float root = std::sqrt(squares / count);
        for (int i = 0; i < count; i++)
            weights_[i] = root + std::fabs(x[i]);
        sum_w_ = weights_[0];
        sum_x_ = sum_w_ * x[0];
        for (int i = 1; i < count; i++) {
            sum_w_ += weights_[i];
            sum_x_ += weights_[i] * x[i];
        }
        lowest_ = std::min(*std::min_element(x, x + count), 0.f);
        highest_ = *std::max_element(x, x + count);
    }

    fitted_group best() const {
        fitted_group best;
        best.minimum = -lowest_;
        if (highest_ == lowest_)
            return best;
        const float inverse = largest_code / (highest_ - lowest_);
        best.scale = 1 / inverse;
        best.codes = codes_for(inverse, lowest_);
        float least = error_of(best.codes, best.scale, lowest_);
        for (int step = 0; step <= 20; step++)
            try_codes(-1.f + 0.1f * static_cast<float>(step) + largest_code, best, least);
        return best;
    }

private:
    static constexpr int count = 32;
    static constexpr float largest_code = 15.f;

    std::array<int, 32> codes_for(float inverse, float minimum) const {
        std::array<int, 32> codes;
        for (int i = 0; i < count; i++)
            codes[i] = std::clamp(nearest_code(inverse * (x_[i] - minimum)), 0, 15);
        return codes;
    }
    float error_of(const std::array<int, 32> &codes, float scale, float minimum) const {
        float error = 0.f;
        for (int i = 0; i < count; i++) {
            const float difference = scale * static_cast<float>(codes[i]) + minimum - x_[i];
            error += weights_[i] * (difference * difference);
        }
        return error;
    }
    affine_sums sums_of(const std::array<int, 32> &codes) const {
        affine_sums s;
        for (int i = 0; i < count; i++) {
            const auto l = static_cast<float>(codes[i]);
            s.l += weights_[i] * l;
            s.l2 += weights_[i] * l * l;
            s.xl += weights_[i] * l * x_[i];
        }
        return s;
    }
    /// Spreads this many codes from the best minimum so far to the largest element, and solves for scale and minimum;
    /// a positive one becomes 0.
    void try_codes(float count_of_codes, fitted_group &best, float &least) const {
        const float from = -best.minimum;
        const std::array<int, 32> codes = codes_for(count_of_codes / (highest_ - from), from);
        const affine_sums s = sums_of(codes);
        const float determinant = sum_w_ * s.l2 - s.l * s.l;
        if (!(determinant > 0.f))
            return;
        float scale = (sum_w_ * s.xl - sum_x_ * s.l) / determinant;
        float minimum = (s.l2 * sum_x_ - s.l * s.xl) / determinant;
        if (minimum > 0.f) {
            minimum = 0.f;
            scale = s.xl / s.l2;
        }
        const float error = error_of(codes, scale, minimum);
        if (error < least) {
            least = error;
            best = {scale, -minimum, codes};
        }
    }

    const float *x_;
    std::array<float, count> weights_;
    float sum_w_, sum_x_, lowest_, highest_;
};

/// The sums of a fit around zero.
struct linear_sums {
    float lx = 0.f, l2 = 0.f;
};
constexpr int linear_count = 16, half_of_codes = 32;

std::array<int, 32> linear_codes(const float *x, float inverse) {
    std::array<int, 32> codes = {};
    for (int i = 0; i < linear_count; i++)
        codes[i] = std::clamp(nearest_code(inverse * x[i]), -half_of_codes, half_of_codes - 1);
    return codes;
}
linear_sums linear_sums_of(const float *x, const std::array<int, 32> &codes) {
    linear_sums s;
    for (int i = 0; i < linear_count; i++) {
        const float weight = x[i] * x[i];
        const auto l = static_cast<float>(codes[i]);
        s.lx += weight * x[i] * l;
        s.l2 += weight * l * l;
    }
    return s;
}

} // namespace

fitted_group fit_with_minimum(const float *x) { return affine_fit(x).best(); }

fitted_group fit_around_zero(const float *x) {
    constexpr float least_magnitude = 1e-15f;
    float largest = 0.f; // the first of largest magnitude, with its sign
    for (int i = 0; i < linear_count; i++)
        if (std::fabs(x[i]) > std::fabs(largest))
            largest = x[i];
    fitted_group best;
    if (std::fabs(largest) < least_magnitude)
        return best;
    float highest = 0.f;
    for (const int step : {0, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
        const float inverse = -(half_of_codes + 0.1f * static_cast<float>(step)) / largest;
        const std::array<int, 32> codes = linear_codes(x, inverse);
        const linear_sums s = linear_sums_of(x, codes);
        if (step == 0 || (s.l2 > 0.f && s.lx * s.lx > highest * s.l2)) {
            best.scale = s.l2 != 0.f ? s.lx / s.l2 : 0.f;
            best.codes = codes;
            highest = best.scale * s.lx;
        }
    }
    for (int i = 0; i < linear_count; i++)
        best.codes[i] += half_of_codes;
    return best;
}

} // namespace octet::impl
