// Reductions in vectors, in the order of their definition (common/lanes.hpp): where the elements of a result are
// neighbours, two vectors are its lanes; where results are, as the channels of a channels-last image whose positions are
// reduced, each lane of all of them is a vector. No generated code: the compiler's vectors do.

#include "cpu/lanes/reduction.hpp"

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "common/element.hpp"
#include "common/normalization.hpp"
#include "common/text.hpp"
#include "cpu/machine/parallel.hpp"

namespace octet::impl::lanes {

namespace {

// Asked at levels that have AVX2 alone; the compiler's default target may not.
#define OCTET_AVX2 __attribute__((target("avx2")))

constexpr dim_t width = 8; ///< floats of a vector

OCTET_AVX2 inline __m256 load(const void *src, data_type type, dim_t offset) {
    switch (type) {
    case data_type::f32:
        return _mm256_loadu_ps(static_cast<const float *>(src) + offset);
    case data_type::s32:
        return _mm256_cvtepi32_ps(_mm256_loadu_si256(
            reinterpret_cast<const __m256i *>(static_cast<const std::int32_t *>(src) + offset)));
    case data_type::s8:
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(
            reinterpret_cast<const __m128i *>(static_cast<const std::int8_t *>(src) + offset))));
    default:
        return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(
            reinterpret_cast<const __m128i *>(static_cast<const std::uint8_t *>(src) + offset))));
    }
}

/// reduce(acc, reduction_term(x)) of normalization.hpp, for norms with p of 1 or 2.
OCTET_AVX2 inline __m256 add(const reduction_problem &p, __m256 acc, __m256 x) {
    switch (p.alg) {
    case algorithm::reduction_max:
        return _mm256_max_ps(acc, x);
    case algorithm::reduction_min:
        return _mm256_min_ps(acc, x);
    case algorithm::reduction_mul:
        return _mm256_mul_ps(acc, x);
    case algorithm::reduction_sum:
    case algorithm::reduction_mean:
        return _mm256_add_ps(acc, x);
    default: {
        const __m256 term = p.p == 1.f ? _mm256_andnot_ps(_mm256_set1_ps(-0.f), x) : _mm256_mul_ps(x, x);
        return _mm256_add_ps(acc, term);
    }
    }
}

/// Which elements make a result, and what lies side by side.
struct walk {
    std::vector<dim_t> offsets;  ///< of the elements of one result, in their order
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

class reduction_kernel : public kernel {
public:
    reduction_kernel(const reduction_problem &p, walk w) : p_(p), walk_(std::move(w)) {}

    void execute(const arguments &args) const override {
        const bound_epilogue out(p_.out_stage, args);
        const void *src = args.get<const void>(OCTET_ARG_SRC);
        memory_desc groups = p_.dst; // a result, or as many as a vector has
        const int columns = walk_.are_neighbours ? -1 : walk_.column_dim;
        if (columns >= 0)
            groups.dims[columns] = div_up(groups.dims[columns], width);
        parallel_for(element_count(groups), 1, [&](dim_t begin, dim_t end) {
            for (dim_t group = begin; group < end; group++) {
                coordinates at = coordinates_of(group, groups);
                if (columns < 0) {
                    finish(out, reduced_row(src, plain_offset(p_.src, at)), at);
                    continue;
                }
                dim_t &c = at[static_cast<std::size_t>(columns)];
                c *= width;
                const dim_t left = p_.dst.dims[columns] - c;
                float results[width];
                if (left >= width)
                    reduce_columns(src, plain_offset(p_.src, at), results);
                for (dim_t i = 0; i < std::min(left, width); i++, c++)
                    finish(out, left >= width ? results[i] : reduced_one(src, plain_offset(p_.src, at)), at);
            }
        });
    }
    std::size_t size_bytes() const override { return sizeof *this + walk_.offsets.size() * sizeof(dim_t); }

private:
    dim_t count() const { return static_cast<dim_t>(walk_.offsets.size()); }
    void finish(const bound_epilogue &out, float acc, const coordinates &at) const {
        out.finish(reduction_result(p_, acc, count()), at);
    }

    /// Neighbours: two vectors are the lanes.
    OCTET_AVX2 float reduced_row(const void *src, dim_t first) const {
        __m256 low = _mm256_set1_ps(reduction_start(p_.alg)), high = low;
        dim_t i = 0;
        for (; i + lane_count <= count(); i += lane_count) {
            low = add(p_, low, load(src, p_.src.data_type, first + i));
            high = add(p_, high, load(src, p_.src.data_type, first + i + width));
        }
        f32_lanes lanes;
        _mm256_storeu_ps(lanes.data(), low);
        _mm256_storeu_ps(lanes.data() + width, high);
        for (; i < count(); i++) {
            float &lane = lanes[static_cast<std::size_t>(i % lane_count)];
            lane = reduce(p_.alg, lane, reduction_term(p_, load_f32(src, p_.src.data_type, first + i)));
        }
        return reduce_lanes(lanes, [&](float a, float b) { return reduce(p_.alg, a, b); });
    }

    /// One result, from elements anywhere.
    float reduced_one(const void *src, dim_t first) const {
        f32_lanes lanes;
        lanes.fill(reduction_start(p_.alg));
        for (dim_t i = 0; i < count(); i++) {
            float &lane = lanes[static_cast<std::size_t>(i % lane_count)];
            const dim_t offset = first + walk_.offsets[static_cast<std::size_t>(i)];
            lane = reduce(p_.alg, lane, reduction_term(p_, load_f32(src, p_.src.data_type, offset)));
        }
        return reduce_lanes(lanes, [&](float a, float b) { return reduce(p_.alg, a, b); });
    }

    /// Results side by side: a vector for each lane.
    OCTET_AVX2 void reduce_columns(const void *src, dim_t first, float *results) const {
        __m256 lanes[lane_count];
        std::fill(lanes, lanes + lane_count, _mm256_set1_ps(reduction_start(p_.alg)));
        for (dim_t i = 0; i < count(); i++) {
            __m256 &lane = lanes[i % lane_count];
            lane = add(p_, lane,
                       load(src, p_.src.data_type, first + walk_.offsets[static_cast<std::size_t>(i)]));
        }
        float by_lane[lane_count][width];
        for (dim_t i = 0; i < lane_count; i++)
            _mm256_storeu_ps(by_lane[i], lanes[i]);
        for (dim_t c = 0; c < width; c++) {
            f32_lanes column;
            for (dim_t i = 0; i < lane_count; i++)
                column[static_cast<std::size_t>(i)] = by_lane[i][c];
            results[c] = reduce_lanes(column, [&](float a, float b) { return reduce(p_.alg, a, b); });
        }
    }

    const reduction_problem p_;
    const walk walk_;
};

} // namespace

offer plan(const reduction_problem &p, const machine &) {
    constexpr dim_t most_offsets = 1 << 20;
    if (is_norm(p.alg) && p.p != 1.f && p.p != 2.f)
        return offer::refused(text("p ", p.p, ", implemented: 1, 2"));
    if (element_count(p.src) == 0)
        return offer::refused("an empty tensor");
    if (element_count(p.src) / element_count(p.dst) > most_offsets)
        return offer::refused(text("more than ", most_offsets, " elements of a result"));
    walk w = walk_of(p);
    if (!w.are_neighbours && w.column_dim < 0)
        return offer::refused("a layout in which neither elements nor results are neighbours");
    return offer([p, w = std::move(w)] { return std::make_shared<reduction_kernel>(p, w); });
}

} // namespace octet::impl::lanes
