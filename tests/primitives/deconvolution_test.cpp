// Deconvolution against its definition: each source element is scattered, times the kernel, over dst.

#include "primitives/elementwise.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

struct deconvolution_case {
    dim_t mb, groups, ic, oc; ///< channels per group
    dims in, kernel, stride, dilation, pad_l, pad_r, out;
    bool weights_have_groups;

    static dims shape(dim_t first, dim_t second, const dims &rest) {
        dims all{first, second};
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    }
    dims src_dims() const { return shape(mb, groups * ic, in); }
    dims dst_dims() const { return shape(mb, groups * oc, out); }
    dims weights_dims() const {
        dims all = shape(oc, ic, kernel);
        if (weights_have_groups)
            all.insert(all.begin(), groups);
        return all;
    }
    dims dilates() const {
        dims zeros_between = dilation;
        for (dim_t &d : zeros_between)
            d--;
        return zeros_between;
    }
};

deconvolution_case random_case(inputs &in) {
    deconvolution_case c;
    c.mb = in.between(1, 2);
    c.groups = in.one_in(3) ? in.between(1, 4) : 1;
    c.ic = in.between(1, 6);
    c.oc = in.one_in(4) ? in.between(15, 20) : in.between(1, 5);
    c.weights_have_groups = c.groups > 1 || in.one_in(4);
    for (std::int64_t d = in.between(1, 3); d > 0; d--) {
        const dim_t kernel = in.between(1, 4), stride = in.between(1, 4),
                    dilation = in.one_in(3) ? in.between(2, 3) : 1;
        const dim_t covered = (kernel - 1) * dilation + 1, size = in.between(1, 4);
        const dim_t pad_l = in.between(0, covered - 1),
                    extra = in.between(0, stride - 1); // rows no tap reaches
        const dim_t full = (size - 1) * stride + covered + extra;
        const dim_t pad_r = in.between(-1, std::max<dim_t>(full - pad_l - 1, 0));
        if (full - pad_l - pad_r < 1)
            return random_case(in);
        c.in.push_back(size);
        c.kernel.push_back(kernel);
        c.stride.push_back(stride);
        c.dilation.push_back(dilation);
        c.pad_l.push_back(pad_l);
        c.pad_r.push_back(pad_r);
        c.out.push_back(full - pad_l - pad_r);
    }
    return c;
}

std::vector<std::int64_t> scatter(const deconvolution_case &c, const memory &src, const memory &weights,
                                  const masked<std::int32_t> &src_zp,
                                  const masked<std::int32_t> &weights_zp) {
    std::vector<std::int64_t> acc(static_cast<std::size_t>(product(c.dst_dims())), 0);
    for_each(c.src_dims(), [&](const dims &at) {
        const dim_t g = at[1] / c.ic, i = at[1] % c.ic;
        const std::int64_t s = code_at(src, at) - src_zp.at(c.src_dims(), at, 0);
        for_each(c.kernel, [&](const dims &tap) {
            dims to;
            for (std::size_t d = 0; d < tap.size(); d++) {
                to.push_back(at[d + 2] * c.stride[d] - c.pad_l[d] + tap[d] * c.dilation[d]);
                if (to.back() < 0 || to.back() >= c.out[d])
                    return;
            }
            for (dim_t o = 0; o < c.oc; o++) {
                dims w = deconvolution_case::shape(o, i, tap);
                if (c.weights_have_groups)
                    w.insert(w.begin(), g);
                acc[masked_index(-1, c.dst_dims(), deconvolution_case::shape(at[0], g * c.oc + o, to))] +=
                    s * (code_at(weights, w) - weights_zp.at(c.weights_dims(), w, 0));
            }
        });
    });
    return acc;
}

