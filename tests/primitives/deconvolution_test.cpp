// Deconvolution against its definition: each source element is scattered, times the kernel, over dst.
// SPDX-License-Identifier: Apache-2.0
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

/// A square deconvolution of one image, channels-last.
struct square {
    dim_t in, out, kernel, stride, pad;
    dims dilates{0, 0};
    memory::desc weights = memory::desc({8, 8, kernel, kernel}, data_type::s8, format_tag::any);

    deconvolution_forward::primitive_desc desc() const {
        const dim_t covered = (kernel - 1) * (dilates[0] + 1) + 1;
        const dim_t pad_r = (in - 1) * stride + covered - pad - out;
        return deconvolution_forward::primitive_desc(
            {prop_kind::forward_inference, algorithm::deconvolution_direct,
             memory::desc({1, 8, in, in}, data_type::u8, format_tag::nhwc), weights,
             memory::desc({1, 8, out, out}, data_type::s32, format_tag::nhwc), dims{stride, stride}, dilates,
             dims{pad, pad}, dims{pad_r, pad_r}},
            cpu);
    }
};

bool is_generated(const deconvolution_forward::primitive_desc &pd) {
    return std::string(pd.impl_info_str()).rfind("jit:deconvolution", 0) == 0;
}

/// Expects that some implementation refused with this sentence, if there is one besides the reference.
void expect_refusal(const deconvolution_forward::primitive_desc &pd, const std::string &reason) {
    std::string all;
    for (const std::string &refusal : pd.refusals())
        all += refusal + "\n";
    EXPECT_STREQ(pd.impl_info_str(), "ref");
    EXPECT_TRUE(get_available_cpu_isas().size() == 1 || all.find(reason) != std::string::npos) << all;
}

TEST(deconvolution, is_generated_whatever_kernel_and_stride) {
    if (get_available_cpu_isas().size() == 1)
        GTEST_SKIP() << "no implementation but the reference";
    EXPECT_TRUE(is_generated(square{5, 10, 4, 2, 1}.desc()));
    EXPECT_TRUE(is_generated(square{5, 9, 1, 2, 0}.desc()));
    EXPECT_TRUE(is_generated(square{5, 5, 3, 1, 1}.desc()));
    EXPECT_TRUE(is_generated(square{5, 13, 3, 2, 0, {1, 1}}.desc()));
    EXPECT_TRUE(is_generated(square{2, 64, 64, 32, 16}.desc()));
}

TEST(deconvolution, refuses_to_generate_a_plan_per_output_of_huge_strides) {
    const auto pd = square{2, 41, 1, 40, 0}.desc();
    expect_refusal(pd, "strides that divide the output or the kernel into more than 1024 parts");
}

TEST(deconvolution, takes_weights_packed_for_other_strides) {
    inputs in(182);
    square two{5, 11, 3, 2, 0}, three{5, 15, 3, 3, 0};
    const auto pd = three.desc();
    three.weights = two.desc().weights_desc();
    ASSERT_NE(three.weights, pd.weights_desc());
    expect_refusal(three.desc(), "weights packed for other strides or dilates");

    const memory plain = random_memory(in, memory::desc({8, 8, 3, 3}, data_type::s8, format_tag::oihw)),
                 src = random_memory(in, pd.src_desc());
    const auto run = [&](const deconvolution_forward::primitive_desc &p) {
        const memory weights(p.weights_desc(), cpu), dst(p.dst_desc(), cpu);
        reorder(plain, weights).execute(stream(cpu), plain, weights);
        deconvolution_forward(p).execute(
            stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
        const auto *first = dst.map_data<std::int32_t>();
        return std::vector<std::int32_t>(first, first + p.dst_desc().get_size() / sizeof *first);
    };
    EXPECT_EQ(run(three.desc()), run(pd));
}

TEST(deconvolution, refuses_weights_packed_for_a_convolution) {
    const memory::desc convolution_weights =
        convolution_forward::primitive_desc(cpu, prop_kind::forward_inference, algorithm::convolution_direct,
                                            memory::desc({1, 8, 5, 5}, data_type::u8, format_tag::nhwc),
                                            memory::desc({8, 8, 3, 3}, data_type::s8, format_tag::any),
                                            memory::desc({1, 8, 3, 3}, data_type::u8, format_tag::nhwc),
                                            {1, 1}, {0, 0}, {0, 0})
            .weights_desc();
    square d{5, 5, 3, 1, 1};
    d.weights = convolution_weights;
    expect_invalid([&] { d.desc(); }, {"deconvolution: weights have layout packed_convolution",
                                       "allowed: packed_deconvolution, plain layouts or any"});
}

TEST(deconvolution, packed_weights_come_back_unchanged) {
    inputs in(183);
    for (int i = 0; i < 100 && !testing::Test::HasFailure(); i++) {
        const deconvolution_case c = random_case(in);
        const data_type type = in.one_in(3) ? data_type::u8 : data_type::s8;
        const auto pd = deconvolution_forward::primitive_desc(
            {prop_kind::forward_inference, algorithm::deconvolution_direct,
             memory::desc(c.src_dims(), data_type::u8, dims{}),
             memory::desc(c.weights_dims(), type, format_tag::any),
             memory::desc(c.dst_dims(), data_type::u8, dims{}), c.stride, c.dilates(), c.pad_l, c.pad_r},
            cpu);
        const memory::desc from_md = random_layout(in, c.weights_dims(), type),
                           to_md = random_layout(in, c.weights_dims(), type);
        const memory from = random_memory(in, from_md), to = random_memory(in, to_md);
        const guarded_memory packed(pd.weights_desc(), cpu);
        reorder(from, packed.get()).execute(stream(cpu), from, packed.get());
        const auto expected = [&](const dims &at) { return element(from_md, from.get_data_handle(), at); };
        expect_execution([&] { return reorder(packed.get(), to); },
                         {{OCTET_ARG_SRC, packed.get()}, {OCTET_ARG_DST, to}}, expected,
                         pd.problem_str() + ", unpacked " + from_md.to_string());
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
