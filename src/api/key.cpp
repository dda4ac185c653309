#include "api/key.hpp"

namespace octet::impl {

key_builder &key_builder::add(const memory_desc &md) {
    add(md.ndims).add(md.data_type).add(md.format_kind).add(md.offset0);
    if (md.format_kind == format_kind::packed)
        add(md.packed_kind)
            .add(md.packed_groups)
            .add(md.packed_width)
            .add(md.packed_patches.height)
            .add(md.packed_patches.row_phases)
            .add(md.packed_patches.row_shift)
            .add(md.packed_patches.column_phases)
            .add(md.packed_patches.column_shift)
            .add(md.packed_steps[0])
            .add(md.packed_steps[1])
            .add(md.packed_steps[2]);
    for (int d = 0; d < md.ndims; d++)
        add(md.dims[d]).add(md.strides[d]);
    return *this;
}

namespace {

struct post_op_key {
    key_builder &key;

    void operator()(const post_op::sum &op) { key.add(op.scale).add(op.zero_point).add(op.type); }
    void operator()(const post_op::eltwise &op) {
        key.add(op.algorithm).add(op.alpha).add(op.beta).add(op.scale);
    }
    void operator()(const post_op::binary &op) { key.add(op.algorithm).add(op.src1.data); }
    void operator()(const post_op::prelu &op) { key.add(op.mask); }
    void operator()(const post_op::clip &op) { key.add(op.low).add(op.high); }
    void operator()(const post_op::add &op) { key.add(op.value); }
    void operator()(const post_op::rescaled_sum &op) {
        key.add(op.multiplier).add(op.zero_point).add(op.type).add(op.rule);
    }
    void operator()(const post_op::leaky_relu &op) { key.add(op.identity).add(op.alpha).add(op.rule); }
    void operator()(const post_op::table &op) {
        key.add(op.type);
        for (const std::uint8_t entry : op.entries)
            key.add(entry);
    }
    void operator()(const post_op::scaled_add &op) {
        key.add(op.multipliers.a).add(op.multipliers.b).add(op.multipliers.dst);
        key.add(op.zero_point).add(op.dst_zero_point).add(op.rule);
    }
    void operator()(const post_op::qlinear_add &op) {
        key.add(op.scale).add(op.dst_scale).add(op.shift).add(op.zero_point).add(op.is_second);
    }
};

} // namespace

key_builder &key_builder::add(const primitive_attr &attr) {
    add(attr.get_scratchpad_mode()).add(attr.rule()).add(attr.output_scales());
    for (const auto &[arg, values] : attr.scales())
        add(arg).add(values);
    add(attr.scales().size());
    for (const auto &[arg, values] : attr.zero_points())
        add(arg).add(values);
    add(attr.zero_points().size());
    add(attr.multipliers()).add(attr.real_scales()).add(attr.real_scales_are_f32());
    for (const auto &[arg, multiplier] : attr.input_multipliers())
        add(arg).add(multiplier);
    add(attr.input_multipliers().size());
    for (const post_op_entry &entry : attr.get_post_ops().entries()) {
        add(entry.index());
        std::visit(post_op_key{*this}, entry);
    }
    return *this;
}

} // namespace octet::impl
