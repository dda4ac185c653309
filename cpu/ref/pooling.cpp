// max: dst = the largest code of the window inside the image. average: Σ over the window, then the rule
// (octet/pooling.hpp).

#include <algorithm>

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "cpu/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

struct window {
    std::int64_t sum = 0; ///< of raw codes
    std::int32_t highest = int32_min;
    dim_t taps = 0; ///< positions inside the image
};

window gather(const pooling_problem &p, const void *src, dim_t n, dim_t c, dim_t od, dim_t oh, dim_t ow) {
    window result;
    for (dim_t kd = 0; kd < p.kernel[0]; kd++)
        for (dim_t kh = 0; kh < p.kernel[1]; kh++)
            for (dim_t kw = 0; kw < p.kernel[2]; kw++) {
                const dim_t id = od * p.stride[0] + kd - p.pad[0], ih = oh * p.stride[1] + kh - p.pad[1],
                            iw = ow * p.stride[2] + kw - p.pad[2];
                if (id < 0 || id >= p.in[0] || ih < 0 || ih >= p.in[1] || iw < 0 || iw >= p.in[2])
                    continue;
                const coordinates at = spatial_coordinates(p.spatial_ndims, n, c, id, ih, iw);
                const std::int32_t x = load_s32(src, p.src.data_type, plain_offset(p.src, at));
                result.sum += x;
                result.highest = std::max(result.highest, x);
                result.taps++;
            }
    return result;
}

/// Average of raw codes, ties away from code 0.
std::int32_t rounded_average(std::int64_t sum, std::int64_t count) {
    return static_cast<std::int32_t>((sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

void run(const pooling_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    const std::int32_t *src_zps = p.src_zero_points.bind(args);
    const dim_t full_window = p.kernel[0] * p.kernel[1] * p.kernel[2];

    parallel_for(p.mb * p.channels * p.out[0] * p.out[1], 1, [&](dim_t begin, dim_t end) {
        for (dim_t row = begin; row < end; row++) {
            const dim_t oh = row % p.out[1], od = row / p.out[1] % p.out[0];
            const dim_t c = row / (p.out[1] * p.out[0]) % p.channels,
                        n = row / (p.out[1] * p.out[0] * p.channels);
            for (dim_t ow = 0; ow < p.out[2]; ow++) {
                const window w = gather(p, src, n, c, od, oh, ow);
                const coordinates at = spatial_coordinates(p.spatial_ndims, n, c, od, oh, ow);
                const dim_t count = p.alg == algorithm::pooling_avg_include_padding ? full_window : w.taps;
                if (p.alg == algorithm::pooling_max) {
                    out.finish(w.highest, at);
                } else if (p.sum_only) {
                    const std::int32_t zp = src_zps ? src_zps[masked_index(p.src_zero_points.values.mask,
                                                                           p.src.dims, p.src.ndims, {n, c})]
                                                    : 0;
                    out.apply(wrap(w.sum - zp * w.taps), at);
                } else if (is_tflite(p.out_stage.rule)) {
                    out.finish(rounded_average(w.sum, count), at);
                } else {
                    out.finish(static_cast<float>(w.sum) / static_cast<float>(count), at);
                }
            }
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const pooling_problem &p) {
    return std::make_shared<reference_kernel<pooling_problem>>(p, run);
}

} // namespace octet::impl::ref
