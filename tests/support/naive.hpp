#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of the tests of primitives: tensors whose elements are found by the tests' own arithmetic,
// random layouts with gaps, and the last step of every accumulating operation, from an accumulator to the
// stored number, written from the formulas of the rules with exact rounding.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "octet/octet.hpp"
#include "primitives/guarded_memory.hpp"
#include "support/exact_rules.hpp"
#include "support/expect_same.hpp"
#include "support/inputs.hpp"

namespace octet::test {

using dims = memory::dims;

inline const engine cpu(engine::kind::cpu, 0);

inline bool is_integer(data_type type) { return type != data_type::f32; }
inline std::int64_t lowest_code(data_type type) {
    return type == data_type::u8    ? 0
           : type == data_type::s8  ? -128
           : type == data_type::s16 ? -32768
                                    : int32_min;
}
inline std::int64_t highest_code(data_type type) {
    return type == data_type::u8    ? 255
           : type == data_type::s8  ? 127
           : type == data_type::s16 ? 32767
                                    : int32_max;
}

inline dim_t product(const dims &sizes) {
    dim_t count = 1;
    for (const dim_t size : sizes)
        count *= size;
    return count;
}

/// Calls body(at) for all coordinates, the last dimension fastest.
template <typename Body> void for_each(const dims &sizes, const Body &body) {
    dims at(sizes.size(), 0);
    for (dim_t left = product(sizes); left > 0; left--) {
        body(static_cast<const dims &>(at));
        for (std::size_t d = at.size(); d-- > 0;) {
            if (++at[d] < sizes[d])
                break;
            at[d] = 0;
        }
    }
}

/// Index of `at` among the values of a mask: row-major over the masked dimensions.
inline std::size_t masked_index(int mask, const dims &sizes, const dims &at) {
    dim_t index = 0;
    for (std::size_t d = 0; d < at.size(); d++)
        if (mask >> d & 1)
            index = index * sizes[d] + at[d];
    return static_cast<std::size_t>(index);
}
inline std::size_t masked_count(int mask, const dims &sizes) {
    dim_t count = 1;
    for (std::size_t d = 0; d < sizes.size(); d++)
        count *= mask >> d & 1 ? sizes[d] : 1;
    return static_cast<std::size_t>(count);
}

inline std::size_t offset_of(const memory::desc &md, const dims &at) {
    dim_t offset = md.data.offset0;
    for (std::size_t d = 0; d < at.size(); d++)
        offset += at[d] * md.data.strides[d];
    return static_cast<std::size_t>(offset);
}

/// The element as a number; every type fits.
inline double element(const memory::desc &md, const void *base, const dims &at) {
    const std::size_t offset = offset_of(md, at);
    const auto read = [&](auto value) {
        std::memcpy(&value, static_cast<const char *>(base) + offset * sizeof value, sizeof value);
        return static_cast<double>(value);
    };
    switch (md.data_type()) {
    case data_type::u8:
        return read(std::uint8_t());
    case data_type::s8:
        return read(std::int8_t());
    case data_type::s16:
        return read(std::int16_t());
    case data_type::s32:
        return read(std::int32_t());
    default:
        return read(float());
    }
}

/// Strides in any order of dimensions, now and then with gaps, now and then as a part of a larger tensor.
inline memory::desc random_layout(inputs &in, const dims &sizes, data_type type) {
    dims whole = sizes, offsets(sizes.size(), 0), strides(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); d++)
        if (in.one_in(6)) {
            offsets[d] = in.between(0, 2);
            whole[d] += offsets[d] + in.between(0, 2);
        }
    std::vector<std::size_t> order(sizes.size());
    for (std::size_t d = 0; d < order.size(); d++) {
        order[d] = d;
        std::swap(order[d], order[static_cast<std::size_t>(in.between(0, static_cast<std::int64_t>(d)))]);
    }
    dim_t stride = 1;
    for (const std::size_t d : order) {
        strides[d] = stride;
        stride = stride * std::max<dim_t>(whole[d], 1) + (in.one_in(6) ? in.between(1, 3) : 0);
    }
    return memory::desc(whole, type, strides).submemory_desc(sizes, offsets);
}

