// Matrix products without descriptors. They go through Octet's matmul, whose sums of codes are exact; alpha
// and beta are applied afterwards, in double and rounded to nearest with ties away from zero as oneDNN does
// it, and then the offset of c.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "onednn/library/handles.hpp"

using namespace octet::onednn;
using octet::data_type;
using octet::memory;
using octet::status;

namespace {

bool is_transposed(char letter, const char *name) {
    switch (letter) {
    case 'N':
    case 'n':
        return false;
    case 'T':
    case 't':
        return true;
    }
    refuse(status::invalid_arguments, std::string(name) + " is '" + letter + "', allowed: N, T");
}

/// Rows and columns of op(x), stored with `ld` elements from row to row of x.
memory::desc matrix(dnnl_dim_t rows, dnnl_dim_t columns, bool transposed, dnnl_dim_t ld, data_type type,
                    const char *name) {
    if (ld < std::max<dnnl_dim_t>(1, transposed ? rows : columns))
        refuse(status::invalid_arguments, std::string(name) + ": leading dimension " + std::to_string(ld));
    return {{rows, columns}, type, transposed ? memory::dims{1, ld} : memory::dims{ld, 1}};
}

void check_sizes(dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k) {
    if (m < 0 || n < 0 || k < 0)
        refuse(status::invalid_arguments, "gemm: a size is negative");
}

/// dst = src * weights, by Octet's matmul.
void multiply(const memory::desc &src, const void *a, const memory::desc &weights, const void *b,
              const memory::desc &dst, void *c, const octet::primitive_attr &attr) {
    const octet::engine &cpu = the_engine()->value;
    const octet::primitive::argument args[] = {
        {DNNL_ARG_SRC, const_cast<void *>(a)}, {DNNL_ARG_WEIGHTS, const_cast<void *>(b)}, {DNNL_ARG_DST, c}};
    const octet::matmul product(octet::matmul::primitive_desc({src, weights, dst}, attr, cpu));
    product.execute(octet::stream(cpu), args, 3);
}

std::int32_t saturated(double value) {
    constexpr double lowest = std::numeric_limits<std::int32_t>::min(),
                     highest = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::min(std::max(value, lowest), highest));
}

template <typename A>
void gemm(char transa, char transb, char offsetc, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
          const A *a, dnnl_dim_t lda, A ao, const std::int8_t *b, dnnl_dim_t ldb, std::int8_t bo, float beta,
          std::int32_t *c, dnnl_dim_t ldc, const std::int32_t *co) {
    check_sizes(m, n, k);
    const char offset = static_cast<char>(offsetc & ~0x20); // upper case
    if (offset != 'F' && offset != 'C' && offset != 'R')
        refuse(status::invalid_arguments, std::string("offsetc is '") + offsetc + "', allowed: F, C, R");
    if (m == 0 || n == 0)
        return;
    std::vector<std::int32_t> sums(static_cast<std::size_t>(m * n));
    if (k > 0) {
        const auto type = std::is_signed_v<A> ? data_type::s8 : data_type::u8;
        octet::primitive_attr attr;
        if (ao != 0)
            attr.set_zero_points(DNNL_ARG_SRC, 0, {ao});
        if (bo != 0)
            attr.set_zero_points(DNNL_ARG_WEIGHTS, 0, {bo});
        multiply(matrix(m, k, is_transposed(transa, "transa"), lda, type, "a"), needed(a, "a"),
                 matrix(k, n, is_transposed(transb, "transb"), ldb, data_type::s8, "b"), needed(b, "b"),
                 memory::desc({m, n}, data_type::s32, memory::dims{n, 1}), sums.data(), attr);
    }
    needed(c, "c");
    needed(co, "co");
    for (dnnl_dim_t i = 0; i < m; i++)
        for (dnnl_dim_t j = 0; j < n; j++) {
            std::int32_t &to = c[i * ldc + j];
            const double before = beta == 0.f ? 0. : static_cast<double>(beta) * to;
            const std::int32_t shift = co[offset == 'F' ? 0 : offset == 'R' ? j : i];
            const std::int32_t sum = sums[static_cast<std::size_t>(i * n + j)];
            to = saturated(std::round(before + static_cast<double>(alpha) * sum) + shift);
        }
}

} // namespace

dnnl_status_t dnnl_gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_dim_t m, dnnl_dim_t n,
                                dnnl_dim_t k, float alpha, const uint8_t *a, dnnl_dim_t lda, uint8_t ao,
                                const int8_t *b, dnnl_dim_t ldb, int8_t bo, float beta, int32_t *c,
                                dnnl_dim_t ldc, const int32_t *co) {
    return guarded(
        [&] { gemm(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co); });
}
dnnl_status_t dnnl_gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_dim_t m, dnnl_dim_t n,
                                dnnl_dim_t k, float alpha, const int8_t *a, dnnl_dim_t lda, int8_t ao,
                                const int8_t *b, dnnl_dim_t ldb, int8_t bo, float beta, int32_t *c,
                                dnnl_dim_t ldc, const int32_t *co) {
    return guarded(
        [&] { gemm(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co); });
}

/// Through Octet's f32 matmul: one fused multiply-add per product, over k in ascending order.
dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
                         const float *a, dnnl_dim_t lda, const float *b, dnnl_dim_t ldb, float beta, float *c,
                         dnnl_dim_t ldc) {
    return guarded([&] {
        check_sizes(m, n, k);
        matrix(m, n, false, ldc, data_type::f32, "c");
        if (m == 0 || n == 0)
            return;
        std::vector<float> sums(static_cast<std::size_t>(m * n));
        if (k > 0)
            multiply(matrix(m, k, is_transposed(transa, "transa"), lda, data_type::f32, "a"), needed(a, "a"),
                     matrix(k, n, is_transposed(transb, "transb"), ldb, data_type::f32, "b"), needed(b, "b"),
                     memory::desc({m, n}, data_type::f32, memory::dims{n, 1}), sums.data(),
                     octet::primitive_attr());
        needed(c, "c");
        const octet::default_float_environment environment;
        for (dnnl_dim_t i = 0; i < m; i++)
            for (dnnl_dim_t j = 0; j < n; j++) {
                float &to = c[i * ldc + j];
                const float sum = alpha * sums[static_cast<std::size_t>(i * n + j)];
                to = beta == 0.f ? sum : std::fma(beta, to, sum);
            }
    });
}
