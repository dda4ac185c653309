// The front of channel shuffle, which is a reorder of tensors with one dimension more: the axis of n * g elements as
// g times n in dst, and as n times g in src.
// SPDX-License-Identifier: Apache-2.0
#include "octet/shuffle.hpp"

#include <algorithm>

#include "api/elementwise.hpp"
#include "api/normalization.hpp"
#include "api/runtime_sizes.hpp"
#include "common/reorder_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "shuffle";

/// An integer type of the same size, which every conversion leaves as it is.
data_type bits_of(data_type type) {
    switch (memory::data_type_size(type)) {
    case 4:
        return data_type::s32;
    case 2:
        return data_type::s16;
    default:
        return type;
    }
}

struct dimension {
    dim_t size, stride;
};

/// The tensor with two dimensions instead of the axis.
memory_desc split(const memory_desc &md, int axis, dimension outer, dimension inner) {
    memory_desc view = md;
    view.data_type = bits_of(md.data_type);
    view.ndims = md.ndims + 1;
    std::copy_backward(view.dims + axis, view.dims + md.ndims, view.dims + view.ndims);
    std::copy_backward(view.strides + axis, view.strides + md.ndims, view.strides + view.ndims);
    view.dims[axis] = outer.size;
    view.strides[axis] = outer.stride;
    view.dims[axis + 1] = inner.size;
    view.strides[axis + 1] = inner.stride;
    return view;
}

reorder_problem copy_of(const memory_desc &src, const memory_desc &dst, int axis, dim_t group) {
    const dim_t n = src.dims[axis] / group, from = src.strides[axis], to = dst.strides[axis];
    reorder_problem p;
    p.src = split(src, axis, {group, from}, {n, from * group});
    p.dst = split(dst, axis, {group, to * n}, {n, to});
    p.out_stage.rule = unchanged(p.dst.data_type != data_type::s32);
    p.out_stage.dst = p.dst;
    p.out_stage.fused_sum = false;
    return p;
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit("axis", d.axis);
    visit("group_size", d.group_size);
};

primitive_desc_ptr make(const shuffle_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_no_attributes(operation, r.attr);
        memory_desc src = d.src.data, dst = d.dst.data;
        require_tensor(operation, "src", src, 1, max_ndims - 1);
        require_tensor(operation, "dst", dst, 1, max_ndims - 1);
        resolve_same_type(operation, src, dst,
                          {data_type::f32, data_type::s32, data_type::bf16, data_type::f16, data_type::s16,
                           data_type::s8, data_type::u8});
        if (d.axis < 0 || d.axis >= src.ndims)
            throw_invalid(operation, ": axis is ", d.axis, ", allowed: 0 to ", src.ndims - 1);
        const dim_t channels = src.dims[d.axis];
        if (d.group_size < 1 || channels % d.group_size != 0)
            throw_invalid(operation, ": group_size is ", d.group_size, ", allowed: what divides ", channels);
        const tensor_map tensors{{OCTET_ARG_SRC, &src}, {OCTET_ARG_DST, &dst}};
        return make_primitive_desc(r, tensors, parameter_text(d, parameters),
                                   copy_of(src, dst, d.axis, d.group_size));
    });
}

} // namespace

const described_operation &shuffle_operation() {
    static const described_operation row =
        described({operation,
                   {{"shuffle", "shuffle src:u8:1x64x14x14:nhwc dst:u8:1x64x14x14:nhwc axis:1 group_size:4"}},
                   tensor_roles::by_rank},
                  shuffle_forward::desc(prop_kind::forward_inference, {}, {}, 1, 1), parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

shuffle_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis,
                            int group_size)
    : prop(prop), src(src), dst(dst), axis(axis), group_size(group_size) {}
shuffle_forward::desc::desc(prop_kind prop, const memory::desc &data, int axis, int group_size)
    : desc(prop, data, data, axis, group_size) {}

impl::primitive_desc_ptr check(const shuffle_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
