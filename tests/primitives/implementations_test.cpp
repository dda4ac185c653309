// Every implementation of convolution, deconvolution, inner product and matmul against the reference, byte
// for byte: random problems with random attributes, at every ISA level of the machine and on 1, 2 and 3
// threads. Buffers touch unmapped pages.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

/// A problem whose primitive can be made again under another ISA cap.
struct test_problem {
    memory::desc src, weights, bias, dst;
    std::function<primitive_desc_base(const memory::desc &weights, const primitive_attr &attr)> make;
    std::function<primitive(const primitive_desc_base &)> instantiate;
    attribute_target target;
    std::string description;
    bool packs_weights;
};

struct inputs {
    memory src, weights, bias, dst; ///< plain weights; dst before execution
};

/// True for problems that generated code may still leave to the reference.
bool may_be_left_to_reference(const primitive_desc_base &pd) {
    for (const std::string &refusal : pd.refusals())
        for (const char *reason : {"no code of the source", "an empty tensor", "parts"})
            if (refusal.find(reason) != std::string::npos)
                return true;
    return false;
}

/// Runs under the current settings; the buffers that the implementation sees end (or start) at an unmapped
/// page.
bytes run(const test_problem &p, const random_attributes &a, const inputs &in, guarded_memory::edge edge,
          std::string &implementation) {
    const primitive_desc_base pd = p.make(
        p.packs_weights ? memory::desc(p.weights.dims(), p.weights.data_type(), format_tag::any) : p.weights,
        a.attr);
    implementation = pd.impl_info_str();
    if (implementation == "ref" && get_effective_cpu_isa() != cpu_isa::ref && !may_be_left_to_reference(pd)) {
        std::string reasons;
        for (const std::string &refusal : pd.refusals())
            reasons += "\n" + refusal;
        ADD_FAILURE() << "left to the reference:" << reasons;
    }
    const guarded_memory src(p.src, eng(), edge), weights(pd.weights_desc(), eng(), edge),
        dst(p.dst, eng(), edge);
    src.copy_from(in.src);
    dst.copy_from(in.dst);
    if (p.packs_weights)
        reorder(in.weights, weights.get()).execute(stream(eng()), in.weights, weights.get());
    else
        weights.copy_from(in.weights);
    std::unordered_map<int, memory> args = a.args;
    args[OCTET_ARG_SRC] = src.get();
    args[OCTET_ARG_WEIGHTS] = weights.get();
    args[OCTET_ARG_DST] = dst.get();
    if (!p.bias.is_zero())
        args[OCTET_ARG_BIAS] = in.bias;
    p.instantiate(pd).execute(stream(eng()), args);
    return bytes(dst.bytes(), dst.bytes() + dst.size());
}

/// The wish for a problem to be drawn.
struct wish {
    bool is_large = false, is_f32 = false;
    bool any_broadcast = false; ///< attributes may bring any broadcast
    data_type src(random_source &r) const {
        return is_f32 ? data_type::f32 : r.pick({data_type::u8, data_type::s8});
    }
    data_type weights(random_source &r) const {
        return is_f32 ? data_type::f32 : r.chance(80) ? data_type::s8 : data_type::u8;
    }
};

void compare_implementations(const test_problem &p, random_source &r, std::map<std::string, int> &counts,
                             const rule_choice &choice = {}) {
    const random_attributes a = random_attributes_for(r, p.target, eng(), choice);
    inputs in{memory(p.src, eng()), memory(p.weights, eng()),
              p.bias.is_zero() ? memory() : memory(p.bias, eng()), memory(p.dst, eng())};
    for (const memory *m : {&in.src, &in.weights, &in.dst})
        r.fill(*m);
    if (in.bias)
        r.fill(in.bias);
    const bool is_f32 = p.src.data_type() == data_type::f32;
    for (const memory *m : {&in.src, &in.weights})
        if (is_f32 && r.chance(30))
            add_special_values(r, *m, {});
    const data_type nans = is_f32 ? p.dst.data_type() : data_type::undef;
    const auto edge = r.chance(50) ? guarded_memory::edge::end : guarded_memory::edge::start;

    SCOPED_TRACE(p.description + " |" + a.description);
    std::string implementation;
    set_max_cpu_isa(cpu_isa::ref);
    const bytes expected = with_equal_nans(run(p, a, in, edge, implementation), nans);
    ASSERT_EQ(implementation, "ref");
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        set_max_cpu_isa(level);
        set_num_threads(static_cast<int>(r.between(1, 3)));
        const bytes got = with_equal_nans(run(p, a, in, edge, implementation), nans);
        counts[implementation]++;
        EXPECT_EQ(difference(expected, got), "")
            << to_string(level) << " as " << implementation << " on " << get_num_threads() << " threads";
    }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

