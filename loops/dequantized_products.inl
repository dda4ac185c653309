// The loops of dequantized_products.cpp, which includes this file once for each instruction set: OCTET_TARGET is its
// attribute, `vec` its vectors.
// SPDX-License-Identifier: Apache-2.0

constexpr dim_t columns = vec::width * panel_vectors;

/// A piece of the weights as floats, {elements, columns}.
struct floats_of_piece {
    alignas(64) float of[piece][columns];
};

/// What the columns of a vector have in one block.
struct block_parameters {
    vec::reg scale, zero;
    bool has_differences;
};

template <int bits, int i>
OCTET_TARGET inline void dequantize_part(vec::bytes codes, const block_parameters &b, float *y) {
    const vec::reg q = vec::part_of<bits, i>(codes);
    vec::store(y, b.has_differences ? vec::mul(vec::add(q, b.zero), b.scale)
                                    : vec::add(vec::mul(q, b.scale), b.zero));
}

/// Elements first to last - 1 of one block, all in whole bytes.
template <int bits>
OCTET_TARGET inline void dequantize_block(const dequantized_panel &p, dim_t block, dim_t first, dim_t last,
                                          float (*y)[columns]) {
    constexpr dim_t in_a_byte = 8 / bits;
    for (int v = 0; v < panel_vectors; v++) {
        const dim_t c = v * vec::width, at = block * columns + c;
        const block_parameters b{vec::load(p.scales + at), vec::load(p.zeros + at), p.has_differences};
        for (dim_t k = first; k < last; k += in_a_byte) {
            const vec::bytes codes = vec::load_bytes(p.codes + k / in_a_byte * columns + c);
            float *const of = y[k - first] + c;
            dequantize_part<bits, 0>(codes, b, of);
            if constexpr (bits <= 4)
                dequantize_part<bits, 1>(codes, b, of + columns);
            if constexpr (bits == 2) {
                dequantize_part<bits, 2>(codes, b, of + 2 * columns);
                dequantize_part<bits, 3>(codes, b, of + 3 * columns);
            }
        }
    }
}

/// Elements `first` to `last` - 1, and up to three more where their last byte has more. Neighbours of one block are
/// taken together; where indices name other blocks within a byte, the byte is dequantized for each of them.
template <int bits>
OCTET_TARGET void dequantize(const dequantized_panel &p, dim_t first, dim_t last, floats_of_piece &y) {
    constexpr dim_t in_a_byte = 8 / bits;
    const std::int32_t *const blocks = p.blocks_of;
    for (dim_t k = first; k < last;) {
        dim_t end = k + 1;
        while (end < last && blocks[end] == blocks[k])
            end++;
        const dim_t whole = end < last ? end / in_a_byte * in_a_byte : end;
        if (k % in_a_byte == 0 && whole > k) {
            dequantize_block<bits>(p, blocks[k], k, whole, y.of + (k - first));
            k = whole;
            continue;
        }
        alignas(64) float of_byte[in_a_byte][columns];
        const dim_t byte = k / in_a_byte * in_a_byte;
        dequantize_block<bits>(p, blocks[k], byte, byte + in_a_byte, of_byte);
        std::copy_n(of_byte[k - byte], columns, y.of[k - first]);
        k++;
    }
}

void dequantize(const dequantized_panel &p, dim_t first, dim_t last, floats_of_piece &y) {
    p.bits == 8   ? dequantize<8>(p, first, last, y)
    : p.bits == 4 ? dequantize<4>(p, first, last, y)
                  : dequantize<2>(p, first, last, y);
}

