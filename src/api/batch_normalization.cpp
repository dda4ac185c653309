// The front of batch normalization: by given statistics, or those of the batch, it is a factor and a term per channel,
// which kernels fold at each execution.
// SPDX-License-Identifier: Apache-2.0
#include "octet/batch_normalization.hpp"

#include "api/elementwise.hpp"
#include "api/normalization.hpp"
#include "api/runtime_sizes.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "batch_normalization";

primitive_desc_ptr make(const batch_normalization_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        using flags = normalization_flags;
        require_forward(operation, d.prop);
        check_flags(operation, d.flags,
                    flags::use_global_stats | flags::use_scale_shift | flags::fuse_norm_relu |
                        flags::use_scale | flags::use_shift);
        check_epsilon(operation, d.epsilon);
        batch_normalization_problem p;
        p.src = d.src.data;
        p.dst = d.dst.data;
        require_tensor(operation, "src", p.src, 2, 5);
        resolve_elementwise(operation, p.src, p.dst);
        for (const memory_desc *md : {&p.src, &p.dst})
            require_type(operation, md == &p.src ? "src" : "dst", *md,
                         {data_type::f32, data_type::bf16, data_type::f16});
        p.computes_stats = !has(d.flags, flags::use_global_stats);
        p.gives_stats = p.computes_stats && d.prop == prop_kind::forward_training;
        p.epsilon = d.epsilon;
        p.has_relu = has(d.flags, flags::fuse_norm_relu);
        if (p.has_relu && d.prop == prop_kind::forward_training)
            throw_unimplemented(operation, ": fuse_norm_relu with forward_training, which needs a workspace");
        const operand_tensors operands(d.flags, p.src.dims[1]);
        p.operands = operands.operands;
        tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        if (!p.computes_stats || p.gives_stats)
            tensors[OCTET_ARG_MEAN] = tensors[OCTET_ARG_VARIANCE] = &operands.vector;
        operands.add_to(tensors);
        p.out_stage = lower_post_ops_alone(operation, r.attr, p.dst);
        return make_primitive_desc(r, tensors, parameter_text(d, normalization_parameters), p);
    });
}

} // namespace

const described_operation &batch_normalization_operation() {
    static const described_operation row = described(
        {operation,
         {{"batch normalization",
           "batch_normalization src:f32:1x64x14x14:nhwc dst:f32:1x64x14x14:nhwc epsilon:1e-05"}},
         tensor_roles::channels,
         flags_tell_operands | in_place_of_src},
        batch_normalization_forward::desc(prop_kind::forward_inference, memory::desc(), memory::desc(), 0.f,
                                          normalization_flags::use_global_stats),
        normalization_parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

batch_normalization_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &dst,
                                        float epsilon, normalization_flags flags)
    : normalization_desc{prop, src, dst, epsilon, flags} {}
batch_normalization_forward::desc::desc(prop_kind prop, const memory::desc &data, float epsilon,
                                        normalization_flags flags)
    : desc(prop, data, data, epsilon, flags) {}

impl::primitive_desc_ptr check(const batch_normalization_forward::desc &d, const primitive_attr &attr,
                               const engine &e, bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
