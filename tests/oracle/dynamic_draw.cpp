// Shapes around the tiles of kernels, elements that are ties of the quantizers, rows of zeros, tiny and poisoned rows.
// A library's order keeps to the elements for which its quantizer is defined.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "oracle/dynamic.hpp"

namespace octet::oracle::dynamic {

namespace {

using by = source_quantizer;
using order = combination;

class dice {
public:
    dice(std::uint64_t seed, std::uint64_t number) : engine_(seed * 0x9e3779b97f4a7c15u + number) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }
    bool one_in(int n) { return between(1, n) == 1; }
    template <typename T> T of(std::initializer_list<T> list) {
        return list.begin()[between(0, static_cast<std::int64_t>(list.size()) - 1)];
    }
    float normal() { return std::normal_distribution<float>()(engine_); }

private:
    std::mt19937_64 engine_;
};

constexpr auto symmetric = source_mode::symmetric, asymmetric = source_mode::asymmetric;
constexpr auto row = source_span::row, group = source_span::group, tensor = source_span::tensor;

source_quantization quantizer(dice &d, by name) {
    switch (name) {
    case by::dynamic:
        return {name, d.of({symmetric, asymmetric}), d.of({data_type::s8, data_type::u8})};
    case by::litert:
        return {name, d.of({symmetric, asymmetric}), data_type::s8};
    case by::xnnpack:
    case by::kleidiai:
        return {name, asymmetric, data_type::s8};
    case by::onnxruntime:
    case by::qnnpack:
        return {name, asymmetric, data_type::u8};
    default:
        return {name, symmetric, data_type::s8};
    }
}

by any_quantizer(dice &d) {
    return d.of({by::dynamic, by::xnnpack, by::kleidiai, by::litert, by::onnxruntime, by::qnnpack, by::ggml,
                 by::ggml_avx2});
}

/// Order, quantizer and K, whose groups the order takes.
void draw_contract(dice &d, product &p) {
    p.order = d.one_in(2) ? d.of({order::dynamic_row, order::dynamic_group})
                          : static_cast<order>(d.between(0, static_cast<int>(order::ggml_avx2)));
    if (p.order == order::ggml_q4_1) // its weights have offsets
        p.order = order::ggml_q4_0;
    switch (p.order) {
    case order::dynamic_group:
        p.source = quantizer(d, d.one_in(2) ? by::dynamic : any_quantizer(d));
        p.k = 2 * d.between(1, 150);
        p.group = d.one_in(3)
                      ? p.k
                      : std::min(p.k, d.one_in(2) ? d.of<dim_t>({16, 32, 64, 128}) : d.between(1, p.k));
        p.source.span = d.of({row, group, tensor});
        break;
    case order::xnnpack_groups:
    case order::xnnpack_groups_avx2:
    case order::xnnpack_groups_sse:
    case order::xnnpack_groups_scalar:
    case order::kleidiai_groups:
    case order::kleidiai_groups_of_4:
        p.source = quantizer(d, p.order >= order::kleidiai_groups ? by::kleidiai : by::xnnpack);
        p.group = 32 * d.between(1, 2);
        p.k = p.group * d.between(1, 4);
        break;
    case order::ggml_q8_0:
    case order::ggml_q4_0:
    case order::ggml_avx2:
        p.source = quantizer(d, d.of({by::ggml, by::ggml_avx2}));
        p.group = 32;
        p.k = 32 * d.between(1, 6);
        p.source.span = group;
        break;
    default:
        p.source = quantizer(d, any_quantizer(d));
        p.k = p.group = 2 * d.between(1, 150);
        p.source.span = d.of({row, row, tensor});
    }
}

/// A row whose codes are ties of x * r, or near them.
void fill_row(dice &d, const product &p, float *x) {
    const float scale = std::ldexp(1.f, static_cast<int>(d.between(-20, p.src == data_type::f16 ? -4 : 4)));
    const int kind = static_cast<int>(d.between(0, 5));
    for (dim_t i = 0; i < p.k; i++)
        switch (kind) {
        case 0: // halves of a step, if the largest is 127 steps
            x[i] = scale * (i == 0 ? 127.f : static_cast<float>(d.between(-254, 254)) / 2);
            break;
        case 1:
            x[i] = scale * static_cast<float>(d.between(0, 255));
            break;
        case 2:
            x[i] = -scale * static_cast<float>(d.between(0, 510)) / 2;
            break;
        default:
            x[i] = d.one_in(10) ? 0.f : scale * d.normal();
        }
    if (d.one_in(20))
        x[d.between(0, p.k - 1)] *= 1000.f;
}

void make_special(dice &d, const product &p, float *x) {
    const bool is_own = p.source.by == by::dynamic;
    switch (d.between(0, is_own ? 3 : 0)) {
    case 0:
        std::fill_n(x, p.k, d.one_in(2) ? 0.f : -0.f);
        break;
    case 1:
        std::fill_n(x, p.k, 0x1p-140f); // below 2^-120
        break;
    case 2: // d overflows binary32
        x[0] = p.src == data_type::f16 ? 60000.f : 3e38f;
        x[1] = -x[0];
        break;
    default:
        x[d.between(0, p.k - 1)] =
            d.one_in(2) ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    }
}

bool has_codes(const product &p) { return p.dst == data_type::s8 || p.dst == data_type::u8; }

void draw_source(dice &d, product &p) {
    p.x.resize(static_cast<std::size_t>(p.m * p.k));
    for (dim_t m = 0; m < p.m; m++) {
        float *x = &p.x[static_cast<std::size_t>(m * p.k)];
        fill_row(d, p, x);
        if (d.one_in(12) && !has_codes(p))
            make_special(d, p, x);
    }
    if (p.order == order::litert && d.one_in(10))
        std::fill(p.x.begin(), p.x.end(), 0.f);
    for (float &x : p.x)
        x = rounded(x, p.src);
}

void draw_weights(dice &d, product &p) {
    p.weights = d.of({data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::u2});
    if (p.weights == data_type::u2 && p.k % 4 != 0)
        p.weights = data_type::u4;
    const bool is_small = p.weights == data_type::s4 || p.weights == data_type::u4,
               is_signed = p.weights == data_type::s8 || p.weights == data_type::s4;
    const std::int64_t count = p.weights == data_type::u2 ? 4
                               : is_small                 ? 16
                                                          : 256,
                       low = is_signed ? -count / 2 : 0, high = low + count - 1;
    for (dim_t i = 0; i < p.n * p.k; i++)
        p.w.push_back(static_cast<std::int32_t>(d.one_in(8) ? d.of({low, high}) : d.between(low, high)));
    // Orders that sum scaled weights in f32 are defined where the products are exact.
    p.scale_type = p.order >= order::xnnpack_groups && p.order <= order::kleidiai_groups_of_4 &&
                           p.order != order::kleidiai
                       ? d.of({data_type::f16, data_type::bf16})
                       : d.of({data_type::f32, data_type::f16, data_type::bf16});
    const bool may_be_negative = p.source.span == group && p.order >= order::ggml_q8_0;
    for (dim_t i = 0; i < p.n * p.groups(); i++) {
        const float s = std::ldexp(1.f + std::fabs(d.normal()), static_cast<int>(d.between(-12, -2)));
        p.scales.push_back(rounded(d.one_in(50)                     ? 0.f
                                   : may_be_negative && d.one_in(2) ? -s
                                                                    : s,
                                   p.scale_type));
    }
    const dim_t zero_points = d.one_in(3) ? p.n * (d.one_in(2) ? 1 : p.groups()) : 0;
    for (dim_t i = 0; i < zero_points; i++)
        p.zero_points.push_back(static_cast<std::int32_t>(d.between(low, high)));
}

void draw_end(dice &d, product &p) {
    p.dst =
        d.of({data_type::f32, data_type::f32, data_type::f16, data_type::bf16, data_type::s8, data_type::u8});
    if (d.one_in(2))
        for (dim_t n = 0; n < p.n; n++)
            p.bias.push_back(d.one_in(10) ? -0.f : d.normal());
    p.has_relu = d.one_in(4);
    if (d.one_in(6))
        for (dim_t i = 0; i < p.m * p.n; i++)
            p.addend.push_back(d.normal());
    if (!has_codes(p))
        return;
    p.dst_scale = std::ldexp(1.f + std::fabs(d.normal()), static_cast<int>(d.between(-8, 4)));
    if (d.one_in(2))
        p.dst_zero_point = static_cast<std::int32_t>(d.between(-20, 20));
}

} // namespace

product draw(std::uint64_t seed, std::uint64_t number) {
    dice d(seed, number);
    product p;
    draw_contract(d, p);
    p.m = d.one_in(12) ? d.between(10, 40) : d.between(1, 9);
    p.n = d.one_in(2) ? d.between(1, 40) : d.of<dim_t>({15, 16, 17, 31, 32, 33, 47, 48, 49, 64});
    p.src = d.of({data_type::f32, data_type::f32, data_type::f16, data_type::bf16});
    draw_end(d, p);
    draw_source(d, p);
    draw_weights(d, p);
    return p;
}

} // namespace octet::oracle::dynamic
