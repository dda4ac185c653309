#include "octet/convolution.hpp"

#include <algorithm>

#include "api/accumulating.hpp"
#include "api/primitive_desc.hpp"
#include "common/element.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "convolution";

/// Sizes of one spatial dimension, named for messages.
struct axis {
    const char *name;
    dim_t in, out, kernel, stride, dilation, pad_l, pad_r;
};

constexpr dim_t axis_limit = dim_t{1} << 31; // keeps all index arithmetic far from overflow

void check_axis(const axis &a) {
    if (a.stride < 1)
        throw_invalid(operation, ": stride ", a.name, " is ", a.stride, ", allowed: at least 1");
    if (a.dilation < 1)
        throw_invalid(operation, ": dilates ", a.name, " is ", a.dilation - 1, ", allowed: at least 0");
    if (a.pad_l < 0)
        throw_invalid(operation, ": padding_l ", a.name, " is ", a.pad_l, ", allowed: at least 0");
    if (a.stride > axis_limit || a.dilation > axis_limit || a.pad_l > axis_limit || a.pad_r > axis_limit ||
        a.pad_r < -axis_limit || a.kernel > axis_limit)
        throw_invalid(operation, ": kernel, stride, dilates or padding ", a.name, " exceeds 2^31");
    if (a.kernel < 1 || a.in < 1)
        throw_invalid(operation, ": ", a.name, " of src is ", a.in, ", of weights ", a.kernel,
                      ", allowed: at least 1");
    const dim_t covered = (a.kernel - 1) * a.dilation + 1, padded = a.in + a.pad_l + a.pad_r;
    const dim_t expected = padded < covered ? 0 : (padded - covered) / a.stride + 1;
    if (a.out != expected)
        throw_invalid(operation, ": dst ", a.name, " is ", a.out, ", but src ", a.in, ", kernel ", a.kernel,
                      ", stride ", a.stride, ", dilates ", a.dilation - 1, ", padding ", a.pad_l, " and ",
                      a.pad_r, " give ", expected);
}

void check_lists(const convolution_forward::desc &d, int spatial_ndims) {
    const auto check = [&](const char *name, const memory::dims &list) {
        if (static_cast<int>(list.size()) != spatial_ndims)
            throw_invalid(operation, ": ", name, " has ", list.size(), " values, allowed: ", spatial_ndims,
                          " (spatial dimensions of src)");
    };
    check("strides", d.strides);
    check("dilates", d.dilates);
    check("padding_l", d.padding_l);
    check("padding_r", d.padding_r);
}

/// Shapes of the descriptor as a problem; throws on any disagreement.
convolution_problem shapes_of(const convolution_forward::desc &d) {
    convolution_problem p;
    p.src = d.src.data;
    p.weights = d.weights.data;
    p.dst = d.dst.data;
    require_tensor(operation, "src", p.src, 3, 5);
    require_tensor(operation, "weights", p.weights, p.src.ndims, p.src.ndims + 1);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    p.spatial_ndims = p.src.ndims - 2;
    p.weights_have_groups = p.weights.ndims == p.src.ndims + 1;
    check_lists(d, p.spatial_ndims);

    const dim_t *w = p.weights.dims + (p.weights_have_groups ? 1 : 0);
    p.mb = p.src.dims[0];
    p.groups = p.weights_have_groups ? p.weights.dims[0] : 1;
    p.oc = w[0];
    p.ic = w[1];
    if (p.dst.dims[0] != p.mb)
        throw_invalid(operation, ": batch of src is ", p.mb, ", of dst ", p.dst.dims[0]);
    if (p.src.dims[1] != p.groups * p.ic)
        throw_invalid(operation, ": src has ", p.src.dims[1], " channels, weights ", dims_text(p.weights),
                      " need ", p.groups * p.ic);
    if (p.dst.dims[1] != p.groups * p.oc)
        throw_invalid(operation, ": dst has ", p.dst.dims[1], " channels, weights ", dims_text(p.weights),
                      " give ", p.groups * p.oc);

    static const char *const names[] = {"depth", "height", "width"};
    for (int i = 0; i < p.spatial_ndims; i++) {
        const int a = 3 - p.spatial_ndims + i;
        p.in[a] = p.src.dims[2 + i];
        p.out[a] = p.dst.dims[2 + i];
        p.kernel[a] = w[2 + i];
        p.stride[a] = d.strides[i];
        p.dilation[a] = std::min(d.dilates[i], axis_limit) + 1;
        p.pad[a] = d.padding_l[i];
        check_axis(
            {names[a], p.in[a], p.out[a], p.kernel[a], p.stride[a], p.dilation[a], p.pad[a], d.padding_r[i]});
    }
    return p;
}

std::string shape_text(const convolution_problem &p) {
    std::string s = text("mb", p.mb, p.groups > 1 ? text("_g", p.groups) : "", "ic", p.groups * p.ic, "oc",
                         p.groups * p.oc);
    static const char names[] = {'d', 'h', 'w'};
    for (int a = 3 - p.spatial_ndims; a < 3; a++)
        s += text("_i", names[a], p.in[a], "o", names[a], p.out[a], "k", names[a], p.kernel[a], "s", names[a],
                  p.stride[a], "d", names[a], p.dilation[a] - 1, "p", names[a], p.pad[a]);
    return s;
}

