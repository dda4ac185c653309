// The front of layer normalization: rows along the last dimension, whose statistics are given, or computed and perhaps
// results.
// SPDX-License-Identifier: Apache-2.0
#include "octet/layer_normalization.hpp"

#include "api/elementwise.hpp"
#include "api/normalization.hpp"
#include "api/runtime_sizes.hpp"
#include "common/normalization.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "layer_normalization";

/// Statistics have the dimensions of src but the last.
memory_desc resolve_stats(const memory_desc &given, const memory_desc &src) {
    memory_desc stats = given;
    if (stats.ndims == 0) {
        stats = src;
        stats.ndims--;
        stats.offset0 = 0;
        set_row_major(stats);
    }
    require_tensor(operation, "stats", stats, src.ndims - 1, src.ndims - 1);
    require_type(operation, "stats", stats, {data_type::f32});
    memory_desc expected = src;
    expected.ndims--;
    if (!same_dims(stats, expected))
        throw_invalid(operation, ": stats have dims ", dims_text(stats), ", allowed: ", dims_text(expected));
    if (stats.format_kind == format_kind::any)
        set_row_major(stats);
    require_plain(operation, "stats", stats);
    return stats;
}

primitive_desc_ptr make(const layer_normalization_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        using flags = normalization_flags;
        require_forward(operation, d.prop);
        check_flags(operation, d.flags,
                    flags::use_global_stats | flags::use_scale_shift | flags::use_scale | flags::use_shift);
        check_epsilon(operation, d.epsilon);
        layer_normalization_problem p;
        p.src = d.src.data;
        p.dst = d.dst.data;
        require_tensor(operation, "src", p.src, 2, max_ndims);
        if (p.src.format_kind == format_kind::any && p.dst.format_kind != format_kind::plain)
            set_row_major(p.src); // the last dimension is what rows run along
        resolve_elementwise(operation, p.src, p.dst);
        for (const memory_desc *md : {&p.src, &p.dst})
            require_type(operation, md == &p.src ? "src" : "dst", *md,
                         {data_type::f32, data_type::bf16, data_type::f16});
        const bool has_stats = has(d.flags, flags::use_global_stats);
        p.gives_stats = d.prop == prop_kind::forward_training && !has_stats;
        p.epsilon = d.epsilon;
        const operand_tensors operands(d.flags, p.src.dims[p.src.ndims - 1]);
        p.operands = operands.operands;
        tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        operands.add_to(tensors);
        if (has_stats || p.gives_stats) {
            p.stats = resolve_stats(d.stats.data, p.src);
            tensors[OCTET_ARG_MEAN] = tensors[OCTET_ARG_VARIANCE] = &p.stats;
        }
        p.out_stage = lower_post_ops_alone(operation, r.attr, p.dst, operators::onnxruntime);
        if (is_ort(p) && (has_stats || p.gives_stats || !p.out_stage.post_ops.empty()))
            throw_unimplemented(operation,
                                has_stats       ? ": use_global_stats"
                                : p.gives_stats ? ": forward_training"
                                                : ": post-ops",
                                " with rule ort_f32");
        for (const memory_desc *md : {&p.src, &p.dst})
            if (is_ort(p))
                require_type("layer_normalization with rule ort_f32", md == &p.src ? "src" : "dst", *md,
                             {data_type::f32});
        return make_primitive_desc(r, tensors, parameter_text(d, normalization_parameters), p);
    });
}

} // namespace

const described_operation &layer_normalization_operation() {
    static const described_operation row = described(
        {operation,
         {{"layer normalization", "layer_normalization src:f32:64x256:ab dst:f32:64x256:ab epsilon:1e-05"}},
         tensor_roles::by_rank,
         flags_tell_operands},
        layer_normalization_forward::desc(prop_kind::forward_inference, memory::desc(), memory::desc(),
                                          memory::desc(), 0.f, normalization_flags::none),
        normalization_parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

layer_normalization_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &dst,
                                        const memory::desc &stats, float epsilon, normalization_flags flags)
    : normalization_desc{prop, src, dst, epsilon, flags}, stats(stats) {}
layer_normalization_forward::desc::desc(prop_kind prop, const memory::desc &data, const memory::desc &stats,
                                        float epsilon, normalization_flags flags)
    : desc(prop, data, data, stats, epsilon, flags) {}
layer_normalization_forward::desc::desc(prop_kind prop, const memory::desc &data, float epsilon,
                                        normalization_flags flags)
    : desc(prop, data, data, memory::desc(), epsilon, flags) {}

impl::primitive_desc_ptr check(const layer_normalization_forward::desc &d, const primitive_attr &attr,
                               const engine &e, bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
