// One function per way to choose parameters, each line by line as its library computes; the table says how codes are
// rounded.
// SPDX-License-Identifier: Apache-2.0
#include "common/source_quantizer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/element.hpp"
#include "common/layout/plain.hpp"
#include "common/names.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

/// Smallest and largest element, and zero.
struct value_range {
    float lo = 0.f, hi = 0.f;
    bool is_finite = true;

    float largest() const { return std::max(hi, -lo); } ///< of zeros +0
};
value_range range_of_values(const float *x, dim_t count) {
    value_range r;
    for (dim_t i = 0; i < count; i++) {
        r.lo = std::min(r.lo, x[i]);
        r.hi = std::max(r.hi, x[i]);
        r.is_finite = r.is_finite && std::isfinite(x[i]);
    }
    return r;
}

struct code_range {
    std::int32_t low, high, middle;
};
/// Symmetric codes have 127 on both sides of the middle.
code_range codes_of(const source_quantization &q) {
    const type_range all = range_of(q.code);
    const std::int32_t middle = q.code == data_type::u8 ? 128 : 0;
    return {q.mode == source_mode::symmetric ? middle - 127 : all.low, all.high, middle};
}

std::int32_t nearest(float x) { return static_cast<std::int32_t>(round_to_even(x)); }
std::int32_t nearest(double x) { return static_cast<std::int32_t>(round_to_even(x)); }

// ---- parameters

/// Below, 127 / a and 255 / d could overflow.
constexpr float least_range = 0x1p-120f;

source_parameters poisoned(const code_range &c) { return {std::nanf(""), 0.f, c.middle}; }

source_parameters dynamic_symmetric(const value_range &r, const code_range &c) {
    const float a = r.largest();
    if (!r.is_finite)
        return poisoned(c);
    if (a < least_range)
        return {1.f, 0.f, c.middle};
    return {a / 127.f, 127.f / a, c.middle};
}

source_parameters dynamic_asymmetric(const value_range &r, const code_range &c) {
    const double lo = r.lo, d = double{r.hi} - lo;
    if (!r.is_finite)
        return poisoned(c);
    if (d < double{least_range})
        return {1.f, 0.f, c.middle};
    return {static_cast<float>(d / 255), static_cast<float>(255 / d), c.low + nearest(-lo * 255 / d)};
}

/// The scale is the reciprocal of a rounded reciprocal.
source_parameters xnnpack(const value_range &r, const code_range &) {
    const float inverse = r.lo == r.hi ? 1.f : 255.f / (r.hi - r.lo);
    const float lo = r.lo * inverse, hi = r.hi * inverse;
    const float z = (-128.f + lo) + (127.f + hi) > 0.f ? -128.f - lo : 127.f - hi;
    return {1.f / inverse, inverse, nearest(clamp(z, -128.f, 127.f))};
}

source_parameters litert_symmetric(const value_range &r, const code_range &) {
    const float a = r.largest();
    return a == 0.f ? source_parameters{} : source_parameters{a / 127.f, 127.f / a, 0};
}

source_parameters litert_asymmetric(const value_range &r, const code_range &) {
    if (r.lo == r.hi)
        return {};
    const double lo = r.lo, hi = r.hi, scale = (hi - lo) / 255;
    const double from_low = -128 - lo / scale, from_high = 127 - hi / scale;
    const double z = 128 + std::fabs(lo / scale) < 127 + std::fabs(hi / scale) ? from_low : from_high;
    const float s = static_cast<float>(scale);
    return {s, 1.f / s, static_cast<std::int32_t>(round_half_away(clamp(z, -128., 127.)))};
}

source_parameters onnxruntime(const value_range &r, const code_range &) {
    const float scale = r.lo == r.hi ? 1.f : (r.hi - r.lo) / 255.f;
    return {scale, 1.f / scale, nearest(clamp(0.f - r.lo / scale, 0.f, 255.f))};
}

/// Scales below the limit are widened to it, and the range with them.
source_parameters qnnpack(const value_range &r, const code_range &) {
    constexpr float limit = 6.1e-5f;
    float lo = r.lo, hi = r.hi;
    float scale = static_cast<float>((double{hi} - double{lo}) / 255);
    if (scale == 0.f || std::isinf(1.f / scale))
        scale = 0.1f;
    if (scale < limit) {
        const float amplification = limit / scale;
        scale = limit;
        const bool has_low = lo != 0.f, has_high = hi != 0.f;
        hi = has_low ? hi * amplification : limit * 255.f;
        lo = !has_low ? lo : has_high ? lo * amplification : -limit * 255.f;
    }
    const double from_low = double{lo} / double{scale}, from_high = double{hi} / double{scale};
    const double z = std::fabs(from_low) < 255 + std::fabs(from_high) ? -from_low : 255 - from_high;
    return {scale, 1.f / scale, nearest(clamp(z, 0., 255.))};
}

source_parameters ggml(const value_range &r, const code_range &) {
    const float d = r.largest() / 127.f;
    return {d, d != 0.f ? 1.f / d : 0.f, 0};
}

source_parameters ggml_avx2(const value_range &r, const code_range &) {
    const float a = r.largest();
    return {a / 127.f, a != 0.f ? 127.f / a : 0.f, 0};
}

