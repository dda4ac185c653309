// Products in ONNX Runtime's orders of sums, against those orders element by element.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "loops/block_products.hpp"
#include "loops/dequantized_products.hpp"
#include "loops/plane_products.hpp"
#include "loops/tests/every_form.hpp"
#include "loops/vector_products.hpp"
#include "support/expect_same.hpp"

namespace octet::tests {
namespace {

std::size_t at(dim_t i) { return static_cast<std::size_t>(i); }

TEST(PlaneProducts, SumUpBlocksWithFma) {
    for (const dim_t outputs : {1, 3, 8, 13})
        for (const dim_t columns : {1, 7, 16, 50, 97}) {
            constexpr dim_t inner = 19, block = 8;
            const floats weights = numbers(outputs * inner, 1.f), source = numbers(inner * columns, 1.f, 2),
                         initial = numbers(outputs * columns, 1.f, 3), bias = numbers(outputs, 1.f, 4);
            const floats y = same_everywhere([&] {
                loops::plane_products p;
                p.outputs = outputs;
                p.inner = p.weights_row = inner;
                p.block = block;
                p.result_row = columns;
                for (dim_t k = 0; k < inner; k++)
                    p.rows.push_back(k * columns);
                p.add_columns(0, 0, columns);
                floats result(at(outputs * columns));
                p.run_all(1, [&](dim_t) {
                    return loops::plane_products::operands{weights.data(), source.data(), initial.data(),
                                                           bias.data(), result.data()};
                });
                return result;
            });
            for (dim_t m = 0; m < outputs; m++)
                for (dim_t n = 0; n < columns; n++) {
                    float wanted = initial[at(m * columns + n)];
                    for (dim_t first = 0; first < inner; first += block) {
                        float sum = 0.f;
                        for (dim_t k = first; k < std::min(first + block, inner); k++)
                            sum = std::fma(weights[at(m * inner + k)], source[at(k * columns + n)], sum);
                        wanted = wanted + sum;
                    }
                    test::expect_same(y[at(m * columns + n)], wanted + bias[at(m)], outputs, " x ", columns,
                                      " at ", m, ", ", n);
                }
        }
}

TEST(VectorProducts, ARowTakesFourTwoAndOneRows) {
    for (const dim_t inner : {1, 2, 3, 4, 7, 11}) {
        constexpr dim_t columns = 21, stride = 24;
        const floats a = numbers(inner, 1.f), b = numbers(inner * stride, 1.f, 2),
                     before = numbers(columns, 1.f, 3);
        for (const bool begins : {true, false}) {
            floats y = before;
            loops::multiply_row(a.data(), b.data(), stride, inner, y.data(), columns, begins);
            for (dim_t j = 0; j < columns; j++) {
                float wanted = begins ? 0.f : before[at(j)];
                for (dim_t k = 0; k < inner;) {
                    const dim_t rows = inner - k >= 4 ? 4 : inner - k >= 2 ? 2 : 1;
                    float sum = a[at(k)] * b[at(k * stride + j)];
                    for (dim_t r = 1; r < rows; r++)
                        sum += a[at(k + r)] * b[at((k + r) * stride + j)];
                    wanted = wanted + sum;
                    k += rows;
                }
                test::expect_same(y[at(j)], wanted, inner, " products, column ", j);
            }
        }
    }
}

TEST(VectorProducts, AMatrixAndItsTransposeGiveTheSame) {
    for (const dim_t inner : {1, 5, 8, 30})
        for (const dim_t count : {1, 2, 3, 6, 64, 71}) {
            const floats rows = numbers(count * inner, 1.f), column = numbers(inner, 1.f, 2);
            floats transposed(rows.size()), y(at(count)), of_transposed(at(count));
            for (dim_t r = 0; r < count; r++)
                for (dim_t k = 0; k < inner; k++)
                    transposed[at(k * count + r)] = rows[at(r * inner + k)];
            loops::multiply_column(rows.data(), inner, column.data(), inner, y.data(), count, true);
            loops::multiply_column_by_transposed(transposed.data(), count, column.data(), inner,
                                                 of_transposed.data(), count);
            for (dim_t r = 0; r < count; r++)
                test::expect_same(of_transposed[at(r)], y[at(r)], count, " rows of ", inner, ", row ", r);
        }
}

/// Weights with what ONNX Runtime's formula says of them, element by element (block_order.hpp tells it as data).
struct weights_in_blocks {
    loops::block_shape shape;
    std::vector<std::uint8_t> codes, zero_points;
    floats scales;

