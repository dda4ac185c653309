// Reductions in vectors, in the order of their definition (common/lanes.hpp): where the elements of a result
// are neighbours, two vectors are its lanes; where results are, as the channels of a channels-last image
// whose positions are reduced, each lane of all of them is a vector. No generated code: the compiler's
// vectors do.
//
// Why there is an order at all. Sums of integers wrap modulo 2^32 and come out the same however they are
// added. A sum of floats is rounded at each addition, so its bits depend on the order, and a loop that adds
// eight at a time has other bits than one that adds sixteen. The definition therefore fixes an order that
// every width can follow: element i is added to lane i mod 16, in ascending i; then the upper half of the
// lanes is added to the lower one, 16 to 8 to 4 to 2 to 1.
//
//   lanes    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
//   then     0+8 1+9 2+10 ... 7+15, then 0+4 ... 3+7 of these, and so on
//
// AVX2 holds the lanes in two vectors, AVX-512 in one, a plain loop in an array.
//
// Threads share results, never the elements of one result, so their number does not matter either.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/lanes/reduction.hpp"

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/normalization.hpp"
#include "common/text.hpp"
#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl::lanes {

namespace {

constexpr dim_t width = 8; ///< floats of a vector
/// Results per loop over neighbours: each has two vectors, whose additions wait for each other.
constexpr int neighbours_at_a_time = 4;

template <data_type type> OCTET_AVX2 inline __m256 load(const void *src, dim_t offset) {
    if constexpr (type == data_type::f32)
        return _mm256_loadu_ps(static_cast<const float *>(src) + offset);
    if constexpr (type == data_type::s32)
        return _mm256_cvtepi32_ps(_mm256_loadu_si256(
            reinterpret_cast<const __m256i *>(static_cast<const std::int32_t *>(src) + offset)));
    const __m128i codes =
        _mm_loadl_epi64(reinterpret_cast<const __m128i *>(static_cast<const std::uint8_t *>(src) + offset));
    return _mm256_cvtepi32_ps(type == data_type::s8 ? _mm256_cvtepi8_epi32(codes)
                                                    : _mm256_cvtepu8_epi32(codes));
}

/// reduce(acc, reduction_term(x)) of normalization.hpp, for norms with p of 1 or 2.
enum class fold { max, min, product, sum, sum_of_magnitudes, sum_of_squares };

fold fold_of(const reduction_problem &p) {
    switch (p.alg) {
    case algorithm::reduction_max:
        return fold::max;
    case algorithm::reduction_min:
        return fold::min;
    case algorithm::reduction_mul:
        return fold::product;
    case algorithm::reduction_sum:
    case algorithm::reduction_mean:
        return fold::sum;
    default:
        return p.p == 1.f ? fold::sum_of_magnitudes : fold::sum_of_squares;
    }
}

template <fold by> OCTET_AVX2 inline __m256 add(__m256 acc, __m256 x) {
    switch (by) {
    case fold::max:
        return _mm256_max_ps(acc, x);
    case fold::min:
        return _mm256_min_ps(acc, x);
    case fold::product:
        return _mm256_mul_ps(acc, x);
    case fold::sum:
        return _mm256_add_ps(acc, x);
    case fold::sum_of_magnitudes:
        return _mm256_add_ps(acc, _mm256_andnot_ps(_mm256_set1_ps(-0.f), x));
    case fold::sum_of_squares:
        return _mm256_add_ps(acc, _mm256_mul_ps(x, x));
    }
    return acc;
}

/// Rows of whole lanes from each `first` on: two vectors are the lanes of a row.
template <data_type type, fold by, int rows>
OCTET_AVX2 void add_rows(const void *src, const dim_t *first, dim_t count, float start, f32_lanes *lanes) {
    __m256 low[rows], high[rows];
    for (int r = 0; r < rows; r++)
        low[r] = high[r] = _mm256_set1_ps(start);
    for (dim_t i = 0; i < count; i += lane_count)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            low[r] = add<by>(low[r], load<type>(src, first[r] + i));
            high[r] = add<by>(high[r], load<type>(src, first[r] + i + width));
        }
    for (int r = 0; r < rows; r++) {
        _mm256_storeu_ps(lanes[r].data(), low[r]);
        _mm256_storeu_ps(lanes[r].data() + width, high[r]);
    }
}

