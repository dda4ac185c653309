// Describes both interpolations as problems of their own, of which the family makes kernels.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/trilinear.hpp"

#include "common/rules.hpp"
#include "cpu/compose/separate_epilogue.hpp"
#include "cpu/resampling/drive.hpp"

namespace octet::impl::trilinear {

namespace {

void set_values(resampling_problem &p) {
    p.dst.data_type = data_type::f32;
    p.out_stage = {};
    p.out_stage.rule = unchanged(true);
    p.out_stage.dst = p.dst;
}

/// {outer, channels, sizes…}, channels innermost.
memory_desc dense(const std::vector<dim_t> &dims, data_type type) {
    return memory::desc(dims, type,
                        dims.size() == 4   ? memory::format_tag::nhwc
                        : dims.size() == 3 ? memory::format_tag::nwc
                                           : memory::format_tag::ndhwc)
        .data;
}

/// Height and width, of all slices of all images.
resampling_problem within_slices(const resampling_problem &p) {
    resampling_problem slices = p;
    slices.spatial_ndims = 2;
    slices.mb = p.mb * p.in[0];
    slices.in[0] = slices.out[0] = 1;
    slices.src.ndims = 4;
    slices.src.dims[0] = slices.mb;
    slices.src.strides[0] = p.src.strides[2];
    for (int d = 2; d < 4; d++) {
        slices.src.dims[d] = p.src.dims[d + 1];
        slices.src.strides[d] = p.src.strides[d + 1];
    }
    slices.dst = dense({slices.mb, p.channels, p.out[1], p.out[2]}, data_type::f32);
    set_values(slices);
    return slices;
}

/// The depth, of slices as channels.
resampling_problem between_slices(const resampling_problem &p) {
    resampling_problem depth = p;
    const dim_t slice = p.out[1] * p.out[2] * p.channels;
    depth.spatial_ndims = 1;
    depth.channels = slice;
    depth.in = {1, 1, p.in[0]};
    depth.out = {1, 1, p.out[0]};
    depth.src = dense({p.mb, slice, p.in[0]}, data_type::f32);
    depth.dst = dense({p.mb, slice, p.out[0]}, data_type::f32);
    set_values(depth);
    return depth;
}

std::string refuses(const resampling_problem &p) {
    const operators of = operators_of(p.out_stage.rule);
    if (p.alg != algorithm::resampling_linear || p.spatial_ndims != 3 ||
        (of != operators::reals && of != operators::scaled_reals))
        return "interpolation but a linear one along three dimensions by an f32 rule";
    if (p.src.strides[1] != 1 && p.channels > 1)
        return "channels that are not innermost in memory";
    if (p.mb > 1 && p.src.strides[0] != p.in[0] * p.src.strides[2])
        return "images whose slices are not at one distance";
    return {};
}

} // namespace

candidate plan(const resampling_problem &p, const machine &m) {
    const std::string reason = refuses(p);
    if (!reason.empty())
        return candidate::refused(reason);
    const resampling_problem slices = within_slices(p), depth = between_slices(p);
    const memory_desc values = dense({p.mb, p.channels, p.out[0], p.out[1], p.out[2]}, data_type::f32);
    const candidate rest = in_two_steps(values, resampling::plan(depth, m),
                                        separate_epilogue::plan_post_ops(p.out_stage, values, m));
    return in_two_steps(slices.dst, resampling::plan(slices, m), rest, scratch_slot::between_outer_steps);
}

} // namespace octet::impl::trilinear
