// Rows along the last dimension: d = (src - mean) * (1 / sqrt(variance + epsilon)), dst = epilogue( d scaled and
// shifted ). Means are sums over lanes (common/lanes.hpp) divided by the number of elements. Under ort_f32 all is as
// common/normalization.hpp says.
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/normalization.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// Mean of term(accumulator, i) over all i.
template <typename Add> float mean_of(dim_t count, const Add &add) {
    f32_lanes lanes{};
    for (dim_t i = 0; i < count; i++) {
        float &lane = lanes[static_cast<std::size_t>(i % lane_count)];
        lane = add(lane, i);
    }
    return reduce_lanes(lanes, [](float a, float b) { return a + b; }) / static_cast<float>(count);
}

void run(const layer_normalization_problem &p, const arguments &args) {
    const int last = p.src.ndims - 1;
    const dim_t channels = p.src.dims[last];
    const bound_epilogue out(p.out_stage, args);
    const bound_operands operands(p.operands, channels, args);
    const auto *src = args.get<const void>(OCTET_ARG_SRC);
    auto *means = args.get<float>(OCTET_ARG_MEAN), *variances = args.get<float>(OCTET_ARG_VARIANCE);
    memory_desc rows = p.src;
    rows.dims[last] = 1;

    parallel_for(channels == 0 ? 0 : element_count(rows), 1, [&](dim_t begin, dim_t end) {
        for (dim_t row = begin; row < end; row++) {
            coordinates at = coordinates_of(row, rows);
            const dim_t first = plain_offset(p.src, at), stride = p.src.strides[last];
            const auto x = [&](dim_t i) { return load_f32(src, p.src.data_type, first + i * stride); };
            if (is_ort(p)) {
                const row_moments moments = ort_moments(channels, x);
                for (dim_t c = 0; c < channels; c++) {
                    at[static_cast<std::size_t>(last)] = c;
                    out.finish(ort_normalize(x(c), channels, moments, p.epsilon, operands, c), at);
                }
                continue;
            }
            const bool has_stats = p.stats.ndims != 0 && !p.gives_stats;
            const dim_t stat = p.stats.ndims != 0 ? plain_offset(p.stats, at) : 0;
            const float mean =
                has_stats ? means[stat] : mean_of(channels, [&](float lane, dim_t i) { return lane + x(i); });
            const float variance = has_stats ? variances[stat] : mean_of(channels, [&](float lane, dim_t i) {
                const float d = x(i) - mean;
                return std::fma(d, d, lane);
            });
            if (p.gives_stats) {
                means[stat] = mean;
                variances[stat] = variance;
            }
            const float factor = 1.f / std::sqrt(variance + p.epsilon);
            for (dim_t c = 0; c < channels; c++) {
                at[static_cast<std::size_t>(last)] = c;
                out.finish(normalize((x(c) - mean) * factor, operands, c), at);
            }
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const layer_normalization_problem &p) {
    return std::make_shared<reference_kernel<layer_normalization_problem>>(p, run);
}

} // namespace octet::impl::ref
