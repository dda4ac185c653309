// Inner product against Σ over channels and positions, in 64 bits.
// SPDX-License-Identifier: Apache-2.0
#include "support/naive.hpp"

namespace octet::test {
namespace {

TEST(inner_product, equals_the_formula_on_random_problems) {
    inputs in(111);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); i++) {
        dims src_dims{in.between(1, 5), in.one_in(3) ? in.between(30, 70) : in.between(1, 9)};
        for (std::int64_t spatial = in.between(0, 3); spatial > 0; spatial--)
            src_dims.push_back(in.between(1, 4));
        const dim_t mb = src_dims[0], oc = in.one_in(3) ? in.between(15, 50) : in.between(1, 9);
        dims weights_dims = src_dims;
        weights_dims[0] = oc;

        constexpr data_type dst_types[] = {data_type::u8, data_type::s8, data_type::s32, data_type::f32};
        const memory::desc src_md = any_layout(in, src_dims, in.one_in(2) ? data_type::u8 : data_type::s8);
        const memory::desc weights_md =
            random_layout(in, weights_dims, in.one_in(4) ? data_type::u8 : data_type::s8);
        const memory::desc dst_md = any_layout(in, {mb, oc}, dst_types[in.between(0, 3)]);
        const output_stage out(in, {dst_md, 1, 1, false, product(src_dims) / mb});
        const bool has_bias = in.one_in(2);
        const memory::desc bias_md =
            has_bias ? memory::desc({oc}, out.random_bias_type(in), dims{}) : memory::desc();

        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        const memory bias = has_bias ? random_memory(in, bias_md) : memory();
        const auto src_zp = random_zero_points(in, src_md, {0, 1, 2, 3}),
                   weights_zp = random_zero_points(in, weights_md, {0, 1, 3});
        primitive_attr attr = out.attr();
        set_zero_points(attr, OCTET_ARG_SRC, src_zp);
        set_zero_points(attr, OCTET_ARG_WEIGHTS, weights_zp);

        const auto expected = [&](const dims &at) {
            std::int64_t acc = 0;
            for_each(weights_dims, [&](const dims &w_at) {
                if (w_at[0] != at[1])
                    return;
                dims s_at = w_at;
                s_at[0] = at[0];
                const auto s = static_cast<std::int64_t>(element(src_md, src.get_data_handle(), s_at)) -
                               src_zp.at(src_dims, s_at, 0);
                const auto w =
                    static_cast<std::int64_t>(element(weights_md, weights.get_data_handle(), w_at)) -
                    weights_zp.at(weights_dims, w_at, 0);
                acc += s * w;
            });
            return out.stored(acc, has_bias ? element(bias_md, bias.get_data_handle(), {at[1]}) : 0, at);
        };
        std::unordered_map<int, memory> args{{OCTET_ARG_SRC, src},
                                             {OCTET_ARG_DST, random_memory(in, dst_md)}};
        if (has_bias)
            args[OCTET_ARG_BIAS] = bias;
        for (const memory::desc &w :
             {weights_md, memory::desc(weights_dims, weights_md.data_type(), format_tag::any)}) {
            const inner_product_forward::desc d(prop_kind::forward_inference, src_md, w, bias_md, dst_md);
            const auto pd = [&] { return inner_product_forward::primitive_desc(d, attr, cpu); };
            const memory stored(pd().weights_desc(), cpu);
            reorder(weights, stored).execute(stream(cpu), weights, stored);
            args[OCTET_ARG_WEIGHTS] = stored;
            expect_execution([&] { return inner_product_forward(pd()); }, args, expected,
                             pd().problem_str() + ", " + out.text());
        }
    }
}

TEST(inner_product, scales_in_f64_as_snps_caffe_does) {
    inputs in(132);
    for (int i = 0; i < 50 && !testing::Test::HasFailure(); i++) {
        const dims sizes{in.between(1, 3), in.between(1, 40)}, out{sizes[0], in.between(1, 20)};
        const memory::desc src_md(sizes, data_type::s8, format_tag::ab),
            weights_md({out[1], sizes[1]}, data_type::s8, format_tag::ab),
            dst_md(out, data_type::s8, format_tag::ab);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        std::vector<double> scales;
        for (dim_t c = 0; c < out[1]; c++)
            scales.push_back(in.one_in(2) ? 0x1p-5 : static_cast<double>(in.between(1, 1000)) / 7e5);
        primitive_attr attr;
        attr.set_requantization(requantization_rule::f64_scale, 1 << 1, scales);
        attr.set_zero_points(OCTET_ARG_DST, 0, {3});
        const auto pd = [&] {
            return inner_product_forward::primitive_desc(
                {prop_kind::forward_inference, src_md, weights_md, dst_md}, attr, cpu);
        };
        expect_execution(
            [&] { return inner_product_forward(pd()); },
            {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, random_memory(in, dst_md)}},
            [&](const dims &at) {
                double acc = 0;
                for (dim_t k = 0; k < sizes[1]; k++)
                    acc += element(src_md, src.get_data_handle(), {at[0], k}) *
                           element(weights_md, weights.get_data_handle(), {at[1], k});
                const double x = acc * scales[static_cast<std::size_t>(at[1])];
                const double below = std::floor(x), rest = x - below;
                const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2.) != 0);
                return std::clamp(below + up + 3, -128., 127.);
            },
            pd().problem_str());
    }
}

} // namespace
} // namespace octet::test
