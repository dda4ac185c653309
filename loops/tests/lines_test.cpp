// Lines, reductions and images: against plain loops, and however the work is divided.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "loops/extremes.hpp"
#include "loops/kept_walk.hpp"
#include "loops/normalization.hpp"
#include "loops/reductions.hpp"
#include "loops/resize.hpp"
#include "loops/tests/every_form.hpp"
#include "loops/top_k.hpp"
#include "support/expect_same.hpp"

namespace octet::tests {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::size_t at(dim_t i) { return static_cast<std::size_t>(i); }

/// Numbers of which many are equal, and some are NaN.
floats coarse_numbers(dim_t count) {
    floats x = numbers(count, 20.f);
    for (float &v : x)
        v = v > 19.f ? nan : std::round(v);
    return x;
}

struct line {
    loops::tensor_lines dims;
    dim_t count;
};

class TopK : public testing::TestWithParam<line> {};

TEST_P(TopK, SortsByValueThenByPlace) {
    const auto [dims, count] = GetParam();
    const floats x = coarse_numbers(dims.count() * dims.size);
    for (const bool is_largest : {true, false}) {
        const std::vector<std::int32_t> places = same_everywhere([&, count = count, dims = dims] {
            const loops::top_k loop(dims, count, is_largest);
            std::vector<std::int32_t> scratch(at(loop.scratch_size())), found(at(dims.count() * count));
            floats values(found.size());
            loop.run(x.data(), scratch.data(), values.data(), found.data());
            for (dim_t l = 0; l < dims.count(); l++)
                for (dim_t k = 0; k < count; k++) {
                    const dim_t to = dims.begin(l, count) + k * dims.inner;
                    test::expect_same(values[at(to)],
                                      x[at(dims.begin(l, dims.size) + found[at(to)] * dims.inner)], "line ",
                                      l);
                }
            return found;
        });
        for (dim_t l = 0; l < dims.count(); l++) {
            const float *const first = x.data() + dims.begin(l, dims.size);
            std::vector<std::int32_t> order(at(dims.size));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [&, inner = dims.inner](std::int32_t a, std::int32_t b) {
                                 const float va = first[a * inner], vb = first[b * inner];
                                 if (std::isnan(va) || std::isnan(vb))
                                     return !std::isnan(va);
                                 return is_largest ? va > vb : va < vb;
                             });
            for (dim_t k = 0; k < count; k++)
                test::expect_same(places[at(dims.begin(l, count) + k * dims.inner)], order[at(k)], "line ", l,
                                  ", ", k);
        }
    }
}

std::string name_of(const testing::TestParamInfo<line> &info) {
    const loops::tensor_lines &d = info.param.dims;
    return std::to_string(info.param.count) + "_of_" + std::to_string(d.outer) + "x" +
           std::to_string(d.size) + "x" + std::to_string(d.inner);
}

INSTANTIATE_TEST_SUITE_P(Lines, TopK,
                         testing::Values(line{{1, 1, 1}, 1}, line{{3, 7, 2}, 7}, line{{300, 50, 1}, 4},
                                         line{{1, 150000, 1}, 20}, line{{2, 70001, 1}, 1}),
                         name_of);

TEST(Extremes, AreThoseOfNumbers) {
    for (const dim_t count : {1, 31, 33, 5000, 100003}) {
        const floats x = numbers(count, 7.f);
        const floats found = same_everywhere([&] {
            const loops::extremes_loop loop(count);
            floats scratch(at(loop.scratch_size()));
            const loops::extremes e = loop.run(x.data(), scratch.data());
            return floats{e.low, e.high};
        });
        EXPECT_EQ(found[0], *std::min_element(x.begin(), x.end())) << count;
        EXPECT_EQ(found[1], *std::max_element(x.begin(), x.end())) << count;
    }
}

