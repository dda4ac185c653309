// The loops of block_products.cpp, which includes this file once for each instruction set: OCTET_TARGET is
// its attribute, `vec` its vectors.
// SPDX-License-Identifier: Apache-2.0

/// The maximum over 16 lanes, then over their halves. A NaN is forgotten where it comes first of two, and
/// makes the other be forgotten where it comes second.
OCTET_TARGET inline float highest_of(const float *x, dim_t sixteens) {
    constexpr int vectors = static_cast<int>(16 / vec::width);
    vec::reg highest[vectors];
    for (int v = 0; v < vectors; v++)
        highest[v] = vec::all(0.f);
    for (dim_t s = 0; s < sixteens; s++)
        for (int v = 0; v < vectors; v++)
            highest[v] = vec::larger(highest[v], vec::magnitude(vec::load(x + s * 16 + v * vec::width)));
    alignas(64) float lanes[16];
    for (int v = 0; v < vectors; v++)
        vec::store(lanes + v * vec::width, highest[v]);
    for (const int half : {8, 4})
        for (int i = 0; i < half; i++)
            lanes[i] = larger_of(lanes[i + half], lanes[i]);
    return larger_of(larger_of(lanes[0], lanes[2]), larger_of(lanes[1], lanes[3]));
}

OCTET_TARGET void round_row(const float *x, dim_t inner, void *codes_of_row, float *scales, float *sums) {
    auto *codes = static_cast<vec::code *>(codes_of_row);
    for (dim_t k = 0, b = 0; k < inner; k += block_size, b++, codes += block_size) {
        const dim_t count = std::min(block_size, inner - k);
        alignas(64) float padded[block_size] = {};
        const float *v = x + k;
        if (count < block_size)
            v = static_cast<const float *>(
                std::memcpy(padded, v, static_cast<std::size_t>(count) * sizeof(float)));
        const float highest = highest_of(v, (count + 15) / 16);
        const vec::reg factor = vec::all(highest == 0.f ? 0.f : 127.f / highest);
        vec::integers sum = vec::no_integers();
        for (dim_t i = 0; i < block_size; i += vec::width)
            sum = vec::add(sum, vec::put_codes(vec::mul(vec::load(v + i), factor), codes + i));
        scales[b] = highest / 127.f;
        sums[b] = scales[b] * static_cast<float>(vec::total(sum));
    }
}

OCTET_TARGET inline vec::reg sum_in_order(const vec::reg *v) {
    return vec::add(vec::add(vec::add(v[0], v[1]), v[2]), v[3]);
}

