// The tile of plane_products.cpp, which includes this file once for each instruction set: OCTET_TARGET is its
// attribute, `vec` its vectors.
// SPDX-License-Identifier: Apache-2.0

constexpr int tile_rows =
    vec::registers / 4; ///< with three vectors each, the sums fill most of the registers

/// One block of `m` rows of the result, `n` vectors of each; vectors of a tile that is not whole are masked.
template <int m, int n, bool is_whole> OCTET_TARGET void multiply_tile(const plane_tile &t) {
    vec::reg sums[m][n];
    vec::mask firsts[n], all[n];
    const float *x[n], *others[n];
    for (int j = 0; j < n; j++) {
        const column_vector &c = t.columns[j];
        firsts[j] = vec::first(c.lanes);
        all[j] = vec::first(c.count);
        x[j] = t.source + c.src;
        others[j] = t.source + c.others;
        for (int i = 0; i < m; i++)
            sums[i][j] = vec::all(0.f);
    }
    const dim_t row = t.weights_row;
    const float *w = t.weights;
    for (const dim_t *k = t.rows; k < t.rows_end; k++, w += t.weights_step) {
        vec::reg v[n];
        for (int j = 0; j < n; j++)
            v[j] = is_whole ? vec::load(x[j] + *k) : vec::load(x[j] + *k, firsts[j], others[j] + *k, all[j]);
        for (int i = 0; i < m; i++) {
            const vec::reg a = vec::all(w[i * row]);
            for (int j = 0; j < n; j++)
                sums[i][j] = vec::fma(a, v[j], sums[i][j]);
        }
    }
#pragma GCC unroll 8 // so that the sums stay in registers
    for (int i = 0; i < m; i++)
#pragma GCC unroll 3
        for (int j = 0; j < n; j++) {
            const dim_t place = i * t.result_row + t.columns[j].dst;
            if (t.before) {
                const float *const y = t.before + place;
                sums[i][j] = vec::add(is_whole ? vec::load(y) : vec::load(y, all[j], y, all[j]), sums[i][j]);
            }
            if (t.bias)
                sums[i][j] = vec::add(sums[i][j], vec::all(t.bias[i]));
            if (is_whole)
                vec::store(t.result + place, sums[i][j]);
            else
                vec::store(t.result + place, sums[i][j], all[j]);
        }
}

/// Tiles of `m` rows as long as there are so many; then fewer.
template <int m, int n, bool is_whole> void multiply_rows(plane_tile t, dim_t left) {
    for (; left >= m; left -= m) {
        multiply_tile<m, n, is_whole>(t);
        t.weights += m * t.weights_row;
        t.result += m * t.result_row;
        t.before += t.before ? m * t.result_row : 0;
        t.bias += t.bias ? m : 0;
    }
    if constexpr (m > 1)
        multiply_rows<m / 2, n, is_whole>(t, left);
}

void multiply(const plane_tile &t, dim_t vectors) {
    bool is_whole = vectors == tile_vectors;
    for (dim_t j = 0; j < vectors; j++)
        is_whole = is_whole && t.columns[j].lanes == vec::width;
    if (is_whole)
        return multiply_rows<tile_rows, tile_vectors, true>(t, t.outputs);
    if (vectors == tile_vectors)
        return multiply_rows<tile_rows, tile_vectors, false>(t, t.outputs);
    plane_tile one = t;
    for (dim_t j = 0; j < vectors; j++, one.columns++)
        multiply_rows<tile_rows, 1, false>(one, t.outputs);
}

constexpr tile_code code{vec::width, vec::has_mask_registers, multiply};