/// A NaN makes the lanes before it forgotten: of 32 lanes, the NaN's has what comes behind.
TEST(Extremes, ForgetWhatComesBeforeANaN) {
    floats x(100000, 1.f);
    x[0] = -5.f;
    x[32] = nan;
    x[64] = 2.f;
    const floats found = same_everywhere([&] {
        const loops::extremes_loop loop(static_cast<dim_t>(x.size()));
        floats scratch(at(loop.scratch_size()));
        const loops::extremes e = loop.run(x.data(), scratch.data());
        return floats{e.low, e.high};
    });
    EXPECT_EQ(found[0], 1.f);
    EXPECT_EQ(found[1], 2.f);
}

TEST(KeptWalk, TakesElementsOfAResultInOrder) {
    struct problem {
        std::vector<dim_t> dims, strides;
        dim_t results;
    };
    for (const problem &p : {problem{{4, 5, 6}, {6, 0, 1}, 24}, problem{{4, 5, 6}, {0, 1, 0}, 5},
                             problem{{3, 1, 40, 2}, {80, 80, 2, 1}, 240}, problem{{1}, {1}, 1},
                             problem{{7, 9}, {0, 0}, 1}, problem{{2, 300, 70}, {0, 70, 1}, 21000}}) {
        dim_t count = 1;
        for (const dim_t d : p.dims)
            count *= d;
        const loops::kept_walk walk(p.dims, p.strides);
        const std::vector<dim_t> got = same_everywhere([&] { // a number that depends on the order
            std::vector<dim_t> y(at(p.results));
            walk.for_each_row(1000, [&](dim_t element, dim_t result, dim_t n) {
                for (dim_t k = 0; k < n; k++) {
                    dim_t &r = y[at(result + k * walk.result_step())];
                    r = (r * 31 + element + k) % 1000003;
                }
            });
            return y;
        });
        std::vector<dim_t> wanted(at(p.results));
        for (dim_t e = 0; e < count; e++) {
            dim_t result = 0;
            for (std::size_t d = p.dims.size(), left = at(e); d-- > 0; left /= at(p.dims[d]))
                result += static_cast<dim_t>(left % at(p.dims[d])) * p.strides[d];
            wanted[at(result)] = (wanted[at(result)] * 31 + e) % 1000003;
        }
        EXPECT_EQ(got, wanted) << count << " elements";
    }
}

/// ONNX Runtime 1.30 leaves +0 of +0 and zeros of the other sign, and NaN of NaN and numbers, where they stand first,
/// whatever the lanes of the first row are.
TEST(Reductions, ExtremesBeginWithTheFirstElement) {
    const std::vector<dim_t> dims = {2, 3, 13};
    const loops::reduction r = {
        loops::reduction_form_of(dims, {true, false, true}), {dims, {0, 1, 0}}, 2 * 3 * 13, 3};
    for (const float first : {0.f, nan}) {
        floats x(at(r.elements), -0.f), y(at(r.count));
        x[13] = first; // of result 1, in front of the first vector of its row
        std::vector<std::uint8_t> has_begun(at(r.count));
        loops::reduce_to_extremes(r, true, x.data(), y.data(), has_begun.data());
        for (std::size_t i = 0; i < y.size(); i++)
            test::expect_same(y[i], i == 1 ? first : -0.f, "result ", i);
    }
}