    /// Every other seed leaves zero points out.
    weights_in_blocks(const loops::block_shape &s, unsigned seed) : shape(s) {
        const bool has_zero_points = seed % 2 == 0;
        const auto bytes = [&](dim_t count) {
            std::vector<std::uint8_t> values(at(count));
            for (std::uint8_t &v : values)
                v = static_cast<std::uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
            return values;
        };
        codes = bytes(s.columns * s.column_bytes());
        if (has_zero_points)
            zero_points = bytes(s.columns * s.zero_point_bytes());
        scales = numbers(s.columns * s.blocks(), 0.1f, seed);
    }
    loops::block_weights view() const { return {codes.data(), scales.data(), zero_points.data()}; }
    int code(dim_t n, dim_t k) const {
        return loops::code_at(codes.data() + n * shape.column_bytes(), k, shape.bits);
    }
    float scale(dim_t n, dim_t b) const { return scales[at(n * shape.blocks() + b)]; }
    float zero(dim_t n, dim_t b) const { return loops::zero_point_at(view(), shape, n, b); }
};

struct rounded_row {
    std::vector<int> codes;
    floats scales, sums;
};

rounded_row round_row(const float *x, const loops::block_shape &s) {
    rounded_row row;
    for (dim_t b = 0; b < s.blocks(); b++) {
        floats v(at(s.block));
        std::copy_n(x + b * s.block, std::min(s.block, s.inner - b * s.block), v.begin());
        float highest = 0.f;
        for (const float e : v)
            highest = std::max(highest, std::fabs(e));
        int sum = 0;
        for (const float e : v) {
            row.codes.push_back(
                static_cast<int>(std::nearbyint(e * (highest == 0.f ? 0.f : 127.f / highest))));
            sum += row.codes.back();
        }
        row.scales.push_back(highest / 127.f);
        row.sums.push_back(row.scales.back() * static_cast<float>(sum));
    }
    return row;
}

float in_order(const floats &l, std::size_t i) { return ((l[i] + l[i + 1]) + l[i + 2]) + l[i + 3]; }

float by_halves(floats l) {
    for (std::size_t half = l.size() / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; i++)
            l[i] += l[i + half];
    return l[0];
}

float in_order(const floats &l) {
    return l.size() == 8 ? in_order(l, 0) + in_order(l, 4)
                         : (in_order(l, 0) + in_order(l, 8)) + (in_order(l, 4) + in_order(l, 12));
}

/// Lanes of one element of the result, as the tables of ONNX Runtime's order say.
floats lanes_of(const rounded_row &row, const weights_in_blocks &w, dim_t n) {
    const dim_t block = w.shape.block, blocks = w.shape.blocks();
    const auto sum = [&](dim_t b, dim_t first, dim_t count) {
        int result = 0;
        for (dim_t k = b * block + first; b < blocks && k < b * block + first + count; k++)
            result += row.codes[at(k)] * w.code(n, k);
        return static_cast<float>(result);
    };
    const auto scale = [&](dim_t b) { return b < blocks ? row.scales[at(b)] * w.scale(n, b) : 0.f; };
    const auto four = [&](dim_t b, dim_t i) { return sum(b, 4 * i, 4); };
    if (w.shape.bits == 2) {
        floats l(block == 32 ? 8 : 16);
        for (dim_t b = 0; b < blocks; b += 4)
            for (std::size_t i = 0; i < l.size(); i++) {
                const auto x = [&](dim_t t) {
                    const auto q = static_cast<dim_t>(i);
                    return four(b + t, q) + (block == 128 ? four(b + t, q + 16) : 0.f);
                };
                const float low = std::fma(x(2), scale(b + 2), x(0) * scale(b)),
                            high = std::fma(x(3), scale(b + 3), x(1) * scale(b + 1));
                l[i] += low + high;
            }
        return l;
    }
    floats l(16);
    const auto add = [&](dim_t lane, float products, dim_t b) {
        l[at(lane)] = std::fma(products, scale(b), l[at(lane)]);
    };
    const dim_t together = std::max<dim_t>(128 / block, 1);
    dim_t b = 0;
    for (; b + together <= blocks; b += together) {
        if (block == 16)
            for (dim_t t = 0; t < 4; t++)
                for (dim_t j = 0; j < 2; j++) {
                    add(4 * t + j, four(b + t, j) + four(b + t, j + 2), b + t);
                    add(4 * t + 2 + j, four(b + t + 4, j) + four(b + t + 4, j + 2), b + t + 4);
                }
        else if (block == 32)
            for (dim_t t = 0; t < 4; t++)
                for (dim_t j = 0; j < 4; j++) {
                    const dim_t q = 4 * (j / 2) + j % 2;
                    add(8 * (t % 2) + 2 * (t / 2) + q, four(b + t, q) + four(b + t, q + 2), b + t);
                }
        else if (block == 64)
            for (dim_t t = 0; t < 2; t++)
                for (dim_t i = 0; i < 8; i++) {
                    const dim_t q = 4 * (i / 2) + i % 2;
                    add(2 * i + t, four(b + t, q) + four(b + t, q + 2), b + t);
                }
        else
            for (dim_t first = 0; first < block / 4; first += 32)
                for (dim_t i = 0; i < 16; i++)
                    add(i, four(b, first + i) + four(b, first + i + 16), b);
    }
    if (block <= 32) {
        for (std::size_t i = 0; i < 8; i++)
            l[i] += l[i + 8];
        l.resize(8);
    }
    for (; b < blocks; b++)
        for (std::size_t i = 0; i < l.size(); i++)
            add(static_cast<dim_t>(i),
                block == 16 ? sum(b, 2 * static_cast<dim_t>(i), 2) : four(b, static_cast<dim_t>(i)), b);
    return l;
}

float product_of_codes(const float *x, const weights_in_blocks &w, dim_t n, float bias, bool is_last_of_odd) {
    const loops::block_shape &s = w.shape;
    const rounded_row row = round_row(x, s);
    const floats l = lanes_of(row, w, n);
    const bool is_in_fours = n < s.columns / 4 * 4,
               is_always_in_order = s.bits != 2 && (s.block <= 32 || (s.bits == 8 && s.block == 64));
    const float sum =
        is_in_fours && (is_always_in_order || (s.bits != 2 && is_last_of_odd)) ? in_order(l) : by_halves(l);
    float zero = 0.f;
    for (dim_t b = 0; b < s.blocks(); b++)
        zero = std::fma(row.sums[at(b)], -w.scale(n, b) * w.zero(n, b), zero);
    return (sum + bias) + zero;
}

/// Calls work(bits, block, inner, rows, columns) for sizes beside blocks, groups, tiles and panels.
template <typename Work> void for_block_sizes(const Work &work) {
    for (const int bits : {2, 4, 8})
        for (const dim_t block : {16, 32, 64, 128, 256})
            for (const dim_t inner : {dim_t{1}, block + 3, 2 * block, dim_t{300}, 5 * block, 9 * block})
                for (const dim_t rows : {1, 2, 3, 8})
                    work(loops::block_shape{inner, (inner * 7 + rows * 5 + block) % 23 + 1, block, bits},
                         rows);
}

floats product(const loops::block_shape &s, loops::block_sums sums, const weights_in_blocks &w,
               const floats &x, const floats &bias, dim_t rows) {
    const loops::block_products p(s, sums, w.view());
    const auto aligned = [](std::vector<double> &in, std::size_t needed) {
        in.resize(needed / sizeof(double) + 16);
        void *bytes = in.data();
        std::size_t size = in.size() * sizeof(double);
        return std::align(64, needed, bytes, size);
    };
    std::vector<double> packed, rounded;
    void *const weights = aligned(packed, p.packed_bytes());
    p.pack(w.view(), weights);
    floats result(at(rows * s.columns));
    p.run({x.data(), bias.empty() ? nullptr : bias.data(), result.data(), weights,
           aligned(rounded, p.rounded_bytes(rows))},
          rows);
    return result;
}

TEST(BlockProducts, AddUpInTheStatedOrder) {
    for_block_sizes([](const loops::block_shape &s, dim_t rows) {
        if (!loops::block_products::has_order(s.bits, s.block))
            return;
        const weights_in_blocks w(s, static_cast<unsigned>(s.inner * 31 + rows));
        const floats x = numbers(rows * s.inner, 2.f), bias = numbers(s.columns, 1.f, 3);
        const floats y =
            same_everywhere([&] { return product(s, loops::block_sums::onnxruntime, w, x, bias, rows); });
        for (dim_t r = 0; r < rows; r++)
            for (dim_t n = 0; n < s.columns; n++)
                test::expect_same(y[at(r * s.columns + n)],
                                  product_of_codes(x.data() + r * s.inner, w, n, bias[at(n)],
                                                   rows % 2 == 1 && r == rows - 1),
                                  s.bits, " bits, blocks of ", s.block, ", ", rows, " x ", s.inner, " x ",
                                  s.columns, " at ", r, ", ", n);
    });
}

/// Octet's own order, as combine(dynamic_group) says it: of all rows, whatever their number.
float product_one_by_one(const float *x, const weights_in_blocks &w, dim_t n, float bias) {
    const loops::block_shape &s = w.shape;
    const rounded_row row = round_row(x, s);
    float y = 0.f;
    for (dim_t b = 0; b < s.blocks(); b++) {
        int sum = 0;
        for (dim_t k = b * s.block; k < std::min((b + 1) * s.block, s.inner); k++)
            sum += row.codes[at(k)] * (w.code(n, k) - static_cast<int>(w.zero(n, b)));
        y = std::fma(static_cast<float>(sum), row.scales[at(b)] * w.scale(n, b), y);
    }
    return y + bias;
}

TEST(BlockProducts, AddUpBlocksOneByOne) {
    for_block_sizes([](const loops::block_shape &s, dim_t rows) {
        const weights_in_blocks w(s, static_cast<unsigned>(s.inner * 31 + rows));
        const floats x = numbers(rows * s.inner, 2.f), bias = numbers(s.columns, 1.f, 3);
        const floats y =
            same_everywhere([&] { return product(s, loops::block_sums::one_by_one, w, x, bias, rows); });
        for (dim_t r = 0; r < rows; r++)
            for (dim_t n = 0; n < s.columns; n++)
                test::expect_same(y[at(r * s.columns + n)],
                                  product_one_by_one(x.data() + r * s.inner, w, n, bias[at(n)]), s.bits,
                                  " bits, blocks of ", s.block, ", ", rows, " x ", s.inner, " x ", s.columns,
                                  " at ", r, ", ", n);
    });
}

/// Codes at both ends, whose sums of two products exceed 16 bits.
TEST(BlockProducts, HaveExactSumsOfTheLargestCodes) {
    for (const int bits : {2, 4, 8}) {
        const loops::block_shape s{256, 16, 64, bits};
        weights_in_blocks w(s, 1);
        std::fill(w.codes.begin(), w.codes.end(), std::uint8_t{255});
        for (const float number : {3.f, -3.f}) {
            const floats x(at(s.inner), number);
            const floats y =
                same_everywhere([&] { return product(s, loops::block_sums::onnxruntime, w, x, {}, 1); });
            for (dim_t n = 0; n < 16; n++)
                test::expect_same(y[at(n)], product_of_codes(x.data(), w, n, 0.f, true), bits,
                                  " bits, column ", n);
            const floats one_by_one =
                same_everywhere([&] { return product(s, loops::block_sums::one_by_one, w, x, {}, 1); });
            for (dim_t n = 0; n < 16; n++)
                test::expect_same(one_by_one[at(n)], product_one_by_one(x.data(), w, n, 0.f), bits,
                                  " bits one by one, column ", n);
        }
    }
}

/// A number of the weights as one formula or the other says.
float dequantized(const weights_in_blocks &w, dim_t n, dim_t k, dim_t b, bool of_codes) {
    const auto q = static_cast<float>(w.code(n, k));
    const float s = w.scale(n, b), z = w.zero(n, b);
    return of_codes ? q * s + -s * z : (q - z) * s;
}

float sum_of_floats(const float *x, const floats &v, dim_t n, dim_t columns, dim_t rows, bool is_packed,
                    const float *bias) {
    const auto inner = static_cast<dim_t>(v.size());
    if (rows == 1) {
        floats l(is_packed ? 16 : 8);
        for (dim_t k = 0; k < inner; k++) {
            float &lane = l[at(k) % l.size()];
            lane = is_packed ? std::fma(v[at(k)], x[k], lane) : lane + x[k] * v[at(k)];
        }
        const bool is_in_fours = n < columns / 4 * 4;
        const auto by = [&](int a, int b, int c, int d) {
            return (l[at(a)] + l[at(b)]) + (l[at(c)] + l[at(d)]);
        };
        const float sum = is_in_fours           ? in_order(l)
                          : is_packed           ? by_halves(l)
                          : n < columns / 2 * 2 ? by(0, 2, 4, 6) + by(1, 3, 5, 7)
                                                : by(0, 1, 2, 3) + by(4, 5, 6, 7);
        return bias ? sum + *bias : is_packed && is_in_fours ? sum : sum + 0.f;
    }
    dim_t width = is_packed ? inner : 128;
    if (!is_packed && columns < inner)
        width = columns <= 16 ? 1024 : columns <= 32 ? 512 : columns <= 64 ? 256 : 128;
    float y = bias ? *bias : 0.f;
    for (dim_t first = 0; first < inner; first += width) {
        float sum = 0.f;
        for (dim_t k = first; k < std::min(first + width, inner); k++)
            sum = std::fma(x[k], v[at(k)], sum);
        y = bias || first > 0 ? y + sum : sum;
    }
    return y;
}

TEST(DequantizedProducts, AddUpInTheStatedOrder) {
    for_block_sizes([](const loops::block_shape &s, dim_t rows) {
        const weights_in_blocks w(s, static_cast<unsigned>(s.inner * 31 + rows));
        const floats x = numbers(rows * s.inner, 2.f), bias = numbers(s.columns, 1.f, 3);
        std::vector<std::int32_t> blocks_of;
        for (dim_t k = 0; rows % 2 == 0 && k < s.inner; k++)
            blocks_of.push_back(static_cast<std::int32_t>(k * 7 % s.blocks()));
        const bool of_codes = rows % 2 == 0, has_bias = rows != 2;
        for (const bool is_packed : {false, true}) {
            const floats y = same_everywhere([&] {
                const loops::dequantized_products p(
                    s, is_packed ? loops::dequantized_order::packed : loops::dequantized_order::unpacked,
                    of_codes ? loops::dequantization::of_codes : loops::dequantization::of_differences, true,
                    blocks_of);
                floats packed(p.packed_bytes() / sizeof(float)), result(at(rows * s.columns));
                p.pack(w.view(), nullptr, packed.data());
                p.run({x.data(), has_bias ? bias.data() : nullptr, result.data(), packed.data()}, rows);
                return result;
            });
            for (dim_t n = 0; n < s.columns; n++) {
                floats v;
                for (dim_t k = 0; k < s.inner; k++)
                    v.push_back(
                        dequantized(w, n, k, blocks_of.empty() ? k / s.block : blocks_of[at(k)], of_codes));
                for (dim_t r = 0; r < rows; r++)
                    test::expect_same(y[at(r * s.columns + n)],
                                      sum_of_floats(x.data() + r * s.inner, v, n, s.columns, rows, is_packed,
                                                    has_bias ? &bias[at(n)] : nullptr),
                                      s.bits, " bits, blocks of ", s.block, ", ", rows, " x ", s.inner, " x ",
                                      s.columns, is_packed ? " packed at " : " unpacked at ", r, ", ", n);
            }
        }
    });
}

} // namespace
} // namespace octet::tests
