// Writes both copies of a packed layout, and mends the one that a client's own code has lost.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/packed_descriptor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace octet::onednn {
namespace {

constexpr std::uint32_t magic = 0x4f437431; // "OCt1"

/// The reserved bytes. What lies behind them belongs to clients: ideep keeps a group count there.
struct stored_layout {
    std::uint32_t magic;
    std::uint8_t kind, patch_height, row_phases, row_shift, column_phases, column_shift;
    std::uint16_t width;
    std::uint16_t steps[4]; ///< the last one is 0
    std::int32_t groups;
    std::uint64_t size;
};
static_assert(sizeof(stored_layout) == 32 && sizeof(dnnl_memory_extra_desc_t::reserved) >= 48);

stored_layout load(const dnnl_memory_desc_t &md) {
    stored_layout stored;
    std::memcpy(&stored, md.extra.reserved, sizeof stored);
    return stored;
}

/// Narrows `from`; false if it doesn't fit.
template <typename To> bool fits(dim_t from, To &to) {
    if (from < 0 || from > static_cast<dim_t>(std::numeric_limits<To>::max()))
        return false;
    to = static_cast<To>(from);
    return true;
}

} // namespace

bool is_packed(const dnnl_memory_desc_t &md) {
    return md.format_kind == dnnl_format_kind_rnn_packed && md.extra.flags == 0 && load(md).magic == magic;
}

void mend_packed(dnnl_memory_desc_t &md) {
    const stored_layout stored = load(md);
    dnnl_rnn_packed_desc_t &packed = md.format_desc.rnn_packed_desc;
    std::memset(&md.format_desc, 0, sizeof md.format_desc);
    std::memcpy(&packed.format, &magic, sizeof packed.format); // none of oneDNN's formats
    packed.n_parts = DNNL_RNN_MAX_N_PARTS;
    packed.n = stored.kind;
    packed.ldb = stored.groups;
    packed.parts[0] = stored.width;
    std::copy(stored.steps, stored.steps + 3, packed.parts + 1);
    packed.part_pack_size[0] = stored.row_phases;
    packed.part_pack_size[1] = stored.row_shift;
    packed.part_pack_size[2] = stored.column_phases;
    packed.part_pack_size[3] = stored.column_shift;
    packed.offset_compensation = stored.patch_height;
    packed.size = stored.size;
}

bool write_packed(const octet::memory_desc &packed, dnnl_memory_desc_t &md) {
    stored_layout stored{};
    stored.magic = magic;
    stored.kind = static_cast<std::uint8_t>(packed.packed_kind);
    const octet::patch_order &patches = packed.packed_patches;
    bool ok = fits(patches.height, stored.patch_height) && fits(patches.row_phases, stored.row_phases) &&
              fits(patches.row_shift, stored.row_shift) &&
              fits(patches.column_phases, stored.column_phases) &&
              fits(patches.column_shift, stored.column_shift) && fits(packed.packed_width, stored.width) &&
              fits(packed.packed_groups, stored.groups);
    for (int i = 0; i < 3; i++)
        ok = ok && fits(packed.packed_steps[i], stored.steps[i]);
    if (!ok)
        return false;
    stored.size = octet::memory::desc(packed).get_size();
    std::memcpy(md.extra.reserved, &stored, sizeof stored);
    md.extra.flags = 0;
    md.offset0 = 0;
    md.format_kind = dnnl_format_kind_rnn_packed;
    std::copy(md.dims, md.dims + DNNL_MAX_NDIMS, md.padded_dims);
    std::fill(md.padded_offsets, md.padded_offsets + DNNL_MAX_NDIMS, 0);
    mend_packed(md);
    return true;
}

void read_packed(const dnnl_memory_desc_t &md, octet::memory_desc &into) {
    const stored_layout stored = load(md);
    into.format_kind = octet::format_kind::packed;
    into.packed_kind = static_cast<octet::packed_kind>(stored.kind);
    into.packed_groups = stored.groups;
    into.packed_width = stored.width;
    into.packed_patches = {stored.patch_height, stored.row_phases, stored.row_shift, stored.column_phases,
                           stored.column_shift};
    std::copy(stored.steps, stored.steps + 3, into.packed_steps);
}

} // namespace octet::onednn