memory::desc random_bias(random_source &r, const memory::dims &dims) {
    if (r.chance(40))
        return {};
    return memory::desc(dims,
                        r.pick({data_type::s32, data_type::s32, data_type::s32, data_type::s32,
                                data_type::f32, data_type::s8, data_type::bf16, data_type::f16}),
                        memory::dims{});
}

const data_type eight_bit[] = {data_type::u8, data_type::s8};
data_type random_dst_type(random_source &r) {
    return r.pick({data_type::u8, data_type::s8, data_type::u8, data_type::s8, data_type::s32, data_type::f32,
                   data_type::f16, data_type::bf16});
}

/// Spatial extents of a convolution; the ranges that they are drawn from differ.
struct spatial_sizes {
    dim_t kernel, stride, dilation, pad_l, pad_r, in;
    dim_t covered() const { return (kernel - 1) * (dilation + 1) + 1; }
    dim_t out() const {
        return in + pad_l + pad_r < covered() ? 0 : (in + pad_l + pad_r - covered()) / stride + 1;
    }
};

spatial_sizes random_sizes(random_source &r, dim_t max_kernel, dim_t max_stride, dim_t max_extra) {
    spatial_sizes s{};
    s.kernel = r.chance(40) ? 1 : r.between(1, max_kernel);
    s.stride = r.between(1, max_stride);
    s.dilation = r.between(0, 1);
    s.pad_l = r.chance(50) ? 0 : r.between(0, s.covered() - 1);
    s.in = s.covered() + r.between(0, max_extra);
    s.pad_r = r.chance(50) ? 0 : r.between(-1, s.covered() - 1);
    return s;
}

/// Channels of a convolution or deconvolution, per group.
struct channel_counts {
    dim_t groups, ic, oc;
};

/// The common part of both: tensors, layouts, attributes. Sizes lead from src to dst, in a deconvolution
/// back.
template <typename Primitive>
test_problem make_windowed(random_source &r, const wish &w, const channel_counts &c,
                           const std::vector<spatial_sizes> &sizes, algorithm alg, const char *name) {
    const bool is_forward = std::is_same_v<Primitive, convolution_forward>;
    const dim_t mb = r.between(1, 3);
    const auto spatial = sizes.size();
    memory::dims src{mb, c.groups * c.ic}, dst{mb, c.groups * c.oc}, weights{c.oc, c.ic};
    memory::dims strides, dilates, pad_l, pad_r;
    const bool with_groups = c.groups > 1 || r.chance(10);
    if (with_groups)
        weights.insert(weights.begin(), c.groups);
    for (const spatial_sizes &s : sizes) {
        src.push_back(is_forward ? s.in : s.out());
        weights.push_back(s.kernel);
        strides.push_back(s.stride);
        dilates.push_back(s.dilation);
        pad_l.push_back(s.pad_l);
        pad_r.push_back(s.pad_r);
        dst.push_back(is_forward ? s.out() : s.in);
    }
    const format_tag last[] = {format_tag::nwc, format_tag::nhwc, format_tag::ndhwc},
                     first[] = {format_tag::ncw, format_tag::nchw, format_tag::ncdhw};
    test_problem p;
    p.src = memory::desc(src, w.src(r), r.chance(80) ? last[spatial - 1] : first[spatial - 1]);
    p.weights = memory::desc(weights, w.weights(r), memory::dims{});
    p.dst = memory::desc(dst, random_dst_type(r), r.chance(90) ? last[spatial - 1] : first[spatial - 1]);
    p.bias = random_bias(r, {c.groups * c.oc});
    p.packs_weights = r.chance(75);
    p.make = [=](const memory::desc &stored, const primitive_attr &attr) -> primitive_desc_base {
        return typename Primitive::primitive_desc(
            {prop_kind::forward_inference, alg, p.src, stored, p.bias, p.dst, strides, dilates, pad_l, pad_r},
            attr, eng());
    };
    p.instantiate = [](const primitive_desc_base &pd) { return primitive(pd); };
    const dim_t taps = memory::desc(memory::dims(weights.begin() + (with_groups ? 3 : 2), weights.end()),
                                    data_type::s8, memory::dims{})
                           .get_size();
    p.target = {p.src,
                p.weights,
                p.dst,
                with_groups ? 3 : 1,
                2,
                c.groups * c.oc,
                c.ic * taps,
                !p.bias.is_zero(),
                p.bias.data_type() == data_type::s32};
    p.description = std::string(name) + " src " + p.src.to_string() + " wei " + p.weights.to_string() +
                    " dst " + p.dst.to_string() + " bias " + p.bias.to_string() + " s" + text_of(strides) +
                    " d" + text_of(dilates) + " p" + text_of(pad_l) + ":" + text_of(pad_r) +
                    (p.packs_weights ? "" : " plain");
    return p;
}

