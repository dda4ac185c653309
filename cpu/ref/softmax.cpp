// Softmax along one axis, in five arithmetics.
//
// TFLite's, in integers. With E = exp(multiplier * (x - max)) in Q0.31:
//   sum = Σ RDP(E, 12) in Q12.19; (rec, nb) = 1 / sum
//   y = RDP(SRDHM(rec, E), nb + 31 - 8) + lowest code; 16 instead of 8 for s16
//
// ONNX Runtime's: exponentials e(x - max), shifted so that they use the range of f32; sum in order;
// y = rne(e * floor(1 / s_dst) / sum) + zp.
//
// LiteRT's: exponentials e(max - x), sum in order; y = rha(e * (1 / (sum * s_dst))) + zp; u8 on x86 by adding
// 1/2 in f32.
//
// LiteRT's of AArch64: exponentials in 1/65535; y = RDP(SRDHM(e, m), s) + zp with (m, s) of 1 / (sum * s_dst).
//
// f32: y = exp(x - max) / Σ exp(x - max), or x - max - ln Σ; also ONNX Runtime's of floats, whose exp and Σ are others.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/fixed_point.hpp"
#include "common/qlinear.hpp"
#include "common/requantize.hpp"
#include "common/softmax.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// The codes of one row.
class code_row {
public:
    code_row(const memory_desc &md, int axis, const void *data, coordinates at)
        : md_(md), axis_(axis), data_(data), at_(at), highest_(int32_min) {
        for (dim_t i = 0; i < md.dims[axis]; i++)
            highest_ = std::max(highest_, (*this)[i]);
    }
    std::int32_t operator[](dim_t i) {
        at_[axis_] = i;
        return load_s32(data_, md_.data_type, plain_offset(md_, at_));
    }
    std::size_t below_highest(dim_t i) { return static_cast<std::size_t>(highest_ - (*this)[i]); }

private:
    const memory_desc &md_;
    const int axis_;
    const void *data_;
    coordinates at_;
    std::int32_t highest_;
};

class tflite_softmax {
public:
    explicit tflite_softmax(const softmax_problem &p) : p_(p), exponentials_(tflite_exponentials(p)) {}

    void row(const void *src, void *dst, coordinates at, const bound_epilogue &) const {
        const dim_t n = p_.src.dims[p_.axis];
        code_row codes(p_.src, p_.axis, src, at);
        std::int32_t sum = 0;
        for (dim_t i = 0; i < n; i++)
            sum = wrapping_add(
                sum, rounding_divide_by_pot(exponentials_[codes.below_highest(i)], softmax_sum_integer_bits));

        const reciprocal r = reciprocal_of(sum, softmax_sum_integer_bits);
        const type_range range = range_of(p_.dst.data_type);
        for (dim_t i = 0; i < n; i++) {
            const std::int32_t product =
                saturating_rounding_doubling_high_mul(r.value, exponentials_[codes.below_highest(i)]);
            const std::int32_t share =
                rounding_divide_by_pot(product, tflite_softmax_shift(p_, r.bits_over_unit));
            at[p_.axis] = i;
            store_s32(dst, p_.dst.data_type, plain_offset(p_.dst, at),
                      clamp(wrapping_add(share, range.low), range.low, range.high));
        }
    }

private:
    const softmax_problem &p_;
    const softmax_table<std::int32_t> exponentials_;
};

class ort_softmax {
public:
    explicit ort_softmax(const softmax_problem &p)
        : p_(p), multiplier_(ort_softmax_multiplier(p)), exponentials_(ort_exponentials(p)) {}

    void row(const void *src, void *dst, coordinates at, const bound_epilogue &) const {
        const dim_t n = p_.src.dims[p_.axis];
        code_row codes(p_.src, p_.axis, src, at);
        const auto exponential = [&](dim_t i) { return exponentials_[codes.below_highest(i)]; };
        float sum = 0.f;
        for (dim_t i = 0; i < n; i++)
            sum += exponential(i);
        const type_range range = range_of(p_.dst.data_type);
        for (dim_t i = 0; i < n; i++) {
            const std::int32_t share = convert_to_s32(exponential(i) * multiplier_ / sum);
            // In a row of few codes it may overflow. x86 converts that to INT32_MIN; u8 takes the low half of
            // its 64 bits, which is 0, and s8 adds the zero point, which wraps.
            const std::int64_t y = p_.dst.data_type == data_type::s8
                                       ? wrapping_add(share, p_.dst_zero_point)
                                       : std::int64_t{share == int32_min ? 0 : share} + p_.dst_zero_point;
            at[p_.axis] = i;
            store_s32(dst, p_.dst.data_type, plain_offset(p_.dst, at),
                      static_cast<std::int32_t>(clamp<std::int64_t>(y, range.low, range.high)));
        }
    }

private:
    const softmax_problem &p_;
    const float multiplier_;
    const softmax_table<float> exponentials_;
};

class litert_softmax {
public:
    explicit litert_softmax(const softmax_problem &p)
        : p_(p), half_(litert_softmax_half(p)), exponentials_(litert_exponentials(p)) {}