// ---- the table

using parameter_function = source_parameters (*)(const value_range &, const code_range &);
using rounding_function = float (*)(float);
constexpr rounding_function even = round_to_even, away = round_half_away;

struct quantizer_facts {
    parameter_function symmetric, asymmetric; ///< null: has none
    bool has_s8, has_u8;
    rounding_function round;
    bool divides;               ///< by the scale, where others multiply by the inverse
    bool adds_zero_point_first; ///< in f32, before the rounding

    parameter_function of(source_mode mode) const {
        return mode == source_mode::symmetric ? symmetric : asymmetric;
    }
    bool has(data_type code) const {
        return (code == data_type::s8 && has_s8) || (code == data_type::u8 && has_u8);
    }
};

// clang-format off
constexpr quantizer_facts table[] = { // in the order of the enumeration
    //                 parameters                              codes                         adds zero
    //                 symmetric          asymmetric           s8     u8     ties   divides  point first
    /* dynamic */     {dynamic_symmetric, dynamic_asymmetric, true,  true,  even,  false,   false},
    /* xnnpack */     {nullptr,           xnnpack,            true,  false, even,  false,   false},
    /* kleidiai */    {nullptr,           xnnpack,            true,  false, away,  false,   false},
    /* litert */      {litert_symmetric,  litert_asymmetric,  true,  false, away,  false,   true},
    /* onnxruntime */ {nullptr,           onnxruntime,        false, true,  even,  true,    false},
    /* qnnpack */     {nullptr,           qnnpack,            false, true,  even,  false,   false},
    /* ggml */        {ggml,              nullptr,            true,  false, away,  false,   false},
    /* ggml_avx2 */   {ggml_avx2,         nullptr,            true,  false, even,  false,   false},
};
// clang-format on
static_assert(std::size(table) == static_cast<std::size_t>(source_quantizer::ggml_avx2) + 1);

const quantizer_facts &facts_of(source_quantizer by) { return table[static_cast<std::size_t>(by)]; }

} // namespace

void check(const source_quantization &q) {
    if (static_cast<std::size_t>(q.by) >= std::size(table))
        throw_invalid("quantizer: ", name_or_number(q.by), ", allowed: the values of source_quantizer");
    if (q.mode != source_mode::symmetric && q.mode != source_mode::asymmetric)
        throw_invalid("quantizer ", to_string(q.by), ": mode ", name_or_number(q.mode),
                      ", allowed: symmetric, asymmetric");
    if (q.span != source_span::row && q.span != source_span::group && q.span != source_span::tensor)
        throw_invalid("quantizer ", to_string(q.by), ": span ", name_or_number(q.span),
                      ", allowed: row, group, tensor");
    const quantizer_facts &facts = facts_of(q.by);
    if (!facts.of(q.mode))
        throw_invalid("quantizer ", to_string(q.by), ": mode ", to_string(q.mode),
                      ", allowed: ", facts.symmetric ? "symmetric" : "asymmetric");
    if (!facts.has(q.code))
        throw_invalid("quantizer ", to_string(q.by), ": codes of type ", to_string(q.code),
                      ", allowed: ", facts.has_s8 ? facts.has_u8 ? "s8, u8" : "s8" : "u8");
}

bool multiplies_and_rounds_to_even(source_quantizer by) {
    const quantizer_facts &facts = facts_of(by);
    return facts.round == even && !facts.divides && !facts.adds_zero_point_first;
}
bool stores_f16_scales(source_quantizer by) {
    return by == source_quantizer::ggml || by == source_quantizer::ggml_avx2;
}

source_parameters parameters_of(const source_quantization &q, const float *x, dim_t count) {
    return facts_of(q.by).of(q.mode)(range_of_values(x, count), codes_of(q));
}

std::int32_t code_of(const source_quantization &q, const source_parameters &p, float x) {
    if (p.inverse == 0.f)
        return p.zero_point;
    const quantizer_facts &facts = facts_of(q.by);
    const code_range c = codes_of(q);
    const float scaled = facts.divides ? x / p.scale : x * p.inverse;
    const auto low = static_cast<float>(c.low), high = static_cast<float>(c.high),
               zero_point = static_cast<float>(p.zero_point);
    const float code = facts.adds_zero_point_first
                           ? clamp(facts.round(zero_point + scaled), low, high)
                           : facts.round(clamp(scaled, low - zero_point, high - zero_point)) + zero_point;
    return static_cast<std::int32_t>(code);
}

void quantize_source(const source_quantization &q, const float *x, dim_t rows, dim_t k, dim_t group,
                     void *codes, source_parameters *parameters) {
    check(q);
    if (group < 1)
        throw_invalid("quantizer ", to_string(q.by), ": groups of ", group,
                      " elements, allowed: 1 and above");
    for (dim_t row = 0; row < rows; row++)
        for (dim_t first = 0; first < k; first += group) {
            const dim_t begin = row * k + first, end = row * k + std::min(first + group, k);
            *parameters = parameters_of(q, x + begin, end - begin);
            for (dim_t i = begin; i < end; i++)
                store_s32(codes, q.code, i, code_of(q, *parameters, x[i]));
            parameters++;
        }
}

} // namespace octet::impl
