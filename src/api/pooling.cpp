// The front of pooling. Frameworks disagree about what an average of codes is, and oneDNN's interface has one
// algorithm for it; so the form (common/pooling_problem.hpp: pooling_form) follows from the rule and from which
// factors the attribute carries. `average_form` is that table; octet/pooling.hpp has the formulas.
//
// A window that lies wholly in the padding is refused: its average divides by zero taps, and its maximum has
// no defined code.
// SPDX-License-Identifier: Apache-2.0
#include "octet/pooling.hpp"

#include <algorithm>

#include "api/convolution_shapes.hpp"
#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/element.hpp"
#include "common/pooling_problem.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "pooling";

struct axis {
    dim_t in, out, kernel, stride, dilation, pad_l, pad_r; ///< dilation 1: adjacent taps
};

/// Whether each window has a tap inside the image. A window that starts before it reaches it with one of its
/// taps (pad_l is less than the kernel covers), unless taps are so far apart that they step over the image.
bool every_window_has_taps(const axis &a) {
    if ((a.out - 1) * a.stride - a.pad_l >= a.in)
        return false; // the last window starts behind the image
    if (a.dilation <= a.in)
        return true;
    for (dim_t o = 0; o < a.out && o * a.stride < a.pad_l; o++) {
        const dim_t start = o * a.stride - a.pad_l;
        if (start + div_up(-start, a.dilation) * a.dilation >= a.in)
            return false;
    }
    return true;
}

void check_axis(int i, const axis &a) {
    const dim_t covered = (a.kernel - 1) * a.dilation + 1;
    if (a.kernel < 1)
        throw_invalid(operation, ": kernel ", i, " is ", a.kernel, ", allowed: at least 1");
    if (a.stride < 1)
        throw_invalid(operation, ": strides ", i, " is ", a.stride, ", allowed: at least 1");
    if (a.dilation < 1)
        throw_invalid(operation, ": dilation ", i, " is ", a.dilation - 1, ", allowed: at least 0");
    constexpr dim_t limit = dim_t{1} << 31;
    if (a.kernel > limit || a.stride > limit || a.dilation > limit || a.pad_r > limit || a.pad_r < -limit)
        throw_invalid(operation, ": kernel, strides, dilation or padding ", i, " exceeds 2^31");
    if (a.pad_l < 0 || a.pad_l >= covered)
        throw_invalid(operation, ": padding_l ", i, " is ", a.pad_l, ", allowed: 0 to ", covered - 1,
                      " (less than the kernel)");
    const dim_t padded = a.in + a.pad_l + a.pad_r;
    const dim_t expected = padded < covered ? 0 : (padded - covered) / a.stride + 1;
    if (a.out != expected)
        throw_invalid(operation, ": dst dimension ", i + 2, " is ", a.out, ", but src ", a.in, ", kernel ",
                      a.kernel, ", stride ", a.stride, ", dilation ", a.dilation - 1, ", padding ", a.pad_l,
                      " and ", a.pad_r, " give ", expected);
    if (!every_window_has_taps(a))
        throw_invalid(operation,
                      a.dilation == 1 ? ": the last window of dimension " : ": a window of dimension ", i + 2,
                      " lies in the padding (padding_r ", a.pad_r, ")");
}

