// Which taps a phase meets, axis by axis, and the views of source, destination and weights that make it a convolution.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/deconvolution_plan.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

#include "common/text.hpp"

namespace octet::impl {

namespace {

constexpr dim_t max_phases = 1024; // each is a plan with code of its own

dim_t phase_count(const convolution_problem &p, int axis) { return std::min(p.stride[axis], p.out[axis]); }

/// One axis of a phase: outputs first_out + q*stride, taps first_tap + j*step, which meet the sources
/// q + (taps - 1 - j)*dilation - pad, counted from first_in.
struct axis_phase {
    dim_t first_out = 0, outs = 1;
    dim_t first_tap = 0, taps = 0; ///< no taps: nothing reaches these outputs
    dim_t first_in = 0, ins = 1, pad = 0, dilation = 1;
};

/// Puts every tap before the image, where floats meet zeros as they do beside it.
void leave_image(axis_phase &phase, const convolution_problem &p, int a) {
    phase.first_in = 0;
    phase.ins = p.in[a];
    phase.pad = phase.outs + (phase.taps - 1) * phase.dilation;
}

axis_phase axis_phase_of(const convolution_problem &p, int a, dim_t first_out) {
    const dim_t stride = p.stride[a], divisor = std::gcd(stride, p.dilation[a]), step = stride / divisor;
    const dim_t first_taps = std::min(step, p.kernel[a]); // the others meet what these meet
    axis_phase phase;
    phase.first_out = first_out;
    phase.outs = div_up(p.out[a] - first_out, stride);
    phase.dilation = p.dilation[a] / divisor;
    const dim_t scattered = first_out + p.pad[a]; // = i*stride + k*dilation
    dim_t k = 0;
    while (k < first_taps && (scattered - k * p.dilation[a]) % stride != 0)
        k++;
    if (k == first_taps)
        return phase;
    phase.first_tap = k;
    phase.taps = div_up(p.kernel[a] - k, step);
    phase.pad = (phase.taps - 1) * phase.dilation - (scattered - k * p.dilation[a]) / stride;
    phase.first_in = std::max<dim_t>(-phase.pad, 0);
    phase.pad = std::max<dim_t>(phase.pad, 0);
    phase.ins = p.in[a] - phase.first_in;
    if (phase.ins <= 0 && p.sums_f32()) // all of them lie behind the image
        leave_image(phase, p, a);
    else if (phase.ins <= 0)
        phase.taps = 0;
    return phase;
}

using phase_axes = std::array<axis_phase, 3>;

/// The positions of a tensor of dst's shape that belong to a phase.
memory_desc dst_view(const memory_desc &md, const convolution_problem &p, const phase_axes &axes) {
    memory_desc view = md;
    for (int d = md.ndims - 1, a = 2; d >= 2; d--, a--) {
        view.dims[d] = axes[a].outs;
        view.offset0 += axes[a].first_out * md.strides[d];
        if (axes[a].outs > 1)
            view.strides[d] *= p.stride[a];
    }
    return view;
}

memory_desc src_view(const memory_desc &md, const phase_axes &axes) {
    memory_desc view = md;
    for (int d = md.ndims - 1, a = 2; d >= 2; d--, a--) {
        view.dims[d] = axes[a].ins;
        view.offset0 += axes[a].first_in * md.strides[d];
    }
    return view;
}

/// Zeros instead of taps: a block of channels, one position for all outputs.
void replace_by_zeros(convolution_problem &p) {
    p.oc *= p.groups;
    p.groups = 1;
    p.ic = p.sums_f32() ? 1 : packed_i_block;
    p.weights_have_groups = false;
    p.in = p.out;
    p.src_zero_points.values = p.weights_zero_points.values = {};
    const bool is_f32 = p.sums_f32();
    p.src = p.dst;
    p.src.data_type = is_f32 ? data_type::f32 : data_type::u8;
    p.src.dims[1] = p.ic;
    p.src.offset0 = 0;
    std::fill(p.src.strides, p.src.strides + max_ndims, 0);
    p.src.strides[1] = 1;
    p.weights = p.src;
    p.weights.data_type = is_f32 ? data_type::f32 : data_type::s8;
    p.weights.dims[0] = p.oc;
    std::fill(p.weights.dims + 2, p.weights.dims + max_ndims, 1);
    set_packed(p.weights, packed_kind::convolution, false);
}

deconvolution_phase phase_of(const deconvolution_problem &p, const phase_axes &axes,
                             const std::vector<kernel_part> &parts, const memory_desc &weights) {
    deconvolution_phase phase{p, true, 0};
    convolution_problem &c = phase.problem;
    dim_t part = 0;
    for (int a = 0; a < 3; a++) {
        c.out[a] = axes[a].outs;
        c.kernel[a] = axes[a].taps;
        c.stride[a] = c.dilation[a] = 1;
        phase.has_taps = phase.has_taps && axes[a].taps > 0;
        part = part * weights.packed_steps[a] + axes[a].first_tap;
    }
    c.dst = dst_view(p.dst, p, axes);
    c.out_stage.dst = dst_view(p.out_stage.dst, p, axes);
    for (post_op_entry &entry : c.out_stage.post_ops)
        if (memory_desc *src1 = src1_of(entry); src1 && same_dims(*src1, p.dst))
            *src1 = dst_view(*src1, p, axes);
    if (!phase.has_taps) {
        c.kernel = {1, 1, 1};
        c.pad = {0, 0, 0};
        replace_by_zeros(c);
        return phase;
    }
    c.src = src_view(p.src, axes);
    c.weights = parts[static_cast<std::size_t>(part)].weights;
    phase.weights_offset = parts[static_cast<std::size_t>(part)].offset;
    for (int a = 0; a < 3; a++) {
        c.in[a] = axes[a].ins;
        c.dilation[a] = axes[a].dilation;
        c.pad[a] = axes[a].pad;
    }
    return phase;
}

} // namespace

std::string refuses_phases(const deconvolution_problem &p) {
    const memory_desc weights = packed_in_parts(p);
    const extent3 steps = tap_steps(p);
    dim_t phases = 1;
    bool has_all_parts = true;
    for (int a = 0; a < 3; a++) {
        phases = std::min(phases, max_phases) * std::min(phase_count(p, a), 2 * max_phases);
        has_all_parts = has_all_parts && weights.packed_steps[a] == std::min(steps[a], p.kernel[a]);
    }
    if (phases > max_phases || !has_all_parts)
        return text("strides that divide the output or the kernel into more than ", max_phases, " parts");
    if (p.weights.format_kind == format_kind::packed && memory::desc(p.weights) != memory::desc(weights))
        return "weights packed for other strides or dilates";
    return {};
}

std::vector<deconvolution_phase> phases_of(const deconvolution_problem &p) {
    const memory_desc weights = packed_in_parts(p);
    const std::vector<kernel_part> parts = kernel_parts(weights);
    std::vector<deconvolution_phase> phases;
    for (dim_t od = 0; od < phase_count(p, 0); od++)
        for (dim_t oh = 0; oh < phase_count(p, 1); oh++)
            for (dim_t ow = 0; ow < phase_count(p, 2); ow++)
                phases.push_back(
                    phase_of(p, {axis_phase_of(p, 0, od), axis_phase_of(p, 1, oh), axis_phase_of(p, 2, ow)},
                             parts, weights));
    return phases;
}

} // namespace octet::impl
