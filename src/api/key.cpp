// Appends every member that decides a result; members of post-ops are visited, not listed.
// SPDX-License-Identifier: Apache-2.0
#include "api/key.hpp"

#include "common/members.hpp"

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

/// All fields of a post-op.
struct post_op_key {
    key_builder &key;

    void operator()(const memory::desc &md) const { key.add(md.data); }
    template <typename T, std::size_t n> void operator()(const std::array<T, n> &elements) const {
        for (const T &element : elements)
            key.add(element);
    }
    template <typename T> void operator()(const T &x) const {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, masked_values<float>>)
            key.add(x);
        else
            for_each_member(x, *this);
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
    if (const std::optional<source_quantization> &source = attr.get_source_quantization())
        add(source->by).add(source->mode).add(source->code).add(source->span);
    if (const std::optional<combination> order = attr.get_combination())
        add(*order);
    add(attr.get_source_quantization().has_value()).add(attr.get_combination().has_value());
    for (const float value : attr.rnn_data())
        add(value);
    add(attr.rnn_data().size()).add(attr.rnn_weights_scales()).add(attr.rnn_projection_scales());
    for (const post_op_entry &entry : attr.get_post_ops().entries()) {
        add(entry.index());
        std::visit(post_op_key{*this}, entry);
    }
    return *this;
}

} // namespace octet::impl