TEST(deconvolution, equals_its_definition_on_random_problems) {
    inputs in(181);
    for (int i = 0; i < 250 && !testing::Test::HasFailure(); i++) {
        const deconvolution_case c = random_case(in);
        const memory::desc src_md = any_layout(in, c.src_dims(), code_type(in));
        const memory::desc weights_md =
            random_layout(in, c.weights_dims(), in.one_in(4) ? data_type::u8 : data_type::s8);
        constexpr data_type dst_types[] = {data_type::u8, data_type::s8, data_type::s32, data_type::f32};
        const memory::desc dst_md = any_layout(in, c.dst_dims(), dst_types[in.between(0, 3)]);
        const int channel_mask = c.weights_have_groups ? 3 : 1;
        const output_stage out(in, {dst_md, 1, channel_mask, false, c.ic * product(c.kernel)});
        const memory::desc bias_md =
            in.one_in(2) ? memory::desc({c.groups * c.oc}, out.random_bias_type(in), format_tag::x)
                         : memory::desc();
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        const memory bias = bias_md ? random_memory(in, bias_md) : memory();
        const auto src_zp = random_zero_points(in, src_md, {0, 2});
        const auto weights_zp =
            in.one_in(2) ? masked<std::int32_t>() : random_zero_points(in, weights_md, {0, channel_mask});
        primitive_attr attr = out.attr();
        set_zero_points(attr, OCTET_ARG_SRC, src_zp);
        set_zero_points(attr, OCTET_ARG_WEIGHTS, weights_zp);

        const std::vector<std::int64_t> acc = scatter(c, src, weights, src_zp, weights_zp);
        const auto expected = [&](const dims &at) {
            const double b = bias_md ? element(bias_md, bias.get_data_handle(), {at[1]}) : 0;
            return out.stored(acc[masked_index(-1, c.dst_dims(), at)], b, at);
        };
        const auto make = [&](const memory::desc &w) {
            return deconvolution_forward::primitive_desc({prop_kind::forward_inference,
                                                          algorithm::deconvolution_direct, src_md, w, bias_md,
                                                          dst_md, c.stride, c.dilates(), c.pad_l, c.pad_r},
                                                         attr, cpu);
        };
        std::unordered_map<int, memory> args{
            {OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, random_memory(in, dst_md)}};
        if (bias_md)
            args[OCTET_ARG_BIAS] = bias;
        expect_execution([&] { return deconvolution_forward(make(weights_md)); }, args, expected,
                         make(weights_md).problem_str() + ", " + out.text());

        const memory::desc any(c.weights_dims(), weights_md.data_type(), format_tag::any);
        const memory packed(make(any).weights_desc(), cpu);
        reorder(weights, packed).execute(stream(cpu), weights, packed);
        args[OCTET_ARG_WEIGHTS] = packed;
        expect_execution([&] { return deconvolution_forward(make(any)); }, args, expected,
                         make(any).problem_str() + ", packed");
    }
}

TEST(deconvolution, takes_the_arithmetic_of_snps_caffe) {
    // acc = 6 * 5 = 30; scale 0.1 = 0.8 * 2^-3: rha(24.0) = 24, rha(24 / 8) = 3
    const memory::desc src_md({1, 1, 1}, data_type::s8, format_tag::ncw),
        weights_md({1, 1, 1}, data_type::s8, format_tag::oiw),
        dst_md({1, 1, 1}, data_type::s8, format_tag::ncw);
    const memory src(src_md, cpu), weights(weights_md, cpu), dst(dst_md, cpu);
    *src.map_data<std::int8_t>() = 6;
    *weights.map_data<std::int8_t>() = 5;
    primitive_attr attr;
    attr.set_requantization(requantization_rule::caffe_double_round, 0, std::vector<float>{0.1f});
    const deconvolution_forward::desc d(prop_kind::forward_inference, algorithm::deconvolution_direct, src_md,
                                        weights_md, dst_md, {1}, {0}, {0});
    deconvolution_forward(deconvolution_forward::primitive_desc(d, attr, cpu))
        .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
    EXPECT_EQ(*dst.map_data<std::int8_t>(), 3);
}

TEST(deconvolution, refuses_sizes_that_no_convolution_leads_back_from) {
    const auto md = [](const dims &d, data_type type) { return memory::desc(d, type, dims{}); };
    const auto make = [&](dim_t out) {
        deconvolution_forward::primitive_desc({prop_kind::forward_inference, algorithm::deconvolution_direct,
                                               md({1, 2, 4}, data_type::u8), md({3, 2, 3}, data_type::s8),
                                               md({1, 3, out}, data_type::u8), dims{2}, dims{1}, dims{1}},
                                              cpu);
    };
    EXPECT_NO_THROW(make(7));
    EXPECT_NO_THROW(make(8)); // one row more, which no tap reaches
    expect_invalid([&] { make(9); }, {"deconvolution: src width is 4, but dst 9", "give 5"});
    expect_invalid([&] { make(6); }, {"give 3"});
    expect_invalid(
        [&] {
            deconvolution_forward::primitive_desc(
                {prop_kind::forward_inference, algorithm::convolution_direct, md({1, 2, 4}, data_type::u8),
                 md({3, 2, 3}, data_type::s8), md({1, 3, 7}, data_type::u8), dims{2}, dims{1}, dims{1}},
                cpu);
        },
        {"deconvolution: algorithm", "deconvolution_direct"});
}

} // namespace
} // namespace octet::test
