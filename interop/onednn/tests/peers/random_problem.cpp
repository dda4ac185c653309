// SPDX-License-Identifier: Apache-2.0
#include "random_problem.hpp"

#include <algorithm>
#include <sstream>

namespace peers {

namespace {

constexpr type all_types[] = {type::f32, type::s32, type::s8, type::u8};
const std::vector<std::string> binary_algorithms{"binary_add", "binary_sub", "binary_mul", "binary_div",
                                                 "binary_max", "binary_min", "binary_ge",  "binary_gt",
                                                 "binary_le",  "binary_lt",  "binary_eq",  "binary_ne"};
const std::vector<std::string> eltwise_algorithms{
    "relu",      "tanh",     "elu",   "square",     "abs",   "sqrt",     "linear", "bounded_relu",
    "soft_relu", "logistic", "exp",   "gelu_tanh",  "swish", "log",      "clip",   "clip_v2",
    "pow",       "gelu_erf", "round", "logsigmoid", "mish",  "hardswish"};

// ---- attributes

void add_scales(random_source &r, problem &p, const theme &t, range data, int channel_dim,
                std::int64_t reduction) {
    masked<float> &s = p.attr.scales;
    s.set = true;
    s.mask = r.chance(50) ? 0 : 1 << channel_dim;
    s.runtime = t.runtime && r.chance(40);
    // Typical scales spread the accumulators over the codes; the others saturate everything or nothing.
    const float typical = 1.f / (60.f * std::sqrt(static_cast<float>(reduction)));
    const float base = data == range::extreme ? r.pick({1.f, 1e4f, 1e-3f, 1e-9f, typical}) : typical;
    const std::int64_t count = s.mask == 0 ? 1 : p.dst.shape[channel_dim];
    for (std::int64_t i = 0; i < count; i++) {
        const bool is_pruned = data == range::extreme && i % 7 == 5;
        s.values.push_back(base * r.real(0.3f, 3.f) * (is_pruned ? 0.f : 1.f));
    }
}

/// One zero point for the tensor; those given at execution may also be one per channel (oneDNN takes no
/// others).
masked<std::int32_t> zero_points(random_source &r, const theme &t, const tensor &of, int channel_dim) {
    masked<std::int32_t> z;
    z.set = true;
    z.runtime = t.runtime && r.chance(40);
    z.mask = z.runtime && channel_dim >= 0 && r.chance(50) ? 1 << channel_dim : 0;
    const std::int64_t count = z.mask == 0 ? 1 : of.shape[channel_dim];
    for (std::int64_t i = 0; i < count; i++)
        z.values.push_back(
            static_cast<std::int32_t>(of.element == type::u8 ? r.between(0, 255) : r.between(-128, 127)));
    return z;
}

post_op sum(random_source &r, const problem &p) {
    post_op op;
    op.name = "sum";
    op.scale = r.pick({1.f, 0.5f, 1.7f});
    if (r.chance(30))
        op.zero_point = static_cast<std::int32_t>(r.between(-20, 20));
    if (size_of(p.dst.element) == 1 && r.chance(30))
        op.sum_type = r.pick({type::u8, type::s8});
    return op;
}

post_op eltwise(random_source &r) {
    post_op op;
    op.name = r.from(eltwise_algorithms);
    op.scale = r.pick({1.f, 2.f, 0.37f});
    op.alpha = r.real(-2.f, 2.f);
    op.beta = r.real(-2.f, 2.f);
    if (op.name == "relu")
        op.alpha = r.pick({0.f, 0.1f, 1.5f});
    if (op.name == "elu" || op.name == "bounded_relu")
        op.alpha = std::abs(op.alpha);
    if (op.name == "clip" || op.name == "clip_v2")
        op.alpha = -5.5f, op.beta = 60.3f;
    if (op.name == "pow")
        op.beta = r.pick({0.f, 1.f, 2.f, 0.5f, -1.f, 1.3f});
    if (op.name == "round")
        op.alpha = op.beta = 0.f;
    return op;
}

/// Shape of a tensor that is broadcast to `dst`: one value, one per channel, all, or any subset of the
/// dimensions.
dims broadcast_shape(random_source &r, const dims &dst, int channel_dim) {
    const std::int64_t kind = r.between(0, 3);
    dims shape(dst.size(), 1);
    for (int d = 0; d < static_cast<int>(dst.size()); d++)
        if ((kind == 1 && d == channel_dim) || kind == 2 || (kind == 3 && r.chance(50)))
            shape[d] = dst[d];
    return shape;
}

post_op binary(random_source &r, const problem &p, int channel_dim) {
    post_op op;
    op.name = r.from(binary_algorithms);
    op.input =
        r.filled(broadcast_shape(r, p.dst.shape, channel_dim), all_types[r.between(0, 3)], range::typical);
    if (p.op == operation::convolution && r.chance(50))
        op.input.layout = "channels_last";
    return op;
}

post_op prelu(random_source &r, const problem &p, int channel_dim) {
    post_op op;
    op.name = "prelu";
    op.mask = r.pick({0, 1 << channel_dim, static_cast<int>(r.between(0, (1 << p.dst.shape.size()) - 1))});
    dims shape(p.dst.shape.size(), 1);
    for (int d = 0; d < static_cast<int>(shape.size()); d++)
        if (op.mask & (1 << d))
            shape[d] = p.dst.shape[d];
    op.input = r.filled(shape, type::f32, range::typical, "channels_last");
    return op;
}

void add_attributes(random_source &r, problem &p, const theme &t, range data, int channel_dim,
                    std::int64_t reduction) {
    add_scales(r, p, t, data, channel_dim, reduction);
    if (t.src_zero_points && r.chance(70))
        p.attr.src_zero_points = zero_points(r, t, p.src, channel_dim);
    if (t.weights_zero_points && r.chance(70))
        p.attr.weights_zero_points = zero_points(r, t, p.weights, -1);
    if (t.dst_zero_points && r.chance(70))
        p.attr.dst_zero_points = zero_points(r, t, p.dst, channel_dim);
    const std::int64_t count = t.post_ops.empty() ? 0 : r.between(1, t.max_post_ops);
    for (std::int64_t i = 0; i < count; i++) {
        const std::string kind = r.from(t.post_ops);
        p.attr.post_ops.push_back(kind == "sum"       ? sum(r, p)
                                  : kind == "eltwise" ? eltwise(r)
                                  : kind == "binary"  ? binary(r, p, channel_dim)
                                                      : prelu(r, p, channel_dim));
    }
}

// ---- shapes

/// A destination whose old contents are small enough to matter in a sum.
tensor destination(random_source &r, const dims &shape, const std::string &layout) {
    return r.filled(shape, all_types[r.between(0, 3)], range::typical, layout);
}

/// Extends the problem by one spatial dimension in which the window fits the padded image.
void add_spatial_dim(random_source &r, problem &p, std::int64_t largest) {
    for (;;) {
        const std::int64_t kernel = r.pick({1, 1, 2, 3, 3, 5}), stride = r.pick({1, 1, 1, 2, 3}),
                           dilation = r.chance(25) ? r.between(1, 2) : 0;
        const std::int64_t in = r.between(1, largest), most_padding = std::min<std::int64_t>(kernel, 3) - 1;
        const std::int64_t left = r.between(0, most_padding), right = r.between(0, most_padding);
        const std::int64_t covered = (kernel - 1) * (dilation + 1) + 1;
        if (in + left + right < covered)
            continue;
        p.src.shape.push_back(in);
        p.weights.shape.push_back(kernel);
        p.dst.shape.push_back((in + left + right - covered) / stride + 1);
        p.strides.push_back(stride);
        p.dilates.push_back(dilation);
        p.padding_l.push_back(left);
        p.padding_r.push_back(right);
        return;
    }
}

problem convolution(random_source &r, const theme &t, range data) {
    problem p;
    std::int64_t groups = 1, oc = r.pick({1, 3, 8, 16, 17, 32, 40, 64}),
                 ic = r.pick({1, 2, 3, 4, 16, 19, 32, 64, 130});
    const std::int64_t kind = r.between(0, 2); // dense, grouped, depthwise
    if (kind == 1)
        groups = r.between(2, 4), oc = r.pick({1, 3, 8, 16, 20}), ic = r.pick({2, 3, 4, 5, 16});
    if (kind == 2)
        groups = r.pick({3, 8, 16, 17, 32, 48}), oc = ic = 1;
    const std::int64_t batch = r.between(1, 2);
    p.src.shape = {batch, groups * ic};
    p.dst.shape = {batch, groups * oc};
    if (kind != 0 || r.chance(10))
        p.weights.shape = {groups};
    p.weights.shape.insert(p.weights.shape.end(), {oc, ic});
    const int spatial_dims = r.pick({1, 2, 2, 2, 3});
    for (int i = 0; i < spatial_dims; i++)
        add_spatial_dim(r, p, spatial_dims == 3 ? 6 : 10);

    const std::string layout = r.pick({"any", "any", "any", "channels_last"});
    p.src = r.filled(p.src.shape, r.pick({type::u8, type::s8}), data, layout);
    p.weights = r.filled(p.weights.shape, type::s8, data, "any");
    p.dst = destination(r, p.dst.shape, layout);
    if (r.chance(70))
        p.bias = r.filled({groups * oc}, all_types[r.between(0, 3)], data, r.pick({"", "any"}));
    add_attributes(r, p, t, data, 1, element_count(p.weights.shape) / (groups * oc));
    return p;
}

/// A convolution with source and destination exchanged.
problem deconvolution(random_source &r, const theme &t, range data) {
    problem p;
    const auto leaves_gaps = [&] { // between the taps, where oneDNN's kernels write anything
        const auto kernel = p.weights.shape.end() - static_cast<std::ptrdiff_t>(p.strides.size());
        for (std::size_t a = 0; a < p.strides.size(); a++)
            if (p.strides[a] > kernel[static_cast<std::ptrdiff_t>(a)])
                return true;
        return false;
    };
    do
        p = convolution(r, theme(), range::typical);
    while (leaves_gaps());
    p.op = operation::deconvolution;
    p.attr = {};
    std::swap(p.src.shape, p.dst.shape);
    const std::size_t o = p.weights.shape.size() - p.strides.size() - 2;
    std::swap(p.weights.shape[o], p.weights.shape[o + 1]);
    const std::string layout = p.src.layout;
    p.src = r.filled(p.src.shape, r.pick({type::u8, type::s8}), data, layout);
    p.weights = r.filled(p.weights.shape, type::s8, data, "any");
    p.dst = destination(r, p.dst.shape, layout);
    if (!p.bias.is_absent())
        p.bias = r.filled({p.dst.shape[1]}, all_types[r.between(0, 3)], data);
    add_attributes(r, p, t, data, 1, element_count(p.weights.shape) / p.dst.shape[1]);
    return p;
}

problem inner_product(random_source &r, const theme &t, range data) {
    problem p;
    p.op = operation::inner_product;
    const std::int64_t batch = r.pick({1, 2, 3, 7}), ic = r.pick({1, 3, 16, 33, 64, 130}),
                       oc = r.pick({1, 2, 8, 16, 17, 32, 70});
    dims src{batch, ic}, weights{oc, ic};
    for (std::int64_t i = r.pick({0, 0, 1, 2, 3}); i > 0; i--) {
        src.push_back(r.between(1, 4));
        weights.push_back(src.back());
    }
    p.src = r.filled(src, r.pick({type::u8, type::s8}), data, r.pick({"any", "any", ""}));
    p.weights = r.filled(weights, type::s8, data, r.pick({"any", "any", "any", ""}));
    p.dst = destination(r, {batch, oc}, r.pick({"any", ""}));
    if (r.chance(70))
        p.bias = r.filled({oc}, all_types[r.between(0, 3)], data);
    add_attributes(r, p, t, data, 1, element_count(weights) / oc);
    return p;
}

problem matmul(random_source &r, const theme &t, range data) {
    problem p;
    p.op = operation::matmul;
    const std::int64_t m = r.pick({1, 2, 3, 7, 16}), k = r.pick({1, 3, 16, 33, 64, 130}),
                       n = r.pick({1, 2, 8, 16, 17, 32, 70});
    dims src, weights, dst;
    for (std::int64_t i = r.pick({0, 0, 1, 2}); i > 0; i--) {
        dst.push_back(r.between(1, 3));
        const std::int64_t broadcast = r.between(0, 3); // 1: src, 2: weights
        src.push_back(broadcast == 1 ? 1 : dst.back());
        weights.push_back(broadcast == 2 ? 1 : dst.back());
    }
    src.insert(src.end(), {m, k});
    weights.insert(weights.end(), {k, n});
    dst.insert(dst.end(), {m, n});
    p.src = r.filled(src, r.pick({type::u8, type::s8}), data, r.pick({"any", ""}));
    p.weights =
        r.filled(weights, type::s8, data, dst.size() == 2 ? r.pick({"any", "", "ba"}) : r.pick({"any", ""}));
    p.dst = destination(r, dst, r.pick({"any", ""}));
    const int channel_dim = static_cast<int>(dst.size()) - 1;
    if (r.chance(70)) {
        dims bias = dst;
        for (int d = 0; d < channel_dim; d++)
            if (r.chance(70))
                bias[d] = 1;
        p.bias = r.filled(bias, all_types[r.between(0, 3)], data);
    }
    add_attributes(r, p, t, data, channel_dim, k);
    return p;
}

std::string any_plain_layout(random_source &r, std::size_t ndims) {
    switch (ndims) {
    case 2:
        return r.pick({"", "ba"});
    case 3:
        return r.pick({"", "acb", "bac"});
    case 4:
        return r.pick({"", "acdb", "bcda", "cdba", "abdc"});
    case 5:
        return r.pick({"", "acdeb", "decab"});
    default:
        return "";
    }
}

problem reorder(random_source &r, const theme &t, range data) {
    problem p;
    p.op = operation::reorder;
    dims shape;
    for (std::int64_t i = r.between(1, 5); i > 0; i--)
        shape.push_back(r.chance(12) ? r.pick({8, 16}) : r.pick({1, 2, 3, 5, 7, 17}));
    p.src = r.filled(shape, all_types[r.between(0, 3)], data, any_plain_layout(r, shape.size()));
    p.dst = destination(r, shape, any_plain_layout(r, shape.size()));

    masked<float> &s = p.attr.scales;
    s.set = r.chance(80);
    if (s.set) {
        s.mask = static_cast<int>(r.between(0, (1 << shape.size()) - 1));
        s.runtime = t.runtime && r.chance(40);
        std::int64_t count = 1;
        for (int d = 0; d < static_cast<int>(shape.size()); d++)
            count *= s.mask & (1 << d) ? shape[d] : 1;
        const float base =
            data == range::extreme ? r.pick({1.f, 1e4f, 1e-3f, 1e-9f}) : r.pick({1.f, 0.4f, 1e-3f});
        for (std::int64_t i = 0; i < count; i++)
            s.values.push_back(base * r.real(0.3f, 3.f));
    }
    if (t.src_zero_points && r.chance(70))
        p.attr.src_zero_points = zero_points(r, t, p.src, -1);
    if (t.dst_zero_points && r.chance(70))
        p.attr.dst_zero_points = zero_points(r, t, p.dst, -1);
    if (!t.post_ops.empty()) {
        post_op op;
        op.name = "sum";
        op.scale = r.pick({1.f, 0.5f, 1.7f});
        p.attr.post_ops = {op};
    }
    return p;
}

problem pooling(random_source &r, const theme &t, range data) {
    problem p;
    p.op = operation::pooling;
    p.algorithm =
        r.pick({"pooling_max", "pooling_avg", "pooling_avg_include_padding", "pooling_avg_exclude_padding"});
    dims src{r.between(1, 2), r.pick({1, 3, 16, 17, 64})}, dst = src;
    for (std::int64_t i = r.between(1, 3); i > 0;) {
        const std::int64_t kernel = r.between(1, 4), stride = r.between(1, 3), in = r.between(1, 7);
        const std::int64_t left = r.between(0, kernel - 1), right = r.between(0, kernel - 1);
        if (in + left + right < kernel)
            continue;
        const std::int64_t out = (in + left + right - kernel) / stride + 1;
        if ((out - 1) * stride - left >= in)
            continue; // a window without a pixel has no maximum
        src.push_back(in);
        dst.push_back(out);
        p.kernel.push_back(kernel);
        p.strides.push_back(stride);
        p.padding_l.push_back(left);
        p.padding_r.push_back(right);
        i--;
    }
    const type element = r.pick({type::s8, type::u8});
    const std::string layout = r.pick({"channels_last", "channels_last", ""});
    p.src = r.filled(src, element, data, layout);
    p.dst = r.filled(dst, element, range::typical, r.chance(50) ? "any" : layout);
    if (!t.post_ops.empty())
        p.attr.post_ops = {r.chance(50) ? eltwise(r) : binary(r, p, 1)};
    return p;
}

problem binary_operation(random_source &r, const theme &t, range data) {
    constexpr type types[] = {type::f32, type::s8, type::u8};
    problem p;
    p.op = operation::binary;
    p.algorithm = r.from(binary_algorithms);
    dims shape;
    for (std::int64_t i = r.between(1, 5); i > 0; i--)
        shape.push_back(r.pick({1, 2, 3, 8, 17}));
    dims src1 = shape;
    if (r.chance(60))
        for (std::int64_t &d : src1)
            if (r.chance(50))
                d = 1;
    p.src = r.filled(shape, types[r.between(0, 2)], data);
    p.src1 = r.filled(src1, types[r.between(0, 2)], data);
    p.dst = r.filled(shape, types[r.between(0, 2)], range::typical, r.pick({"", "", "any"}));
    if (r.chance(50))
        p.attr.src_scale = r.real(0.1f, 2.f);
    if (r.chance(50))
        p.attr.src1_scale = r.real(0.1f, 2.f);
    if (!t.post_ops.empty())
        p.attr.post_ops = {eltwise(r)};
    return p;
}

} // namespace

problem random_problem(operation op, const theme &t, range data, unsigned seed) {
    random_source r(seed);
    switch (op) {
    case operation::convolution:
        return convolution(r, t, data);
    case operation::inner_product:
        return inner_product(r, t, data);
    case operation::matmul:
        return matmul(r, t, data);
    case operation::reorder:
        return reorder(r, t, data);
    case operation::pooling:
        return pooling(r, t, data);
    case operation::binary:
        return binary_operation(r, t, data);
    case operation::deconvolution:
        return deconvolution(r, t, data);
    case operation::lrn:
    case operation::shuffle:
    case operation::logsoftmax:
    case operation::fused_depthwise:
        return random_other_problem(op, r);
    default:
        return random_elementwise_problem(op, r, data);
    }
}

// ---- text

namespace {

const char *name_of(type t) {
    constexpr const char *names[] = {"-", "f32", "s32", "s8", "u8", "bf16"};
    return names[static_cast<int>(t)];
}

std::string text_of(const dims &list) {
    std::string s;
    for (const std::int64_t d : list)
        s += (s.empty() ? "" : "x") + std::to_string(d);
    return s;
}

std::string text_of(const tensor &t) {
    return std::string(name_of(t.element)) + ":" + text_of(t.shape) +
           (t.layout.empty() ? "" : ":" + t.layout);
}

template <typename T> void print(std::ostream &out, const char *name, const masked<T> &m) {
    if (m.set)
        out << ' ' << name << ':' << m.mask << (m.runtime ? "*" : "") << '=' << m.values.front();
}

} // namespace

std::string to_string(const problem &p) {
    constexpr const char *operations[] = {
        "convolution",   "inner_product", "matmul",  "reorder",    "pooling",        "binary",
        "deconvolution", "eltwise",       "softmax", "prelu",      "resampling",     "sum",
        "concat",        "lrn",           "shuffle", "logsoftmax", "fused_depthwise"};
    std::ostringstream out;
    out << operations[static_cast<int>(p.op)] << ' ' << p.algorithm << " src " << text_of(p.src);
    if (!p.src1.is_absent())
        out << " src1 " << text_of(p.src1);
    if (!p.weights.is_absent())
        out << " weights " << text_of(p.weights);
    if (!p.bias.is_absent())
        out << " bias " << text_of(p.bias);
    for (std::size_t i = 0; i < p.srcs.size(); i++)
        out << " * " << (i < p.scales.size() ? p.scales[i] : 1.f) << ' ' << text_of(p.srcs[i]);
    out << " dst " << text_of(p.dst) << " alpha " << p.alpha << " beta " << p.beta << " axis " << p.axis;
    if (!p.strides.empty())
        out << " kernel " << text_of(p.kernel) << " strides " << text_of(p.strides) << " dilates "
            << text_of(p.dilates) << " padding " << text_of(p.padding_l) << ' ' << text_of(p.padding_r);
    print(out, "scales", p.attr.scales);
    print(out, "src_zp", p.attr.src_zero_points);
    print(out, "weights_zp", p.attr.weights_zero_points);
    print(out, "dst_zp", p.attr.dst_zero_points);
    for (const post_op &op : p.attr.post_ops)
        out << ' ' << op.name << '(' << op.scale << ", " << op.alpha << ", " << op.beta << ", zp "
            << op.zero_point << ", " << name_of(op.sum_type) << ", mask " << op.mask << ", "
            << text_of(op.input) << ')';
    return out.str();
}

} // namespace peers
