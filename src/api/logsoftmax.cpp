// The front of logsoftmax: softmax's problem, with oneDNN's order of the sum.
// SPDX-License-Identifier: Apache-2.0
#include "octet/logsoftmax.hpp"

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/softmax_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "logsoftmax";

softmax_problem shapes_of(const logsoftmax_forward::desc &d) {
    softmax_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    p.axis = d.axis;
    p.is_log = true;
    for (memory_desc *md : {&p.src, &p.dst}) {
        const char *name = md == &p.src ? "src" : "dst";
        require_tensor(operation, name, *md, 1, max_ndims);
        require_type(operation, name, *md,
                     {data_type::f32, data_type::bf16, data_type::f16, data_type::s8, data_type::u8});
        if (md->format_kind == format_kind::any)
            set_row_major(*md);
        require_plain(operation, name, *md);
    }
    if (!same_dims(p.src, p.dst))
        throw_invalid(operation, ": src has dims ", dims_text(p.src), ", dst ", dims_text(p.dst));
    if (p.axis < 0 || p.axis >= p.src.ndims)
        throw_invalid(operation, ": axis is ", p.axis, ", allowed: 0 to ", p.src.ndims - 1);
    require_no_overlap(operation, p.dst);
    p.sums_in_order = p.src.strides[p.axis] != 1;
    return p;
}

constexpr auto parameters = [](auto &d, const auto &visit) { visit("axis", d.axis); };

primitive_desc_ptr make(const logsoftmax_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        softmax_problem p = shapes_of(d);
        const primitive_attr &attr = r.attr;
        require_operators(operation, elementwise_rule(attr, unchanged(true)), {operators::reals});
        if (!attr.scales().empty() || !attr.zero_points().empty() || attr.get_post_ops().len() != 0 ||
            !attr.input_multipliers().empty())
            throw_unimplemented(operation, ": attributes other than output scales");
        attribute_support support{operation};
        support.accumulates = false;
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        p.out_stage.rule = elementwise_rule(attr, p.out_stage.rule);
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &logsoftmax_operation() {
    static const described_operation row =
        described({operation,
                   {{"logsoftmax", "logsoftmax src:f32:1x1000:ab dst:f32:1x1000:ab axis:1"}},
                   tensor_roles::by_rank,
                   in_place},
                  logsoftmax_forward::desc(prop_kind::forward_inference, {}, {}, 1), parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

logsoftmax_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis)
    : prop(prop), src(src), dst(dst), axis(axis) {}
logsoftmax_forward::desc::desc(prop_kind prop, const memory::desc &data, int axis)
    : desc(prop, data, data, axis) {}

impl::primitive_desc_ptr check(const logsoftmax_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
