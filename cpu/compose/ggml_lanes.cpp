// Codes of both sides are widened to words in every run; a result has one vector of sums.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/ggml_lanes.hpp"

#include <algorithm>

#include <immintrin.h>

#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/text.hpp"
#include "cpu/group_products/drive.hpp"
#include "cpu/group_products/quantize.hpp"
#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl::ggml_lanes {

namespace {

constexpr dim_t group_length = 32, elements_of_range = 32768; ///< at least

using words = std::int16_t;

OCTET_AVX2_INLINE __m256i sums_of_pairs(const words *x, const words *w) {
    return _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(x)),
                             _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w)));
}

/// A row and a column with their scales, {groups}; those of the columns lie `stride` apart.
struct lane_operands {
    const words *x, *w;
    const source_parameters *source;
    const float *scales;
    dim_t groups, stride;
};

OCTET_AVX2 float sum_of_lanes(const lane_operands &o) {
    __m256 lanes = _mm256_setzero_ps();
    for (dim_t g = 0; g < o.groups; g++) {
        const words *x = o.x + g * group_length, *w = o.w + g * group_length;
        const __m256i halves = _mm256_hadd_epi32(sums_of_pairs(x, w), sums_of_pairs(x + 16, w + 16));
        const __m256 sums = _mm256_cvtepi32_ps(_mm256_permute4x64_epi64(halves, 0xd8)); // 0, 2, 1, 3
        lanes = _mm256_fmadd_ps(_mm256_set1_ps(o.scales[g * o.stride] * o.source[g].scale), sums, lanes);
    }
    const __m128 four = _mm_add_ps(_mm256_extractf128_ps(lanes, 1), _mm256_castps256_ps128(lanes));
    alignas(16) float a[4];
    _mm_store_ps(a, four);
    return (a[0] + a[2]) + (a[1] + a[3]);
}

class lanes_kernel : public kernel {
public:
    lanes_kernel(const dynamic_matmul_problem &p, instruction_set isa)
        : p_(p), operation_(text(p.operation, ": execute")), isa_(isa) {}

    void execute(const arguments &args) const override {
        const dim_t rows = p_.rows(), k = p_.k(), n = p_.n(), groups = p_.groups();
        if (rows == 0)
            return;
        auto *scales = scratch_of<float>(scratch_slot::column_scales, groups * n);
        p_.scales.bind(args, groups, n, scales);
        check_scales(operation_.c_str(), "scales of weights", scales, static_cast<std::size_t>(groups * n),
                     scale_signs::any);
        auto *w = scratch_of<words>(scratch_slot::scaled_weights, n * k);
        widen_weights(args, w);
        auto *codes = scratch_of<std::uint8_t>(scratch_slot::source_codes, rows * k);
        auto *parameters = scratch_of<source_parameters>(scratch_slot::source_parameters, rows * groups);
        quantize_rows(p_, isa_, args.get<const void>(OCTET_ARG_SRC), codes, parameters);
        auto *x = scratch_of<words>(scratch_slot::source_rows, rows * k);
        for (dim_t i = 0; i < rows * k; i++)
            x[i] = static_cast<words>(load_s32(codes, p_.source.code, i));
        const float *bias =
            p_.bias.ndims == 0 ? nullptr : args.get<const float>(OCTET_ARG_BIAS) + p_.bias.offset0;
        auto *y = args.get<float>(OCTET_ARG_DST) + p_.dst.offset0;
        const dim_t stride = p_.dst.strides[p_.dst.ndims - 2];
        parallel_for(rows * n, 1 + elements_of_range / k, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t r = i / n, c = i % n;
                y[r * stride + c] =
                    sum_of_lanes({x + r * k, w + c * k, parameters + r * groups, scales + c, groups, n}) +
                    (bias ? bias[c] : 0.f); // absent, it is added all the same
            }
        });
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override {
        return text(p_.source_text(), ", combined as ", to_string(p_.order),
                    ", codes widened to words in every run");
    }

private:
    /// {n, k} codes less their zero points.
    void widen_weights(const arguments &args, words *to) const {
        const memory_desc &md = p_.weights;
        const dim_t k = p_.k(), n = p_.n(), groups = p_.groups();
        auto *zero_points = scratch_of<float>(scratch_slot::column_sums, groups * n);
        std::fill_n(zero_points, groups * n, 0.f);
        if (p_.zero_points.is_set) {
            p_.zero_points.bind(args, groups, n, zero_points);
            check_weight_zero_points(operation_.c_str(), "zero points of weights", zero_points,
                                     static_cast<std::size_t>(groups * n), md.data_type);
        }
        const void *codes = args.get<const void>(OCTET_ARG_WEIGHTS);
        const dim_t of_column = md.strides[md.ndims - 1], of_k = md.strides[md.ndims - 2];
        const bool is_shared = shares_bytes(md.data_type);
        parallel_for(n, 1 + elements_of_range / k, [&](dim_t begin, dim_t end) {
            for (dim_t c = begin; c < end; c++)
                for (dim_t i = 0; i < k; i++) {
                    const dim_t at = md.offset0 + c * of_column + i * of_k;
                    const int code =
                        is_shared ? load_shared(codes, md.data_type, at) : load_s32(codes, md.data_type, at);
                    to[c * k + i] = static_cast<words>(
                        code - static_cast<std::int32_t>(zero_points[i / group_length * n + c]));
                }
        });
    }

    const dynamic_matmul_problem p_;
    const std::string operation_;
    const instruction_set isa_;
};

} // namespace

candidate plan(const dynamic_matmul_problem &p, const machine &m) {
    if (p.order != combination::ggml_avx2)
        return candidate::refused(text("combination ", to_string(p.order)));
    if (!m.isa.has_vectors())
        return candidate::refused("a level without vectors");
    if (p.weights.format_kind != format_kind::plain)
        return candidate::refused(text("weights are ", memory::desc(p.weights).to_string()));
    return groups::in_floats(p, m, [](const dynamic_matmul_problem &floats, const machine &here) {
        return candidate([=] { return std::make_shared<lanes_kernel>(floats, here.isa); });
    });
}

} // namespace octet::impl::ggml_lanes
