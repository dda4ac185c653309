// Convolution against its formula turned around: every source element is sent to the outputs that it takes
// part in, instead of every output gathering its window. Sums in 64 bits, wrapped at the end.
// SPDX-License-Identifier: Apache-2.0
#include "support/naive.hpp"

#include "support/expect_error.hpp"

namespace octet::test {
namespace {

struct convolution_case {
    dim_t mb, groups, ic, oc;                             ///< channels per group
    dims in, kernel, stride, dilation, pad_l, pad_r, out; ///< spatial; dilation 1: adjacent taps
    bool weights_have_groups;

    std::size_t spatial() const { return in.size(); }
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
    dims weights_at(dim_t g, dim_t o, dim_t i, const dims &tap) const {
        dims at = shape(o, i, tap);
        if (weights_have_groups)
            at.insert(at.begin(), g);
        return at;
    }
};

convolution_case random_case(inputs &in) {
    convolution_case c;
    c.mb = in.between(1, 2);
    const bool is_depthwise = in.one_in(4), is_grouped = in.one_in(4);
    c.groups = is_depthwise ? in.between(1, 20) : is_grouped ? in.between(1, 4) : 1;
    c.ic = is_depthwise ? 1 : in.one_in(4) ? in.between(8, 20) : in.between(1, 5);
    c.oc = is_depthwise ? in.between(1, 2) : in.one_in(4) ? in.between(15, 35) : in.between(1, 5);
    c.weights_have_groups = c.groups > 1 || in.one_in(4);
    for (std::int64_t d = in.between(1, 3); d > 0; d--) {
        const dim_t kernel = in.between(1, 4), stride = in.between(1, 3),
                    dilation = in.one_in(3) ? in.between(2, 3) : 1;
        const dim_t covered = (kernel - 1) * dilation + 1;
        const dim_t pad_l = in.between(0, 3), pad_r = in.between(-1, 3);
        const dim_t size = std::max<dim_t>(covered - pad_l - pad_r, 1) + in.between(0, 5);
        c.in.push_back(size);
        c.kernel.push_back(kernel);
        c.stride.push_back(stride);
        c.dilation.push_back(dilation);
        c.pad_l.push_back(pad_l);
        c.pad_r.push_back(pad_r);
        c.out.push_back((size + pad_l + pad_r - covered) / stride + 1);
    }
    return c;
}

/// Finds the destination to which a tap carries a source position; false if there is none.
bool destination(const convolution_case &c, const dims &src_at, const dims &tap, dims &dst_at) {
    for (std::size_t d = 0; d < c.spatial(); d++) {
        const dim_t shifted = src_at[d] + c.pad_l[d] - tap[d] * c.dilation[d];
        if (shifted < 0 || shifted % c.stride[d] != 0 || shifted / c.stride[d] >= c.out[d])
            return false;
        dst_at[d] = shifted / c.stride[d];
    }
    return true;
}

/// All accumulators, in row-major order of dst.
std::vector<std::int64_t> accumulate(const convolution_case &c, const memory &src, const memory &weights,
                                     const masked<std::int32_t> &src_zp,
                                     const masked<std::int32_t> &weights_zp) {
    std::vector<std::int64_t> acc(static_cast<std::size_t>(product(c.dst_dims())), 0);
    for_each(c.src_dims(), [&](const dims &at) {
        const dim_t g = at[1] / c.ic, i = at[1] % c.ic;
        const auto s = static_cast<std::int64_t>(element(src.get_desc(), src.get_data_handle(), at)) -
                       src_zp.at(c.src_dims(), at, 0);
        const dims position(at.begin() + 2, at.end());
        for_each(c.kernel, [&](const dims &tap) {
            dims out(c.spatial());
            if (!destination(c, position, tap, out))
                return;
            for (dim_t o = 0; o < c.oc; o++) {
                const dims weight_at = c.weights_at(g, o, i, tap);
                const auto w = static_cast<std::int64_t>(
                                   element(weights.get_desc(), weights.get_data_handle(), weight_at)) -
                               weights_zp.at(c.weights_dims(), weight_at, 0);
                acc[masked_index(-1, c.dst_dims(), convolution_case::shape(at[0], g * c.oc + o, out))] +=
                    s * w;
            }
        });
    });
    return acc;
}

/// The same weights, in the layout that a primitive asks for.
memory reordered(const memory &from, const memory::desc &to) {
    const memory result(to, cpu);
    reorder(from, result).execute(stream(cpu), from, result);
    return result;
}

void check(inputs &in, const convolution_case &c) {
    const memory::desc src_md = any_layout(in, c.src_dims(), in.one_in(2) ? data_type::u8 : data_type::s8);
    const memory::desc weights_md =
        random_layout(in, c.weights_dims(), in.one_in(4) ? data_type::u8 : data_type::s8);
    constexpr data_type dst_types[] = {data_type::u8, data_type::s8, data_type::s32, data_type::f32};
    const memory::desc dst_md = any_layout(in, c.dst_dims(), dst_types[in.between(0, 3)]);
    const int channel_mask = c.weights_have_groups ? 3 : 1;
    const output_stage out(in, {dst_md, 1, channel_mask, false, c.ic * product(c.kernel)});
    const bool has_bias = in.one_in(2);
    const memory::desc bias_md =
        has_bias ? random_layout(in, {c.groups * c.oc}, out.random_bias_type(in)) : memory::desc();

    const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
    const memory bias = has_bias ? random_memory(in, bias_md) : memory();
    const auto src_zp = random_zero_points(in, src_md, {0, 1, 2, 3}); // batch and channel
    const auto weights_zp = in.one_in(2)
                                ? masked<std::int32_t>()
                                : random_zero_points(in, weights_md, {0, channel_mask, 2 * channel_mask + 1});
    primitive_attr attr = out.attr();
    set_zero_points(attr, OCTET_ARG_SRC, src_zp);
    set_zero_points(attr, OCTET_ARG_WEIGHTS, weights_zp);

    const std::vector<std::int64_t> acc = accumulate(c, src, weights, src_zp, weights_zp);
    const auto expected = [&](const dims &at) {
        const double b = has_bias ? element(bias_md, bias.get_data_handle(), {at[1]}) : 0;
        return out.stored(acc[masked_index(-1, c.dst_dims(), at)], b, at);
    };
    const auto make = [&](const memory::desc &w) {
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src_md,
                                          w, bias_md, dst_md, c.stride, c.dilates(), c.pad_l, c.pad_r);
        return convolution_forward::primitive_desc(d, attr, cpu);
    };
    std::unordered_map<int, memory> args{
        {OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, random_memory(in, dst_md)}};
    if (has_bias)
        args[OCTET_ARG_BIAS] = bias;
    expect_execution([&] { return convolution_forward(make(weights_md)); }, args, expected,
                     make(weights_md).problem_str() + ", " + out.text());

