// Rows are rounded first, then panels of the weights are multiplied by them. Each instruction set has its own code, with the same bytes:
// integers are exact, and of floats only columns are side by side in a vector.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "network/onnx/ops/block_products.hpp"
#include "network/onnx/ops/float_vectors.hpp"
#include "network/onnx/ops/instruction_sets.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::model {
namespace {

constexpr dim_t block_size = block_products::block, panel_columns = block_products::panel;

float larger_of(float a, float b) { return a > b ? a : b; }

} // namespace

/// A panel of the weights and what its columns have; all but `count` and the result are of whole panels.
struct block_panel {
    dim_t blocks, count;
    const std::uint8_t *codes;
    const float *scales, *zeros;
    dim_t next_scales; ///< from the scales and zeros of a block to the next one's
    const float *bias; ///< null: none
};

/// Rounded rows of x, one behind the other, and the first of their results.
struct block_rows {
    const void *codes;
    const float *scales, *sums; ///< of each block; the sum is of its elements as they are after rounding
    float *y;
    dim_t columns; ///< of y
};

struct block_code {
    std::size_t code_bytes; ///< of a rounded element
    const char *name;
    void (*round_row)(const float *x, dim_t inner, void *codes, float *scales, float *sums);
    void (*multiply)(const block_panel &p, block_rows x, dim_t rows);
};

namespace {

namespace blocks_with_avx512 {

#define OCTET_TARGET __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define OCTET_INLINE __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) static inline
struct vec : avx512_floats {
    using avx512_floats::add;
    using integers = __m512i;
    using weights = __m512i; ///< of each column, four neighbours in the reduction
    using code = std::int8_t;
    static constexpr const char *name = "AVX512-VNNI";
    static constexpr int rows = 4, sums = 16; ///< of a tile, and in registers
    OCTET_INLINE reg mul(reg a, reg b) { return _mm512_mul_ps(a, b); }
    OCTET_INLINE reg larger(reg a, reg b) { return _mm512_max_ps(a, b); }
    OCTET_INLINE reg magnitude(reg v) { return _mm512_abs_ps(v); }
    OCTET_INLINE reg to_floats(integers v) { return _mm512_cvtepi32_ps(v); }
    OCTET_INLINE integers no_integers() { return _mm512_setzero_si512(); }
    OCTET_INLINE integers add(integers a, integers b) { return _mm512_add_epi32(a, b); }
    OCTET_INLINE std::int32_t total(integers v) { return _mm512_reduce_add_epi32(v); }
    /// Low bytes of what v rounds to; of what no integer is, 0.
    OCTET_INLINE integers put_codes(reg v, code *codes) {
        const __m512i rounded = _mm512_cvtps_epi32(v);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(codes), _mm512_cvtepi32_epi8(rounded));
        return _mm512_srai_epi32(_mm512_slli_epi32(rounded, 24), 24);
    }
    OCTET_INLINE weights load_weights(const std::uint8_t *w) { return _mm512_loadu_si512(w); }
    OCTET_INLINE integers add_products(integers sum, weights w, const code *x) {
        std::int32_t four;
        std::memcpy(&four, x, sizeof(four));
        return _mm512_dpbusd_epi32(sum, w, _mm512_set1_epi32(four));
    }
};
#include "network/onnx/ops/block_products.inl"
#undef OCTET_TARGET
#undef OCTET_INLINE

} // namespace blocks_with_avx512

