// dst(n, c, …) = epilogue( fma(src(n, c, …), a(c), b(c)) ), optionally through a ReLU, with a and b folded
// from statistics, scale and shift. Statistics of the batch are means over all elements of a channel, in
// logical order: sums over lanes (common/lanes.hpp), squares of the distances from the mean by a fused
// multiply-add.
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/normalization.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// Mean of what `add` makes of a lane and an element, over a channel.
template <typename Add>
float mean_of(const batch_normalization_problem &p, const void *src, dim_t channel, const Add &add) {
    memory_desc one = p.src;
    one.dims[1] = 1;
    const dim_t count = element_count(one);
    f32_lanes lanes{};
    for (dim_t i = 0; i < count; i++) {
        coordinates at = coordinates_of(i, one);
        at[1] = channel;
        float &lane = lanes[static_cast<std::size_t>(i % lane_count)];
        lane = add(lane, load_f32(src, p.src.data_type, plain_offset(p.src, at)));
    }
    return reduce_lanes(lanes, [](float a, float b) { return a + b; }) / static_cast<float>(count);
}

void compute_stats(const batch_normalization_problem &p, const void *src, float *means, float *variances) {
    for (dim_t c = 0; c < p.src.dims[1]; c++) {
        const float mean = mean_of(p, src, c, [](float lane, float x) { return lane + x; });
        means[c] = mean;
        variances[c] =
            mean_of(p, src, c, [mean](float lane, float x) { return std::fma(x - mean, x - mean, lane); });
    }
}

void run(const batch_normalization_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const bound_operands operands(p.operands, p.src.dims[1], args);
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    auto *mean = args.get<float>(OCTET_ARG_MEAN), *variance = args.get<float>(OCTET_ARG_VARIANCE);
    std::vector<float> own;
    if (p.computes_stats) {
        own.resize(2 * static_cast<std::size_t>(p.src.dims[1]));
        if (!p.gives_stats) {
            mean = own.data();
            variance = mean + p.src.dims[1];
        }
        compute_stats(p, src, mean, variance);
    }

    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst)) {
            const dim_t c = at[1];
            const folded_normalization f =
                fold_normalization(mean[c], variance[c], p.epsilon, operands.scale(c), operands.shift(c));
            const float x = load_f32(src, p.src.data_type, plain_offset(p.src, at));
            const float y = std::fma(x, f.factor, f.term);
            out.finish(p.has_relu ? eltwise(algorithm::eltwise_relu, 0.f, 0.f, y) : y, at);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const batch_normalization_problem &p) {
    return std::make_shared<reference_kernel<batch_normalization_problem>>(p, run);
}

} // namespace octet::impl::ref
