// The loops of block_products.cpp, which includes this file once for each instruction set: OCTET_TARGET is
// its attribute, `vec` and `narrow` its vectors.
// SPDX-License-Identifier: Apache-2.0

template <int bits> using codes_for = std::conditional_t<bits == 8, vec, narrow>;

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

/// Rounds `count` elements of a block of `block`; what is behind them counts as zeros. `sum` is of the codes.
template <typename v>
OCTET_TARGET void round_block(const float *x, dim_t count, dim_t block, typename v::code *codes, float &scale,
                              float &sum) {
    alignas(64) float padded[largest_block];
    if (count < block) {
        std::memcpy(padded, x, static_cast<std::size_t>(count) * sizeof(float));
        std::memset(padded + count, 0, static_cast<std::size_t>(block - count) * sizeof(float));
        x = padded;
    }
    const float highest = highest_of(x, (count + 15) / 16);
    const vec::reg factor = vec::all(highest == 0.f ? 0.f : 127.f / highest);
    vec::integers total = vec::no_integers();
    for (dim_t i = 0; i < block; i += vec::width)
        total = vec::add(total, v::put_codes(vec::mul(vec::load(x + i), factor), codes + i));
    scale = highest / 127.f;
    sum = static_cast<float>(vec::total(total));
}

template <typename v>
void round_row(const block_order &o, const float *x, dim_t inner, dim_t block, void *codes_of_row,
               float *scales, float *negative_sums) {
    auto *codes = static_cast<typename v::code *>(codes_of_row);
    alignas(64) typename v::code natural[4 * largest_narrow_block];
    const dim_t section = std::max(o.group_elements, block), grouped = o.groups * o.group_elements;
    for (dim_t first = 0; first < grouped + o.tails * block;) {
        const bool is_grouped = first < grouped;
        const dim_t end = first + (is_grouped ? section : block);
        for (dim_t k = first; k < end; k += block) {
            typename v::code *const of_block = natural + (k - first);
            float sum = 0.f;
            if (k < inner) {
                round_block<v>(x + k, std::min(block, inner - k), block, of_block, scales[k / block], sum);
            } else {
                std::fill_n(of_block, block, typename v::code{});
                scales[k / block] = 0.f;
            }
            negative_sums[k / block] = -(o.is_one_by_one ? sum : scales[k / block] * sum);
        }
        const std::vector<quad> &quads = is_grouped ? o.group_quads : o.tail_quads;
        const dim_t size = is_grouped ? o.group_elements : block;
        for (dim_t k = 0; first < end; k += size, first += size)
            for (const quad &q : quads) {
                std::memcpy(codes, natural + k + q.place * 4, 4 * sizeof(*codes));
                codes += 4;
            }
    }
}

/// Lanes of a tile's results.
template <int rows> struct tile_lanes {
    alignas(64) float of[rows][16][vec::width];

    OCTET_TARGET void put(const block_order &o, dim_t step, int row, vec::reg v) {
        vec::store(of[row][o.lane_of[static_cast<std::size_t>(step)]], v);
    }
};

constexpr dim_t vector_bytes = vec::width * 4; ///< of a quad of each column

/// Quad i behind w.
template <int bits, int i>
OCTET_TARGET inline typename codes_for<bits>::weights quad_at(const std::uint8_t *w) {
    constexpr int in_a_vector = 8 / bits;
    return codes_for<bits>::template load_weights<bits, i % in_a_vector>(w + i / in_a_vector * vector_bytes);
}

