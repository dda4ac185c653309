// TFLite's integer softmax. With d = x - max over the axis, E = exp(multiplier * d) in Q0.31 for d >=
// diff_min:
//   sum = Σ RDP(E, 12) in Q12.19; (rec, nb) = 1 / sum; y = RDP(SRDHM(rec, E), nb + 31 - 8) + lowest code (16
//   bits for s16)
// Elements below diff_min are the lowest code and not in the sum.

#include <algorithm>

#include "common/element.hpp"
#include "common/fixed_point.hpp"
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

    void row(const void *src, void *dst, coordinates at) const {
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
        return exp_on_negative_values(requantize(p_.rule, diff, p_.multiplier), scaled_diff_integer_bits);
    }

    const softmax_problem &p_;
    const int bits_;
    dim_t diff_min_;
};

void run(const softmax_problem &p, const arguments &args) {
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    void *dst = args.get(OCTET_ARG_DST);
    memory_desc rows = p.src;
    rows.dims[p.axis] = 1;
    const tflite_softmax softmax(p);
    parallel_for(element_count(rows), 1, [&](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            softmax.row(src, dst, coordinates_of(r, rows));
    });
}

} // namespace

std::shared_ptr<const kernel> create(const softmax_problem &p) {
    return std::make_shared<reference_kernel<softmax_problem>>(p, run);
}

} // namespace octet::impl::ref
