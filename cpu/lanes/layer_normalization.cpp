// Layer normalization of contiguous rows: two vectors are the sixteen lanes of each sum (common/lanes.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "cpu/lanes/layer_normalization.hpp"

#include <immintrin.h>

#include "common/normalization.hpp"
#include "common/text.hpp"
#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl::lanes {

namespace {

constexpr dim_t width = 8; ///< floats of a vector
/// Rows whose ONNX Runtime moments are computed together: each addition to a sum waits for the one before.
constexpr int rows_at_a_time = 4;

float sum_of(f32_lanes lanes) {
    return reduce_lanes(lanes, [](float a, float b) { return a + b; });
}

OCTET_AVX2 float mean_of(const float *x, dim_t n) {
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

OCTET_AVX2 float variance_of(const float *x, dim_t n, float mean) {
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
OCTET_AVX2 void write(const float *x, dim_t n, float mean, float factor, const bound_operands &operands,
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
template <int rows> OCTET_AVX2 void ort_moments_of(const float *const *x, dim_t n, row_moments *moments) {
    __m256d sums[rows];
    for (int r = 0; r < rows; r++)
        sums[r] = _mm256_setzero_pd();
    const dim_t fours = n / 4 * 4, vectors = n / ort_vector * ort_vector;
    for (dim_t i = 0; i < fours; i += 4)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            sums[r] = _mm256_add_pd(sums[r], _mm256_cvtps_pd(_mm_loadu_ps(x[r] + i)));
    __m256 means[rows], squares[rows];
    for (int r = 0; r < rows; r++) {
        double lane[4];
        _mm256_storeu_pd(lane, sums[r]);
        double sum = (lane[0] + lane[2]) + (lane[1] + lane[3]);
        for (dim_t i = fours; i < n; i++)
            sum += static_cast<double>(x[r][i]);
        moments[r].mean = static_cast<float>(sum / static_cast<double>(n));
        means[r] = _mm256_set1_ps(moments[r].mean);
        squares[r] = _mm256_setzero_ps();
    }
    for (dim_t i = 0; i < vectors; i += ort_vector)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x[r] + i), means[r]);
            squares[r] = _mm256_fmadd_ps(d, d, squares[r]);
        }
    for (int r = 0; r < rows; r++) {
        float lanes[ort_vector];
        _mm256_storeu_ps(lanes, squares[r]);
        moments[r].variance =
            ort_variance(lanes, n, vectors, moments[r].mean, [&](dim_t k) { return x[r][k]; });
    }
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
            if (is_ort(p_)) {
                for (; begin + rows_at_a_time <= end; begin += rows_at_a_time)
                    ort_rows<rows_at_a_time>(src, dst, begin, rows, operands);
                for (; begin < end; begin++)
                    ort_rows<1>(src, dst, begin, rows, operands);
                return;
            }
            for (dim_t row = begin; row < end; row++) {
                const coordinates at = coordinates_of(row, rows);
                const float *x = src + plain_offset(p_.src, at);
                const bool has_stats = p_.stats.ndims != 0 && !p_.gives_stats;
                const dim_t stat = p_.stats.ndims != 0 ? plain_offset(p_.stats, at) : 0;
                const float mean = has_stats ? means[stat] : mean_of(x, n);
                const float variance = has_stats ? variances[stat] : variance_of(x, n, mean);
                if (p_.gives_stats) {
                    means[stat] = mean;
                    variances[stat] = variance;
                }
                write(x, n, mean, 1.f / std::sqrt(variance + p_.epsilon), operands,
                      dst + plain_offset(p_.dst, at));
            }
        });
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override {
        return text(is_ort(p_) ? rows_at_a_time : 1, is_ort(p_) ? " rows" : " row", " at a time");
    }

private:
    /// As many rows from this one on.
    template <int count>
    void ort_rows(const float *src, float *dst, dim_t row, const memory_desc &rows,
                  const bound_operands &operands) const {
        const dim_t n = p_.src.dims[p_.src.ndims - 1];
        const float *x[count];
        float *y[count];
        for (int r = 0; r < count; r++) {
            const coordinates at = coordinates_of(row + r, rows);
            x[r] = src + plain_offset(p_.src, at);
            y[r] = dst + plain_offset(p_.dst, at);
        }
        if (n < ort_vector) {
            for (int r = 0; r < count; r++) {
                const row_moments m = ort_moments(n, [&](dim_t i) { return x[r][i]; });
                for (dim_t i = 0; i < n; i++)
                    y[r][i] = ort_normalize(x[r][i], n, m, p_.epsilon, operands, i);
            }
            return;
        }
        row_moments moments[count];
        ort_moments_of<count>(x, n, moments);
        for (int r = 0; r < count; r++)
            write(x[r], n, moments[r].mean, 1.f / std::sqrt(moments[r].variance + p_.epsilon), operands,
                  y[r]);
    }

    const layer_normalization_problem p_;
};

} // namespace

candidate plan(const layer_normalization_problem &p, const machine &) {
    const int last = p.src.ndims - 1;
    if (element_count(p.src) == 0)
        return candidate::refused("an empty tensor");
    if (!p.out_stage.post_ops.empty())
        return candidate::refused("post-ops");
    if (p.src.dims[last] > 1 && (p.src.strides[last] != 1 || p.dst.strides[last] != 1))
        return candidate::refused("rows that are not contiguous");
    return candidate([p] { return std::make_shared<rows_kernel>(p); });
}

} // namespace octet::impl::lanes