namespace blocks_with_avx2 {

// Sums of two products of u8 and s8 can exceed 16 bits, so codes are widened to them: even ones of four, then odd ones.
#define OCTET_TARGET __attribute__((target("avx2,fma")))
#define OCTET_INLINE __attribute__((target("avx2,fma"), always_inline)) static inline
struct vec : avx2_floats {
    using avx2_floats::add;
    using integers = __m256i;
    struct weights {
        __m256i even, odd;
    };
    using code = std::int16_t;
    static constexpr const char *name = "AVX2";
    static constexpr int rows = 2, sums = 8;
    OCTET_INLINE reg mul(reg a, reg b) { return _mm256_mul_ps(a, b); }
    OCTET_INLINE reg larger(reg a, reg b) { return _mm256_max_ps(a, b); }
    OCTET_INLINE reg magnitude(reg v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), v); }
    OCTET_INLINE reg to_floats(integers v) { return _mm256_cvtepi32_ps(v); }
    OCTET_INLINE integers no_integers() { return _mm256_setzero_si256(); }
    OCTET_INLINE integers add(integers a, integers b) { return _mm256_add_epi32(a, b); }
    OCTET_INLINE std::int32_t total(integers v) {
        const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)),
                      two = _mm_add_epi32(four, _mm_srli_si128(four, 8));
        return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_srli_si128(two, 4)));
    }
    OCTET_INLINE integers put_codes(reg v, code *codes) {
        const __m256i signs = _mm256_srai_epi32(_mm256_slli_epi32(_mm256_cvtps_epi32(v), 24), 24);
        const __m256i evens_first =
            _mm256_setr_epi8(0, 1, 8, 9, 4, 5, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, //
                             0, 1, 8, 9, 4, 5, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
        const __m256i fours = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(signs, evens_first), 0x08);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(codes), _mm256_castsi256_si128(fours));
        return signs;
    }
    OCTET_INLINE weights load_weights(const std::uint8_t *w) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
        return {_mm256_and_si256(v, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(v, 8)};
    }
    OCTET_INLINE integers add_products(integers sum, const weights &w, const code *x) {
        std::int32_t even, odd;
        std::memcpy(&even, x, sizeof(even));
        std::memcpy(&odd, x + 2, sizeof(odd));
        return add(sum, add(_mm256_madd_epi16(w.even, _mm256_set1_epi32(even)),
                            _mm256_madd_epi16(w.odd, _mm256_set1_epi32(odd))));
    }
};
#include "network/onnx/ops/block_products.inl"
#undef OCTET_TARGET
#undef OCTET_INLINE

} // namespace blocks_with_avx2

namespace blocks_with_avx_vnni {

#define OCTET_TARGET __attribute__((target("avx2,fma,avxvnni")))
#define OCTET_INLINE __attribute__((target("avx2,fma,avxvnni"), always_inline)) static inline
struct vec : blocks_with_avx2::vec {
    using weights = __m256i;
    using code = std::int8_t;
    static constexpr const char *name = "AVX-VNNI";
    OCTET_INLINE integers put_codes(reg v, code *codes) {
        const __m256i rounded = _mm256_cvtps_epi32(v);
        const __m256i low_bytes =
            _mm256_shuffle_epi8(rounded, _mm256_set1_epi32(0x0c080400)); // of four, as often as fits
        _mm_storel_epi64(
            reinterpret_cast<__m128i *>(codes),
            _mm_unpacklo_epi32(_mm256_castsi256_si128(low_bytes), _mm256_extracti128_si256(low_bytes, 1)));
        return _mm256_srai_epi32(_mm256_slli_epi32(rounded, 24), 24);
    }
    OCTET_INLINE weights load_weights(const std::uint8_t *w) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
    }
    OCTET_INLINE integers add_products(integers sum, weights w, const code *x) {
        std::int32_t four;
        std::memcpy(&four, x, sizeof(four));
        return _mm256_dpbusd_avx_epi32(sum, w, _mm256_set1_epi32(four));
    }
};
#include "network/onnx/ops/block_products.inl"
#undef OCTET_TARGET
#undef OCTET_INLINE

} // namespace blocks_with_avx_vnni

namespace blocks_without_vectors {

#define OCTET_TARGET
struct vec : single_floats {
    using single_floats::add;
    using integers = std::int32_t;
    using weights = const std::uint8_t *;
    using code = std::int8_t;
    static constexpr const char *name = "no vectors";
    static constexpr int rows = 1, sums = 4;
    static reg mul(reg a, reg b) { return a * b; }
    static reg larger(reg a, reg b) { return larger_of(a, b); }
    static reg magnitude(reg v) { return std::fabs(v); }
    static reg to_floats(integers v) { return static_cast<float>(v); }
    static integers no_integers() { return 0; }
    static integers add(integers a, integers b) { return a + b; }
    static std::int32_t total(integers v) { return v; }
    static integers put_codes(reg v, code *codes) {
        constexpr float beyond = 2147483648.f;
        *codes = static_cast<code>(std::fabs(v) < beyond ? static_cast<std::int32_t>(std::nearbyint(v)) : 0);
        return *codes;
    }
    static weights load_weights(const std::uint8_t *w) { return w; }
    static integers add_products(integers sum, weights w, const code *x) {
        for (int i = 0; i < 4; i++)
            sum += w[i] * x[i];
        return sum;
    }
};
#include "network/onnx/ops/block_products.inl"
#undef OCTET_TARGET

} // namespace blocks_without_vectors