/// Adds a piece of the weights times `rows` rows of x, `inner` apart, to `sums`, which begin with 0 if the piece does.
template <int rows>
OCTET_TARGET void add_piece(const floats_of_piece &w, dim_t count, const float *x, dim_t inner, bool begins,
                            float *sums) {
    vec::reg sum[rows][panel_vectors];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < panel_vectors; v++)
            sum[r][v] = begins ? vec::all(0.f) : vec::load(sums + r * columns + v * vec::width);
    for (dim_t k = 0; k < count; k++) {
        vec::reg of_weights[panel_vectors];
        for (int v = 0; v < panel_vectors; v++)
            of_weights[v] = vec::load(w.of[k] + v * vec::width);
        for (int r = 0; r < rows; r++) {
            const vec::reg of_row = vec::all(x[r * inner + k]);
            for (int v = 0; v < panel_vectors; v++)
                sum[r][v] = vec::fma(of_row, of_weights[v], sum[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < panel_vectors; v++)
            vec::store(sums + r * columns + v * vec::width, sum[r][v]);
}

/// Tiles of `m` rows as long as there are so many; then fewer.
template <int m>
void add_piece_to_all(const floats_of_piece &w, dim_t count, const float *x, dim_t inner, bool begins,
                      float *sums, dim_t left) {
    for (; left >= m; left -= m, x += m * inner, sums += m * columns)
        add_piece<m>(w, count, x, inner, begins, sums);
    if constexpr (m > 1)
        add_piece_to_all<m / 2>(w, count, x, inner, begins, sums, left);
}

OCTET_TARGET void add_rows(const float *x, dim_t count, float *y) {
    for (dim_t i = 0; i < count; i += vec::width)
        vec::store(y + i, vec::add(vec::load(y + i), vec::load(x + i)));
}

void multiply_rows(const dequantized_panel &p, const float *x, dim_t rows, float *y) {
    floats_of_piece w;
    alignas(64) float sums[rows_at_once * columns];
    if (p.bias)
        for (dim_t r = 0; r < rows; r++)
            std::copy_n(p.bias, columns, y + r * columns);
    for (dim_t first = 0; first < p.inner; first += piece) {
        const dim_t last = std::min(first + piece, p.inner);
        dequantize(p, first, last, w);
        add_piece_to_all<vec::registers / 4>(w, last - first, x + first, p.inner, first % p.sum_block == 0,
                                             sums, rows);
        if (last % p.sum_block != 0 && last != p.inner)
            continue;
        if (p.bias || first >= p.sum_block)
            add_rows(sums, rows * columns, y);
        else
            std::copy_n(sums, rows * columns, y);
    }
}

/// Adds elements first, first + 1, … of a piece to as many neighbouring lanes of each column.
template <bool has_fma>
OCTET_TARGET void add_to_lanes(const float (*w)[columns], dim_t count, dim_t step, const float *x,
                               float *lanes) {
    constexpr int together = 8;
    for (int v = 0; v < panel_vectors; v++) {
        vec::reg lane[together];
        for (int i = 0; i < together; i++)
            lane[i] = vec::load(lanes + i * columns + v * vec::width);
        dim_t k = 0;
        for (; k + together <= count; k += step)
#pragma GCC unroll 8
            for (int i = 0; i < together; i++) {
                const vec::reg a = vec::all(x[k + i]), b = vec::load(w[k + i] + v * vec::width);
                lane[i] = has_fma ? vec::fma(a, b, lane[i]) : vec::add(lane[i], vec::mul(a, b));
            }
        for (int i = 0; i < together; i++)
            vec::store(lanes + i * columns + v * vec::width, lane[i]);
        for (dim_t i = 0; k + i < count && k < count; i++) { // fewer than `together` are left
            float *const y = lanes + i * columns + v * vec::width;
            const vec::reg a = vec::all(x[k + i]), b = vec::load(w[k + i] + v * vec::width);
            vec::store(y, has_fma ? vec::fma(a, b, vec::load(y)) : vec::add(vec::load(y), vec::mul(a, b)));
        }
    }
}

void multiply_row(const dequantized_panel &p, const float *x, float *lanes) {
    floats_of_piece w;
    std::fill_n(lanes, p.lanes * columns, 0.f);
    for (dim_t first = 0; first < p.inner; first += piece) {
        const dim_t count = std::min(piece, p.inner - first);
        dequantize(p, first, first + count, w);
        if (!p.has_fma)
            add_to_lanes<false>(w.of, count, 8, x + first, lanes);
        else
            for (dim_t half = 0; half < 16 && half < count; half += 8)
                add_to_lanes<true>(w.of + half, count - half, 16, x + first + half, lanes + half * columns);
    }
}

constexpr dequantized_code code{vec::width, multiply_rows, multiply_row};