/// Adds up the groups for `together` lanes, of which `shared` neighbours are of one block: weights of 4 and 8 bits.
template <int bits, int shared, int rows, int together>
OCTET_TARGET void add_groups(const block_panel &p, const block_rows &x, dim_t first,
                             tile_lanes<rows> &lanes) {
    using v = codes_for<bits>;
    constexpr dim_t step_bytes = vector_bytes * bits / 4;
    const dim_t groups = p.order->groups;
    const std::uint8_t *w = p.codes + (first / 8 * groups * 8 + first % 8) * step_bytes;
    const auto *k = static_cast<const typename v::code *>(x.codes) + first * 8;
    vec::reg lane[rows][together];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < together; i++)
            lane[r][i] = vec::all(0.f);
    for (dim_t g = 0; g < groups; g++, w += 8 * step_bytes, k += 128) {
        vec::reg scale[rows];
#pragma GCC unroll 8
        for (int i = 0; i < together; i++) {
            if (i % shared == 0) {
                const dim_t b = (g * 128 + (first + i) * 8) >> p.block_bits;
                const vec::reg of_weights = vec::load(p.scales + b * p.next_block);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++)
                    scale[r] = vec::mul(vec::all(x.scales[r * x.blocks + b]), of_weights);
            }
            const typename v::weights w0 = quad_at<bits, 0>(w + i * step_bytes),
                                      w1 = quad_at<bits, 1>(w + i * step_bytes);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                const typename v::code *const codes = k + r * x.row_codes + i * 8;
                const vec::integers sum = v::products(w0, codes, w1, codes + 4);
                lane[r][i] = vec::fma(vec::to_floats(sum), scale[r], lane[r][i]);
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < together; i++)
            lanes.put(*p.order, first + i, r, lane[r][i]);
}

/// The exact sum of block t of a step of `quads` quads.
template <int quads, int t>
OCTET_TARGET inline vec::reg sum_of_block(const std::uint8_t *w, const narrow::code *k) {
    if constexpr (quads == 4)
        return vec::to_floats(narrow::products(quad_at<2, t>(w), k + t * 4));
    else
        return vec::to_floats(
            narrow::products(quad_at<2, t>(w), k + t * 4, quad_at<2, t + 4>(w), k + t * 4 + 16));
}

/// The same for weights of 2 bits, where steps have the quads of four blocks.
template <int quads, int rows, int together>
OCTET_TARGET void add_fours(const block_panel &p, const block_rows &x, dim_t first, tile_lanes<rows> &lanes) {
    constexpr dim_t step_bytes = vector_bytes * quads / 4;
    const dim_t groups = p.order->groups, steps = p.order->steps();
    const std::uint8_t *w = p.codes + (first / 8 * groups * 8 + first % 8) * step_bytes;
    const auto *k = static_cast<const narrow::code *>(x.codes) + first * quads * 4;
    vec::reg lane[rows][together];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < together; i++)
            lane[r][i] = vec::all(0.f);
    for (dim_t b = 0; b < groups * 4; b += 4, w += 8 * step_bytes, k += steps * quads * 4)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            vec::reg scale[4];
#pragma GCC unroll 4
            for (int t = 0; t < 4; t++)
                scale[t] = vec::mul(vec::all(x.scales[r * x.blocks + b + t]),
                                    vec::load(p.scales + (b + t) * p.next_block));
#pragma GCC unroll 8
            for (int i = 0; i < together; i++) {
                const std::uint8_t *const of_step = w + i * step_bytes;
                const narrow::code *const codes = k + r * x.row_codes + i * quads * 4;
                vec::reg low = vec::mul(sum_of_block<quads, 0>(of_step, codes), scale[0]),
                         high = vec::mul(sum_of_block<quads, 1>(of_step, codes), scale[1]);
                low = vec::fma(sum_of_block<quads, 2>(of_step, codes), scale[2], low);
                high = vec::fma(sum_of_block<quads, 3>(of_step, codes), scale[3], high);
                lane[r][i] = vec::add(lane[r][i], vec::add(low, high));
            }
        }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < together; i++)
            lanes.put(*p.order, first + i, r, lane[r][i]);
}

OCTET_TARGET inline vec::reg four_in_order(const vec::reg *l) {
    return vec::add(vec::add(vec::add(l[0], l[1]), l[2]), l[3]);
}

OCTET_TARGET inline vec::reg sum_in_order(const vec::reg *l, dim_t lanes) {
    const vec::reg first = four_in_order(l), second = four_in_order(l + 4);
    return lanes == 8
               ? vec::add(first, second)
               : vec::add(vec::add(first, four_in_order(l + 8)), vec::add(second, four_in_order(l + 12)));
}

