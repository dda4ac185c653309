#include "octet/softmax.hpp"

#include "api/primitive_desc.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "softmax";

std::shared_ptr<const primitive_desc_data> make(const softmax_forward::desc &d, const primitive_attr &attr,
                                                const engine &e, bool allow_empty) {
    return guarded(allow_empty, [&] {
        require_engine(operation, e);
        require_forward(operation, d.prop);
        softmax_problem p;
        p.src = d.src.data;
        p.dst = d.dst.data;
        p.axis = d.axis;
        p.rule = attr.rule();
        require_tensor(operation, "src", p.src, 1, max_ndims);
        require_tensor(operation, "dst", p.dst, 1, max_ndims);
        if (!same_dims(p.src, p.dst))
            throw_invalid(operation, ": src has dims ", dims_text(p.src), ", dst ", dims_text(p.dst));
        if (p.axis < 0 || p.axis >= p.src.ndims)
            throw_invalid(operation, ": axis is ", p.axis, ", allowed: 0 to ", p.src.ndims - 1);
        for (memory_desc *md : {&p.src, &p.dst}) {
            if (md->format_kind == format_kind::any)
                set_row_major(*md);
            if (md->format_kind != format_kind::plain)
                throw_invalid(operation, ": layout packed, allowed: plain layouts or any");
        }
        require_type(operation, "src", p.src, {data_type::s8, data_type::u8});
        require_type(operation, "dst", p.dst, {data_type::s8, data_type::u8, data_type::s16});
        require_no_overlap(operation, p.dst);
        if (p.rule != requantization_rule::tflite_2step &&
            p.rule != requantization_rule::tflite_single_rounding)
            throw_unimplemented(operation, ": rule ", to_string(p.rule),
                                "; implemented: tflite_2step, tflite_single_rounding");
        if (attr.get_post_ops().len() != 0 || !attr.scales().empty() || !attr.zero_points().empty() ||
            attr.output_scales().is_set() || attr.multipliers().is_set())
            throw_unimplemented(operation,
                                ": attributes other than the rule and the input multiplier of SRC");
        const auto found = attr.input_multipliers().find(OCTET_ARG_SRC);
        if (found == attr.input_multipliers().end())
            throw_invalid(operation, ": rule ", to_string(p.rule), " needs set_input_multiplier for SRC");
        p.multiplier = found->second;
        if (p.multiplier.multiplier < 0 || p.multiplier.shift < 0)
            throw_invalid(operation, ": input multiplier is ", p.multiplier.multiplier, " with shift ",
                          p.multiplier.shift,
                          ", allowed: not negative, shift 0 to 30 (beta * scale * 2^26 is above 1)");

        auto data = std::make_shared<primitive_desc_data>();
        data->operation = operation;
        data->attr = attr;
        data->args = {{OCTET_ARG_SRC, memory::desc(p.src)}, {OCTET_ARG_DST, memory::desc(p.dst)}};
        data->shape = text(dims_text(p.src), "_axis", p.axis);
        return make_primitive_desc(std::move(data), p, allow_empty);
    });
}

} // namespace
} // namespace impl

inline namespace v0 {

softmax_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis)
    : prop(prop), src(src), dst(dst), axis(axis) {}

softmax_forward::primitive_desc::primitive_desc(const desc &d, const primitive_attr &attr, const engine &e,
                                                bool allow_empty)
    : primitive_desc_base(impl::make(d, attr, e, allow_empty)) {}
softmax_forward::primitive_desc::primitive_desc(const desc &d, const engine &e, bool allow_empty)
    : primitive_desc(d, primitive_attr(), e, allow_empty) {}

} // namespace v0
} // namespace octet