    const memory::desc any(c.weights_dims(), weights_md.data_type(), format_tag::any);
    args[OCTET_ARG_WEIGHTS] = reordered(weights, make(any).weights_desc());
    expect_execution([&] { return convolution_forward(make(any)); }, args, expected,
                     make(any).problem_str() + ", " + out.text());
}

/// Sums alone, where padding is multiplied as zeros: of u8, and of s8 with the zero point -128.
void check_sums(inputs &in, const convolution_case &c) {
    for (const data_type type : {data_type::u8, data_type::s8}) {
        const memory::desc src_md(c.src_dims(), type, format_tag::nhwc),
            dst_md(c.dst_dims(), data_type::s32, format_tag::nhwc),
            weights_md(c.weights_dims(), data_type::s8, format_tag::goihw);
        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        const masked<std::int32_t> src_zp =
            type == data_type::s8 ? masked<std::int32_t>{0, {-128}} : masked<std::int32_t>();
        primitive_attr attr;
        set_zero_points(attr, OCTET_ARG_SRC, src_zp);
        const std::vector<std::int64_t> acc = accumulate(c, src, weights, src_zp, {});
        const convolution_forward::primitive_desc pd(
            {prop_kind::forward_inference, algorithm::convolution_direct, src_md, weights_md, memory::desc(),
             dst_md, c.stride, c.dilates(), c.pad_l, c.pad_r},
            attr, cpu);
        expect_execution(
            [&] { return convolution_forward(pd); },
            {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, random_memory(in, dst_md)}},
            [&](const dims &at) { return static_cast<double>(acc[masked_index(-1, c.dst_dims(), at)]); },
            pd.problem_str());
    }
}

TEST(convolution, equals_the_formula_on_random_problems) {
    inputs in(101);
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); i++)
        check(in, random_case(in));
}