    void row(const void *src, void *dst, coordinates at, const bound_epilogue &) const {
        const dim_t n = p_.src.dims[p_.axis];
        code_row codes(p_.src, p_.axis, src, at);
        float sum = 0.f;
        for (dim_t i = 0; i < n; i++)
            sum += exponentials_[codes.below_highest(i)];
        const float reciprocal = 1.f / (sum * p_.dst_scale);
        const type_range range = range_of(p_.dst.data_type);
        for (dim_t i = 0; i < n; i++) {
            const float share = std::min(exponentials_[codes.below_highest(i)] * reciprocal, 65536.f);
            at[p_.axis] = i;
            store_s32(
                dst, p_.dst.data_type, plain_offset(p_.dst, at),
                clamp(static_cast<std::int32_t>(share + half_) + p_.dst_zero_point, range.low, range.high));
        }
    }

private:
    const softmax_problem &p_;
    const float half_;
    const softmax_table<float> exponentials_;
};

class litert_16_bit_softmax {
public:
    explicit litert_16_bit_softmax(const softmax_problem &p)
        : p_(p), exponentials_(litert_16_bit_exponentials(p)) {}

    void row(const void *src, void *dst, coordinates at, const bound_epilogue &) const {
        const dim_t n = p_.src.dims[p_.axis];
        code_row codes(p_.src, p_.axis, src, at);
        std::int32_t sum = 0;
        for (dim_t i = 0; i < n; i++)
            sum += exponentials_[codes.below_highest(i)];
        const fixed_point_multiplier share = litert_16_bit_share(p_, sum);
        const type_range range = range_of(p_.dst.data_type);
        for (dim_t i = 0; i < n; i++) {
            const std::int32_t y = tflite_2step(exponentials_[codes.below_highest(i)], share);
            at[p_.axis] = i;
            store_s32(dst, p_.dst.data_type, plain_offset(p_.dst, at),
                      static_cast<std::int32_t>(
                          clamp<std::int64_t>(std::int64_t{y} + p_.dst_zero_point, range.low, range.high)));
        }
    }

private:
    const softmax_problem &p_;
    const softmax_table<std::int32_t> exponentials_;
};

class f32_softmax {
public:
    explicit f32_softmax(const softmax_problem &p) : p_(p) {}

    void row(const void *src, void *, coordinates at, const bound_epilogue &out) const {
        const dim_t n = p_.src.dims[p_.axis];
        const auto value = [&](dim_t i) {
            at[p_.axis] = i;
            return load_f32(src, p_.src.data_type, plain_offset(p_.src, at));
        };
        float highest = -std::numeric_limits<float>::infinity();
        for (dim_t i = 0; i < n; i++)
            highest = std::max(highest, value(i));
        const float sum =
            p_.sums_in_order ? sum_in_order(n, value, highest) : sum_in_lanes(n, value, highest);
        const float log_of_sum = p_.sums_in_order ? std::log(sum) : eltwise_log(sum);
        const float reciprocal_of_sum = 1.f / sum;
        for (dim_t i = 0; i < n; i++) {
            const float x = value(i) - highest; // also places `at`
            const float y = p_.is_log ? as_stored(x) - log_of_sum : exponential(x) * reciprocal_of_sum;
            out.finish(y * p_.src_scale * output_scale(out, at), at);
        }
    }

private:
    template <typename Value> float sum_in_lanes(dim_t n, const Value &value, float highest) const {
        softmax_lane_sums sums{};
        for (dim_t i = 0; i < n; i++)
            sums[i % softmax_lanes] += exponential(value(i) - highest);
        return sum_of_lanes(p_, sums);
    }
    template <typename Value> float sum_in_order(dim_t n, const Value &value, float highest) const {
        float sum = 0.f;
        for (dim_t i = 0; i < n; i++)
            sum = sum + std::exp(value(i) - highest);
        return sum;
    }
    /// A difference that lies in a dst of 16-bit floats before log of the sum comes.
    float as_stored(float x) const {
        if (!is_small_float(p_.dst.data_type))
            return x;
        std::uint16_t bits = 0;
        store_f32(&bits, p_.dst.data_type, 0, x);
        return load_f32(&bits, p_.dst.data_type, 0);
    }
    float exponential(float x) const { return eltwise(exponential_of(p_), 0.f, 0.f, x); }
    float output_scale(const bound_epilogue &out, const coordinates &at) const {
        return p_.out_stage.output_scales.is_set() ? out.scale_at(at) : 1.f;
    }

    const softmax_problem &p_;
};

template <typename Softmax> void run_rows(const softmax_problem &p, const arguments &args) {
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    void *dst = args.get(OCTET_ARG_DST);
    const bound_epilogue out(p.out_stage, args);
    memory_desc rows = p.src;
    rows.dims[p.axis] = 1;
    const Softmax softmax(p);
    parallel_for(element_count(rows), 1, [&](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            softmax.row(src, dst, coordinates_of(r, rows), out);
    });
}

void run(const softmax_problem &p, const arguments &args) {
    switch (softmax_form_of(p)) {
    case softmax_form::tflite:
        return run_rows<tflite_softmax>(p, args);
    case softmax_form::ort:
        return run_rows<ort_softmax>(p, args);
    case softmax_form::litert:
        return run_rows<litert_softmax>(p, args);
    case softmax_form::litert_16:
        return run_rows<litert_16_bit_softmax>(p, args);
    case softmax_form::f32:
        return run_rows<f32_softmax>(p, args);
    }
}

} // namespace

std::shared_ptr<const kernel> create(const softmax_problem &p) {
    return std::make_shared<reference_kernel<softmax_problem>>(p, run);
}

} // namespace octet::impl::ref