std::shared_ptr<const primitive_desc_data>
make(const convolution_forward::desc &d, const primitive_attr &attr, const engine &e, bool allow_empty) {
    return guarded(allow_empty, [&] {
        require_engine(operation, e);
        require_forward(operation, d.prop);
        if (d.alg != algorithm::convolution_direct && d.alg != algorithm::convolution_auto)
            throw_invalid(operation, ": algorithm ", static_cast<int>(d.alg),
                          ", allowed: convolution_direct, convolution_auto");
        convolution_problem p = shapes_of(d);
        const packed_kind packing =
            p.weights_have_groups ? packed_kind::grouped_convolution : packed_kind::convolution;
        const bool has_patches = p.weights_have_groups && p.groups > 1 && p.ic == 1 && p.spatial_ndims < 3;
        const tap_patches patches = has_patches ? patches_of(p) : tap_patches{};
        resolve_layouts({operation, packing, p.dilation[2] == 1, patches}, p.src, p.weights, p.dst);

        attribute_support support{operation};
        support.weights_channel_mask = p.weights_have_groups ? 3 : 1;
        return finish_accumulating(support, attr, p, d.bias.data, shape_text(p), allow_empty);
    });
}

} // namespace
} // namespace impl

inline namespace v0 {

convolution_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                const memory::desc &weights, const memory::desc &bias,
                                const memory::desc &dst, const memory::dims &strides,
                                const memory::dims &dilates, const memory::dims &padding_l,
                                const memory::dims &padding_r, padding_kind)
    : prop(prop), alg(alg), src(src), weights(weights), bias(bias), dst(dst), strides(strides),
      dilates(dilates), padding_l(padding_l), padding_r(padding_r) {}
convolution_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                const memory::desc &weights, const memory::desc &bias,
                                const memory::desc &dst, const memory::dims &strides,
                                const memory::dims &padding_l, const memory::dims &padding_r, padding_kind)
    : desc(prop, alg, src, weights, bias, dst, strides, memory::dims(strides.size(), 0), padding_l,
           padding_r) {}
convolution_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                const memory::desc &weights, const memory::desc &dst,
                                const memory::dims &strides, const memory::dims &dilates,
                                const memory::dims &padding_l, const memory::dims &padding_r, padding_kind)
    : desc(prop, alg, src, weights, memory::desc(), dst, strides, dilates, padding_l, padding_r) {}
convolution_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                const memory::desc &weights, const memory::desc &dst,
                                const memory::dims &strides, const memory::dims &padding_l,
                                const memory::dims &padding_r, padding_kind)
    : desc(prop, alg, src, weights, memory::desc(), dst, strides, padding_l, padding_r) {}

using conv_pd = convolution_forward::primitive_desc;
using conv_desc = convolution_forward::desc;

conv_pd::primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty)
    : primitive_desc_base(impl::make(d, attr, e, allow_empty)) {}
conv_pd::primitive_desc(const desc &d, const engine &e, bool allow_empty)
    : primitive_desc(d, primitive_attr(), e, allow_empty) {}
conv_pd::primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                        const memory::desc &weights, const memory::desc &bias, const memory::desc &dst,
                        const memory::dims &strides, const memory::dims &padding_l,
                        const memory::dims &padding_r, const primitive_attr &attr, bool allow_empty)
    : primitive_desc(conv_desc(prop, alg, src, weights, bias, dst, strides, padding_l, padding_r), attr, e,
                     allow_empty) {}
conv_pd::primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                        const memory::desc &weights, const memory::desc &dst, const memory::dims &strides,
                        const memory::dims &padding_l, const memory::dims &padding_r,
                        const primitive_attr &attr, bool allow_empty)
    : primitive_desc(conv_desc(prop, alg, src, weights, dst, strides, padding_l, padding_r), attr, e,
                     allow_empty) {}
conv_pd::primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                        const memory::desc &weights, const memory::desc &bias, const memory::desc &dst,
                        const memory::dims &strides, const memory::dims &dilates,
                        const memory::dims &padding_l, const memory::dims &padding_r,
                        const primitive_attr &attr, bool allow_empty)
    : primitive_desc(conv_desc(prop, alg, src, weights, bias, dst, strides, dilates, padding_l, padding_r),
                     attr, e, allow_empty) {}
conv_pd::primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                        const memory::desc &weights, const memory::desc &dst, const memory::dims &strides,
                        const memory::dims &dilates, const memory::dims &padding_l,
                        const memory::dims &padding_r, const primitive_attr &attr, bool allow_empty)
    : primitive_desc(conv_desc(prop, alg, src, weights, dst, strides, dilates, padding_l, padding_r), attr, e,
                     allow_empty) {}

conv_pd::range conv_pd::accumulator_range(const memory &weights) const {
    if (weights.get_desc() != weights_desc())
        impl::throw_invalid("accumulator_range: weights are ", weights.get_desc().to_string(),
                            ", allowed: ", weights_desc().to_string());
    return impl::accumulator_range(src_desc().data, weights, get_primitive_attr(),
                                   arg_desc(OCTET_ARG_DST).data.dims[1]);
}

} // namespace v0
} // namespace octet