/// All dimensions but a row of lanes: results take elements in the order of memory, from the first on.
TEST(Reductions, FoldInTheOrderOfMemory) {
    const std::vector<dim_t> dims = {6, 5, 40, 30};
    for (const unsigned mask : {1u, 2u, 3u, 4u, 5u, 9u, 10u, 12u, 14u}) {
        std::vector<bool> is_reduced(dims.size());
        std::vector<dim_t> strides(dims.size());
        dim_t results = 1, elements = 1;
        for (std::size_t d = dims.size(); d-- > 0; elements *= dims[d]) {
            is_reduced[d] = (mask >> d & 1) != 0;
            strides[d] = is_reduced[d] ? 0 : results;
            results *= is_reduced[d] ? 1 : dims[d];
        }
        const loops::reduction r = {
            loops::reduction_form_of(dims, is_reduced), {dims, strides}, elements, results};
        const floats x = numbers(elements, 2.f);
        floats squares(at(results)), largest(at(results), -3.f);
        std::vector<double> totals(at(results));
        for (dim_t e = 0; e < elements; e++) {
            dim_t to = 0, left = e;
            for (std::size_t d = dims.size(); d-- > 0; left /= dims[d])
                to += left % dims[d] * strides[d];
            squares[at(to)] += x[at(e)] * x[at(e)];
            totals[at(to)] += static_cast<double>(x[at(e)]);
            largest[at(to)] = std::max(largest[at(to)], x[at(e)]);
        }
        const floats got = same_everywhere([&] {
            floats y(at(2 * results));
            std::vector<std::uint8_t> has_begun(at(results));
            loops::reduce_by_fold(r, loops::fold::sum_of_squares, x.data(), y.data());
            loops::reduce_to_extremes(r, true, x.data(), y.data() + results, has_begun.data());
            return y;
        });
        for (dim_t i = 0; i < results; i++) {
            test::expect_same(got[at(i)], squares[at(i)], r.form.kinds, ", result ", i);
            test::expect_same(got[at(results + i)], largest[at(i)], r.form.kinds, ", maximum ", i);
        }
        const floats means = same_everywhere([&] {
            floats y(at(results));
            loops::reduce_by_sums(r, true, x.data(), y.data());
            return y;
        });
        for (std::size_t i = 0; i < means.size(); i++)
            EXPECT_NEAR(static_cast<double>(means[i]),
                        totals[i] * static_cast<double>(results) / static_cast<double>(elements), 1e-5)
                << r.form.kinds;
    }
}

TEST(Normalization, RowsDoNotDependOnTheirNeighbours) {
    constexpr dim_t rows = 77, n = 300;
    const floats x = numbers(rows * n, 3.f), scale = numbers(n, 1.f, 2), shift = numbers(n, 1.f, 3);
    for (const loops::moments how :
         {loops::moments::updated, loops::moments::summed, loops::moments::squares}) {
        const loops::row_normalization f{how, 1e-5f, scale.data(), shift.data()};
        const floats y = same_everywhere([&] {
            floats result(x.size() + rows);
            loops::normalize_rows(f, x.data(), rows, n, result.data(), result.data() + x.size());
            return result;
        });
        for (dim_t r = 0; r < rows; r++) {
            floats alone(at(n));
            float mean = 0.f;
            loops::normalize_rows(f, x.data() + r * n, 1, n, alone.data(), &mean);
            EXPECT_EQ(std::memcmp(alone.data(), y.data() + r * n, at(n) * sizeof(float)), 0) << "row " << r;
            test::expect_same(y[x.size() + at(r)], mean, "mean of row ", r);
        }
    }
}

TEST(Bicubic, ImagesAreResizedTogetherAsAlone) {
    constexpr dim_t images = 50, height = 90, width = 40, out = 70; // more than fit into the scratch
    const auto axis = [](dim_t in) {
        std::vector<loops::among_four> all;
        for (dim_t i = 0; i < out; i++) {
            const dim_t place = i * in / out;
            loops::among_four w = {{}, {-0.1f, 0.6f, 0.6f, -0.1f}, 1.f};
            for (dim_t k = 0; k < 4; k++)
                w.at[k] = std::clamp<dim_t>(place - 1 + k, 0, in - 1);
            all.push_back(w);
        }
        return all;
    };
    const loops::bicubic loop(height, width, axis(height), axis(width));
    const floats x = numbers(images * height * width, 2.f);
    ASSERT_LT(loop.scratch_size(images), images * height * out);
    const floats y = same_everywhere([&] {
        floats result(at(images * out * out)), scratch(at(loop.scratch_size(images)));
        loop.run(x.data(), images, scratch.data(), result.data());
        return result;
    });
    for (dim_t i = 0; i < images; i++) {
        floats alone(at(out * out)), scratch(at(loop.scratch_size(1)));
        loop.run(x.data() + i * height * width, 1, scratch.data(), alone.data());
        EXPECT_EQ(std::memcmp(alone.data(), y.data() + i * out * out, alone.size() * sizeof(float)), 0)
            << "image " << i;
    }
}

} // namespace
} // namespace octet::tests
