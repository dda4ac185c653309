#include "octet/pooling.hpp"

#include "api/primitive_desc.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "pooling";

void check_axis(int i, dim_t in, dim_t out, dim_t kernel, dim_t stride, dim_t pad_l, dim_t pad_r) {
    if (kernel < 1)
        throw_invalid(operation, ": kernel ", i, " is ", kernel, ", allowed: at least 1");
    if (stride < 1)
        throw_invalid(operation, ": strides ", i, " is ", stride, ", allowed: at least 1");
    if (pad_l < 0 || pad_l >= kernel)
        throw_invalid(operation, ": padding_l ", i, " is ", pad_l, ", allowed: 0 to ", kernel - 1,
                      " (less than the kernel)");
    constexpr dim_t limit = dim_t{1} << 31;
    if (kernel > limit || stride > limit || pad_r > limit || pad_r < -limit)
        throw_invalid(operation, ": kernel, strides or padding ", i, " exceeds 2^31");
    const dim_t padded = in + pad_l + pad_r;
    const dim_t expected = padded < kernel ? 0 : (padded - kernel) / stride + 1;
    if (out != expected)
        throw_invalid(operation, ": dst dimension ", i + 2, " is ", out, ", but src ", in, ", kernel ",
                      kernel, ", stride ", stride, ", padding ", pad_l, " and ", pad_r, " give ", expected);
    if ((out - 1) * stride >= in + pad_l)
        throw_invalid(operation, ": the last window of dimension ", i + 2, " lies in the padding (padding_r ",
                      pad_r, ")");
}

pooling_problem shapes_of(const pooling_forward::desc &d) {
    pooling_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    p.alg = d.alg;
    require_tensor(operation, "src", p.src, 3, 5);
    require_tensor(operation, "dst", p.dst, p.src.ndims, p.src.ndims);
    require_type(operation, "src", p.src, {data_type::u8, data_type::s8});
    require_type(operation, "dst", p.dst, {p.src.data_type});
    for (memory_desc *md : {&p.src, &p.dst}) {
        resolve_activation_layout(*md);
        if (md->format_kind != format_kind::plain)
            throw_invalid(operation, ": layout packed, allowed: plain layouts or any");
    }
    require_no_overlap(operation, p.dst);
    p.spatial_ndims = p.src.ndims - 2;
    const auto check = [&](const char *name, const memory::dims &list) {
        if (static_cast<int>(list.size()) != p.spatial_ndims)
            throw_invalid(operation, ": ", name, " has ", list.size(), " values, allowed: ", p.spatial_ndims);
    };
    check("strides", d.strides);
    check("kernel", d.kernel);
    check("padding_l", d.padding_l);
    check("padding_r", d.padding_r);
    for (int i = 0; i < 2; i++)
        if (p.src.dims[i] != p.dst.dims[i])
            throw_invalid(operation, ": dimension ", i, " of src is ", p.src.dims[i], ", of dst ",
                          p.dst.dims[i]);
    p.mb = p.src.dims[0];
    p.channels = p.src.dims[1];
    for (int i = 0; i < p.spatial_ndims; i++) {
        const int a = 3 - p.spatial_ndims + i;
        p.in[a] = p.src.dims[2 + i];
        p.out[a] = p.dst.dims[2 + i];
        p.kernel[a] = d.kernel[i];
        p.stride[a] = d.strides[i];
        p.pad[a] = d.padding_l[i];
        check_axis(i, p.in[a], p.out[a], p.kernel[a], p.stride[a], p.pad[a], d.padding_r[i]);
    }
    return p;
}

/// Which of the averages of octet/pooling.hpp this is.
void check_rule(pooling_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    const bool has_factor = attr.multipliers().is_set() || attr.real_scales().is_set();
    if (p.alg == algorithm::pooling_max) {
        if (has_factor || attr.output_scales().is_set())
            throw_invalid(operation, ": pooling_max takes no scales and no multipliers");
        return;
    }
    p.sum_only = has_factor || rule == requantization_rule::ort_f32;
    if (!p.sum_only && !is_tflite(rule) && rule != requantization_rule::f32)
        throw_invalid(operation, ": rule ", to_string(rule),
                      " needs multipliers, pass them to set_requantization");
    if (!p.sum_only && attr.output_scales().is_set())
        throw_invalid(
            operation,
            ": rule f32 takes no output scales, allowed: ort_f32 with the factor s_src / (s_dst * n)");
    if (!p.sum_only && p.src_zero_points.values.is_set())
        throw_invalid(operation, ": src zero points without a factor; the average of codes needs none");
}

std::shared_ptr<const primitive_desc_data> make(const pooling_forward::desc &d, const primitive_attr &attr,
                                                const engine &e, bool allow_empty) {
    return guarded(allow_empty, [&] {
        require_engine(operation, e);
        require_forward(operation, d.prop);
        if (d.alg < algorithm::pooling_max || d.alg > algorithm::pooling_avg_exclude_padding)
            throw_invalid(operation, ": algorithm ", static_cast<int>(d.alg),
                          ", allowed: pooling_max, pooling_avg_include_padding, pooling_avg_exclude_padding");
        pooling_problem p = shapes_of(d);
        attribute_support support{operation};
        support.accumulates = false;
        const std::map<int, const memory_desc *> tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        if (!attr.scales().empty())
            throw_invalid(operation,
                          ": per-argument scales, allowed: multipliers, or output scales with ort_f32");
        p.src_zero_points = lower_zero_points(support, attr, OCTET_ARG_SRC, p.src);
        if (p.src_zero_points.values.mask > 3)
            throw_invalid(operation, ": src zero points mask is ", p.src_zero_points.values.mask,
                          ", allowed: 0 to 3 (batch and channel)");
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        check_rule(p, attr);

        auto data = std::make_shared<primitive_desc_data>();
        data->operation = operation;
        data->attr = attr;
        for (const auto &[arg, md] : tensors)
            data->args[arg] = memory::desc(*md);
        add_attribute_arguments(attr, tensors, data->args);
        data->shape = text("alg", static_cast<int>(p.alg), "_mb", p.mb, "c", p.channels);
        static const char names[] = {'d', 'h', 'w'};
        for (int a = 3 - p.spatial_ndims; a < 3; a++)
            data->shape += text("_i", names[a], p.in[a], "o", names[a], p.out[a], "k", names[a], p.kernel[a],
                                "s", names[a], p.stride[a], "p", names[a], p.pad[a]);
        return make_primitive_desc(std::move(data), p, allow_empty);
    });
}

} // namespace
} // namespace impl

inline namespace v0 {

pooling_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                            const memory::dims &strides, const memory::dims &kernel,
                            const memory::dims &padding_l, const memory::dims &padding_r)
    : prop(prop), alg(alg), src(src), dst(dst), strides(strides), kernel(kernel), padding_l(padding_l),
      padding_r(padding_r) {}

pooling_forward::primitive_desc::primitive_desc(const desc &d, const primitive_attr &attr, const engine &e,
                                                bool allow_empty)
    : primitive_desc_base(impl::make(d, attr, e, allow_empty)) {}
pooling_forward::primitive_desc::primitive_desc(const desc &d, const engine &e, bool allow_empty)
    : primitive_desc(d, primitive_attr(), e, allow_empty) {}

} // namespace v0
} // namespace octet
