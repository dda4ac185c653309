// Sums of products: convolutions, deconvolutions, inner products and matrices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "oracle/draw.hpp"

namespace octet::oracle {

namespace {

using type = data_type;

void draw_dot_types(random_source &r, type &src, type &weights, type &dst) {
    src = r.pick({type::u8, type::u8, type::s8});
    weights = r.pick({type::s8, type::s8, type::s8, type::u8});
    dst = r.pick({type::u8, type::s8, type::u8, type::s8, type::s32, type::f32});
}

} // namespace

void draw_convolution(random_source &r, problem &p) {
    const bool transposed = p.kind == primitive_kind::deconvolution;
    const std::size_t rank = r.pick<std::size_t>({1, 2, 2, 2, 2, 3});
    dims src, weights, dst;
    dim_t groups, ocs, ics;
    const bool is_large = r.chance(2);
    do {
        p.strides.clear(), p.dilates.clear(), p.padding_l.clear(), p.padding_r.clear();
        const int kind = static_cast<int>(r.between(0, 9));
        groups = kind < 4 ? 1 : kind < 8 ? draw_channels(r) : r.between(2, 6);
        ocs = kind < 4 ? draw_channels(r) : kind < 8 ? r.pick<dim_t>({1, 1, 1, 2}) : r.between(1, 40);
        ics = kind < 4 ? draw_channels(r) : kind < 8 ? 1 : r.between(1, 40);
        p.grouped = groups > 1 || r.chance(10);
        const dim_t batch = r.pick<dim_t>({1, 1, 1, 2, 3});
        src = {batch, groups * ics};
        dst = {batch, groups * ocs};
        weights = p.grouped ? dims{groups, ocs, ics} : dims{ocs, ics};
        for (std::size_t d = 0; d < rank; d++) {
            const dim_t kernel = r.pick<dim_t>({1, 1, 2, 3, 3, 3, 4, 5, 7}),
                        stride = r.pick<dim_t>({1, 1, 1, 2, 3}), dilate = r.pick<dim_t>({0, 0, 0, 0, 1, 2}),
                        reach = (kernel - 1) * (dilate + 1) + 1;
            const dim_t low = r.chance(50) ? 0 : r.between(0, reach - 1),
                        out = r.between(1, is_large ? 40 : 9);
            dim_t high = r.chance(50) ? low : r.between(-1, reach);
            const dim_t in = std::max<dim_t>((out - 1) * stride + reach - low - high, 1);
            high = (out - 1) * stride + reach - low - in;
            // A convolution goes from `in` to `out`; a deconvolution the other way, with rows that no tap
            // reaches.
            const dim_t rest = transposed && r.chance(20) ? r.between(0, stride - 1) : 0;
            p.strides.push_back(stride);
            p.dilates.push_back(dilate);
            p.padding_l.push_back(low);
            p.padding_r.push_back(high);
            src.push_back(transposed ? out : in);
            dst.push_back(transposed ? in + rest : out);
            weights.push_back(kernel);
        }
    } while (volume(transposed ? src : dst) * (transposed ? ocs : ics) *
                     volume(dims(weights.end() - static_cast<std::ptrdiff_t>(rank), weights.end())) >
                 (is_large ? 3000000 : 200000) ||
             volume(src) > 30000 || volume(dst) > (is_large ? 30000 : 10000) || volume(weights) > 60000);
    type s, w, d;
    draw_dot_types(r, s, w, d);
    p.src = draw_tensor(r, src, s, true);
    p.weights = draw_tensor(r, weights, w, true);
    p.dst = draw_tensor(r, dst, d, true);
    draw_dot_attributes(r, p,
                        {volume(weights) / (groups * ocs), 1, p.grouped ? 3 : 1, groups * ocs,
                         r.chance(60) ? dims{groups * ocs} : dims{}});
}

void draw_inner_product(random_source &r, problem &p) {
    dims src, weights;
    dim_t channels;
    do {
        channels = draw_channels(r);
        src = {r.chance(5) ? r.between(10, 40) : r.between(1, 9), draw_channels(r)};
        for (dim_t d = r.pick<dim_t>({0, 0, 1, 2, 2, 3}); d > 0; d--)
            src.push_back(r.between(1, 4));
        weights = src;
        weights[0] = channels;
    } while (volume(weights) * src[0] > 200000);
    type s, w, d;
    draw_dot_types(r, s, w, d);
    p.src = draw_tensor(r, src, s, true);
    p.weights = draw_tensor(r, weights, w, true);
    p.dst = draw_tensor(r, {src[0], channels}, d, true);
    draw_dot_attributes(r, p, {volume(src) / src[0], 1, 1, channels, r.chance(60) ? dims{channels} : dims{}});
}

void draw_matmul(random_source &r, problem &p) {
    dims src, weights, dst, bias;
    dim_t k;
    const bool is_large = r.chance(3);
    do {
        src.clear(), weights.clear(), dst.clear(), bias.clear();
        for (dim_t d = r.pick<dim_t>({0, 0, 0, 1, 1, 2}); d > 0; d--) {
            const dim_t batch = r.between(1, 3);
            dst.push_back(batch);
            src.push_back(r.chance(25) ? 1 : batch);
            weights.push_back(r.chance(25) && src.back() == batch ? 1 : batch);
        }
        const dim_t m = r.chance(20) ? 1 : r.between(1, is_large ? 200 : 20), n = draw_channels(r);
        k = draw_channels(r);
        src.insert(src.end(), {m, k});
        weights.insert(weights.end(), {k, n});
        dst.insert(dst.end(), {m, n});
    } while (volume(dst) * k > (is_large ? 3000000 : 200000));
    if (r.chance(50))
        for (const dim_t d : dst)
            bias.push_back(r.chance(60) ? 1 : d);
    if (!bias.empty() && r.chance(60))
        bias.back() = dst.back();
    const int channel = static_cast<int>(dst.size()) - 1;
    type s, w, d;
    draw_dot_types(r, s, w, d);
    p.src = draw_tensor(r, src, s, true);
    p.weights = draw_tensor(r, weights, w, true);
    p.dst = draw_tensor(r, dst, d, true);
    draw_dot_attributes(r, p, {k, channel, 1 << channel, dst.back(), bias});
}

} // namespace octet::oracle