OCTET_TARGET inline vec::reg sum_by_halves(const vec::reg *lanes, dim_t count) {
    vec::reg l[8];
    for (int i = 0; i < 8; i++)
        l[i] = count == 16 ? vec::add(lanes[i], lanes[i + 8]) : lanes[i];
    return vec::add(vec::add(vec::add(l[0], l[4]), vec::add(l[2], l[6])),
                    vec::add(vec::add(l[1], l[5]), vec::add(l[3], l[7])));
}

/// Adds the blocks behind the groups to the lanes.
template <int bits> OCTET_TARGET void add_tails(const block_panel &p, const block_rows &x, vec::reg *l) {
    using v = codes_for<bits>;
    const block_order &o = *p.order;
    const std::uint8_t *w = p.codes + o.groups * o.steps() * vector_bytes * bits / 4;
    const auto *k = static_cast<const typename v::code *>(x.codes) + o.groups * 128;
    for (dim_t b = p.blocks - o.tails; b < p.blocks; b++) {
        const vec::reg scale = vec::mul(vec::all(x.scales[b]), vec::load(p.scales + b * p.next_block));
        for (dim_t i = 0; i < o.last_lanes; i += 8 / bits, w += vector_bytes, k += 32 / bits) {
            l[i] = vec::fma(vec::to_floats(v::products(quad_at<bits, 0>(w), k)), scale, l[i]);
            if constexpr (bits == 4)
                l[i + 1] = vec::fma(vec::to_floats(v::products(quad_at<bits, 1>(w), k + 4)), scale, l[i + 1]);
        }
    }
}

/// One row of results from its lanes and the sum of its zero points.
template <int bits>
OCTET_TARGET void finish(const block_panel &p, const block_rows &x, const float (*lanes)[vec::width],
                         vec::reg zero, bool is_odd_row) {
    const block_order &o = *p.order;
    vec::reg l[16];
    for (dim_t i = 0; i < o.lanes; i++)
        l[i] = vec::load(lanes[i]);
    if (o.is_folded)
        for (int i = 0; i < 8; i++)
            l[i] = vec::add(l[i], l[i + 8]);
    if constexpr (bits != 2)
        add_tails<bits>(p, x, l);
    vec::reg sum = sum_by_halves(l, o.last_lanes);
    if (p.in_fours > 0 &&
        (o.sum == lane_sum::in_order || (o.sum == lane_sum::in_order_if_odd_row && is_odd_row))) {
        alignas(64) float in_order[vec::width], by_halves[vec::width];
        vec::store(in_order, sum_in_order(l, o.last_lanes));
        vec::store(by_halves, sum);
        std::copy_n(in_order, p.in_fours, by_halves);
        sum = vec::load(by_halves);
    }
    if (p.bias)
        sum = vec::add(sum, vec::load(p.bias));
    alignas(64) float y[vec::width];
    vec::store(y, vec::add(sum, zero));
    std::memcpy(x.y, y, static_cast<std::size_t>(p.count) * sizeof(float));
}

/// The rows behind the first `count`.
template <typename code> block_rows behind(block_rows x, dim_t count) {
    x.codes = static_cast<const code *>(x.codes) + count * x.row_codes;
    x.scales += count * x.blocks;
    x.negative_sums += count * x.blocks;
    x.y += count * x.columns;
    x.odd_row -= count;
    return x;
}

/// A panel of the weights times `rows` rows. As many lanes as fit the registers are added up at a time.
/// `detail`: lanes of one block, or with 2 bits quads of a step.
template <int bits, int detail, int rows>
OCTET_TARGET void multiply_tile(const block_panel &p, const block_rows &x) {
    constexpr int together = std::min(vec::registers / (2 * rows), 8);
    tile_lanes<rows> lanes;
    for (dim_t first = 0; first < p.order->steps(); first += together)
        if constexpr (bits == 2)
            add_fours<detail, rows, together>(p, x, first, lanes);
        else
            add_groups<bits, detail, rows, together>(p, x, first, lanes);
    vec::reg zero[rows];
    for (int r = 0; r < rows; r++)
        zero[r] = vec::all(0.f);
    for (dim_t b = 0; b < p.blocks; b++) {
        const vec::reg w = vec::mul(vec::load(p.scales + b * p.next_block),
                                    vec::part_of<8, 0>(vec::load_bytes(p.zeros + b * p.next_zeros)));
        for (int r = 0; r < rows; r++)
            zero[r] = vec::fma(vec::all(x.negative_sums[r * x.blocks + b]), w, zero[r]);
    }
    for (int r = 0; r < rows; r++)
        finish<bits>(p, behind<typename codes_for<bits>::code>(x, r), lanes.of[r], zero[r], x.odd_row == r);
}