/// Channels-last, row-major, or anything.
inline memory::desc any_layout(inputs &in, const dims &sizes, data_type type) {
    if (in.one_in(3))
        return memory::desc(sizes, type, dims{});
    if (in.one_in(2) && sizes.size() >= 3 && sizes.size() <= 5) {
        constexpr format_tag channels_last[] = {format_tag::nwc, format_tag::nhwc, format_tag::ndhwc};
        return memory::desc(sizes, type, channels_last[sizes.size() - 3]);
    }
    return random_layout(in, sizes, type);
}

/// Codes over the whole range, sometimes only its ends; s32 and f32 of any magnitude up to 2^14.
inline memory random_memory(inputs &in, const memory::desc &md) {
    const memory m(md, cpu);
    auto *bytes = m.map_data<std::uint8_t>();
    const bool only_ends = in.one_in(6);
    if (is_integer(md.data_type()) && memory::data_type_size(md.data_type()) < 4) {
        for (std::size_t i = 0; i < md.get_size(); i++)
            bytes[i] = static_cast<std::uint8_t>(
                only_ends ? (in.one_in(2) ? lowest_code(md.data_type()) : highest_code(md.data_type()))
                          : in.between(0, 255));
        return m;
    }
    for (std::size_t i = 0; i + 4 <= md.get_size(); i += 4) {
        const std::int32_t code = in.s32() >> in.between(17, 31);
        const float real = static_cast<float>(code) / 8;
        std::memcpy(bytes + i, is_integer(md.data_type()) ? static_cast<const void *>(&code) : &real, 4);
    }
    return m;
}

// ---- floats, one rounding per operation: a binary64 operation on binary32 operands, rounded once more, is
// exact

inline float f32(double x) { return static_cast<float>(x); }
inline float add_f32(float a, float b) { return f32(static_cast<double>(a) + static_cast<double>(b)); }
inline float multiply_f32(float a, float b) { return f32(static_cast<double>(a) * static_cast<double>(b)); }

/// Nearest integer, ties to even; exact for |x| < 2^40.
inline double to_even(float x) {
    const double floor = std::floor(static_cast<double>(x)), rest = static_cast<double>(x) - floor;
    const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(floor, 2.) != 0);
    return up ? floor + 1 : floor;
}
/// Saturation, then rounding; s32 ends at the largest float below 2^31.
inline double saturate_and_round(float x, data_type type) {
    const float low = f32(static_cast<double>(lowest_code(type)));
    const float high = type == data_type::s32 ? 2147483520.f : f32(static_cast<double>(highest_code(type)));
    return to_even(x < low ? low : x > high ? high : x);
}

/// Values for a mask: random per index.
template <typename T> struct masked {
    int mask = 0;
    std::vector<T> values;
    bool is_set() const { return !values.empty(); }
    T at(const dims &sizes, const dims &position, T otherwise) const {
        return is_set() ? values[masked_index(mask, sizes, position)] : otherwise;
    }
};

/// A random numeric contract for a destination: sets the attribute, and says what is stored.
class output_stage {
public:
    struct target {
        memory::desc dst;
        int channel_dim;          ///< dimension of dst
        int weights_channel_mask; ///< mask over weights
        bool scales_src_first;    ///< f32_v3: (acc * s_src) * s_weights
        dim_t reduction;          ///< terms of a sum
    };

    output_stage(inputs &in, const target &t) : t_(t), dst_(t.dst.dims()) {
        constexpr requantization_rule rules[] = {requantization_rule::none,
                                                 requantization_rule::f32,
                                                 requantization_rule::f32,
                                                 requantization_rule::f32_v3,
                                                 requantization_rule::ort_f32,
                                                 requantization_rule::tflite_2step,
                                                 requantization_rule::tflite_2step,
                                                 requantization_rule::tflite_single_rounding,
                                                 requantization_rule::tflite_1step,
                                                 requantization_rule::caffe2_2step,
                                                 requantization_rule::gemmlowp_fixedpoint,
                                                 requantization_rule::gemmlowp_fixedpoint_exponent,
                                                 requantization_rule::gemmlowp_legacy_scale,
                                                 requantization_rule::rounded_shift,
                                                 requantization_rule::qnnpack_avgpool,
                                                 requantization_rule::ev_rte15};
        rule_ = rules[in.between(0, std::size(rules) - 1)];
        if (rule_ == requantization_rule::ort_f32 && t.dst.data_type() == data_type::s32)
            rule_ = requantization_rule::f32;
        choose_factors(in);
        const bool has_zero_point = is_integer(t.dst.data_type()) || is_float();
        if (has_zero_point && in.one_in(2)) {
            zero_points_.mask = in.one_in(3) ? 1 << t.channel_dim : 0;
            for (std::size_t i = 0; i < masked_count(zero_points_.mask, dst_); i++)
                zero_points_.values.push_back(static_cast<std::int32_t>(in.between(-140, 140)));
        }
    }

