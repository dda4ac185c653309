// Convolutions and matrix products are translated to the one form, and refused where the form or the epilogue
// cannot say them.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/geometry.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace octet::impl {

namespace {

constexpr dim_t max_displacement = dim_t{1} << 30; // tiles address rows with 32-bit displacements

std::string refuses_zero_points(const zero_points &src, const zero_points &weights,
                                int weights_channel_mask) {
    if (src.values.is_set() && src.values.mask != 0)
        return text("src zero points with mask ", src.values.mask);
    if (weights.values.is_set() && weights.values.mask != 0 && weights.values.mask != weights_channel_mask)
        return text("weights zero points with mask ", weights.values.mask);
    return {};
}

std::string refuses_dst(const memory_desc &dst, int channel_dim) {
    if (dst.dims[channel_dim] > 1 && dst.strides[channel_dim] != 1)
        return "dst whose channels are not innermost in memory";
    for (int d = 0; d < dst.ndims; d++)
        if (dst.strides[d] > max_displacement / 64)
            return "dst strides beyond 32-bit displacements";
    return {};
}

memory_desc packed_form(const memory_desc &weights, packed_kind kind, bool may_fuse_width) {
    memory_desc md = weights;
    if (md.format_kind != format_kind::packed)
        set_packed(md, kind, may_fuse_width);
    return md;
}

template <typename Problem> double largest_sum(const Problem &p) {
    return p.sums_f32() ? jit::any_f32 : jit::any_s32;
}

dim_t element_bytes(const memory_desc &md) {
    return static_cast<dim_t>(memory::data_type_size(md.data_type));
}

/// Strides of the spatial dimensions as depth, height, width.
extent3 spatial_strides(const memory_desc &md, int spatial_ndims) {
    extent3 strides{0, 0, 0};
    for (int d = 0; d < spatial_ndims; d++)
        strides[3 - spatial_ndims + d] = md.strides[2 + d];
    return strides;
}

} // namespace

bool dot_geometry::reads_outside() const {
    if (rows_are_images)
        return false;
    const extent3 out{depth, height, width};
    for (int a = 0; a < 3; a++)
        if (pad[a] > 0 || (out[a] - 1) * stride[a] + (kernel[a] - 1) * dilation[a] - pad[a] >= in[a])
            return true;
    return false;
}

std::string refuses_dot(const convolution_problem &p) {
    if (element_count(p.dst) == 0 || element_count(p.src) == 0)
        return "an empty tensor";
    std::string reason =
        refuses_zero_points(p.src_zero_points, p.weights_zero_points, p.weights_have_groups ? 3 : 1);
    if (reason.empty())
        reason = refuses_dst(p.dst, 1);
    if (reason.empty())
        reason = jit::epilogue_plan::refuses(p.out_stage, {1, p.groups * p.oc, largest_sum(p)});
    return reason;
}

std::string refuses_dot(const matmul_problem &p) {
    const int n = p.dst.ndims - 1;
    if (element_count(p.dst) == 0 || element_count(p.src) == 0)
        return "an empty tensor";
    std::string reason = refuses_zero_points(p.src_zero_points, p.weights_zero_points, 1 << n);
    if (reason.empty())
        reason = refuses_dst(p.dst, n);
    if (reason.empty())
        reason = jit::epilogue_plan::refuses(p.out_stage, {n, p.dst.dims[n], largest_sum(p)});
    return reason;
}

dot_geometry dot_geometry_of(const convolution_problem &p) {
    dot_geometry g;
    g.src = p.src;
    g.dst = p.dst;
    g.in = p.in;
    g.kernel = p.kernel;
    g.stride = p.stride;
    g.dilation = p.dilation;
    g.pad = p.pad;
    const dim_t bytes = g.src_element_bytes = element_bytes(p.src);
    g.position_bytes = p.groups * p.ic * bytes;
    g.src_channel_stride = p.src.strides[1] * bytes;
    g.src_strides = spatial_strides(p.src, p.spatial_ndims);
    for (int a = 0; a < 3; a++) {
        g.src_strides[a] *= bytes;
        g.src_tap_strides[a] = g.src_strides[a] * p.dilation[a];
    }
    const memory_desc packed = packed_form(
        p.weights, p.weights_have_groups ? packed_kind::grouped_convolution : packed_kind::convolution,
        p.dilation[2] == 1 && !p.is_inner_product);
    g.weights = stored_weights(p.weights, packed, p.weights_zero_points);
    g.src_zero_points = p.src_zero_points;
    g.prefetched_bytes = p.prefetched_bytes;
    g.columns = {1, p.groups * p.oc, largest_sum(p)};
    g.columns.largest_products = g.weights.largest_products(p.src, p.src_zero_points);

    if (p.is_inner_product) {
        g.rows_are_images = true;
        g.width = p.mb;
        g.src_row_strides[2] = p.src.strides[0] * bytes;
        g.dst_strides[2] = p.dst.strides[0];
        return g;
    }
    g.groups = g.packed().groups;
    for (int a = 0; a < 3; a++)
        g.src_row_strides[a] = g.src_strides[a] * p.stride[a];
    g.depth = p.out[0];
    g.height = p.out[1];
    g.width = p.out[2];
    g.dst_strides = spatial_strides(p.dst, p.spatial_ndims);
    g.src_outer.clear();
    g.dst_outer.clear();
    for (dim_t n = 0; n < p.mb; n++) {
        g.src_outer.push_back(n * p.src.strides[0] * bytes);
        g.dst_outer.push_back(n * p.dst.strides[0]);
    }
    g.first_group.assign(static_cast<std::size_t>(p.mb), 0);
    return g;
}

dot_geometry dot_geometry_of(const matmul_problem &p) {
    const int n = p.dst.ndims - 1, m = n - 1;
    dot_geometry g;
    g.src = p.src;
    g.dst = p.dst;
    g.width = g.in[2] = p.dst.dims[m];
    const dim_t bytes = g.src_element_bytes = element_bytes(p.src);
    g.position_bytes = p.src.dims[n] * bytes;
    g.src_channel_stride = p.src.strides[n] * bytes;
    g.src_row_strides[2] = p.src.strides[m] * bytes;
    g.dst_strides[2] = p.dst.strides[m];
    g.weights =
        stored_weights(p.weights, packed_form(p.weights, packed_kind::matmul, false), p.weights_zero_points);
    g.src_zero_points = p.src_zero_points;
    g.prefetched_bytes = p.prefetched_bytes;
    g.columns = {n, p.dst.dims[n], largest_sum(p)};
    g.columns.largest_products = g.weights.largest_products(p.src, p.src_zero_points);

    memory_desc batches = p.dst;
    batches.ndims = m;
    const dim_t count = m == 0 ? 1 : element_count(batches);
    g.src_outer.clear();
    g.dst_outer.clear();
    g.first_group.clear();
    for (dim_t b = 0; b < count; b++) {
        const coordinates at = coordinates_of(b, batches);
        dim_t src = 0, group = 0, dst = 0;
        for (int d = 0; d < m; d++) {
            src += p.src.dims[d] == 1 ? 0 : at[d] * p.src.strides[d] * bytes;
            group = group * p.weights.dims[d] + (p.weights.dims[d] == 1 ? 0 : at[d]);
            dst += at[d] * p.dst.strides[d];
        }
        g.src_outer.push_back(src);
        g.first_group.push_back(group);
        g.dst_outer.push_back(dst);
    }
    return g;
}

} // namespace octet::impl
