#pragma once // SPDX-License-Identifier: Apache-2.0

// Weights of recurrent networks (`packed_kind::recurrent`): each layer and direction has one product for the
// first packed_steps[0] gates and, where there are more, a second one for the others. A product is packed as a
// matmul's weights {gates, inputs, channels}. A projection has one product of one gate.

#include <vector>

#include "common/layout/packed.hpp"

namespace octet::impl {

inline bool is_packed_recurrent(const memory_desc &md) {
    return md.format_kind == format_kind::packed && md.packed_kind == packed_kind::recurrent;
}

/// Gives {L, D, I, G, O} or, of a projection, {L, D, I, O} this layout.
void set_packed_recurrent(memory_desc &md, dim_t gates_of_first);
/// False for a descriptor that set_packed_recurrent does not make.
bool is_well_packed_recurrent(const memory_desc &md);

/// A product of a layer and direction.
struct recurrent_part {
    memory_desc weights; ///< packed for a matmul
    dim_t offset;        ///< bytes from the start
};
/// One product, or two.
int parts_per_layer(const memory_desc &packed);
recurrent_part part_of_layer(const memory_desc &packed, dim_t layer, dim_t direction, int part);
/// Its weights as a view of plain ones of these dims.
memory_desc plain_part_of_layer(const memory_desc &plain, const memory_desc &packed, dim_t layer,
                                dim_t direction, int part);

std::size_t recurrent_bytes(const memory_desc &packed);
/// Elements from the start, from logical coordinates.
dim_t recurrent_offset(const memory_desc &packed, const coordinates &at);

} // namespace octet::impl