/// The exact sum of products of block b, whose codes begin at w and k.
template <int bits>
OCTET_TARGET inline vec::integers products_of_block(const std::uint8_t *w,
                                                    const typename codes_for<bits>::code *k, dim_t quads) {
    using v = codes_for<bits>;
    vec::integers sum = vec::no_integers();
    for (dim_t i = 0; i < quads; i += 4, w += vector_bytes * bits / 2, k += 16) {
        sum = vec::add(sum, v::products(quad_at<bits, 0>(w), k, quad_at<bits, 1>(w), k + 4));
        sum = vec::add(sum, v::products(quad_at<bits, 2>(w), k + 8, quad_at<bits, 3>(w), k + 12));
    }
    return sum;
}

/// A panel of the weights times `rows` rows, with one fma for each block. Integers of a block stay below 2^24,
/// so zero points leave the sum exact.
template <int bits, int rows> OCTET_TARGET void multiply_blocks(const block_panel &p, const block_rows &x) {
    using v = codes_for<bits>;
    const auto quads = static_cast<dim_t>(p.order->tail_quads.size());
    const dim_t row_codes = x.row_codes;
    const std::uint8_t *w = p.codes;
    const auto *k = static_cast<const typename v::code *>(x.codes);
    vec::reg y[rows];
    for (int r = 0; r < rows; r++)
        y[r] = vec::all(0.f);
    for (dim_t b = 0; b < p.blocks; b++, w += quads * vector_bytes * bits / 8, k += quads * 4) {
        const vec::reg zero = vec::part_of<8, 0>(vec::load_bytes(p.zeros + b * p.next_zeros)),
                       scale = vec::load(p.scales + b * p.next_block);
        for (int r = 0; r < rows; r++) {
            const vec::reg products = vec::to_floats(products_of_block<bits>(w, k + r * row_codes, quads));
            const vec::reg sum = vec::fma(vec::all(x.negative_sums[r * x.blocks + b]), zero, products);
            y[r] = vec::fma(sum, vec::mul(vec::all(x.scales[r * x.blocks + b]), scale), y[r]);
        }
    }
    for (int r = 0; r < rows; r++) {
        alignas(64) float result[vec::width];
        vec::store(result, p.bias ? vec::add(y[r], vec::load(p.bias)) : y[r]);
        std::memcpy(x.y + r * x.columns, result, static_cast<std::size_t>(p.count) * sizeof(float));
    }
}

/// Tiles of `m` rows as long as there are so many; then fewer.
template <int bits, int detail, int m> void multiply_rows(const block_panel &p, block_rows x, dim_t left) {
    for (; left >= m; left -= m) {
        if constexpr (detail == one_by_one)
            multiply_blocks<bits, m>(p, x);
        else
            multiply_tile<bits, detail, m>(p, x);
        x = behind<typename codes_for<bits>::code>(x, m);
    }
    if constexpr (m > 1)
        multiply_rows<bits, detail, m / 2>(p, x, left);
}

constexpr int tile_rows = std::min(vec::registers / 4, 4);

template <int bits, int detail> constexpr block_code::multiplication multiplication_for() {
    if constexpr (bits == 2 && detail == 2)
        return nullptr;
    else
        return multiply_rows<bits, detail, tile_rows>;
}

template <int bits> constexpr block_code::of_bits code_of_bits() {
    return {sizeof(typename codes_for<bits>::code), round_row<codes_for<bits>>,
            multiplication_for<bits, 2>(),          multiplication_for<bits, 4>(),
            multiplication_for<bits, 8>(),          multiplication_for<bits, one_by_one>()};
}

constexpr block_code code{vec::width, vec::name, code_of_bits<2>(), code_of_bits<4>(), code_of_bits<8>()};