TEST(convolution, equals_the_formula_on_chosen_problems) {
    inputs in(102);
    const convolution_case cases[] = {
        {1, 1, 3, 16, {12, 12}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, {6, 6}, false}, // first layer, padded
                                                                                        // at the end
        {1, 1, 16, 32, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {7, 7}, false},  // 1x1
        {2, 16, 1, 1, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {8, 8}, true},    // depthwise
        {1, 4, 1, 3, {9}, {5}, {1}, {1}, {2}, {2}, {9}, true}, // depthwise, multiplier 3, 1D
        // Sliding tiles: two rows of patches and tiles of four and two blocks, narrower than a tile, padding
        // wider than the kernel, none, a last tile as wide as the others.
        {1, 96, 1, 1, {7, 13}, {7, 3}, {1, 1}, {1, 1}, {3, 1}, {3, 1}, {7, 13}, true},
        {1, 64, 1, 1, {9, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {9, 2}, true},
        {1, 64, 1, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {4, 4}, {4, 4}, {11, 11}, true},
        {1, 128, 1, 1, {4, 12}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {2, 10}, true},
        {1, 32, 1, 1, {6, 9}, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {1, 2}, {6, 9}, true},
        {1, 64, 1, 1, {3, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {3, 6}, true},
        {1, 2, 8, 8, {6, 6}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {6, 6}, true}, // grouped, dilated
        {1,
         1,
         4,
         4,
         {4, 5, 6},
         {3, 3, 3},
         {1, 2, 1},
         {1, 1, 1},
         {1, 1, 1},
         {1, 1, 1},
         {4, 3, 6},
         false},                                                                     // 3D
        {1, 1, 2, 2, {1, 1}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, false}, // nearly all padding
        {1, 1, 1, 1, {1}, {1}, {1}, {1}, {3}, {3}, {7}, false}, // windows wholly in the padding
        {1, 1, 65, 17, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, false}, // tails everywhere
    };
    for (const convolution_case &c : cases)
        for (int i = 0; i < 5 && !testing::Test::HasFailure(); i++)
            check(in, c);
}

/// Lines that are one tile, with every place of the taps beside the image: what sees only padding is not
/// multiplied, nor read where that is zero.
TEST(convolution, equals_the_formula_beside_images_of_a_tile) {
    inputs in(103);
    for (const dim_t kernel : {1, 2, 3, 5})
        for (const dim_t stride : {1, 2, 3})
            for (const dim_t dilation : {1, 2})
                for (const dim_t pad : {0, 1, 2, 4})
                    for (const dim_t width : {1, 2, 5, 7}) {
                        const dim_t room = width + 2 * pad - (kernel - 1) * dilation - 1;
                        if (room < 0 || testing::Test::HasFailure())
                            continue;
                        const dim_t groups = in.between(1, 2), height = in.between(1, 3),
                                    out = room / stride + 1;
                        const dim_t ic = in.one_in(2) ? 4 : 36;
                        check_sums(in, {1,
                                        groups,
                                        ic,
                                        20,
                                        {height, width},
                                        {3, kernel},
                                        {1, stride},
                                        {1, dilation},
                                        {1, pad},
                                        {1, pad},
                                        {height, out},
                                        true});
                    }
}

TEST(convolution, sums_wrap_at_32_bits) {
    // 255 * 127 * 70,000 = 2,266,950,000: above 2^31.
    const dim_t k = 70'000;
    const memory::desc src_md({1, k, 1}, data_type::u8, format_tag::nwc),
        weights_md({1, k, 1}, data_type::s8, format_tag::oiw),
        dst_md({1, 1, 1}, data_type::s32, format_tag::nwc);
    const memory src(src_md, cpu), weights(weights_md, cpu), dst(dst_md, cpu);
    std::memset(src.get_data_handle(), 255, src_md.get_size());
    std::memset(weights.get_data_handle(), 127, weights_md.get_size());
    for (const cpu_isa cap : {cpu_isa::ref, cpu_isa::all}) {
        set_max_cpu_isa(cap);
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src_md,
                                          weights_md, dst_md, {1}, {0}, {0});
        convolution_forward(convolution_forward::primitive_desc(d, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
        EXPECT_EQ(dst.map_data<std::int32_t>()[0], wrapped(wide{255} * 127 * k));
    }
    set_max_cpu_isa(cpu_isa::all);
}

TEST(convolution, zero_points_of_spatial_dimensions_are_refused) {
    const memory::desc src_md({1, 2, 3}, data_type::u8, format_tag::ncw),
        weights_md({1, 2, 1}, data_type::s8, format_tag::oiw),
        dst_md({1, 1, 3}, data_type::s32, format_tag::ncw);
    primitive_attr by_column;
    by_column.set_zero_points(OCTET_ARG_SRC, 4, {10, 20, 30});
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src_md,
                                      weights_md, dst_md, {1}, {0}, {0});
    expect_invalid([&] { convolution_forward::primitive_desc(d, by_column, cpu); },
                   {"convolution", "src zero points mask is 4", "allowed"});

    const memory::desc taps_md({1, 2, 2}, data_type::s8, format_tag::oiw),
        two_md({1, 1, 2}, data_type::s32, format_tag::ncw);
    primitive_attr by_tap;
    by_tap.set_zero_points(OCTET_ARG_WEIGHTS, 4, {10, 20});
    const convolution_forward::desc of_taps(prop_kind::forward_inference, algorithm::convolution_direct,
                                            src_md, taps_md, two_md, {1}, {0}, {0});
    expect_invalid([&] { convolution_forward::primitive_desc(of_taps, by_tap, cpu); },
                   {"convolution", "weights zero points mask is 4", "allowed"});
}

// ---- accumulator_range

struct range {
    std::int64_t lowest, highest;
};

/// The extremes over all sources, by trying the worst source of each channel.
range worst_case(const memory &weights, data_type src_type, std::int64_t src_zp, std::int64_t weights_zp,
                 dim_t channels) {
    const memory::desc md = weights.get_desc();
    const dim_t per_channel = product(md.dims()) / channels;
    std::vector<range> of_channel(static_cast<std::size_t>(channels), range{0, 0});
    dim_t index = 0;
    for_each(md.dims(), [&](const dims &at) {
        const auto w = static_cast<std::int64_t>(element(md, weights.get_data_handle(), at)) - weights_zp;
        const std::int64_t a = (lowest_code(src_type) - src_zp) * w,
                           b = (highest_code(src_type) - src_zp) * w;
        range &r = of_channel[static_cast<std::size_t>(index++ / per_channel)];
        r.lowest += std::min({a, b, std::int64_t{0}}); // 0: the tap lies in the padding, or comes later
        r.highest += std::max({a, b, std::int64_t{0}});
    });
    range all{0, 0};
    for (const range &r : of_channel)
        all = {std::min(all.lowest, r.lowest), std::max(all.highest, r.highest)};
    return all;
}

TEST(accumulator_range, is_the_worst_case_of_any_source) {
    inputs in(103);
    for (int i = 0; i < 100; i++) {
        const convolution_case c = random_case(in);
        const data_type src_type = in.one_in(2) ? data_type::u8 : data_type::s8;
        const memory::desc src_md(c.src_dims(), src_type, dims{}),
            dst_md(c.dst_dims(), data_type::s32, dims{});
        const memory::desc plain = random_layout(in, c.weights_dims(), data_type::s8);
        const memory weights = random_memory(in, plain);
        primitive_attr attr;
        const auto src_zp = static_cast<std::int32_t>(in.between(-128, 255)),
                   weights_zp = static_cast<std::int32_t>(in.between(-20, 20));
        attr.set_zero_points(OCTET_ARG_SRC, 0, {src_zp});
        attr.set_zero_points(OCTET_ARG_WEIGHTS, 0, {weights_zp});
        const range expected = worst_case(weights, src_type, src_zp, weights_zp, c.groups * c.oc);
        for (const memory::desc &md :
             {plain, memory::desc(c.weights_dims(), data_type::s8, format_tag::any)}) {
            const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                              src_md, md, dst_md, c.stride, c.dilates(), c.pad_l, c.pad_r);
            const convolution_forward::primitive_desc pd(d, attr, cpu);
            const auto got = pd.accumulator_range(reordered(weights, pd.weights_desc()));
            ASSERT_EQ(got.lowest, expected.lowest) << pd.problem_str();
            ASSERT_EQ(got.highest, expected.highest) << pd.problem_str();
        }
    }
}

TEST(accumulator_range, refuses_other_weights) {
    const memory::desc src({1, 2, 3}, data_type::u8, format_tag::ncw),
        weights({1, 2, 1}, data_type::s8, format_tag::oiw), dst({1, 1, 3}, data_type::s32, format_tag::ncw);
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src,
                                      weights, dst, {1}, {0}, {0});
    const convolution_forward::primitive_desc pd(d, cpu);
    expect_invalid([&] { pd.accumulator_range(memory(src, cpu)); },
                   {"accumulator_range: weights are u8 1x2x3", "allowed: s8 1x2x1"});
    expect_invalid([&] { pd.accumulator_range(memory()); }, {"null handle"});
    primitive_attr attr;
    attr.set_zero_points_mask(OCTET_ARG_SRC, 0);
    const convolution_forward::primitive_desc at_run_time(d, attr, cpu);
    expect_unimplemented([&] { at_run_time.accumulator_range(memory(weights, cpu)); },
                         {"zero points are given at execution"});
}

} // namespace
} // namespace octet::test
