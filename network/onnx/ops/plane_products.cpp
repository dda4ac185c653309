// Tiles of a product: some rows of the weights times some vectors of columns, in registers. Each instruction set has its own.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/plane_products.hpp"

#include <algorithm>

#include "network/onnx/ops/float_vectors.hpp"
#include "network/onnx/ops/instruction_sets.hpp"

namespace octet::model {
namespace {

constexpr int tile_vectors = 3;

} // namespace

/// Some columns of all rows of the result, in one block of the reduction.
struct plane_tile {
    dim_t outputs, weights_row, weights_step, result_row;
    const dim_t *rows, *rows_end;
    const column_vector *columns;
    const float *weights, *source;
    const float *before, *bias; ///< null: nothing comes before the sum, or behind it
    float *result;
};

struct tile_code {
    dim_t width;
    bool divides_loads;
    void (*multiply)(const plane_tile &t, dim_t vectors);
};

namespace {
namespace with_avx512 {

#define OCTET_TARGET __attribute__((target("avx512f")))
#define OCTET_INLINE __attribute__((target("avx512f"), always_inline)) static inline
struct vec : avx512_floats {
    using avx512_floats::load;
    using avx512_floats::store;
    using mask = __mmask16;
    static constexpr int rows = 8;              ///< of a tile
    static constexpr bool divides_loads = true; ///< into two, at no cost: masks have registers of their own
    OCTET_INLINE mask first(dim_t count) { return static_cast<mask>((1u << count) - 1); }
    /// Lanes of `firsts` from x, others of `all` from y.
    OCTET_INLINE reg load(const float *x, mask firsts, const float *y, mask all) {
        return _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps(all, y), firsts, x);
    }
    OCTET_INLINE void store(float *y, reg v, mask m) { _mm512_mask_storeu_ps(y, m, v); }
};
#include "network/onnx/ops/plane_products.inl"
#undef OCTET_TARGET
#undef OCTET_INLINE

} // namespace with_avx512

namespace with_avx2 {

#define OCTET_TARGET __attribute__((target("avx2,fma")))
#define OCTET_INLINE __attribute__((target("avx2,fma"), always_inline)) static inline
struct vec : avx2_floats {
    using avx2_floats::load;
    using avx2_floats::store;
    using mask = __m256i;
    static constexpr int rows = 4;
    static constexpr bool divides_loads = false;
    OCTET_INLINE reg load(const float *x, mask firsts, const float *, mask) {
        return _mm256_maskload_ps(x, firsts);
    }
    OCTET_INLINE mask first(dim_t count) {
        const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
    }
    OCTET_INLINE void store(float *y, reg v, mask m) { _mm256_maskstore_ps(y, m, v); }
};
#include "network/onnx/ops/plane_products.inl"
#undef OCTET_TARGET
#undef OCTET_INLINE

} // namespace with_avx2

namespace without_vectors {

#define OCTET_TARGET
struct vec : single_floats {
    using single_floats::load;
    using single_floats::store;
    using mask = bool;
    static constexpr int rows = 4;
    static constexpr bool divides_loads = false;
    static mask first(dim_t count) { return count > 0; }
    static reg load(const float *x, mask, const float *, mask) { return *x; }
    static void store(float *y, reg v, mask) { *y = v; }
};
#include "network/onnx/ops/plane_products.inl"
#undef OCTET_TARGET

} // namespace without_vectors

const tile_code *code_in_use() {
    return fastest<const tile_code *>({{cpu_isa::ref, &without_vectors::code},
                                       {cpu_isa::avx2, &with_avx2::code},
                                       {cpu_isa::avx512_core, &with_avx512::code}});
}

} // namespace

plane_products::plane_products() : code_(code_in_use()) {}

void plane_products::add_columns(dim_t src, dim_t dst, dim_t count) {
    dim_t done = 0;
    if (code_->divides_loads && !columns.empty()) {
        column_vector &last = columns.back();
        if (last.dst + last.count == dst && last.lanes == last.count && last.count < code_->width) {
            done = std::min(code_->width - last.count, count);
            last.others = src - last.count;
            last.count += done;
        }
    }
    for (dim_t lanes; done < count; done += lanes) {
        lanes = std::min(code_->width, count - done);
        columns.push_back({dst + done, lanes, src + done, lanes, src + done});
    }
}

dim_t plane_products::tiles() const {
    return (static_cast<dim_t>(columns.size()) + tile_vectors - 1) / tile_vectors;
}

dim_t plane_products::grain() const {
    constexpr dim_t worth = 1 << 17; // some 5 us
    const dim_t of_tile = outputs * inner * code_->width * tile_vectors;
    return std::max<dim_t>(worth * code_->width / 16 / std::max<dim_t>(of_tile, 1), 1);
}

void plane_products::run(const operands &o, dim_t begin, dim_t end) const {
    const auto count = static_cast<dim_t>(columns.size());
    for (dim_t c = begin * tile_vectors; c < std::min(end * tile_vectors, count); c += tile_vectors)
        for (dim_t first = 0; first < inner;
             first += block) { // what it reads of the source stays in the nearest cache
            const dim_t last = std::min(first + block, inner);
            const plane_tile t = {outputs,
                                  weights_row,
                                  weights_step,
                                  result_row,
                                  rows.data() + first,
                                  rows.data() + last,
                                  columns.data() + c,
                                  o.weights + first * weights_step,
                                  o.source,
                                  first == 0 ? o.initial : o.result,
                                  last == inner ? o.bias : nullptr,
                                  o.result};
            code_->multiply(t, std::min<dim_t>(tile_vectors, count - c));
        }
}

} // namespace octet::model