/// A panel of the weights times `rows` rows. Of four blocks, sums of 8 products go to 16 lanes; of what is
/// left, one block gives sums of 4 to 8 lanes. Columns in fours add up their lanes in order, others by
/// halves.
template <int rows> OCTET_TARGET void multiply_tile(const block_panel &p, const block_rows &x) {
    constexpr int together = vec::registers / (8 * rows); ///< blocks whose lanes are in registers
    const dim_t blocks = p.blocks, fours = blocks / 4 * 4;
    const auto *const codes = static_cast<const vec::code *>(x.codes);
    for (dim_t c = 0; c < panel_columns; c += vec::width) {
        const float *const scales = p.scales + c, *const zeros = p.zeros + c;
        alignas(64) float lanes[rows][16][vec::width];
        vec::reg zero[rows];
        for (int r = 0; r < rows; r++)
            zero[r] = vec::all(0.f);
        for (int first = 0; first < 4; first += together) {
            vec::reg lane[rows][together * 4];
            for (int r = 0; r < rows; r++)
                for (int i = 0; i < together * 4; i++)
                    lane[r][i] = vec::all(0.f);
            for (dim_t four = 0; four < fours; four += 4) {
#pragma GCC unroll 4
                for (int t = 0; t < together; t++) {
                    const dim_t b = four + first + t;
                    const std::uint8_t *const w = p.codes + b * block_size * panel_columns + c * 4;
                    const vec::reg of_weights = vec::load(scales + b * p.next_scales);
                    vec::reg scale[rows];
                    for (int r = 0; r < rows; r++)
                        scale[r] = vec::mul(vec::all(x.scales[r * blocks + b]), of_weights);
#pragma GCC unroll 4
                    for (int j = 0; j < 4; j++) {
                        const int quad = j / 2 * 4 + j % 2;
                        const vec::weights w0 = vec::load_weights(w + quad * panel_columns * 4),
                                           w1 = vec::load_weights(w + (quad + 2) * panel_columns * 4);
#pragma GCC unroll 4
                        for (int r = 0; r < rows; r++) {
                            const vec::code *const k = codes + (r * blocks + b) * block_size + quad * 4;
                            const vec::integers sum =
                                vec::add_products(vec::add_products(vec::no_integers(), w0, k), w1, k + 8);
                            lane[r][t * 4 + j] = vec::fma(vec::to_floats(sum), scale[r], lane[r][t * 4 + j]);
                        }
                    }
                }
                if (first == 0)
                    for (dim_t b = four; b < four + 4; b++)
                        for (int r = 0; r < rows; r++)
                            zero[r] = vec::fma(vec::all(x.sums[r * blocks + b]),
                                               vec::load(zeros + b * p.next_scales), zero[r]);
            }
            for (int r = 0; r < rows; r++)
                for (int t = 0; t < together; t++)
                    for (int j = 0; j < 4; j++) {
                        const int of_four = (first + t) % 2 * 8 + (first + t) / 2 * 2;
                        vec::store(lanes[r][of_four + j / 2 * 4 + j % 2], lane[r][t * 4 + j]);
                    }
        }
        for (int r = 0; r < rows; r++) {
            vec::reg l[8];
            for (int k = 0; k < 8; k++)
                l[k] = vec::add(vec::load(lanes[r][k]), vec::load(lanes[r][k + 8]));
            for (dim_t b = fours; b < blocks; b++) {
                const std::uint8_t *const w = p.codes + b * block_size * panel_columns + c * 4;
                const vec::reg scale =
                    vec::mul(vec::all(x.scales[r * blocks + b]), vec::load(scales + b * p.next_scales));
                for (int k = 0; k < 8; k++) {
                    const vec::integers sum =
                        vec::add_products(vec::no_integers(), vec::load_weights(w + k * panel_columns * 4),
                                          codes + (r * blocks + b) * block_size + k * 4);
                    l[k] = vec::fma(vec::to_floats(sum), scale, l[k]);
                }
                zero[r] =
                    vec::fma(vec::all(x.sums[r * blocks + b]), vec::load(zeros + b * p.next_scales), zero[r]);
            }
            vec::reg sum = vec::add(sum_in_order(l), sum_in_order(l + 4));
            alignas(64) float y[vec::width];
            const dim_t count = std::min(vec::width, p.count - c), ordered = p.count / 4 * 4 - c;
            if (ordered < count) {
                const vec::reg halves = vec::add(vec::add(vec::add(l[0], l[4]), vec::add(l[2], l[6])),
                                                 vec::add(vec::add(l[1], l[5]), vec::add(l[3], l[7])));
                alignas(64) float by_halves[vec::width];
                vec::store(y, sum);
                vec::store(by_halves, halves);
                for (dim_t n = std::max<dim_t>(ordered, 0); n < count; n++)
                    y[n] = by_halves[n];
                sum = vec::load(y);
            }
            if (p.bias)
                sum = vec::add(sum, vec::load(p.bias + c));
            vec::store(y, vec::add(sum, zero[r]));
            if (count > 0)
                std::memcpy(x.y + r * x.columns + c, y, static_cast<std::size_t>(count) * sizeof(float));
        }
    }
}

/// Tiles of `m` rows as long as there are so many; then fewer.
template <int m> void multiply_rows(const block_panel &p, block_rows &x, dim_t left) {
    for (; left >= m; left -= m) {
        multiply_tile<m>(p, x);
        x.codes = static_cast<const vec::code *>(x.codes) + m * p.blocks * block_size;
        x.scales += m * p.blocks;
        x.sums += m * p.blocks;
        x.y += m * x.columns;
    }
    if constexpr (m > 1)
        multiply_rows<m / 2>(p, x, left);
}

void multiply(const block_panel &p, block_rows x, dim_t rows) {
    multiply_rows<vec::registers / 8>(p, x, rows);
}

constexpr block_code code{sizeof(vec::code), vec::name, round_row, multiply};
