// Softmax along one axis, in three arithmetics.
//
// TFLite's, in integers. With d = x - max over the axis, E = exp(multiplier * d) in Q0.31, d >= diff_min:
//   sum = Σ RDP(E, 12) in Q12.19; (rec, nb) = 1 / sum; y = RDP(SRDHM(rec, E), nb + 31 - 8) + lowest code (16
//   bits for s16)
// Elements below diff_min are the lowest code and not in the sum.
//
// ONNX Runtime's: a table of exponentials e(x - max), shifted so that they use the range of f32; sum in
// order; y = rne(e * floor(1 / s_dst) / sum) + zp.
//
// f32: y = exp(x - max) / Σ exp(x - max), or x - max - ln Σ.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/fixed_point.hpp"
#include "common/qlinear.hpp"
#include "common/requantize.hpp"
#include "cpu/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

constexpr int scaled_diff_integer_bits = 5;   // argument of exp: Q5.26
constexpr int accumulation_integer_bits = 12; // sum of exponentials: Q12.19

class tflite_softmax {
public:
    explicit tflite_softmax(const softmax_problem &p)
        : p_(p), bits_(p.dst.data_type == data_type::s16 ? 16 : 8) {
        const dim_t max_scaled = ((dim_t{1} << scaled_diff_integer_bits) - 1)
                                 << (31 - scaled_diff_integer_bits);
        diff_min_ = -(max_scaled >> p.multiplier.shift);
    }

    void row(const void *src, void *dst, coordinates at, const bound_epilogue &) const {
        const dim_t n = p_.src.dims[p_.axis];
        const auto code = [&](dim_t i) {
            at[p_.axis] = i;
            return load_s32(src, p_.src.data_type, plain_offset(p_.src, at));
        };
        std::int32_t highest = int32_min, sum = 0;
        for (dim_t i = 0; i < n; i++)
            highest = std::max(highest, code(i));
        for (dim_t i = 0; i < n; i++)
            if (code(i) - highest >= diff_min_)
                sum = wrapping_add(
                    sum, rounding_divide_by_pot(exponential(code(i) - highest), accumulation_integer_bits));

        const reciprocal r = reciprocal_of(sum, accumulation_integer_bits);
        const type_range range = range_of(p_.dst.data_type);
        for (dim_t i = 0; i < n; i++) {
            const std::int32_t diff = code(i) - highest;
            std::int32_t y = range.low;
            if (diff >= diff_min_) {
                const std::int32_t p = saturating_rounding_doubling_high_mul(r.value, exponential(diff));
                y = clamp(wrapping_add(rounding_divide_by_pot(p, r.bits_over_unit + 31 - bits_), range.low),
                          range.low, range.high);
            }
            store_s32(dst, p_.dst.data_type, plain_offset(p_.dst, at), y);
        }
    }

private:
    std::int32_t exponential(std::int32_t diff) const {
        return exp_on_negative_values(requantize(p_.out_stage.rule, diff, p_.multiplier),
                                      scaled_diff_integer_bits);
    }

    const softmax_problem &p_;
    const int bits_;
    dim_t diff_min_;
};

class ort_softmax {
public:
    explicit ort_softmax(const softmax_problem &p) : p_(p), multiplier_(std::floor(1.f / p.dst_scale)) {
        // Exponentials are scaled so that a row of them still sums below the largest f32, with e^5 to spare.
        const auto length = static_cast<float>(p.src.dims[p.axis]);
        const float log_of_share = std::log(std::numeric_limits<float>::max() / length);
        const double scale = static_cast<double>(p.src_scale);
        const double shift = std::max(0., static_cast<double>(log_of_share) - 5.) / scale;
        for (int i = 0; i < codes; i++)
            exponentials_[i] = static_cast<float>(std::exp((i - (codes - 1) + shift) * scale));
    }

    void row(const void *src, void *dst, coordinates at, const bound_epilogue &) const {
        const dim_t n = p_.src.dims[p_.axis];
        const auto code = [&](dim_t i) {
            at[p_.axis] = i;
            return load_s32(src, p_.src.data_type, plain_offset(p_.src, at));
        };
        std::int32_t highest = int32_min;
        for (dim_t i = 0; i < n; i++)
            highest = std::max(highest, code(i));
        const auto exponential = [&](dim_t i) { return exponentials_[codes - 1 - (highest - code(i))]; };
        float sum = 0.f;
        for (dim_t i = 0; i < n; i++)
            sum += exponential(i);
        const type_range range = range_of(p_.dst.data_type);
        for (dim_t i = 0; i < n; i++) {
            const std::int32_t share = convert_to_s32(exponential(i) * multiplier_ / sum);
            // A row of one or two codes may overflow; of what x86 converts that to, the low byte is stored:
            // 0.
            const std::int64_t y = std::int64_t{share == int32_min ? 0 : share} + p_.dst_zero_point;
            store_s32(dst, p_.dst.data_type, plain_offset(p_.dst, at),
                      static_cast<std::int32_t>(clamp<std::int64_t>(y, range.low, range.high)));
        }
    }

private:
    static constexpr int codes = 256;
    const softmax_problem &p_;
    const float multiplier_;
    float exponentials_[codes];
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
        lane_sums sums{};
        for (dim_t i = 0; i < n; i++)
            sums[i % lanes] += eltwise_exp(value(i) - highest);
        const float sum = sum_of(sums), log_of_sum = eltwise_log(sum), reciprocal_of_sum = 1.f / sum;
        for (dim_t i = 0; i < n; i++) {
            const float x = value(i) - highest; // also places `at`
            const float y = p_.is_log ? x - log_of_sum : eltwise_exp(x) * reciprocal_of_sum;
            out.finish(y * p_.src_scale * output_scale(out, at), at);
        }
    }

private:
    static constexpr dim_t lanes = 16;
    using lane_sums = std::array<float, lanes>;

    /// Halves are added until one lane is left.
    static float sum_of(lane_sums sums) {
        for (dim_t half = lanes / 2; half > 0; half /= 2)
            for (dim_t i = 0; i < half; i++)
                sums[i] += sums[i + half];
        return sums[0];
    }
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
    if (is_tflite(p.out_stage.rule))
        run_rows<tflite_softmax>(p, args);
    else if (p.out_stage.rule == requantization_rule::ort_f32)
        run_rows<ort_softmax>(p, args);
    else
        run_rows<f32_softmax>(p, args);
}

} // namespace

std::shared_ptr<const kernel> create(const softmax_problem &p) {
    return std::make_shared<reference_kernel<softmax_problem>>(p, run);
}

} // namespace octet::impl::ref
