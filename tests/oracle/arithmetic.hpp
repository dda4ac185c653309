#pragma once // SPDX-License-Identifier: Apache-2.0

// Sections 1, 3, 4, 5 and 6 of doc/arithmetic.md, and doc/eltwise.md, a second time: see arithmetic.cpp and
// functions.cpp.

#include <cmath>

#include "oracle/problem.hpp"

namespace octet::oracle {

// ---- 1. terms

std::int32_t wrap(std::int64_t x);
std::int32_t sat(double x);     ///< for an integer x
std::int32_t rne_sat(float x);  ///< NaN is INT32_MIN
std::int32_t rha_sat(double x); ///< NaN is INT32_MIN
std::int32_t srdhm(std::int32_t a, std::int32_t b);
std::int32_t rdp(std::int32_t x, int e);
double lowest(data_type type);
double highest(data_type type);

// ---- 3. rules

bool is_tflite(rule r);
inline bool is_xnnpack(rule r) { return r == rule::xnnpack_f32 || r == rule::xnnpack_rndnu; }
std::int32_t fixed_point(rule r, std::int32_t x, const fixed_point_multiplier &m);
/// TFLite's way with a factor below 0: its magnitude, then the sign.
std::int32_t signed_fixed_point(rule r, std::int32_t x, fixed_point_multiplier m);

/// A value between rule and store: binary32 or s32.
struct value {
    bool is_integer;
    float f;
    std::int32_t i;
};
inline value real(float f) { return {false, f, 0}; }
inline value integer(std::int32_t i) { return {true, 0.f, i}; }
float to_f32(const value &x);
std::int32_t to_s32(const value &x);

rule effective_rule(const problem &p);
/// Rules on an accumulator, at one element of dst: `bias` where there is one, `channel` its output channel.
value requantize(const problem &p, std::int32_t acc, const double *bias, std::size_t channel,
                 const index &at);

/// Scale and zero point per tensor, or what stands for a missing one.
float scale_of(const problem &p, int arg);
std::int32_t zero_point_of(const problem &p, int arg);

// ---- 4. multipliers

fixed_point_multiplier q31(rule r, double m);

// ---- functions of one variable

/// An interval that holds f(x); a point where doc/eltwise.md gives every operation.
struct bounds {
    float low, high;
};
bounds eltwise(algorithm alg, float alpha, float beta, float x);
bool is_exact(algorithm alg, float beta);
float binary_op(algorithm alg, float a, float b);

// ---- 5. and 6.

/// Post-ops and store at one element: [low, high] where the value or a function on the way is an interval.
void finish(const problem &p, const value &low, const value &high, const index &at, std::size_t element,
            expectation &e);
inline void finish(const problem &p, const value &x, const index &at, std::size_t element, expectation &e) {
    finish(p, x, x, at, element, e);
}

// ---- 7. operations of elementwise.cpp and resampling.cpp

inline bool has_scale(const problem &p, int arg) { return p.attr.scales.count(arg) != 0; }

void per_element(const problem &p, expectation &e); ///< eltwise, prelu
void softmax(const problem &p, expectation &e);
void sum(const problem &p, expectation &e);
void concat(const problem &p, expectation &e);
void resampling(const problem &p, expectation &e);

} // namespace octet::oracle
