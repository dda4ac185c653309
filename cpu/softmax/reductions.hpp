#pragma once // SPDX-License-Identifier: Apache-2.0

// Maxima and sums of rows of softmax, in plain loops. A row's elements may be anywhere apart.

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "common/softmax.hpp"
#include "common/softmax_problem.hpp"

namespace octet::impl::softmax {

/// Elements along the axis.
template <typename T> struct row_of {
    const T *first;
    dim_t count, stride;
    T operator[](dim_t i) const { return first[i * stride]; }
};

/// A row whose elements lie side by side, which the compiler may know.
template <typename T> struct contiguous_row {
    const T *first;
    dim_t count;
    T operator[](dim_t i) const { return first[i]; }
};

/// add(lane i mod 16, element i), in order.
template <typename T, typename Lane, typename Add>
void for_each_lane(const row_of<T> &row, std::array<Lane, softmax_lanes> &lanes, const Add &add) {
    const dim_t whole = row.count / softmax_lanes * softmax_lanes;
    if (row.stride == 1) // the compiler's vectors
        for (dim_t i = 0; i < whole; i += softmax_lanes)
            for (dim_t lane = 0; lane < softmax_lanes; lane++)
                add(lanes[static_cast<std::size_t>(lane)], row.first[i + lane]);
    for (dim_t i = row.stride == 1 ? whole : 0; i < row.count; i++)
        add(lanes[static_cast<std::size_t>(i % softmax_lanes)], row[i]);
}

/// As std::max of each lane, NaN included, which a compiler doesn't see.
inline dim_t raise_lanes(const row_of<float> &row, std::array<float, softmax_lanes> &lanes) {
    constexpr std::size_t vectors = softmax_lanes / 4;
    __m128 highest[vectors];
    for (std::size_t v = 0; v < vectors; v++)
        highest[v] = _mm_loadu_ps(&lanes[4 * v]);
    dim_t i = 0;
    for (; row.stride == 1 && i + softmax_lanes <= row.count; i += softmax_lanes)
        for (std::size_t v = 0; v < vectors; v++)
            highest[v] = _mm_max_ps(_mm_loadu_ps(row.first + i + 4 * v), highest[v]);
    for (std::size_t v = 0; v < vectors; v++)
        _mm_storeu_ps(&lanes[4 * v], highest[v]);
    return i;
}

template <typename T> float maximum_of_reals(row_of<T> row) {
    std::array<float, softmax_lanes> lanes;
    lanes.fill(-std::numeric_limits<float>::infinity());
    if constexpr (std::is_same_v<T, float>) {
        const dim_t done = raise_lanes(row, lanes);
        row = {row.first + done * row.stride, row.count - done, row.stride};
    }
    for_each_lane(row, lanes,
                  [](float &highest, T x) { highest = std::max(highest, static_cast<float>(x)); });
    return *std::max_element(lanes.begin(), lanes.end());
}

/// Compared without sign, as even the oldest vector instructions do.
template <typename T> std::int32_t maximum_of_codes(const contiguous_row<T> &row) {
    constexpr std::uint8_t sign = std::is_signed_v<T> ? 0x80 : 0;
    const __m128i signs = _mm_set1_epi8(static_cast<char>(sign));
    __m128i highest = _mm_setzero_si128();
    dim_t i = 0;
    for (; i + 16 <= row.count; i += 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i *>(row.first + i));
        highest = _mm_max_epu8(highest, _mm_xor_si128(x, signs));
    }
    std::uint8_t lanes[16];
    _mm_storeu_si128(reinterpret_cast<__m128i *>(lanes), highest);
    for (; i < row.count; i++)
        lanes[i % 16] = std::max<std::uint8_t>(lanes[i % 16], static_cast<std::uint8_t>(row[i]) ^ sign);
    return static_cast<T>(*std::max_element(lanes, lanes + 16) ^ sign);
}

template <typename T> std::int32_t maximum_of_codes(const row_of<T> &row) {
    if (row.stride == 1)
        return maximum_of_codes(contiguous_row<T>{row.first, row.count});
    constexpr std::uint8_t sign = std::is_signed_v<T> ? 0x80 : 0;
    std::array<std::uint8_t, softmax_lanes> lanes{};
    for_each_lane(row, lanes, [](std::uint8_t &highest, T x) {
        highest = std::max<std::uint8_t>(highest, static_cast<std::uint8_t>(x) ^ sign);
    });
    return static_cast<T>(*std::max_element(lanes.begin(), lanes.end()) ^ sign);
}

/// A table whose entry for code x of a row is that of x + 255 - its maximum, which indexes faster than a
/// distance.
template <typename T> softmax_table<T> by_code(softmax_table<T> by_distance) {
    std::reverse(by_distance.begin(), by_distance.end());
    return by_distance;
}

/// Σ of terms of codes, modulo 2^32. `terms` by code.
template <typename Row>
std::uint32_t sum_of_terms(const Row &row, std::int32_t highest, const softmax_table<std::int32_t> &terms) {
    const dim_t first = 255 - highest;
    const auto term = [&](dim_t i) {
        return static_cast<std::uint32_t>(terms[static_cast<std::size_t>(first + row[i])]);
    };
    std::uint32_t sums[4] = {};
    dim_t i = 0;
    for (; i + 4 <= row.count; i += 4)
        for (dim_t k = 0; k < 4; k++)
            sums[k] += term(i + k);
    for (; i < row.count; i++)
        sums[0] += term(i);
    return sums[0] + sums[1] + sums[2] + sums[3];
}

inline float sum_of(const softmax_problem &p, const row_of<float> &row) {
    softmax_lane_sums sums{};
    for_each_lane(row, sums, [](float &sum, float x) { sum += x; });
    return sum_of_lanes(p, sums);
}

/// Sums in order, `table` by code; of several rows at a time, since each addition waits for the one before.
constexpr std::size_t rows_at_a_time = 4;

template <typename Row, std::size_t n>
std::array<float, n> sums_in_order(const std::array<Row, n> &rows, const std::array<std::int32_t, n> &maxima,
                                   const softmax_table<float> &table) {
    float sum[n] = {}; // local, so that no code, being a byte, can alias it
    dim_t first[n];
    for (std::size_t r = 0; r < n; r++)
        first[r] = 255 - maxima[r];
    for (dim_t i = 0; i < rows[0].count; i++)
        for (std::size_t r = 0; r < n; r++)
            sum[r] += table[static_cast<std::size_t>(first[r] + rows[r][i])];
    std::array<float, n> sums;
    std::copy(sum, sum + n, sums.begin());
    return sums;
}

} // namespace octet::impl::softmax
