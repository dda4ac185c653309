// Every + - * / is one f32 operation in the order of the brackets; e^x and logarithm are the C library's.
// Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/gates.hpp"

#include <cmath>
#include <cstddef>

#include "common/eltwise_ort.hpp"
#include "loops/levels.hpp"

namespace octet::loops {
namespace {

using namespace impl::eltwise_constants;

// ---- The forms of sigmoid, tanh and relu

/// c[0] + c[1] x + …, from the highest power down; each step rounds its product and its sum.
template <std::size_t n> inline float rounded_polynomial(float x, const float (&c)[n]) {
    float sum = c[n - 1];
    for (std::size_t i = n - 1; i-- > 0;)
        sum = x * sum + c[i];
    return sum;
}

inline float limited(float x, float limit) { return x < -limit ? -limit : x > limit ? limit : x; }

/// x P(x²) / Q(x²)
inline float tanh_quotient(float x) {
    const float square = x * x;
    return x * rounded_polynomial(square, ort_tanh_odd) / rounded_polynomial(square, ort_tanh_even);
}

inline float positive_part(float x) { return x > 0.f ? x : 0.f; }

inline float sigmoid_by_exp(float x) {
    if (x >= 0.f)
        return 1.f / (1.f + std::exp(-x));
    const float e = std::exp(x);
    return e / (1.f + e);
}
inline float tanh_by_exp(float x) { return 2.f * sigmoid_by_exp(2.f * x) - 1.f; }

struct kernels {
    static float sigmoid(float x) { return impl::eltwise_ort_logistic(x); }
    static float tanh(float x) { return impl::eltwise_ort_tanh(x); }
    static float relu(float x) { return x < 0.f ? 0.f : x; }
};
struct cell_output : kernels {
    static float relu(float x) { return positive_part(x); }
};
struct quotients {
    static float sigmoid(float x) { return 0.5f * (1.f + tanh_quotient(0.5f * limited(x, 20.f))); }
    static float tanh(float x) { return tanh_quotient(limited(x, 10.f)); }
    static float relu(float x) { return positive_part(x); }
};
struct exponentials {
    static float sigmoid(float x) { return sigmoid_by_exp(x); }
    static float tanh(float x) { return tanh_by_exp(x); }
    static float relu(float x) { return positive_part(x); }
};

template <gate_form> struct form_of_gates;
template <> struct form_of_gates<gate_form::kernels> : kernels {};
template <> struct form_of_gates<gate_form::cell_output> : cell_output {};
template <> struct form_of_gates<gate_form::quotients> : quotients {};
template <> struct form_of_gates<gate_form::exponentials> : exponentials {};

// ---- All functions

template <gate_function f, gate_form g> inline float value(float x, float a, float b) {
    using forms = form_of_gates<g>;
    using is = gate_function;
    if constexpr (f == is::affine)
        return a * x + b;
    else if constexpr (f == is::elu)
        return x >= 0.f ? x : a * (std::exp(x) - 1.f);
    else if constexpr (f == is::hard_sigmoid) {
        const float y = positive_part(a * x + b);
        return y < 1.f ? y : 1.f;
    } else if constexpr (f == is::leaky_relu)
        return x >= 0.f ? x : a * x;
    else if constexpr (f == is::relu)
        return forms::relu(x);
    else if constexpr (f == is::scaled_tanh)
        return a * tanh_by_exp(b * x);
    else if constexpr (f == is::sigmoid)
        return forms::sigmoid(x);
    else if constexpr (f == is::softplus)
        return std::log(1.f + std::exp(x));
    else if constexpr (f == is::softsign)
        return x / (1.f + std::abs(x));
    else if constexpr (f == is::tanh)
        return forms::tanh(x);
    else
        return x > a ? x : 0.f;
}

template <gate_function f, gate_form g>
OCTET_LOOP void loop_over(const float *x, float *y, dim_t count, float a, float b) {
    for (dim_t i = 0; i < count; i++)
        y[i] = value<f, g>(x[i], a, b);
}

using gate_code = void (*)(const float *x, float *y, dim_t count, float a, float b);

/// Only three functions have forms; the others have one loop.
template <gate_function f> gate_code loop_of(gate_form form) {
    if constexpr (f == gate_function::relu || f == gate_function::sigmoid || f == gate_function::tanh)
        switch (form) {
        case gate_form::kernels:
            break;
        case gate_form::cell_output:
            return compiled_for_level<loop_over<f, gate_form::cell_output>>();
        case gate_form::quotients:
            return compiled_for_level<loop_over<f, gate_form::quotients>>();
        case gate_form::exponentials:
            return compiled_for_level<loop_over<f, gate_form::exponentials>>();
        }
    return compiled_for_level<loop_over<f, gate_form::kernels>>();
}

gate_code loop_of(gate_function f, gate_form form) {
    using is = gate_function;
    switch (f) {
    case is::affine:
        return loop_of<is::affine>(form);
    case is::elu:
        return loop_of<is::elu>(form);
    case is::hard_sigmoid:
        return loop_of<is::hard_sigmoid>(form);
    case is::leaky_relu:
        return loop_of<is::leaky_relu>(form);
    case is::relu:
        return loop_of<is::relu>(form);
    case is::scaled_tanh:
        return loop_of<is::scaled_tanh>(form);
    case is::sigmoid:
        return loop_of<is::sigmoid>(form);
    case is::softplus:
        return loop_of<is::softplus>(form);
    case is::softsign:
        return loop_of<is::softsign>(form);
    case is::tanh:
        return loop_of<is::tanh>(form);
    case is::thresholded_relu:
        break;
    }
    return loop_of<is::thresholded_relu>(form);
}

} // namespace

gate_loop::gate_loop(const gate_activation &a, gate_form form)
    : loop_(loop_of(a.function, form)), a_(a.a), b_(a.b) {}

} // namespace octet::loops
