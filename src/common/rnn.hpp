#pragma once // SPDX-License-Identifier: Apache-2.0

// Recurrent networks for one element: octet/rnn.hpp.

#include <algorithm>
#include <cmath>

#include "common/eltwise_math.hpp"
#include "common/rnn_problem.hpp"
#include "common/rounding.hpp"

namespace octet::impl {

/// Codes of states.
class state_codes {
public:
    explicit state_codes(const rnn_problem &p)
        : scale_(p.scale), shift_(p.shift), is_signed_(p.src_layer.data_type == data_type::s8) {}

    /// States are never negative as codes, not even signed ones.
    std::int32_t of(float h) const { return std::min(rounded(h, 0.f, 255.f), is_signed_ ? 127 : 255); }
    std::int32_t of_zero() const { return of_first_state(0.f); }
    std::int32_t of_first_state(float h) const {
        return is_signed_ ? rounded(h, -128.f, 127.f) : rounded(h, 0.f, 255.f);
    }
    float value(std::int32_t code) const { return (static_cast<float>(code) - shift_) / scale_; }

    std::int32_t sum(std::int32_t a, std::int32_t b) const {
        return is_signed_ ? std::clamp(a + b, -128, 127) : std::clamp(a + b, 0, 255);
    }
    float value_of_sum(std::int32_t code) const { return (static_cast<float>(code) - 2.f * shift_) / scale_; }

private:
    std::int32_t rounded(float h, float low, float high) const {
        float v = h * scale_ + shift_;
        v = v > low ? v : low;
        v = v < high ? v : high;
        return static_cast<std::int32_t>(std::nearbyint(v));
    }
    float scale_, shift_;
    bool is_signed_;
};

/// The functions of gates.
///@{
inline float logistic(float g) { return eltwise(algorithm::eltwise_logistic, 0.f, 0.f, g); }
inline float tanh(float g) { return eltwise(algorithm::eltwise_tanh, 0.f, 0.f, g); }
///@}

inline float lstm_cell(float i, float f, float candidate, float c) { return std::fma(i, candidate, c * f); }

/// h is the state before.
inline float gru_cell(float update, float candidate, float h) {
    return std::fma(1.f - update, candidate, update * h);
}

} // namespace octet::impl