const block_code *block_code_in_use() {
    return fastest<const block_code *>({{cpu_isa::ref, &blocks_without_vectors::code},
                                        {cpu_isa::avx2, &blocks_with_avx2::code},
                                        {cpu_isa::avx_vnni, &blocks_with_avx_vnni::code},
                                        {cpu_isa::avx512_vnni, &blocks_with_avx512::code}});
}

} // namespace

struct block_products::rounded_rows {
    std::uint8_t *codes;
    float *scales, *sums;
};

block_products::block_products(dim_t inner, dim_t columns, const std::vector<float> &scales,
                               const std::vector<float> &zeros)
    : code_(block_code_in_use()), inner_(inner), columns_(columns),
      next_scales_(static_cast<dim_t>(scales.size()) > columns ? panels() * panel : 0) {
    const auto padded = [&](const std::vector<float> &values) {
        std::vector<float> result;
        for (auto row = values.begin(); row != values.end(); row += columns) {
            result.insert(result.end(), row, row + columns);
            result.resize(result.size() + static_cast<std::size_t>(panels() * panel - columns));
        }
        return result;
    };
    scales_ = padded(scales);
    zeros_ = padded(zeros);
}

void block_products::pack(const std::uint8_t *codes, std::uint8_t flip) {
    const dim_t panel_bytes = blocks() * block * panel;
    codes_.assign(static_cast<std::size_t>(panels() * panel_bytes), 0);
    for (dim_t n = 0; n < columns_; n += panel) {
        std::uint8_t *const packed = codes_.data() + n / panel * panel_bytes;
        const dim_t count = std::min(panel, columns_ - n);
        for (dim_t k = 0; k < inner_; k++)
            for (dim_t c = 0; c < count; c++)
                packed[k / 4 * panel * 4 + c * 4 + k % 4] =
                    static_cast<std::uint8_t>(codes[k * columns_ + n + c] ^ flip);
    }
}

block_products::rounded_rows block_products::layout(void *bytes, dim_t rows) const {
    auto *const codes = static_cast<std::uint8_t *>(bytes);
    auto *const scales =
        reinterpret_cast<float *>(codes + rows * blocks() * block * static_cast<dim_t>(code_->code_bytes));
    return {codes, scales, scales + rows * blocks()};
}

std::size_t block_products::rounded_bytes(dim_t rows) const {
    return static_cast<std::size_t>(rows * blocks()) *
           (static_cast<std::size_t>(block) * code_->code_bytes + 2 * sizeof(float));
}

void block_products::run(const operands &o, dim_t rows) const {
    constexpr dim_t worth_rounding = 1 << 15, worth = 1 << 18; // elements, and products: some 5 us
    constexpr dim_t rows_at_once = 32;                         // stay in the nearest cache with a panel
    const rounded_rows x = layout(o.rounded, rows);
    const dim_t row_codes = blocks() * block * static_cast<dim_t>(code_->code_bytes);
    parallel_loop(rows, worth_rounding / inner_ + 1, [&](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            code_->round_row(o.x + r * inner_, inner_, x.codes + r * row_codes, x.scales + r * blocks(),
                             x.sums + r * blocks());
    });
    const dim_t parts = (rows + rows_at_once - 1) / rows_at_once;
    const dim_t products = std::min(rows, rows_at_once) * inner_ * panel;
    parallel_loop(panels() * parts, worth / products + 1, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++) {
            const dim_t n = i / parts * panel, r = i % parts * rows_at_once;
            const dim_t count = std::min(panel, columns_ - n);
            float bias[panel] = {};
            if (o.bias)
                std::copy_n(o.bias + n, count, bias);
            const block_panel p{blocks(),
                                count,
                                codes_.data() + n * blocks() * block,
                                scales_.data() + n,
                                zeros_.data() + n,
                                next_scales_,
                                o.bias ? bias : nullptr};
            code_->multiply(p,
                            {x.codes + r * row_codes, x.scales + r * blocks(), x.sums + r * blocks(),
                             o.y + r * columns_ + n, columns_},
                            std::min(rows_at_once, rows - r));
        }
    });
}

const char *block_products::instructions() const { return code_->name; }

} // namespace octet::model
