// Attention and rotation, against formulas in double precision, and rotation also bit for bit. Bits of attention are
// ONNX Runtime's in the vectors that `octet check` replays.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "loops/attention.hpp"
#include "loops/rotary.hpp"
#include "loops/tests/every_form.hpp"

namespace octet::tests {
namespace {

std::size_t at(dim_t i) { return static_cast<std::size_t>(i); }

constexpr dim_t rows = 21, keys = 50, past = keys - rows, width = 24, value_width = 20;

struct operands {
    floats q = numbers(rows * width, 1.f), k = numbers(keys * width, 1.f, 2),
           v = numbers(keys * value_width, 1.f, 3), bias = numbers(rows * keys, 1.f, 4);

    loops::attention_head head(floats &y, dim_t window) const {
        loops::attention_head h{q.data(),    k.data(), v.data(), y.data(), width,       width, value_width,
                                value_width, rows,     keys,     width,    value_width, 0.3f};
        h.bias = bias.data();
        h.bias_row = keys;
        h.is_causal = true;
        h.past = past;
        h.window = window;
        return h;
    }
    /// In double precision, all keys at once.
    void expect(const floats &y, dim_t first, dim_t count, dim_t window, double softcap = 0.) const {
        for (dim_t s = first; s < first + count; s++) {
            const dim_t end = past + s + 1, begin = window < 0 ? 0 : std::max<dim_t>(0, end - window);
            std::vector<double> sums(at(value_width));
            double total = 0.;
            for (dim_t t = begin; t < end; t++) {
                double x = 0.;
                for (dim_t i = 0; i < width; i++)
                    x += double{q[at(s * width + i)]} * double{k[at(t * width + i)]};
                x *= double{0.3f};
                x = (softcap > 0. ? std::tanh(x / softcap) * softcap : x) + double{bias[at(s * keys + t)]};
                const double e = std::exp(x);
                total += e;
                for (dim_t i = 0; i < value_width; i++)
                    sums[at(i)] += e * double{v[at(t * value_width + i)]};
            }
            for (dim_t i = 0; i < value_width; i++)
                ASSERT_NEAR(double{y[at(s * value_width + i)]}, total > 0. ? sums[at(i)] / total : 0., 2e-6)
                    << "row " << s << ", window " << window;
        }
    }
};

TEST(Attention, TilesOfKeysGiveTheSoftmaxOfAllScores) {
    const operands o;
    for (const dim_t window : {-1, 0, 1, 7, 60})
        for (const loops::attention_tiles &tiles :
             {loops::attention_tiles{4, 8, false}, {rows, 17, true}, {rows, keys, false}, {5, 1, true}}) {
            const floats y = same_everywhere([&] {
                const loops::attention_loops loop;
                floats result(at(rows * value_width), 7.f);
                floats scratch(at(loops::attention_loops::scratch_of_tiles(tiles, width)));
                for (dim_t first = 0; first < rows; first += tiles.rows)
                    loop.in_tiles(o.head(result, window), tiles, first, scratch.data());
                return result;
            });
            o.expect(y, 0, rows, window);
        }
}

TEST(Attention, AllScoresAtOnceGiveTheirSoftmax) {
    const operands o;
    for (const dim_t window : {-1, 0, 3})
        for (const float softcap : {0.f, 0.5f}) {
            const floats y = same_everywhere([&] {
                const loops::attention_loops loop;
                floats result(at(rows * value_width), 7.f);
                floats scratch(at(loops::attention_loops::scratch_of_scores(8, keys, width)));
                loops::score_terms terms;
                terms.softcap = softcap;
                terms.summands[1] = o.bias.data();
                terms.summand_rows[1] = keys;
                for (dim_t first = 0; first < rows; first += 8)
                    loop.by_scores(o.head(result, window), terms, first, std::min<dim_t>(8, rows - first),
                                   scratch.data());
                return result;
            });
            o.expect(y, 0, rows, window, double{softcap});
        }
}

TEST(Attention, ARowGoesKeyByKey) {
    const operands o;
    for (const dim_t window : {-1, 0, 3}) {
        const floats y = same_everywhere([&] {
            const loops::attention_loops loop;
            floats result(at(rows * value_width), 7.f), scratch(at(keys));
            loops::attention_head head = o.head(result, window);
            head.rows = 1;
            head.keys = past + 1;
            loop.row_by_keys(head, scratch.data());
            return result;
        });
        o.expect(y, 0, 1, window);
    }
}

TEST(Attention, ARowOfLowestScoresHasNoWeights) {
    const operands o;
    floats y(at(value_width), 7.f), scratch(at(loops::attention_loops::scratch_of_scores(1, keys, width)));
    const floats lowest(at(keys), std::numeric_limits<float>::lowest());
    loops::attention_head head = o.head(y, -1);
    head.rows = 1;
    loops::score_terms terms;
    terms.folded = lowest.data();
    const loops::attention_loops loop;
    loop.by_scores(head, terms, 0, 1, scratch.data());
    EXPECT_NE(y, floats(at(value_width)));
    terms.lowest_is_none = true;
    loop.by_scores(head, terms, 0, 1, scratch.data());
    EXPECT_EQ(y, floats(at(value_width)));
}

TEST(Rotary, TurnsPairsAndCopiesTheRest) {
    for (const bool is_interleaved : {false, true})
        for (const dim_t rotated : {2, 8, 16, 24}) {
            constexpr dim_t all = 27;
            const dim_t half = rotated / 2;
            const floats x = numbers(all, 1.f), cosines = numbers(half, 1.f, 2),
                         sines = numbers(half, 1.f, 3);
            const floats y = same_everywhere([&] {
                floats result(at(all));
                loops::rotary_rows(all, rotated, is_interleaved)
                    .rotate(x.data(), cosines.data(), sines.data(), result.data());
                return result;
            });
            for (dim_t i = 0; i < half; i++) {
                const std::size_t first = at(is_interleaved ? 2 * i : i),
                                  second = at(is_interleaved ? 2 * i + 1 : half + i);
                const float a = x[first], b = x[second], c = cosines[at(i)], s = sines[at(i)];
                const bool is_fused = !is_interleaved || i <= rotated / 16 * 8;
                EXPECT_EQ(y[first], is_fused ? std::fma(a, c, -(b * s)) : a * c - b * s)
                    << rotated << ", " << i;
                EXPECT_EQ(y[second], is_fused ? std::fma(a, s, b * c) : a * s + b * c)
                    << rotated << ", " << i;
            }
            for (dim_t i = rotated; i < all; i++)
                EXPECT_EQ(y[at(i)], x[at(i)]);
        }
}

} // namespace
} // namespace octet::tests
