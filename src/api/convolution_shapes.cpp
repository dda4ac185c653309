// Checks axis by axis: sizes, paddings and the number of output positions, in both directions of a convolution.
// SPDX-License-Identifier: Apache-2.0
#include "api/convolution_shapes.hpp"

#include <algorithm>

#include "api/front.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

/// Sizes of one spatial dimension, named for messages.
struct axis {
    const char *name;
    dim_t in, out, kernel, stride, dilation, pad_l, pad_r;
};

constexpr dim_t axis_limit = dim_t{1} << 31; // keeps all index arithmetic far from overflow

void check_sizes(const char *operation, const axis &a) {
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
}

/// Windows that slide over the image, padding included.
dim_t positions(const axis &a, dim_t image) {
    const dim_t covered = (a.kernel - 1) * a.dilation + 1, padded = image + a.pad_l + a.pad_r;
    return padded < covered ? 0 : (padded - covered) / a.stride + 1;
}

void check_axis(const char *operation, direction way, const axis &a) {
    check_sizes(operation, a);
    const bool is_forward = way == direction::forward;
    const dim_t given = is_forward ? a.out : a.in, image = is_forward ? a.in : a.out;
    const dim_t expected = positions(a, image);
    if (given != expected)
        throw_invalid(operation, ": ", is_forward ? "dst " : "src ", a.name, " is ", given, ", but ",
                      is_forward ? "src " : "dst ", image, ", kernel ", a.kernel, ", stride ", a.stride,
                      ", dilates ", a.dilation - 1, ", padding ", a.pad_l, " and ", a.pad_r, " give ",
                      expected);
}

void check_lists(const char *operation, const convolution_extents &d, int spatial_ndims) {
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

} // namespace

convolution_problem convolution_shapes(const char *operation, direction way, const convolution_extents &d) {
    convolution_problem p;
    p.src = d.src;
    p.weights = d.weights;
    p.dst = d.dst;
    require_tensor(operation, "src", p.src, 3, 5);
    require_tensor(operation, "weights", p.weights, p.src.ndims, p.src.ndims + 1);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    p.spatial_ndims = p.src.ndims - 2;
    p.weights_have_groups = p.weights.ndims == p.src.ndims + 1;
    check_lists(operation, d, p.spatial_ndims);

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
            operation, way,
            {names[a], p.in[a], p.out[a], p.kernel[a], p.stride[a], p.dilation[a], p.pad[a], d.padding_r[i]});
    }
    return p;
}

memory::dims kernel_of(const memory::desc &src, const memory::desc &weights) {
    const memory::dims dims = weights.dims();
    return {dims.end() - static_cast<std::ptrdiff_t>(std::min(spatial_ndims(src), dims.size())), dims.end()};
}

} // namespace octet::impl
