// Products of all layers and directions have the same sizes, so that places are multiples of one.
// SPDX-License-Identifier: Apache-2.0
#include "common/layout/recurrent.hpp"

#include <algorithm>

namespace octet::impl {

namespace {

bool has_gates(const memory_desc &md) { return md.ndims == 5; }
dim_t gates_of(const memory_desc &md) { return has_gates(md) ? md.dims[3] : 1; }

dim_t first_gate(const memory_desc &packed, int part) { return part == 0 ? 0 : packed.packed_steps[0]; }
dim_t gates_of_part(const memory_desc &packed, int part) {
    return part == 0 ? packed.packed_steps[0] : gates_of(packed) - packed.packed_steps[0];
}

memory_desc weights_of_part(const memory_desc &packed, int part) {
    memory_desc md;
    md.data_type = packed.data_type;
    md.ndims = 3;
    md.dims[0] = gates_of_part(packed, part);
    md.dims[1] = packed.dims[2];
    md.dims[2] = packed.dims[packed.ndims - 1];
    set_packed(md, packed_kind::matmul, false);
    return md;
}

dim_t layer_bytes(const memory_desc &packed) {
    dim_t bytes = 0;
    for (int part = 0; part < parts_per_layer(packed); part++)
        bytes += static_cast<dim_t>(packed_bytes(weights_of_part(packed, part)));
    return bytes;
}

} // namespace

void set_packed_recurrent(memory_desc &md, dim_t gates_of_first) {
    md.format_kind = format_kind::packed;
    md.packed_kind = packed_kind::recurrent;
    md.packed_groups = md.packed_width = 1;
    md.packed_patches = {};
    std::fill(md.packed_steps, md.packed_steps + 3, 1);
    md.packed_steps[0] = std::min(gates_of_first, gates_of(md));
}

bool is_well_packed_recurrent(const memory_desc &md) {
    return (md.data_type == data_type::s8 || md.data_type == data_type::f32) &&
           (md.ndims == 4 || md.ndims == 5) && md.offset0 == 0 && md.packed_groups == 1 &&
           md.packed_width == 1 && md.packed_patches == patch_order() && md.packed_steps[0] >= 1 &&
           md.packed_steps[0] <= gates_of(md) && md.packed_steps[1] == 1 && md.packed_steps[2] == 1;
}

int parts_per_layer(const memory_desc &packed) { return packed.packed_steps[0] < gates_of(packed) ? 2 : 1; }

recurrent_part part_of_layer(const memory_desc &packed, dim_t layer, dim_t direction, int part) {
    dim_t offset = (layer * packed.dims[1] + direction) * layer_bytes(packed);
    if (part == 1)
        offset += static_cast<dim_t>(packed_bytes(weights_of_part(packed, 0)));
    return {weights_of_part(packed, part), offset};
}

memory_desc plain_part_of_layer(const memory_desc &plain, const memory_desc &packed, dim_t layer,
                                dim_t direction, int part) {
    memory_desc view = weights_of_part(packed, part);
    const dim_t gate_stride = has_gates(plain) ? plain.strides[3] : 0;
    view.format_kind = format_kind::plain;
    view.packed_kind = packed_kind::none;
    view.strides[0] = gate_stride;
    view.strides[1] = plain.strides[2];
    view.strides[2] = plain.strides[plain.ndims - 1];
    view.offset0 = plain.offset0 + layer * plain.strides[0] + direction * plain.strides[1] +
                   first_gate(packed, part) * gate_stride;
    return view;
}

std::size_t recurrent_bytes(const memory_desc &packed) {
    return static_cast<std::size_t>(checked_product(checked_product(packed.dims[0], packed.dims[1], packed),
                                                    layer_bytes(packed), packed));
}

dim_t recurrent_offset(const memory_desc &packed, const coordinates &at) {
    const dim_t gate = has_gates(packed) ? at[3] : 0;
    const int part = gate < packed.packed_steps[0] ? 0 : 1;
    const recurrent_part of_layer = part_of_layer(packed, at[0], at[1], part);
    const auto element = static_cast<dim_t>(memory::data_type_size(packed.data_type));
    return of_layer.offset / element + packed_geometry_of(of_layer.weights)
                                           .offset(gate - first_gate(packed, part),
                                                   at[static_cast<std::size_t>(packed.ndims - 1)], at[2], 0);
}

} // namespace octet::impl