/// The offsets of the elements of a result, and the elements that lie side by side.
struct walk {
    /// From the first element of a result to each of its elements, in their order.
    std::vector<dim_t> offsets;
    bool are_neighbours = false; ///< offsets are 0, 1, 2, …
    int column_dim = -1;         ///< a kept dimension whose elements are neighbours in src; -1: none
};

walk walk_of(const reduction_problem &p) {
    walk w;
    memory_desc reduced = p.src;
    reduced.offset0 = 0;
    for (int d = 0; d < p.src.ndims; d++) {
        const bool is_kept = p.dst.dims[d] == p.src.dims[d];
        if (is_kept && p.src.strides[d] == 1 && p.src.dims[d] >= width)
            w.column_dim = d;
        if (is_kept)
            reduced.dims[d] = 1;
    }
    const dim_t count = element_count(reduced);
    coordinates at{};
    w.are_neighbours = true;
    for (dim_t i = 0; i < count; i++, advance(at, reduced)) {
        w.offsets.push_back(plain_offset(reduced, at));
        w.are_neighbours = w.are_neighbours && w.offsets.back() == i;
    }
    return w;
}

template <data_type type, fold by> class reduction_kernel : public kernel {
public:
    reduction_kernel(const reduction_problem &p, walk w) : p_(p), walk_(std::move(w)) {}

    void execute(const arguments &args) const override {
        const bound_epilogue out(p_.out_stage, args);
        const void *src = args.get<const void>(OCTET_ARG_SRC);
        if (walk_.are_neighbours)
            parallel_for(element_count(p_.dst), 1, [&](dim_t begin, dim_t end) {
                for (; begin + neighbours_at_a_time <= end; begin += neighbours_at_a_time)
                    reduce_rows<neighbours_at_a_time>(src, begin, out);
                for (; begin < end; begin++)
                    reduce_rows<1>(src, begin, out);
            });
        else
            reduce_columns(src, out);
    }
    std::size_t size_bytes() const override { return sizeof *this + walk_.offsets.size() * sizeof(dim_t); }
    std::string plan() const override {
        return walk_.are_neighbours ? text(neighbours_at_a_time, " rows at a time, along them")
                                    : text(width, " results at a time, across rows");
    }

private:
    dim_t count() const { return static_cast<dim_t>(walk_.offsets.size()); }
    void finish(const bound_epilogue &out, float acc, const coordinates &at) const {
        out.finish(reduction_result(p_, acc, count()), at);
    }
    void add_one(float &lane, const void *src, dim_t offset) const {
        lane = reduce(p_.alg, lane, reduction_term(p_, load_f32(src, type, offset)));
    }
    float of_lanes(const f32_lanes &lanes) const {
        return reduce_lanes(lanes, [&](float a, float b) { return reduce(p_.alg, a, b); });
    }

    /// Neighbours. As many results from this one on.
    template <int rows> void reduce_rows(const void *src, dim_t result, const bound_epilogue &out) const {
        coordinates at[rows];
        dim_t first[rows];
        f32_lanes lanes[rows];
        for (int r = 0; r < rows; r++) {
            at[r] = coordinates_of(result + r, p_.dst);
            first[r] = plain_offset(p_.src, at[r]);
        }
        const dim_t whole = count() / lane_count * lane_count;
        add_rows<type, by, rows>(src, first, whole, reduction_start(p_.alg), lanes);
        for (int r = 0; r < rows; r++) {
            for (dim_t i = whole; i < count(); i++)
                add_one(lanes[r][static_cast<std::size_t>(i % lane_count)], src, first[r] + i);
            finish(out, of_lanes(lanes[r]), at[r]);
        }
    }

    /// Results side by side, a vector of them at a time; those that don't fill one are made one by one.
    void reduce_columns(const void *src, const bound_epilogue &out) const {
        memory_desc groups = p_.dst;
        const auto columns = static_cast<std::size_t>(walk_.column_dim);
        groups.dims[columns] = div_up(groups.dims[columns], width);
        parallel_for(element_count(groups), 1, [&](dim_t begin, dim_t end) {
            for (dim_t group = begin; group < end; group++) {
                coordinates at = coordinates_of(group, groups);
                dim_t &c = at[columns];
                c *= width;
                const dim_t left = p_.dst.dims[columns] - c;
                float results[width];
                if (left >= width)
                    reduce_vector(src, plain_offset(p_.src, at), results);
                for (dim_t i = 0; i < std::min(left, width); i++, c++)
                    finish(out, left >= width ? results[i] : reduced_one(src, plain_offset(p_.src, at)), at);
            }
        });
    }

    /// A vector for each lane.
    OCTET_AVX2 void reduce_vector(const void *src, dim_t first, float *results) const {
        __m256 lanes[lane_count];
        std::fill(lanes, lanes + lane_count, _mm256_set1_ps(reduction_start(p_.alg)));
        for (dim_t i = 0; i < count(); i++) {
            __m256 &lane = lanes[i % lane_count];
            lane = add<by>(lane, load<type>(src, first + walk_.offsets[static_cast<std::size_t>(i)]));
        }
        float by_lane[lane_count][width];
        for (dim_t i = 0; i < lane_count; i++)
            _mm256_storeu_ps(by_lane[i], lanes[i]);
        for (dim_t c = 0; c < width; c++) {
            f32_lanes column;
            for (dim_t i = 0; i < lane_count; i++)
                column[static_cast<std::size_t>(i)] = by_lane[i][c];
            results[c] = of_lanes(column);
        }
    }

    /// One result, from elements anywhere.
    float reduced_one(const void *src, dim_t first) const {
        f32_lanes lanes;
        lanes.fill(reduction_start(p_.alg));
        for (dim_t i = 0; i < count(); i++)
            add_one(lanes[static_cast<std::size_t>(i % lane_count)], src,
                    first + walk_.offsets[static_cast<std::size_t>(i)]);
        return of_lanes(lanes);
    }

    const reduction_problem p_;
    const walk walk_;
};

