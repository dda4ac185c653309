// Layer normalization of contiguous rows: two vectors are the sixteen lanes of each sum (common/lanes.hpp).

#include "cpu/lanes/layer_normalization.hpp"

#include <immintrin.h>

#include "common/normalization.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl::lanes {

namespace {

// Asked at levels that have AVX2 and FMA alone; the compiler's default target may not.
#define OCTET_FMA __attribute__((target("avx2,fma")))

constexpr dim_t width = 8; ///< floats of a vector

float sum_of(f32_lanes lanes) {
    return reduce_lanes(lanes, [](float a, float b) { return a + b; });
}

OCTET_FMA float mean_of(const float *x, dim_t n) {
    __m256 low = _mm256_setzero_ps(), high = low;
    dim_t i = 0;
    for (; i + lane_count <= n; i += lane_count) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(x + i));
        high = _mm256_add_ps(high, _mm256_loadu_ps(x + i + width));
    }
    f32_lanes lanes;
    _mm256_storeu_ps(lanes.data(), low);
    _mm256_storeu_ps(lanes.data() + width, high);
    for (; i < n; i++)
        lanes[static_cast<std::size_t>(i % lane_count)] += x[i];
    return sum_of(lanes) / static_cast<float>(n);
}

OCTET_FMA float variance_of(const float *x, dim_t n, float mean) {
    const __m256 means = _mm256_set1_ps(mean);
    __m256 low = _mm256_setzero_ps(), high = low;
    dim_t i = 0;
    for (; i + lane_count <= n; i += lane_count) {
        const __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + i), means),
                     e = _mm256_sub_ps(_mm256_loadu_ps(x + i + width), means);
        low = _mm256_fmadd_ps(d, d, low);
        high = _mm256_fmadd_ps(e, e, high);
    }
    f32_lanes lanes;
    _mm256_storeu_ps(lanes.data(), low);
    _mm256_storeu_ps(lanes.data() + width, high);
    for (; i < n; i++) {
        float &lane = lanes[static_cast<std::size_t>(i % lane_count)];
        lane = std::fma(x[i] - mean, x[i] - mean, lane);
    }
    return sum_of(lanes) / static_cast<float>(n);
}

/// As `normalize` of common/normalization.hpp.
OCTET_FMA void write(const float *x, dim_t n, float mean, float factor, const bound_operands &operands,
                     float *y) {
    const __m256 means = _mm256_set1_ps(mean), factors = _mm256_set1_ps(factor);
    const float *scales = operands.scales(), *shifts = operands.shifts();
    dim_t i = 0;
    for (; i + width <= n; i += width) {
        __m256 d = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), means), factors);
        if (scales && shifts)
            d = _mm256_fmadd_ps(d, _mm256_loadu_ps(scales + i), _mm256_loadu_ps(shifts + i));
        else if (scales)
            d = _mm256_mul_ps(d, _mm256_loadu_ps(scales + i));
        else if (shifts)
            d = _mm256_add_ps(d, _mm256_loadu_ps(shifts + i));
        _mm256_storeu_ps(y + i, d);
    }
    for (; i < n; i++)
        y[i] = normalize((x[i] - mean) * factor, operands, i);
}

/// As `ort_moments` of common/normalization.hpp, of rows that have a vector.
OCTET_FMA row_moments ort_moments_of(const float *x, dim_t n) {
    __m256d sums = _mm256_setzero_pd();
    dim_t i = 0;
    for (; i + 4 <= n; i += 4)
        sums = _mm256_add_pd(sums, _mm256_cvtps_pd(_mm_loadu_ps(x + i)));
    double lane[4];
    _mm256_storeu_pd(lane, sums);
    double sum = (lane[0] + lane[2]) + (lane[1] + lane[3]);
    for (; i < n; i++)
        sum += static_cast<double>(x[i]);
    const auto mean = static_cast<float>(sum / static_cast<double>(n));

    const __m256 means = _mm256_set1_ps(mean);
    __m256 squares = _mm256_setzero_ps();
    for (i = 0; i + ort_vector <= n; i += ort_vector) {
        const __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + i), means);
        squares = _mm256_fmadd_ps(d, d, squares);
    }
    float lanes[ort_vector];
    _mm256_storeu_ps(lanes, squares);
    return {mean, ort_variance(lanes, n, i, mean, [&](dim_t k) { return x[k]; })};
}

class rows_kernel : public kernel {
public:
    explicit rows_kernel(const layer_normalization_problem &p) : p_(p) {}

    void execute(const arguments &args) const override {
        const int last = p_.src.ndims - 1;
        const dim_t n = p_.src.dims[last];
        const bound_operands operands(p_.operands, n, args);
        const auto *src = args.get<const float>(OCTET_ARG_SRC);
        auto *dst = args.get<float>(OCTET_ARG_DST);
        auto *means = args.get<float>(OCTET_ARG_MEAN), *variances = args.get<float>(OCTET_ARG_VARIANCE);
        memory_desc rows = p_.src;
        rows.dims[last] = 1;
        parallel_for(element_count(rows), 1, [&](dim_t begin, dim_t end) {
            for (dim_t row = begin; row < end; row++) {
                const coordinates at = coordinates_of(row, rows);
                const float *x = src + plain_offset(p_.src, at);
                float *y = dst + plain_offset(p_.dst, at);
                if (is_ort(p_)) {
                    ort_row(x, n, operands, y);
                    continue;
                }
                const bool has_stats = p_.stats.ndims != 0 && !p_.gives_stats;
                const dim_t stat = p_.stats.ndims != 0 ? plain_offset(p_.stats, at) : 0;
                const float mean = has_stats ? means[stat] : mean_of(x, n);
                const float variance = has_stats ? variances[stat] : variance_of(x, n, mean);
                if (p_.gives_stats) {
                    means[stat] = mean;
                    variances[stat] = variance;
                }
                write(x, n, mean, 1.f / std::sqrt(variance + p_.epsilon), operands, y);
            }
        });
    }
    std::size_t size_bytes() const override { return sizeof *this; }

private:
    void ort_row(const float *x, dim_t n, const bound_operands &operands, float *y) const {
        if (n >= ort_vector) {
            const row_moments m = ort_moments_of(x, n);
            return write(x, n, m.mean, 1.f / std::sqrt(m.variance + p_.epsilon), operands, y);
        }
        const row_moments m = ort_moments(n, [&](dim_t i) { return x[i]; });
        for (dim_t i = 0; i < n; i++)
            y[i] = ort_normalize(x[i], n, m, p_.epsilon, operands, i);
    }

    const layer_normalization_problem p_;
};

} // namespace

offer plan(const layer_normalization_problem &p, const machine &) {
    const int last = p.src.ndims - 1;
    if (element_count(p.src) == 0)
        return offer::refused("an empty tensor");
    if (!p.out_stage.post_ops.empty())
        return offer::refused("post-ops");
    if (p.src.dims[last] > 1 && (p.src.strides[last] != 1 || p.dst.strides[last] != 1))
        return offer::refused("rows that are not contiguous");
    return offer([p] { return std::make_shared<rows_kernel>(p); });
}

} // namespace octet::impl::lanes
