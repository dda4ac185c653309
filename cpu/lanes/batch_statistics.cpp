// Adds up rows of channels in lanes, finishes mean and variance, and runs batch normalization on them.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/lanes/batch_statistics.hpp"

#include <immintrin.h>

#include <algorithm>

#include "common/lanes.hpp"
#include "common/layout/layout.hpp"
#include "common/text.hpp"
#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/stream/drive.hpp"

namespace octet::impl::lanes {

namespace {

constexpr dim_t width = 8; ///< channels side by side, one vector

/// Sixteen lanes of each of the channels.
struct channel_lanes {
    alignas(32) float values[lane_count][width] = {};

    float sum_of(dim_t channel) const {
        f32_lanes lanes;
        for (dim_t i = 0; i < lane_count; i++)
            lanes[static_cast<std::size_t>(i)] = values[i][channel];
        return reduce_lanes(lanes, [](float a, float b) { return a + b; });
    }
};

/// Positions at one distance.
struct row {
    const float *first;
    dim_t stride, count, index; ///< index: of the first one among all
};

/// Adds values, or squares of their distances from `means`.
OCTET_AVX2 void add(channel_lanes &lanes, const row &r, dim_t channels, dim_t channel_stride,
                    const float *means) {
    alignas(32) float gathered[width] = {};
    const __m256 centre = means ? _mm256_loadu_ps(means) : _mm256_setzero_ps();
    for (dim_t i = 0; i < r.count; i++) {
        const float *x = r.first + i * r.stride;
        const bool is_vector = channels == width && channel_stride == 1;
        for (dim_t c = 0; !is_vector && c < channels; c++)
            gathered[c] = x[c * channel_stride];
        const __m256 v = _mm256_sub_ps(_mm256_loadu_ps(is_vector ? x : gathered), centre);
        float *lane = lanes.values[(r.index + i) % lane_count];
        const __m256 sum = _mm256_load_ps(lane);
        _mm256_store_ps(lane, means ? _mm256_fmadd_ps(v, v, sum) : _mm256_add_ps(sum, v));
    }
}

class batch_statistics_kernel : public kernel {
public:
    batch_statistics_kernel(const batch_normalization_problem &p, std::shared_ptr<const kernel> given)
        : p_(p), given_(std::move(given)) {}

    void execute(const arguments &args) const override {
        const dim_t channels = p_.src.dims[1];
        auto *own = static_cast<float *>(thread_scratch(
            scratch_slot::between_steps, 2 * static_cast<std::size_t>(channels) * sizeof(float)));
        float *means = p_.gives_stats ? args.get<float>(OCTET_ARG_MEAN) : own,
              *variances = p_.gives_stats ? args.get<float>(OCTET_ARG_VARIANCE) : own + channels;
        const auto *src = args.get<const float>(OCTET_ARG_SRC);
        parallel_for(div_up(channels, width), 1, [&](dim_t begin, dim_t end) {
            for (dim_t c = begin * width; c < std::min(end * width, channels); c += width)
                take(src, c, std::min(width, channels - c), means + c, variances + c);
        });
        const arguments with_mean(args, OCTET_ARG_MEAN, means);
        given_->execute(arguments(with_mean, OCTET_ARG_VARIANCE, variances));
    }
    std::size_t size_bytes() const override { return sizeof *this + given_->size_bytes(); }
    std::string plan() const override {
        return text("statistics of ", width, " channels at a time; then ", given_->plan());
    }

private:
    /// The statistics of so many channels from `first` on.
    void take(const float *src, dim_t first, dim_t channels, float *means, float *variances) const {
        channel_lanes sums, squares;
        for_each_row(src, first, [&](const row &r) { add(sums, r, channels, p_.src.strides[1], nullptr); });
        float centre[width] = {};
        const auto count = static_cast<float>(element_count(p_.src) / p_.src.dims[1]);
        for (dim_t c = 0; c < channels; c++)
            means[c] = centre[c] = sums.sum_of(c) / count;
        for_each_row(src, first, [&](const row &r) { add(squares, r, channels, p_.src.strides[1], centre); });
        for (dim_t c = 0; c < channels; c++)
            variances[c] = squares.sum_of(c) / count;
    }

    template <typename Body> void for_each_row(const float *src, dim_t channel, const Body &body) const {
        const int last = p_.src.ndims - 1;
        const bool has_positions = last > 1;
        memory_desc rows = p_.src;
        rows.dims[1] = 1;
        const dim_t count = has_positions ? rows.dims[last] : 1;
        if (has_positions)
            rows.dims[last] = 1;
        for (dim_t i = 0; i < element_count(rows); i++) {
            coordinates at = coordinates_of(i, rows);
            at[1] = channel;
            body({src + plain_offset(p_.src, at), p_.src.strides[last], count, i * count});
        }
    }

    const batch_normalization_problem p_;
    const std::shared_ptr<const kernel> given_;
};

} // namespace

candidate plan(const batch_normalization_problem &p, const machine &m) {
    if (!p.computes_stats)
        return candidate::refused("given statistics");
    if (element_count(p.src) == 0)
        return candidate::refused("an empty tensor");
    batch_normalization_problem given = p;
    given.computes_stats = given.gives_stats = false;
    const candidate rest = stream::plan(given, m);
    if (rest.is_refused())
        return rest;
    return candidate([=] { return std::make_shared<batch_statistics_kernel>(p, rest.make()); });
}

} // namespace octet::impl::lanes