template <data_type type> std::shared_ptr<const kernel> create(const reduction_problem &p, const walk &w) {
    switch (fold_of(p)) {
    case fold::max:
        return std::make_shared<reduction_kernel<type, fold::max>>(p, w);
    case fold::min:
        return std::make_shared<reduction_kernel<type, fold::min>>(p, w);
    case fold::product:
        return std::make_shared<reduction_kernel<type, fold::product>>(p, w);
    case fold::sum:
        return std::make_shared<reduction_kernel<type, fold::sum>>(p, w);
    case fold::sum_of_magnitudes:
        return std::make_shared<reduction_kernel<type, fold::sum_of_magnitudes>>(p, w);
    default:
        return std::make_shared<reduction_kernel<type, fold::sum_of_squares>>(p, w);
    }
}

std::shared_ptr<const kernel> create(const reduction_problem &p, const walk &w) {
    switch (p.src.data_type) {
    case data_type::f32:
        return create<data_type::f32>(p, w);
    case data_type::s32:
        return create<data_type::s32>(p, w);
    case data_type::s8:
        return create<data_type::s8>(p, w);
    default:
        return create<data_type::u8>(p, w);
    }
}

} // namespace

candidate plan(const reduction_problem &p, const machine &) {
    constexpr dim_t most_offsets = 1 << 20;
    if (is_norm(p.alg) && p.p != 1.f && p.p != 2.f)
        return candidate::refused(text("p ", p.p, ", implemented: 1, 2"));
    if (element_count(p.src) == 0)
        return candidate::refused("an empty tensor");
    if (element_count(p.src) / element_count(p.dst) > most_offsets)
        return candidate::refused(text("more than ", most_offsets, " elements of a result"));
    walk w = walk_of(p);
    if (!w.are_neighbours && w.column_dim < 0)
        return candidate::refused("a layout in which neither elements nor results are neighbours");
    return candidate([p, w = std::move(w)] { return create(p, w); });
}

} // namespace octet::impl::lanes
