#include "octet/binary.hpp"

#include "api/primitive_desc.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "binary";

binary_problem shapes_of(const binary::desc &d) {
    binary_problem p;
    p.src0 = d.src0.data;
    p.src1 = d.src1.data;
    p.dst = d.dst.data;
    p.alg = d.alg;
    require_tensor(operation, "src0", p.src0, 1, max_ndims);
    require_tensor(operation, "src1", p.src1, p.src0.ndims, p.src0.ndims);
    require_tensor(operation, "dst", p.dst, p.src0.ndims, p.src0.ndims);
    for (memory_desc *md : {&p.src0, &p.src1, &p.dst}) {
        require_type(operation, md == &p.dst ? "dst" : "src", *md,
                     {data_type::s8, data_type::u8, data_type::s32, data_type::f32});
        if (md->format_kind == format_kind::any) {
            const memory_desc shape = *md; // without a hint of its own a tensor takes src0's layout
            *md = p.src0.format_kind == format_kind::plain && same_dims(shape, p.src0) ? p.src0 : shape;
            md->data_type = shape.data_type;
            resolve_activation_layout(*md);
        }
        if (md->format_kind != format_kind::plain)
            throw_invalid(operation, ": layout packed, allowed: plain layouts or any");
    }
    for (int i = 0; i < p.dst.ndims; i++) {
        const dim_t a = p.src0.dims[i], b = p.src1.dims[i], out = p.dst.dims[i];
        if ((a != out && a != 1) || (b != out && b != 1) || (a == 1 && b == 1 && out != 1))
            throw_invalid(operation, ": dimension ", i, " is ", a, " in src0, ", b, " in src1, ", out,
                          " in dst, allowed: equal, or 1 in a source");
    }
    require_no_overlap(operation, p.dst);
    return p;
}

fixed_point_multiplier input_multiplier(const primitive_attr &attr, int arg, const char *name) {
    const auto found = attr.input_multipliers().find(arg);
    if (found == attr.input_multipliers().end())
        throw_invalid(operation, ": rule ", to_string(attr.rule()), " needs set_input_multiplier for ", name);
    return found->second;
}

masked_values<float> source_scale(const primitive_attr &attr, int arg) {
    const auto found = attr.scales().find(arg);
    if (found == attr.scales().end())
        return {};
    if (found->second.mask != 0)
        throw_invalid(operation, ": scales mask is ", found->second.mask, ", allowed: 0");
    return found->second;
}

void lower_rule(binary_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    p.scale0 = source_scale(attr, OCTET_ARG_SRC_0);
    p.scale1 = source_scale(attr, OCTET_ARG_SRC_1);
    if (rule == requantization_rule::f32 || rule == requantization_rule::f32_v3) {
        if (p.zero_points0.values.is_set() || p.zero_points1.values.is_set())
            throw_unimplemented(operation, ": zero points of sources with rule ", to_string(rule),
                                "; they exist with the tflite rules");
        return;
    }
    if (!is_tflite(rule) || p.alg != algorithm::binary_add)
        throw_unimplemented(operation, ": rule ", to_string(rule),
                            " with this algorithm; implemented: f32 for all, tflite_* for binary_add");
    if (!attr.multipliers().is_set())
        throw_invalid(operation, ": rule ", to_string(rule),
                      " needs multipliers, pass them to set_requantization");
    if (p.scale0.is_set() || p.scale1.is_set())
        throw_invalid(operation, ": rule ", to_string(rule), " takes no scales");
    for (const memory_desc *md : {&p.src0, &p.src1})
        require_type(operation, "src", *md, {data_type::s8, data_type::u8});
    p.multiplier0 = input_multiplier(attr, OCTET_ARG_SRC_0, "SRC_0");
    p.multiplier1 = input_multiplier(attr, OCTET_ARG_SRC_1, "SRC_1");
}

std::shared_ptr<const primitive_desc_data> make(const binary::desc &d, const primitive_attr &attr,
                                                const engine &e, bool allow_empty) {
    return guarded(allow_empty, [&] {
        require_engine(operation, e);
        if (d.alg < algorithm::binary_add || d.alg > algorithm::binary_ne)
            throw_invalid(operation, ": algorithm ", static_cast<int>(d.alg), ", allowed: binary_*");
        binary_problem p = shapes_of(d);
        attribute_support support{operation};
        support.accumulates = false;
        const std::map<int, const memory_desc *> tensors{
            {OCTET_ARG_SRC_0, &p.src0}, {OCTET_ARG_SRC_1, &p.src1}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        p.zero_points0 = lower_zero_points(support, attr, OCTET_ARG_SRC_0, p.src0);
        p.zero_points1 = lower_zero_points(support, attr, OCTET_ARG_SRC_1, p.src1);
        for (const zero_points *z : {&p.zero_points0, &p.zero_points1})
            if (z->values.mask != 0)
                throw_invalid(operation, ": zero points mask is ", z->values.mask, ", allowed: 0");
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        if (p.out_stage.rule == requantization_rule::none && attr.rule() == requantization_rule::automatic)
            p.out_stage.rule = requantization_rule::f32;
        lower_rule(p, attr);

        auto data = std::make_shared<primitive_desc_data>();
        data->operation = operation;
        data->attr = attr;
        for (const auto &[arg, md] : tensors)
            data->args[arg] = memory::desc(*md);
        add_attribute_arguments(attr, tensors, data->args);
        data->shape = text("alg", static_cast<int>(p.alg), "_", dims_text(p.src0), ":", dims_text(p.src1));
        return make_primitive_desc(std::move(data), p, allow_empty);
    });
}

} // namespace
} // namespace impl

inline namespace v0 {

binary::desc::desc(algorithm alg, const memory::desc &src0, const memory::desc &src1, const memory::desc &dst)
    : alg(alg), src0(src0), src1(src1), dst(dst) {}

binary::primitive_desc::primitive_desc(const desc &d, const primitive_attr &attr, const engine &e,
                                       bool allow_empty)
    : primitive_desc_base(impl::make(d, attr, e, allow_empty)) {}
binary::primitive_desc::primitive_desc(const desc &d, const engine &e, bool allow_empty)
    : primitive_desc(d, primitive_attr(), e, allow_empty) {}

} // namespace v0
} // namespace octet