    /// The type of bias that the rule allows.
    data_type random_bias_type(inputs &in) const {
        constexpr data_type types[] = {data_type::f32, data_type::s32, data_type::s8, data_type::u8};
        return adds_real_bias() ? types[in.between(0, 3)] : data_type::s32;
    }

    primitive_attr attr() const {
        primitive_attr a;
        a.set_requantization(rule_);
        if (multipliers_.is_set())
            a.set_requantization(rule_, multipliers_.mask, multipliers_.values);
        if (rule_ == requantization_rule::f32_v3) {
            a.set_scales(OCTET_ARG_SRC, 0, {src_scale_});
            a.set_scales(OCTET_ARG_WEIGHTS, scales_.mask ? t_.weights_channel_mask : 0, scales_.values);
            if (dst_scale_ != 1)
                a.set_scales(OCTET_ARG_DST, 0, {dst_scale_});
        } else if (scales_.is_set()) {
            a.set_output_scales(scales_.mask, scales_.values);
        }
        if (zero_points_.is_set())
            a.set_zero_points(OCTET_ARG_DST, zero_points_.mask, zero_points_.values);
        return a;
    }

    /// Returns the number that is stored for an accumulator, wrapped to 32 bits here, and a bias (0 without
    /// one).
    double stored(std::int64_t sum, double bias, const dims &at) const {
        const data_type type = t_.dst.data_type();
        std::int32_t acc = wrapped(sum);
        if (!adds_real_bias())
            acc = wrapped(wide{acc} + static_cast<std::int32_t>(bias));
        const std::int32_t zp = zero_points_.at(dst_, at, 0);

        if (!is_float()) {
            const std::int32_t x =
                multipliers_.is_set() ? exact::requantize(rule_, acc, multipliers_.at(dst_, at, {})) : acc;
            if (type == data_type::f32)
                return f32(x);
            return std::clamp<double>(static_cast<double>(x) + zp, static_cast<double>(lowest_code(type)),
                                      static_cast<double>(highest_code(type)));
        }
        const float x = scaled(acc, f32(bias), at);
        if (rule_ == requantization_rule::ort_f32 && is_integer(type)) {
            const double low = static_cast<double>(lowest_code(type) - zp),
                         high = static_cast<double>(highest_code(type) - zp);
            return to_even(f32(std::clamp<double>(x, low, high))) + zp;
        }
        const float y = zero_points_.is_set() ? add_f32(x, static_cast<float>(zp)) : x;
        return is_integer(type) ? saturate_and_round(y, type) : y;
    }

    requantization_rule rule() const { return rule_; }
    std::string text() const { return std::string(to_string(rule_)) + " to " + t_.dst.to_string(); }

private:
    bool adds_real_bias() const {
        return rule_ == requantization_rule::f32 || rule_ == requantization_rule::f32_v3;
    }
    bool is_float() const { return adds_real_bias() || rule_ == requantization_rule::ort_f32; }

    void choose_factors(inputs &in) {
        if (rule_ == requantization_rule::none)
            return;
        const bool f32_v3 = rule_ == requantization_rule::f32_v3;
        int mask = in.one_in(2) ? 1 << t_.channel_dim : 0;
        if (!f32_v3 && in.one_in(8))
            mask = static_cast<int>(in.between(0, (1 << dst_.size()) - 1)); // any dimensions of dst
        const auto count = masked_count(mask, dst_);
        const double typical = 0.02 / std::sqrt(static_cast<double>(std::max<dim_t>(t_.reduction, 1)));
        const auto factor = [&] {
            return std::min(typical * static_cast<double>(in.between(1, 100)) / 10, 0.49);
        };
        if (is_float()) {
            scales_.mask = mask;
            for (std::size_t i = 0; i < count; i++)
                scales_.values.push_back(f32(factor()) * (f32_v3 || in.one_in(2) ? 1.f : -1.f));
            src_scale_ = f32_v3 ? 0.37f : 1.f;
            dst_scale_ = f32_v3 && in.one_in(2) ? 0.7f : 1.f;
            return;
        }
        multipliers_.mask = mask;
        for (std::size_t i = 0; i < count; i++)
            multipliers_.values.push_back(
                rule_ == requantization_rule::gemmlowp_legacy_scale
                    ? fixed_point_multiplier{static_cast<std::int32_t>(in.between(1, 3000)),
                                             static_cast<std::int32_t>(in.between(10, 24)),
                                             static_cast<std::int32_t>(in.between(-300, 300))}
                    : from_double(rule_, factor()));
    }

