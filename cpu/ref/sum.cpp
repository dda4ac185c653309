// f32: dst = epilogue( scale_0 * src_0 + scale_1 * src_1 + … ), every operation rounded.
// caffe_double_round: dst = epilogue( rha(f32(acc) / 2^shift) ), acc = Σ multiplier_i * (src_i - zp_i).
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/sum_problem.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

class summation {
public:
    summation(const sum_problem &p, const arguments &args) : p_(p) {
        for (std::size_t i = 0; i < p.srcs.size(); i++) {
            srcs_.push_back(args.get<const void>(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i)));
            const std::int32_t *zero_point = p.src_zero_points[i].bind(args);
            zero_points_.push_back(zero_point ? *zero_point : 0);
        }
    }

    float of_reals(const coordinates &at) const {
        float sum = 0.f;
        for (std::size_t i = 0; i < srcs_.size(); i++) {
            const float x = load_f32(srcs_[i], p_.srcs[i].data_type, plain_offset(p_.srcs[i], at));
            const float term = p_.scales[i] == 1.f ? x : p_.scales[i] * x; // a copy keeps a signalling NaN
            sum = i == 0 ? term : lane::add(sum, term);
        }
        return sum;
    }

    float of_codes(const coordinates &at) const {
        std::int64_t acc = 0;
        for (std::size_t i = 0; i < srcs_.size(); i++) {
            const std::int64_t x = load_s32(srcs_[i], p_.srcs[i].data_type, plain_offset(p_.srcs[i], at));
            acc += (x - zero_points_[i]) * p_.multipliers[i].multiplier;
        }
        return round_half_away(static_cast<float>(acc) / std::ldexp(1.f, p_.multipliers[0].shift));
    }

private:
    const sum_problem &p_;
    std::vector<const void *> srcs_;
    std::vector<std::int32_t> zero_points_;
};

void run(const sum_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const summation sum(p, args);
    const bool is_of_codes = !p.multipliers.empty();
    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst))
            out.finish(is_of_codes ? sum.of_codes(at) : sum.of_reals(at), at);
    });
}

} // namespace

std::shared_ptr<const kernel> create(const sum_problem &p) {
    return std::make_shared<reference_kernel<sum_problem>>(p, run);
}

} // namespace octet::impl::ref