test_problem make_convolution(random_source &r, const wish &w, const channel_counts &c,
                              const std::vector<spatial_sizes> &sizes) {
    return make_windowed<convolution_forward>(r, w, c, sizes, algorithm::convolution_direct, "conv");
}

std::vector<spatial_sizes> valid_sizes(random_source &r, int dimensions, dim_t max_kernel, dim_t max_stride,
                                       dim_t max_extra) {
    std::vector<spatial_sizes> sizes;
    while (static_cast<int>(sizes.size()) < dimensions) {
        const spatial_sizes s = random_sizes(r, max_kernel, max_stride, max_extra);
        if (s.out() > 0)
            sizes.push_back(s);
    }
    return sizes;
}

test_problem random_convolution(random_source &r, const wish &w) {
    const int spatial = static_cast<int>(r.between(1, 3));
    channel_counts channels{r.pick<dim_t>({1, 1, 1, 2, 4, 6}), r.between(1, w.is_large ? 70 : 20),
                            r.between(1, w.is_large ? 80 : 24)};
    if (r.chance(20)) // several blocks of columns
        channels = {1, r.between(1, 9), r.between(60, 200)};
    return make_convolution(r, w, channels, valid_sizes(r, spatial, 4, 2, spatial == 3 ? 4 : 12));
}

/// Four groups of 4 channels share 16 bytes of a position, in which each column has its quad.
test_problem random_groups_of_four(random_source &r, const wish &w) {
    const int spatial = static_cast<int>(r.between(1, 2));
    return make_convolution(r, w, {4 * r.between(1, 6), 4, r.pick<dim_t>({4, 4, 4, 3, 2, 1})},
                            valid_sizes(r, spatial, 4, 2, 16));
}

/// All shapes of patches, ragged blocks of channels, rows longer than a tile.
test_problem random_depthwise(random_source &r, const wish &w) {
    const int spatial = static_cast<int>(r.chance(70) ? 2 : r.pick({1, 1, 3}));
    const dim_t groups = w.is_large ? r.between(2, 200)
                                    : r.pick<dim_t>({2, 8, 15, 16, 17, 40, 64, 72, 96, 112, 128, 133, 200});
    std::vector<spatial_sizes> sizes = valid_sizes(r, spatial, spatial == 3 ? 3 : 9, 3, w.is_large ? 30 : 14);
    if (r.chance(50)) // the usual ones
        for (spatial_sizes &s : sizes) {
            const dim_t in = s.in;
            s = {r.pick<dim_t>({3, 3, 5}), sizes[0].stride > 1 ? 2 : 1, 0, 0, 0, in + 4};
            s.pad_l = s.pad_r = r.chance(80) ? s.kernel / 2 : 0;
        }
    return make_convolution(r, w, {groups, 1, r.pick<dim_t>({1, 1, 1, 1, 1, 2, 3})}, sizes);
}

