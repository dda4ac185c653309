#pragma once // SPDX-License-Identifier: Apache-2.0

// Octet's packed weights in oneDNN's dnnl_memory_desc_t, so that the real library can size, allocate, compare
// and copy them without knowing what they are. Its kind `rnn_packed` is the one layout with a size of its own
// that nothing of oneDNN converts or pads. It is written twice: into the union, which the real library reads,
// and into the reserved bytes of `extra`, which survive clients that rebuild descriptors by hand and are what
// counts here.

#include "octet/compat/dnnl_types.h"

#include "octet/memory.hpp"

namespace octet::onednn {

/// True for a descriptor that `write_packed` made, also if a client has damaged its union.
bool is_packed(const dnnl_memory_desc_t &md);
/// Turns `md`, of which shape and type stay, into the layout of `packed`. False if that doesn't fit into it.
bool write_packed(const octet::memory_desc &packed, dnnl_memory_desc_t &md);
/// The layout of a descriptor that is_packed; shape and type of `into` stay.
void read_packed(const dnnl_memory_desc_t &md, octet::memory_desc &into);
/// Restores the union from the reserved bytes.
void mend_packed(dnnl_memory_desc_t &md);

} // namespace octet::onednn
