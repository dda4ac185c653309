// A product of floats with weights of 4 bits, as language models have them: each row of the source is quantized while
// the product runs, weights have a scale for 32 neighbours of K. The result is computed again by the formula of
// doc/dynamic.md, and every byte compared.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "octet/octet.hpp"

using namespace octet;

namespace {

constexpr int M = 3, N = 40, K = 256, group = 32, G = K / group;

/// Weight (k, n): -8 to 7.
int weight(int k, int n) { return (k * 7 + n * 13) % 16 - 8; }

/// Octet's own quantizer and order, for one row and one column.
float by_formula(const float *x, int n, const std::vector<float> &scales) {
    float largest = 0.f;
    for (int k = 0; k < K; k++)
        largest = std::max(largest, std::fabs(x[k]));
    float sum = 0.f;
    for (int g = 0; g < G; g++) {
        int products = 0;
        for (int k = g * group; k < (g + 1) * group; k++)
            products += static_cast<int>(std::nearbyint(x[k] * (127.f / largest))) * weight(k, n);
        sum = std::fma(static_cast<float>(products), scales[g * N + n], sum);
    }
    return sum * (largest / 127.f);
}

} // namespace

int main() {
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);

    std::vector<float> x(M * K), scales(G * N), y(M * N);
    for (int i = 0; i < M * K; i++)
        x[i] = std::sin(0.37f * static_cast<float>(i));
    for (int i = 0; i < G * N; i++)
        scales[i] = 0.01f + 0.001f * static_cast<float>(i % 11);
    std::vector<std::uint8_t> codes(K * N / 2); // column after column, the even k in the lower half
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            codes[(n * K + k) / 2] |= static_cast<std::uint8_t>((weight(k, n) & 15) << k % 2 * 4);

    primitive_attr attr;
    attr.set_source_quantization({source_quantizer::dynamic, source_mode::symmetric, data_type::s8});
    attr.set_scales(OCTET_ARG_WEIGHTS, (1 << 0) | (1 << 1), {group, 1}, data_type::f32);
    const matmul::primitive_desc pd(cpu, {{M, K}, data_type::f32, format_tag::ab},
                                    {{K, N}, data_type::s4, format_tag::any},
                                    {{M, N}, data_type::f32, format_tag::ab}, attr);

    // Once: the weights in the layout that the product wants, with their scales.
    const memory plain({{K, N}, data_type::s4, format_tag::ba}, cpu, codes.data()),
        packed(pd.weights_desc(), cpu);
    primitive_attr packing;
    packing.set_scales(OCTET_ARG_SRC, (1 << 0) | (1 << 1), {group, 1}, data_type::f32);
    const memory scale_values({{G, N}, data_type::f32, format_tag::ab}, cpu, scales.data());
    primitive(reorder::primitive_desc(plain, packed, packing))
        .execute(s, {{OCTET_ARG_FROM, plain},
                     {OCTET_ARG_TO, packed},
                     {OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC, scale_values}});

    matmul(pd).execute(s, {{OCTET_ARG_SRC, memory(pd.src_desc(), cpu, x.data())},
                           {OCTET_ARG_WEIGHTS, packed},
                           {OCTET_ARG_DST, memory(pd.dst_desc(), cpu, y.data())}});

    int wrong = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            const float expected = by_formula(&x[m * K], n, scales);
            wrong += std::memcmp(&expected, &y[m * N + n], sizeof expected) != 0;
        }
    std::printf("%d results by '%s', %d differ from the formula\n", M * N, pd.impl_info_str(), wrong);
    return wrong == 0 ? 0 : 1;
}