/// Kernels smaller and larger than the strides, positions that no tap reaches, cropped outputs.
test_problem random_deconvolution(random_source &r, const wish &w) {
    const int spatial = static_cast<int>(r.chance(60) ? 2 : r.pick({1, 3}));
    channel_counts channels{r.pick<dim_t>({1, 1, 1, 2, 4, 6}), r.between(1, w.is_large ? 70 : 20),
                            r.between(1, w.is_large ? 80 : 24)};
    if (r.chance(25)) // depthwise
        channels = {r.pick<dim_t>({2, 8, 15, 16, 17, 33, 72, 133}), 1, r.pick<dim_t>({1, 1, 1, 2})};
    std::vector<spatial_sizes> sizes =
        valid_sizes(r, spatial, spatial == 3 ? 4 : 7, 4, spatial == 3 ? 6 : 20);
    for (spatial_sizes &s : sizes) {
        if (r.chance(10)) // sources whose products all lie outside
            s.pad_l += r.between(0, 2 * s.stride);
        if (r.chance(15) && s.in > 2 * (s.kernel - 1) + s.covered())
            s.dilation += 2; // shares factors with the strides
    }
    return make_windowed<deconvolution_forward>(r, w, channels, sizes, algorithm::deconvolution_direct,
                                                "deconv");
}

test_problem random_inner_product(random_source &r, const wish &w) {
    const int spatial = static_cast<int>(r.between(0, 2));
    const dim_t mb = r.between(1, w.is_large ? 40 : 9), ic = r.between(1, w.is_large ? 150 : 40),
                oc = r.between(1, w.is_large ? 150 : 40);
    memory::dims src{mb, ic}, weights{oc, ic};
    for (int d = 0; d < spatial; d++) {
        src.push_back(r.between(1, 4));
        weights.push_back(src.back());
    }
    test_problem p;
    p.src = memory::desc(src, w.src(r),
                         spatial == 2 && r.chance(70) ? format_tag::nhwc
                         : spatial == 2               ? format_tag::nchw
                         : spatial == 1               ? format_tag::nwc
                                                      : format_tag::nc);
    p.weights = memory::desc(weights, w.weights(r), memory::dims{});
    p.dst = memory::desc({mb, oc}, random_dst_type(r), format_tag::nc);
    p.bias = random_bias(r, {oc});
    p.packs_weights = r.chance(75);
    p.make = [=](const memory::desc &stored, const primitive_attr &attr) -> primitive_desc_base {
        return inner_product_forward::primitive_desc(
            {prop_kind::forward_inference, p.src, stored, p.bias, p.dst}, attr, eng());
    };
    p.instantiate = [](const primitive_desc_base &pd) { return primitive(pd); };
    p.target = {p.src,
                p.weights,
                p.dst,
                1,
                2,
                oc,
                static_cast<dim_t>(p.weights.get_size() / memory::data_type_size(p.weights.data_type())) / oc,
                !p.bias.is_zero(),
                p.bias.data_type() == data_type::s32};
    p.description = "ip src " + p.src.to_string() + " wei " + p.weights.to_string() + " dst " +
                    p.dst.to_string() + " bias " + p.bias.to_string() + (p.packs_weights ? "" : " plain");
    return p;
}

