// f32: dst = epilogue( src > 0 ? src : src * weights ).
// tflite rules, d = src - src_zp: dst = epilogue( d >= 0 ? M(d) : M_alpha(d * (weights - weights_zp)) ).
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/prelu_problem.hpp"
#include "common/requantize.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

void run(const prelu_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const void *src = args.get<const void>(OCTET_ARG_SRC), *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
    const std::int32_t *src_zp = p.src_zero_points.bind(args), *weights_zp = p.weights_zero_points.bind(args);
    const requantization_rule rule = p.out_stage.rule;

    const auto f32 = [&](dim_t from, dim_t factor) -> number {
        const float x = load_f32(src, p.src.data_type, from);
        return x > 0.f ? x : lane::mul(x, load_f32(weights, p.weights.data_type, factor));
    };
    const auto fixed_point = [&](dim_t from, dim_t factor) -> number {
        const std::int32_t d = load_s32(src, p.src.data_type, from) - (src_zp ? *src_zp : 0);
        if (d >= 0)
            return requantize(rule, d, p.multiplier);
        const std::int64_t alpha =
            std::int64_t{load_s32(weights, p.weights.data_type, factor)} - (weights_zp ? *weights_zp : 0);
        return requantize(rule, wrap(d * alpha), p.negative_multiplier);
    };

    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst)) {
            const dim_t from = plain_offset(p.src, at), factor = broadcast_offset(p.weights, at);
            out.finish(is_tflite(rule) ? fixed_point(from, factor) : f32(from, factor), at);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const prelu_problem &p) {
    return std::make_shared<reference_kernel<prelu_problem>>(p, run);
}

} // namespace octet::impl::ref