pooling_problem shapes_of(const pooling_forward::desc &d) {
    pooling_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    p.alg = d.alg;
    require_tensor(operation, "src", p.src, 3, 5);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    require_type(operation, "src", p.src,
                 {data_type::u8, data_type::s8, data_type::f32, data_type::bf16, data_type::f16});
    require_type(operation, "dst", p.dst, {p.src.data_type});
    for (memory_desc *md : {&p.src, &p.dst}) {
        resolve_activation_layout(*md);
        require_plain(operation, md == &p.src ? "src" : "dst", *md);
    }
    require_no_overlap(operation, p.dst);
    p.spatial_ndims = p.src.ndims - 2;
    const auto check = [&](const char *name, const memory::dims &list) {
        if (static_cast<int>(list.size()) != p.spatial_ndims)
            throw_invalid(operation, ": ", name, " has ", list.size(), " values, allowed: ", p.spatial_ndims);
    };
    check("strides", d.strides);
    check("kernel", d.kernel);
    check("dilation", d.dilation);
    check("padding_l", d.padding_l);
    check("padding_r", d.padding_r);
    for (int i = 0; i < 2; i++)
        if (p.src.dims[i] != p.dst.dims[i])
            throw_invalid(operation, ": dimension ", i, " of src is ", p.src.dims[i], ", of dst ",
                          p.dst.dims[i]);
    p.mb = p.src.dims[0];
    p.channels = p.src.dims[1];
    constexpr dim_t most_taps = dim_t{1} << 31; // averages count them
    dim_t taps = 1;
    for (int i = 0; i < p.spatial_ndims; i++) {
        const int a = 3 - p.spatial_ndims + i;
        p.in[a] = p.src.dims[2 + i];
        p.out[a] = p.dst.dims[2 + i];
        p.kernel[a] = d.kernel[i];
        p.stride[a] = d.strides[i];
        p.dilation[a] = std::min(d.dilation[i], dim_t{1} << 31) + 1;
        p.pad[a] = d.padding_l[i];
        check_axis(i, {p.in[a], p.out[a], p.kernel[a], p.stride[a], p.dilation[a], p.pad[a], d.padding_r[i]});
        if (p.kernel[a] > most_taps / taps)
            throw_invalid(operation, ": the kernel has more than 2^31 elements");
        taps *= p.kernel[a];
    }
    return p;
}

void set_scales(pooling_problem &p, const primitive_attr &attr) {
    p.src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC);
    p.dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
    p.out_stage.dst_scales = {};
    if (p.src_zero_points.values.mask != 0)
        throw_invalid(operation, ": src zero points mask is ", p.src_zero_points.values.mask,
                      ", allowed with scales: 0");
}

/// Returns the form of the average, one of those in octet/pooling.hpp.
pooling_form average_form(const pooling_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    const bool has_factor = attr.multipliers().is_set() || attr.real_scales().is_set();
    const bool has_scales = !attr.scales().empty();
    if (has_factor && has_scales)
        throw_invalid(operation, ": both multipliers and scales are set, allowed: one of them");
    if (attr.input_multipliers().count(OCTET_ARG_SRC)) {
        if (!is_tflite(rule) || has_factor || has_scales)
            throw_invalid(operation,
                          ": an input multiplier, allowed with a tflite rule without other factors");
        return pooling_form::rescaled_average;
    }
    if (has_factor)
        return pooling_form::requantized_sum;
    if (is_ort(rule))
        return has_scales ? pooling_form::dequantized : pooling_form::requantized_sum;
    if (is_snps_caffe(rule) && has_scales)
        return pooling_form::scaled_sum;
    if (has_scales)
        throw_invalid(operation, ": per-argument scales with rule ", to_string(rule),
                      ", allowed with ort_f32 and caffe_double_round");
    if (is_tflite(rule))
        return pooling_form::rounded_average;
    if (is_plain_f32(rule))
        return pooling_form::average_of_codes;
    throw_invalid(operation, ": rule ", to_string(rule),
                  " needs multipliers, pass them to set_requantization");
}

/// Real numbers have one meaning: no scales, no zero points, no multipliers.
void require_plain_floats(const pooling_problem &p, const primitive_attr &attr) {
    const bool is_plain = is_plain_f32(p.out_stage.rule) && !attr.output_scales().is_set() &&
                          attr.scales().empty() && attr.zero_points().empty() &&
                          attr.input_multipliers().empty();
    if (!is_plain)
        throw_invalid(operation, ": src is ", to_string(p.src.data_type),
                      ", allowed with it: rule f32 without scales and zero points");
}