test_problem random_matmul(random_source &r, const wish &w) {
    const int batch_ndims = static_cast<int>(r.between(0, 2));
    const dim_t m = r.between(1, w.is_large ? 160 : 12), k = r.between(1, w.is_large ? 200 : 40),
                n = r.between(1, w.is_large ? 150 : 40);
    memory::dims src, weights, dst, bias;
    for (int d = 0; d < batch_ndims; d++) {
        const dim_t b = r.between(1, 3);
        src.push_back(r.chance(80) ? b : 1);
        weights.push_back(src.back() == b && r.chance(40) ? 1 : b);
        dst.push_back(b);
        bias.push_back(1);
    }
    for (const dim_t v : {m, k})
        src.push_back(v);
    for (const dim_t v : {k, n})
        weights.push_back(v);
    for (const dim_t v : {m, n})
        dst.push_back(v);
    bias.push_back(r.chance(85) ? 1 : m);
    bias.push_back(r.chance(90) ? n : 1);
    test_problem p;
    memory::dims transposed; // K before M in memory
    if (r.chance(20)) {
        transposed.assign(src.size(), 0);
        dim_t step = m * k;
        for (int d = batch_ndims - 1; d >= 0; step *= src[static_cast<std::size_t>(d--)])
            transposed[static_cast<std::size_t>(d)] = step;
        transposed[src.size() - 2] = 1;
        transposed[src.size() - 1] = m;
    }
    p.src = memory::desc(src, w.src(r), transposed);
    p.weights = memory::desc(weights, w.weights(r), memory::dims{});
    p.dst = memory::desc(dst, random_dst_type(r), memory::dims{});
    p.bias = random_bias(r, bias);
    p.packs_weights = r.chance(75);
    p.make = [=](const memory::desc &stored, const primitive_attr &attr) -> primitive_desc_base {
        return matmul::primitive_desc({p.src, stored, p.bias, p.dst}, attr, eng());
    };
    p.instantiate = [](const primitive_desc_base &pd) { return primitive(pd); };
    const int channel = 1 << (static_cast<int>(dst.size()) - 1);
    p.target = {p.src,   p.weights,         p.dst,
                channel, channel,           n,
                k,       !p.bias.is_zero(), p.bias.data_type() == data_type::s32};
    p.description = "matmul src " + p.src.to_string() + " wei " + p.weights.to_string() + " dst " +
                    p.dst.to_string() + " bias " + p.bias.to_string() + (p.packs_weights ? "" : " plain");
    return p;
}

void compare_many(const std::function<test_problem(random_source &, const wish &)> &make, std::uint32_t seed,
                  wish wanted = {}) {
    std::map<std::string, int> counts;
    const int share = wanted.any_broadcast ? 4 : 1;
    for (int i = 0; i * share < problem_count(); i++) {
        random_source r(seed + static_cast<std::uint32_t>(i));
        SCOPED_TRACE("seed " + std::to_string(seed + static_cast<std::uint32_t>(i)));
        wanted.is_large = i % 8 == 0;
        rule_choice choice;
        choice.any_broadcast = wanted.any_broadcast;
        compare_implementations(make(r, wanted), r, counts, choice);
        if (::testing::Test::HasFailure())
            break; // one failure says enough
    }
    for (const auto &[name, count] : counts)
        std::printf("  %-24s %d problems\n", name.c_str(), count);
}

/// Problems for kernels of their own: codes in channels-last layouts, depthwise or a sum over few channels,
/// with little before the rule.
test_problem convolution_of(random_source &r, dim_t channels, bool is_depthwise) {
    const channel_counts counts =
        is_depthwise ? channel_counts{channels, 1, 1} : channel_counts{1, r.between(1, 9), channels};
    const spatial_sizes size{3, r.between(1, 2), 0, 1, 1, r.between(5, 9)};
    for (;;) {
        test_problem p = make_convolution(r, {}, counts, {size, size});
        const bool has_codes = memory::data_type_size(p.dst.data_type()) == 1;
        const bool is_channels_last = p.src.get_strides()[1] == 1 && p.dst.get_strides()[1] == 1;
        const bool any_rule_takes_bias = p.bias.is_zero() || p.bias.data_type() == data_type::s32;
        if (has_codes && is_channels_last && any_rule_takes_bias)
            return p;
    }
}

/// No generator draws every rule with numbers per channel, codes as results and enough channels for each form
/// of code: part of a vector, whole ones, the four at once of depthwise convolution, and a rest.
TEST(Implementations, EveryRuleWithManyChannels) {
    std::map<std::string, int> counts;
    std::uint32_t seed = 7000000;
    for (const requantization_rule rule : all_requantization_rules())
        for (const dim_t channels : {7, 64, 133, 200})
            for (const bool is_depthwise : {true, false})
                for (int i = 0; i < 2; i++) {
                    random_source r(seed++);
                    SCOPED_TRACE("seed " + std::to_string(seed - 1));
                    compare_implementations(convolution_of(r, channels, is_depthwise), r, counts,
                                            {rule, i > 0, false});
                    if (HasFailure())
                        return;
                }
}

