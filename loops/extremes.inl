// The scan of extremes.cpp, compiled once for each instruction set (forms_of_floats.inl).
// SPDX-License-Identifier: Apache-2.0

/// Writes the lowest, the highest and, unless there is a NaN, 0. Four vectors at a time, so that none waits for the one
/// before.
OCTET_TARGET void scan(const float *x, dim_t count, float *found) {
    constexpr dim_t vectors = 4, block = vectors * vec::width;
    extremes all;
    vec::reg low[vectors], high[vectors];
    vec::mask has_nan = vec::first(0);
#pragma GCC unroll 4
    for (dim_t c = 0; c < vectors; c++) {
        low[c] = vec::all(all.low);
        high[c] = vec::all(all.high);
    }
    dim_t i = 0;
    for (; count - i >= block; i += block) {
        vec::reg v[vectors];
#pragma GCC unroll 4
        for (dim_t c = 0; c < vectors; c++) {
            v[c] = vec::load(x + i + c * vec::width);
            low[c] = vec::smaller(low[c], v[c]);
            high[c] = vec::larger(high[c], v[c]);
        }
#pragma GCC unroll 2
        for (dim_t c = 0; c < vectors; c += 2)
            has_nan = vec::or_nan(has_nan, v[c], v[c + 1]);
    }
    bool is_unordered = vec::any(has_nan);
    float lows[block], highs[block];
#pragma GCC unroll 4
    for (dim_t c = 0; c < vectors; c++) {
        vec::store(lows + c * vec::width, low[c]);
        vec::store(highs + c * vec::width, high[c]);
    }
    for (dim_t k = 0; k < block; k++)
        include(all, lows[k], highs[k]);
    for (; i < count; i++) {
        include(all, x[i], x[i]);
        is_unordered |= x[i] != x[i];
    }
    found[0] = all.low;
    found[1] = all.high;
    found[2] = is_unordered ? 1.f : 0.f;
}

constexpr scan_code code{scan};
