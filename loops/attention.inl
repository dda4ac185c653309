// The exponentials of attention.cpp, which includes this file once for each instruction set: OCTET_TARGET is its
// attribute, `vec` its vectors.
// SPDX-License-Identifier: Apache-2.0

OCTET_TARGET float largest_of(const float *x, dim_t n) {
    alignas(64) float lanes[vec::width];
    dim_t i = 0;
    float largest = lowest;
    if (n >= vec::width) {
        vec::reg most = vec::load(x);
        for (i = vec::width; i + vec::width <= n; i += vec::width)
            most = vec::larger(most, vec::load(x + i));
        vec::store(lanes, most);
        for (const float lane : lanes)
            largest = lane > largest ? lane : largest;
    }
    for (; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest;
}

/// e^x for x <= 0: 2^m times a polynomial of x - m ln 2.
OCTET_TARGET inline vec::reg exponential(vec::reg x) {
    const vec::reg whole = vec::all(exp_whole), clamped = vec::larger(x, vec::all(exp_least));
    const vec::reg m = vec::sub(vec::fma(clamped, vec::all(exp_log2_e), whole), whole);
    const vec::reg r =
        vec::fma(m, vec::all(exp_minus_ln2_low), vec::fma(m, vec::all(exp_minus_ln2_high), clamped));
    vec::reg sum = vec::all(exp_coefficients[6]);
    for (int i = 5; i >= 0; i--)
        sum = vec::fma(sum, r, vec::all(exp_coefficients[i]));
    return vec::scaled(sum, m);
}

OCTET_TARGET float exponentials(const float *x, dim_t n, float largest, float *y) {
    constexpr int vectors = static_cast<int>(16 / vec::width);
    const vec::reg subtrahend = vec::all(largest);
    vec::reg sums[vectors];
    for (int v = 0; v < vectors; v++)
        sums[v] = vec::all(0.f);
    dim_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int v = 0; v < vectors; v++) {
            const vec::reg e = exponential(vec::sub(vec::load(x + i + v * vec::width), subtrahend));
            vec::store(y + i + v * vec::width, e);
            sums[v] = vec::add(sums[v], e);
        }
    alignas(64) float lanes[16], rest[16] = {};
    for (int v = 0; v < vectors; v++)
        vec::store(lanes + v * vec::width, sums[v]);
    if (i < n) {
        const auto bytes = static_cast<std::size_t>(n - i) * sizeof(float);
        std::memcpy(rest, x + i, bytes);
        for (int v = 0; v < vectors; v++)
            vec::store(rest + v * vec::width,
                       exponential(vec::sub(vec::load(rest + v * vec::width), subtrahend)));
        std::memcpy(y + i, rest, bytes);
        for (dim_t l = 0; l < n - i; l++)
            lanes[l] += rest[l];
    }
    for (int l = 0; l < 8; l++)
        lanes[l] += lanes[l + 8];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

constexpr attention_code code{largest_of, exponentials};
