// Tiles of a product: some rows of the weights times some vectors of columns, in registers. Each instruction
// set has its own.
// SPDX-License-Identifier: Apache-2.0
#include "loops/plane_products.hpp"

#include <algorithm>

#include "loops/levels.hpp"
#include "loops/vectors.hpp"

namespace octet::loops {
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
namespace planes {

#define OCTET_FORM "loops/plane_products.inl"
#include "loops/forms_of_floats.inl"
#undef OCTET_FORM

} // namespace planes
} // namespace

dim_t products_in_block(dim_t inner, dim_t columns) {
    dim_t block = 128;
    for (dim_t width = 128; columns < inner && width > 16 && width / 2 >= columns; width /= 2)
        block *= 2;
    return block;
}

plane_products::plane_products() : code_(planes::code_in_use()) {}

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

dim_t plane_products::tile_count() const {
    return (static_cast<dim_t>(columns.size()) + tile_vectors - 1) / tile_vectors;
}

dim_t plane_products::grain() const {
    constexpr dim_t worth = 1 << 17; // some 5 us
    const dim_t of_tile = outputs * inner * code_->width * tile_vectors;
    return std::max<dim_t>(worth * code_->width / 16 / std::max<dim_t>(of_tile, 1), 1);
}

void plane_products::run_tiles(const operands &o, dim_t begin, dim_t end) const {
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

matrix_products::matrix_products() : code_(planes::code_in_use()) {}

void matrix_products::run(const operands &o) const {
    dim_t rows[most_inner];
    for (dim_t k = 0; k < std::min(o.inner, o.block); k++)
        rows[k] = k * o.source_row;
    const dim_t width = code_->width;
    for (dim_t first = 0; first < o.columns; first += tile_vectors * width) {
        column_vector columns[tile_vectors];
        dim_t vectors = 0;
        for (dim_t n = first; n < o.columns && vectors < tile_vectors; n += width) {
            const dim_t lanes = std::min(width, o.columns - n);
            columns[vectors++] = {n, lanes, n, lanes, n};
        }
        for (dim_t k = 0; k < o.inner; k += o.block)
            code_->multiply({o.outputs, o.weights_row, 1, o.result_row, rows,
                             rows + std::min(o.block, o.inner - k), columns, o.weights + k,
                             o.source + k * o.source_row, k == 0 ? o.initial : o.result, nullptr, o.result},
                            vectors);
    }
}

} // namespace octet::loops
