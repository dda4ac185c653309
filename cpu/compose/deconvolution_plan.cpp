// Plans the phases of a deconvolution: the taps that each phase meets, axis by axis, and the views of source,
// destination and weights that make it a convolution.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/deconvolution_plan.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

#include "common/text.hpp"

namespace octet::impl {

namespace {

constexpr std::size_t max_phases = 1024; // each is a plan with code of its own

dim_t phase_count(const convolution_problem &p, int axis) { return std::min(p.stride[axis], p.out[axis]); }

/// One axis of a phase: outputs first_out + q*stride meet taps [first_tap, first_tap + taps) of the stored
/// ones of a part of the kernel, tap t at the source q + (t - first_tap)*dilation - pad, counted from
/// first_in.
struct axis_phase {
    dim_t first_out = 0, outs = 1, stride = 1;
    dim_t part = 0; ///< taps with this index modulo the step are stored together, the last one first
    dim_t first_tap = 0, taps = 0; ///< no taps: nothing reaches these outputs
    dim_t first_in = 0, ins = 1, pad = 0, dilation = 1;
};

/// Sums of codes meet padding beside the image, which holds the zero point.
axis_phase with_padding(axis_phase phase, dim_t origin, dim_t in) {
    phase.first_in = std::max<dim_t>(origin, 0);
    phase.pad = std::max<dim_t>(-origin, 0);
    phase.ins = in - phase.first_in;
    if (phase.ins <= 0) // all of them lie behind the image
        phase.taps = 0;
    return phase;
}

/// Adds the q in (0, outs) at which one of the taps arrives at source position `at`, no more than there may be phases.
void append_arrivals(std::vector<dim_t> &all, const axis_phase &phase, dim_t origin, dim_t at) {
    const dim_t outs_to_go = at - origin - phase.outs; // tap t arrives at q = at - origin - t*dilation
    const dim_t first = outs_to_go < 0 ? 0 : outs_to_go / phase.dilation + 1;
    for (dim_t t = first, q = 0; t < phase.taps && all.size() <= 2 * max_phases; t++) {
        q = at - origin - t * phase.dilation;
        if (q <= 0)
            break;
        all.push_back(q);
    }
}

/// Sums of floats have no products beside the image (0 times infinity is NaN, -0 + 0 is +0): outputs are
/// divided where a tap enters or leaves it.
std::vector<axis_phase> without_padding(const axis_phase &phase, dim_t origin, dim_t in) {
    std::vector<dim_t> ends{phase.outs};
    append_arrivals(ends, phase, origin, 0);
    append_arrivals(ends, phase, origin, in);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::vector<axis_phase> parts;
    dim_t q = 0;
    for (const dim_t end : ends) {
        const dim_t at = origin + q; // source position of tap 0
        const auto taps_before = [&](dim_t position) {
            return std::min(div_up(std::max<dim_t>(position - at, 0), phase.dilation), phase.taps);
        };
        axis_phase part = phase;
        part.first_out += q * phase.stride;
        part.outs = end - q;
        part.first_tap = taps_before(0);
        part.taps = taps_before(in) - part.first_tap;
        part.first_in = at + part.first_tap * phase.dilation;
        part.ins = part.outs + (part.taps - 1) * phase.dilation;
        parts.push_back(part);
        q = end;
    }
    return parts;
}

/// Phases of outputs first_out + q*stride.
std::vector<axis_phase> axis_phases_from(const convolution_problem &p, int a, dim_t first_out) {
    const dim_t stride = p.stride[a], divisor = std::gcd(stride, p.dilation[a]), step = stride / divisor;
    const dim_t first_taps = std::min(step, p.kernel[a]); // the others meet what these meet
    axis_phase phase;
    phase.first_out = first_out;
    phase.outs = div_up(p.out[a] - first_out, stride);
    phase.stride = stride;
    phase.dilation = p.dilation[a] / divisor;
    const dim_t scattered = first_out + p.pad[a]; // = i*stride + k*dilation
    dim_t k = 0;
    while (k < first_taps && (scattered - k * p.dilation[a]) % stride != 0)
        k++;
    if (k == first_taps)
        return {phase};
    phase.part = k;
    phase.taps = div_up(p.kernel[a] - k, step);
    const dim_t origin = // source position of the kernel's last tap, which is stored first
        (scattered - k * p.dilation[a]) / stride - (phase.taps - 1) * phase.dilation;
    return p.sums_f32() ? without_padding(phase, origin, p.in[a])
                        : std::vector<axis_phase>{with_padding(phase, origin, p.in[a])};
}

std::vector<axis_phase> axis_phases_of(const convolution_problem &p, int a) {
    std::vector<axis_phase> phases;
    for (dim_t first_out = 0; first_out < phase_count(p, a) && phases.size() <= max_phases; first_out++)
        for (const axis_phase &phase : axis_phases_from(p, a, first_out))
            phases.push_back(phase);
    return phases;
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
    deconvolution_phase phase{p, true, 0, {}, {0, 0, 0}};
    convolution_problem &c = phase.problem;
    dim_t part = 0;
    for (int a = 0; a < 3; a++) {
        c.out[a] = axes[a].outs;
        c.kernel[a] = axes[a].taps;
        c.stride[a] = c.dilation[a] = 1;
        phase.has_taps = phase.has_taps && axes[a].taps > 0;
        part = part * weights.packed_steps[a] + axes[a].part;
        phase.first_tap[a] = axes[a].first_tap;
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
    c.weights = phase.part = parts[static_cast<std::size_t>(part)].weights;
    phase.weights_offset = parts[static_cast<std::size_t>(part)].offset;
    for (int d = c.weights.ndims - 1, a = 2; d >= (c.weights_have_groups ? 3 : 2); d--, a--)
        c.weights.dims[d] = axes[a].taps;
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
    std::size_t phases = 1;
    bool has_all_parts = true;
    for (int a = 0; a < 3; a++) {
        phases = std::min(phases, max_phases + 1) * axis_phases_of(p, a).size();
        has_all_parts = has_all_parts && weights.packed_steps[a] == std::min(steps[a], p.kernel[a]);
    }
    if (phases > max_phases || !has_all_parts)
        return text(p.sums_f32() ? "strides and edges" : "strides",
                    " that divide the output or the kernel into more than ", max_phases, " parts");
    if (p.weights.format_kind == format_kind::packed && memory::desc(p.weights) != memory::desc(weights))
        return "weights packed for other strides or dilates";
    return {};
}

std::vector<deconvolution_phase> phases_of(const deconvolution_problem &p) {
    const memory_desc weights = packed_in_parts(p);
    const std::vector<kernel_part> parts = kernel_parts(weights);
    const std::vector<axis_phase> columns = axis_phases_of(p, 2), rows = axis_phases_of(p, 1);
    std::vector<deconvolution_phase> phases;
    for (const axis_phase &slice : axis_phases_of(p, 0))
        for (const axis_phase &row : rows)
            for (const axis_phase &column : columns)
                phases.push_back(phase_of(p, {slice, row, column}, parts, weights));
    return phases;
}

} // namespace octet::impl