/// The f64 factors of a block of columns lie in an order of their own, which four blocks at once don't have.
TEST(Implementations, RealScalesPerChannelOfDepthwiseConvolutions) {
    using rules = requantization_rule;
    for (const rules rule : {rules::f64_scale, rules::caffe_double_round, rules::onnx_f64})
        for (const dim_t channels : {64, 200})
            for (const data_type type : eight_bit) {
                random_source r(static_cast<std::uint32_t>(channels));
                const memory::desc src({1, channels, 5, 5}, data_type::u8, format_tag::nhwc),
                    weights({channels, 1, 1, 3, 3}, data_type::s8, memory::dims{}),
                    dst({1, channels, 3, 3}, type, format_tag::nhwc);
                std::vector<double> scales(static_cast<std::size_t>(channels));
                for (double &s : scales)
                    s = static_cast<double>(r.real(1e-4f, 0.02f));
                primitive_attr attr;
                attr.set_requantization(rule, 2, scales);
                const memory x(src, eng()), w(weights, eng());
                r.fill(x);
                r.fill(w);
                const auto run_at = [&](cpu_isa level) {
                    set_max_cpu_isa(level);
                    const memory y(dst, eng());
                    const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                                  algorithm::convolution_direct,
                                                                  src,
                                                                  weights,
                                                                  dst,
                                                                  {1, 1},
                                                                  {0, 0},
                                                                  {0, 0},
                                                                  {0, 0}},
                                                                 attr, eng());
                    convolution_forward(pd).execute(
                        stream(eng()), {{OCTET_ARG_SRC, x}, {OCTET_ARG_WEIGHTS, w}, {OCTET_ARG_DST, y}});
                    const auto *codes = static_cast<const std::uint8_t *>(y.get_data_handle());
                    return bytes(codes, codes + dst.get_size());
                };
                const bytes expected = run_at(cpu_isa::ref);
                for (const cpu_isa level : get_available_cpu_isas())
                    EXPECT_EQ(difference(expected, run_at(level)), "")
                        << to_string(rule) << ", " << channels << " channels, " << to_string(level);
            }
    set_max_cpu_isa(cpu_isa::all);
}

TEST(Implementations, ConvolutionEqualsReference) { compare_many(random_convolution, 1000000); }
TEST(Implementations, GroupsOfFourEqualReference) { compare_many(random_groups_of_four, 6000000); }
TEST(Implementations, DepthwiseEqualsReference) { compare_many(random_depthwise, 4000000); }
TEST(Implementations, DeconvolutionEqualsReference) { compare_many(random_deconvolution, 5000000); }
TEST(Implementations, InnerProductEqualsReference) { compare_many(random_inner_product, 2000000); }
TEST(Implementations, MatmulEqualsReference) { compare_many(random_matmul, 3000000); }

/// Scales, zero points, operands of post-ops and biases of any broadcast: sums, then the epilogue in a step of its own.
TEST(Implementations, NumbersOfAnyBroadcastEqualReference) {
    const wish any{false, false, true};
    compare_many(random_convolution, 11000000, any);
    compare_many(random_depthwise, 14000000, any);
    compare_many(random_deconvolution, 15000000, any);
    compare_many(random_inner_product, 12000000, any);
    compare_many(random_matmul, 13000000, any);
}

constexpr wish floats{false, true, false}, floats_of_any_broadcast{false, true, true};
TEST(Implementations, F32ConvolutionEqualsReference) { compare_many(random_convolution, 1100000, floats); }
TEST(Implementations, F32DepthwiseEqualsReference) { compare_many(random_depthwise, 4100000, floats); }
TEST(Implementations, F32DeconvolutionEqualsReference) {
    compare_many(random_deconvolution, 5100000, floats);
}
TEST(Implementations, F32InnerProductEqualsReference) { compare_many(random_inner_product, 2100000, floats); }
TEST(Implementations, F32MatmulEqualsReference) { compare_many(random_matmul, 3100000, floats); }
TEST(Implementations, F32OfAnyBroadcastEqualsReference) {
    compare_many(random_convolution, 11100000, floats_of_any_broadcast);
    compare_many(random_deconvolution, 15100000, floats_of_any_broadcast);
    compare_many(random_matmul, 13100000, floats_of_any_broadcast);
}

} // namespace
} // namespace octet::test