    float scaled(std::int32_t acc, float bias, const dims &at) const {
        const float scale = scales_.at(dst_, at, 1.f), x = f32(acc);
        if (rule_ == requantization_rule::ort_f32)
            return multiply_f32(x, scale);
        if (rule_ == requantization_rule::f32)
            return multiply_f32(add_f32(x, bias), scale);
        const float y = t_.scales_src_first ? multiply_f32(multiply_f32(x, src_scale_), scale)
                                            : multiply_f32(x, multiply_f32(src_scale_, scale));
        const float z = add_f32(y, bias);
        return dst_scale_ == 1 ? z : multiply_f32(z, f32(1 / static_cast<double>(dst_scale_)));
    }

    target t_;
    dims dst_;
    requantization_rule rule_ = requantization_rule::none;
    masked<fixed_point_multiplier> multipliers_;
    masked<float> scales_;
    float src_scale_ = 1, dst_scale_ = 1;
    masked<std::int32_t> zero_points_;
};

/// Zero points for a mask out of `masks`, or none.
inline masked<std::int32_t> random_zero_points(inputs &in, const memory::desc &md,
                                               std::initializer_list<int> masks) {
    masked<std::int32_t> z;
    if (in.one_in(2))
        return z;
    z.mask = masks.begin()[in.between(0, static_cast<std::int64_t>(masks.size()) - 1)];
    const std::int64_t beyond = in.one_in(6) ? 1000 : 0; // a zero point need not be a code
    for (std::size_t i = 0; i < masked_count(z.mask, md.dims()); i++)
        z.values.push_back(static_cast<std::int32_t>(
            in.between(lowest_code(md.data_type()) - beyond, highest_code(md.data_type()) + beyond)));
    return z;
}
inline void set_zero_points(primitive_attr &attr, int arg, const masked<std::int32_t> &z) {
    if (z.is_set())
        attr.set_zero_points(arg, z.mask, z.values);
}

/// Executes with every buffer at the edge of an unmapped page, for both edges and with and without a cap at
/// the reference, and compares each element of dst with `expected(at)` and each byte between elements with
/// what it was.
inline void expect_execution(const std::function<primitive()> &make,
                             const std::unordered_map<int, memory> &args,
                             const std::function<double(const dims &at)> &expected, const std::string &what) {
    const memory &dst = args.at(OCTET_ARG_DST);
    const memory::desc md = dst.get_desc();
    for (const cpu_isa cap : {cpu_isa::ref, cpu_isa::all})
        for (const auto edge : {guarded_memory::edge::end, guarded_memory::edge::start}) {
            set_max_cpu_isa(cap);
            std::vector<std::unique_ptr<guarded_memory>> buffers;
            std::unordered_map<int, memory> guarded;
            for (const auto &[arg, m] : args) {
                buffers.push_back(std::make_unique<guarded_memory>(m.get_desc(), cpu, edge));
                buffers.back()->copy_from(m);
                guarded[arg] = buffers.back()->get();
            }
            make().execute(stream(cpu), guarded);
            set_max_cpu_isa(cpu_isa::all);

            const auto *result = guarded.at(OCTET_ARG_DST).map_data<const std::uint8_t>();
            std::vector<bool> is_element(md.get_size(), false);
            const std::size_t bytes = memory::data_type_size(md.data_type());
            for_each(md.dims(), [&](const dims &at) {
                std::string position;
                for (const dim_t i : at)
                    position += (position.empty() ? "" : ", ") + std::to_string(i);
                const double wanted = is_integer(md.data_type()) ? expected(at) + 0. : expected(at); // no -0
                expect_same(element(md, result, at), wanted, what, " at (", position, ")");
                for (std::size_t b = 0; b < bytes; b++)
                    is_element[offset_of(md, at) * bytes + b] = true;
            });
            const auto *before = dst.map_data<const std::uint8_t>();
            for (std::size_t i = 0; i < md.get_size(); i++)
                if (!is_element[i])
                    expect_same(int{result[i]}, int{before[i]}, what, ": byte ", i, " between elements");
        }
}

} // namespace octet::test
