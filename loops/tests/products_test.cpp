// Products in ONNX Runtime's orders of sums, against those orders element by element.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "loops/block_products.hpp"
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

/// Codes are multiplied exactly: what a row of ones and integers up to 127 gives is known.
TEST(BlockProducts, MultiplyCodesExactly) {
    for (const dim_t rows : {1, 3, 40})
        for (const dim_t columns : {1, 16, 21}) {
            constexpr dim_t inner = 70; // two blocks and a part of one
            floats x(at(rows * inner), 1.f), bias = numbers(columns, 8.f);
            for (dim_t i = 0; i < rows * inner; i += loops::block_products::block / 2)
                x[at(i)] = 127.f; // in each block, so that scales are 1
            std::vector<std::uint8_t> codes(at(inner * columns));
            for (std::size_t i = 0; i < codes.size(); i++)
                codes[i] = static_cast<std::uint8_t>(i * 37);
            const floats y = same_everywhere([&] {
                loops::block_products p(inner, columns, floats(at(columns), 0.5f), floats(at(columns), -2.f));
                p.pack(codes.data(), 0);
                std::vector<double> rounded(p.rounded_bytes(rows) / sizeof(double) + 16); // aligned below
                void *bytes = rounded.data();
                std::size_t size = rounded.size() * sizeof(double);
                bytes = std::align(64, p.rounded_bytes(rows), bytes, size);
                floats result(at(rows * columns));
                p.run({x.data(), bias.data(), result.data(), bytes}, rows);
                return result;
            });
            for (dim_t r = 0; r < rows; r++)
                for (dim_t n = 0; n < columns; n++) {
                    float sum = 0.f, of_row = 0.f;
                    for (dim_t k = 0; k < inner; k++) {
                        sum += x[at(r * inner + k)] * static_cast<float>(codes[at(k * columns + n)]);
                        of_row += x[at(r * inner + k)];
                    }
                    EXPECT_NEAR(y[at(r * columns + n)], 0.5f * sum - 2.f * of_row + bias[at(n)], 1e-2f)
                        << rows << " x " << columns << " at " << r << ", " << n;
                }
        }
}

} // namespace
} // namespace octet::tests