void lower_rule(pooling_problem &p, const primitive_attr &attr) {
    if (!is_integer(p.src.data_type))
        require_plain_floats(p, attr);
    if (p.alg == algorithm::pooling_max) {
        if (attr.multipliers().is_set() || attr.real_scales().is_set() || attr.output_scales().is_set() ||
            !attr.scales().empty())
            throw_invalid(operation, ": pooling_max takes no scales and no multipliers");
        return;
    }
    p.form = average_form(p, attr);
    const bool is_of_codes =
        p.form == pooling_form::average_of_codes || p.form == pooling_form::rounded_average;
    if (attr.output_scales().is_set() && p.form != pooling_form::requantized_sum)
        throw_invalid(operation, ": rule ", to_string(p.out_stage.rule),
                      " takes no output scales, allowed: ort_f32 with the factor s_src / (s_dst * n)");
    if (is_of_codes && p.src_zero_points.values.is_set())
        throw_invalid(operation, ": src zero points without a factor; the average of codes needs none");
    if (p.form == pooling_form::dequantized || p.form == pooling_form::scaled_sum)
        set_scales(p, attr);
    if (p.form == pooling_form::dequantized)
        p.out_stage.rule = unchanged(true); // the zero point is added before rounding
    if (p.form == pooling_form::rescaled_average)
        p.multiplier = attr.input_multipliers().at(OCTET_ARG_SRC);
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    const std::size_t n = spatial_ndims(d.src);
    visit("algorithm", d.alg);
    visit.list("kernel", d.kernel, 'x', n, 1);
    visit.list("strides", d.strides, 'x', n, 1);
    visit.list("dilation", d.dilation, 'x', n, 0);
    visit.list("padding_l", d.padding_l, 'x', n, 0);
    visit.padding_r(d.padding_r, [&] {
        return sliding_windows{d.src, d.dst, d.kernel, d.strides, d.dilation, d.padding_l};
    });
};

primitive_desc_ptr make(const pooling_forward::desc &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, algorithm::pooling_max, algorithm::pooling_avg_exclude_padding,
                          "pooling_max, pooling_avg_include_padding, pooling_avg_exclude_padding");
        pooling_problem p = shapes_of(d);
        attribute_support support{operation};
        support.accumulates = false;
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        p.src_zero_points = lower_zero_points(support, attr, OCTET_ARG_SRC, p.src);
        if (p.src_zero_points.values.mask > 3)
            throw_invalid(operation, ": src zero points mask is ", p.src_zero_points.values.mask,
                          ", allowed: 0 to 3 (batch and channel)");
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        lower_rule(p, attr);
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &pooling_operation() {
    static const described_operation row =
        described({operation,
                   {{"pooling", "pooling algorithm:pooling_max src:u8:1x64x14x14:nhwc dst:u8:1x64x7x7:nhwc "
                                "kernel:2x2 strides:2x2"}},
                   tensor_roles::channels,
                   ties_sizes},
                  pooling_forward::desc(prop_kind::forward_inference, algorithm::pooling_max, {}, {}, {}, {},
                                        {}, {}, {}),
                  parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

pooling_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                            const memory::dims &strides, const memory::dims &kernel,
                            const memory::dims &padding_l, const memory::dims &padding_r)
    : desc(prop, alg, src, dst, strides, kernel, memory::dims(strides.size(), 0), padding_l, padding_r) {}
pooling_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                            const memory::dims &strides, const memory::dims &kernel,
                            const memory::dims &dilation, const memory::dims &padding_l,
                            const memory::dims &padding_r)
    : prop(prop), alg(alg), src(src), dst(dst), strides(strides), kernel(kernel), dilation(dilation),
      padding_l(padding_l), padding_r(padding_r) {}

impl::primitive_desc_ptr check(const pooling_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
