// Packing: a map from plain to packed elements, walked by channels. Codes go through pack_blocks.cpp, floats
// and unpacking through plain loops.
//
// The packed layout (common/layout/packed.hpp) in the order of memory, for 20 output channels o, 6 input
// channels i and 2 taps t. Each line is 64 bytes, the operand of one dot-product instruction: 16 output
// channels by 4 of the reduction.
//
//   block 0   t0   o0i0 o0i1 o0i2 o0i3 | o1i0 o1i1 o1i2 o1i3 | ... | o15i0 o15i1 o15i2 o15i3
//             t0   o0i4 o0i5   0    0  | o1i4 o1i5   0    0  | ... | o15i4 o15i5    0     0
//             t1   two lines likewise
//   block 1   t0   o16i0 o16i1 ...     | ... | o19i0 ...     | 0 0 0 0 | ... | 0 0 0 0
//             ...
//   sums           of o0 to o31, an s32 each, for each line of the kernel
//
// A kernel that computes some columns reads one block from its first to its last byte, whatever the kernel's
// shape: one stream, which the prefetchers of the hardware follow. Zeros in the padding add nothing to
// products, so a kernel reads whole lines and never asks where the reduction ends; what lies behind the
// source's last byte is multiplied by 0.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/weights/pack.hpp"

#include <cstring>
#include <vector>

#include "cpu/machine/parallel.hpp"
#include "cpu/weights/pack_blocks.hpp"

namespace octet::impl {

namespace {

/// Offsets of weights(group, o, i, tap) in both layouts as sums of a part per (group, o) and a part per (i,
/// tap), so the inner loop only adds.
class weights_map {
public:
    weights_map(const memory_desc &packed, const memory_desc &plain)
        : geometry(packed_geometry_of(packed)), plain_(plain), kind_(packed.packed_kind) {
        const int first = kind_ == packed_kind::grouped_convolution ? 1 : 0;
        taps_ = geometry.taps * geometry.fused_width;
        first_spatial_ = kind_ == packed_kind::matmul ? plain.ndims : first + 2;
        groups = geometry.groups * geometry.merged;
        i_stride = plain_.strides[kind_ == packed_kind::matmul ? plain_.ndims - 2 : first_spatial_ - 1];
        for (dim_t tap = 0; tap < taps_; tap++)
            plain_taps.push_back(plain_tap(tap));
    }

    const packed_geometry geometry;
    dim_t groups;
    dim_t i_stride;
    std::vector<dim_t> plain_taps;

    dim_t inner_count() const { return geometry.i_per_member * taps_; }
    /// Plain offsets [i][tap] within an output channel.
    std::vector<dim_t> inner_plain() const {
        std::vector<dim_t> offsets;
        offsets.reserve(static_cast<std::size_t>(inner_count()));
        for (dim_t i = 0; i < geometry.i_per_member; i++)
            for (const dim_t tap : plain_taps)
                offsets.push_back(i * i_stride + tap);
        return offsets;
    }
    /// Offsets [i][tap] from the sum of the first line.
    std::vector<dim_t> inner_sums() const {
        std::vector<dim_t> offsets;
        offsets.reserve(static_cast<std::size_t>(inner_count()));
        for (dim_t tap = 0; tap < taps_; tap++)
            offsets.push_back(tap / (taps_ / geometry.lines) * geometry.line_sums());
        for (dim_t k = taps_; k < inner_count(); k++)
            offsets.push_back(offsets[static_cast<std::size_t>(k - taps_)]);
        return offsets;
    }

    dim_t outer_plain(dim_t group, dim_t o) const {
        dim_t offset = plain_.offset0;
        if (kind_ == packed_kind::convolution)
            return offset + o * plain_.strides[0];
        if (kind_ == packed_kind::grouped_convolution)
            return offset + group * plain_.strides[0] + o * plain_.strides[1];
        for (int d = plain_.ndims - 3; d >= 0; group /= plain_.dims[d--])
            offset += group % plain_.dims[d] * plain_.strides[d];
        return offset + o * plain_.strides[plain_.ndims - 1];
    }

    /// Packed offsets [copy][i][tap] within one group, from its o = 0; o adds whole rows and blocks.
    std::vector<dim_t> inner_packed(dim_t group) const {
        std::vector<dim_t> offsets;
        offsets.reserve(static_cast<std::size_t>(geometry.copies() * inner_count()));
        for (dim_t copy = 0; copy < geometry.copies(); copy++)
            for (dim_t i = 0; i < geometry.i_per_member; i++)
                for (dim_t tap = 0; tap < taps_; tap++)
                    offsets.push_back(geometry.offset(group, 0, i, tap, copy) -
                                      geometry.offset(group, 0, 0, 0));
        return offsets;
    }

private:
    dim_t plain_tap(dim_t tap) const {
        dim_t offset = 0;
        for (int d = plain_.ndims - 1; d >= first_spatial_; tap /= plain_.dims[d--])
            offset += tap % plain_.dims[d] * plain_.strides[d];
        return offset;
    }

    const memory_desc plain_;
    const packed_kind kind_;
    dim_t taps_;
    int first_spatial_;
};

/// The map's offsets in the form that packing of whole blocks wants.
block_source blocks_of(const weights_map &map, const std::uint8_t *src) {
    const packed_geometry &p = map.geometry;
    block_source blocks{src, {}, map.outer_plain(0, 1) - map.outer_plain(0, 0), {}};
    for (dim_t g = 0; g < map.groups; g++)
        blocks.groups.push_back(map.outer_plain(g, 0));
    blocks.reduction.reserve(static_cast<std::size_t>(p.taps * p.i));
    for (const dim_t tap : map.plain_taps)
        for (dim_t i = 0; i < p.i_per_member; i++)
            blocks.reduction.push_back(i * map.i_stride + tap);
    return blocks;
}

/// Calls body(outer offset in plain, in packed, group, o, inner offsets in packed) for every output channel
/// of every group.
template <typename Body> void for_each_channel(const weights_map &map, const Body &body) {
    constexpr dim_t elements_per_task = dim_t{1}
                                        << 14; // waking a thread costs as much as some thousand elements
    const packed_geometry &p = map.geometry;
    const dim_t elements_per_group = p.o_per_member * p.copies() * map.inner_count();
    // Groups have the same offsets, but for those that share rows.
    const bool have_own = p.merged > 1 && !p.has_patches;
    const std::vector<dim_t> common = map.inner_packed(0);
    parallel_for(map.groups, 1 + elements_per_task / std::max<dim_t>(elements_per_group, 1),
                 [&](dim_t begin, dim_t end) {
                     for (dim_t g = begin; g < end; g++) {
                         const std::vector<dim_t> own = have_own ? map.inner_packed(g) : std::vector<dim_t>();
                         for (dim_t o = 0; o < p.o_per_member; o++)
                             body(map.outer_plain(g, o), p.offset(g, o, 0, 0), g, o, have_own ? own : common);
                     }
                 });
}

void pack_codes(const weights_map &map, std::uint8_t flip, const std::uint8_t *from, std::uint8_t *to) {
    const packed_geometry &p = map.geometry;
    auto *sums = reinterpret_cast<std::int32_t *>(to + p.sums_offset());
    const std::vector<dim_t> inner_plain = map.inner_plain(), inner_sums = map.inner_sums();
    for_each_channel(map, [&](dim_t outer_plain, dim_t outer_packed, dim_t g, dim_t o,
                              const std::vector<dim_t> &inner_packed) {
        std::int32_t *channel_sums =
            sums + g / p.merged * p.lines * p.line_sums() + g % p.merged * p.o_per_member + o;
        for (std::size_t k = 0; k < inner_plain.size(); k++) {
            const auto w = static_cast<std::uint8_t>(from[outer_plain + inner_plain[k]] ^ flip);
            for (std::size_t copy = k; copy < inner_packed.size(); copy += inner_plain.size())
                to[outer_packed + inner_packed[copy]] = w;
            channel_sums[inner_sums[k]] += static_cast<std::int8_t>(w);
        }
    });
}

/// Output channels that lie side by side in packed rows, as many as a row has.
void pack_float_columns(const weights_map &map, dim_t g, dim_t first, const std::vector<dim_t> &inner_plain,
                        const std::vector<dim_t> &inner_packed, const std::uint32_t *from,
                        std::uint32_t *to) {
    const packed_geometry &p = map.geometry;
    const dim_t count = std::min(packed_o_block, p.o_per_member - first);
    const dim_t stride = map.outer_plain(g, 1) - map.outer_plain(g, 0);
    from += map.outer_plain(g, first);
    to += p.offset(g, first, 0, 0);
    if (stride == 1 && count == packed_o_block) {
        for (std::size_t k = 0; k < inner_plain.size(); k++)
            std::memcpy(to + inner_packed[k], from + inner_plain[k], packed_o_block * sizeof *to);
        return;
    }
    for (dim_t o = 0; o < count; o++, from += stride, to++)
        for (std::size_t k = 0; k < inner_plain.size(); k++)
            to[inner_packed[k]] = from[inner_plain[k]];
}

/// Floats as words, so that their bits stay as they are. Groups that are stored each by itself have the same offsets.
void pack_floats(const weights_map &map, const std::uint32_t *from, std::uint32_t *to) {
    constexpr dim_t elements_per_task = dim_t{1} << 14;
    const packed_geometry &p = map.geometry;
    const std::vector<dim_t> inner_plain = map.inner_plain();
    if (p.merged != 1) {
        for_each_channel(map, [&](dim_t outer_plain, dim_t outer_packed, dim_t, dim_t,
                                  const std::vector<dim_t> &inner_packed) {
            for (std::size_t k = 0; k < inner_plain.size(); k++)
                to[outer_packed + inner_packed[k]] = from[outer_plain + inner_plain[k]];
        });
        return;
    }
    const std::vector<dim_t> inner_packed = map.inner_packed(0);
    const dim_t blocks = div_up(p.o_per_member, packed_o_block),
                elements = packed_o_block * map.inner_count();
    parallel_for(map.groups * blocks, 1 + elements_per_task / std::max<dim_t>(elements, 1),
                 [&](dim_t begin, dim_t end) {
                     for (dim_t i = begin; i < end; i++)
                         pack_float_columns(map, i / blocks, i % blocks * packed_o_block, inner_plain,
                                            inner_packed, from, to);
                 });
}

/// Codes or words.
template <typename Element> void unpack(const weights_map &map, Element flip, const void *src, void *dst) {
    const auto *from = static_cast<const Element *>(src);
    auto *to = static_cast<Element *>(dst);
    const std::vector<dim_t> inner_plain = map.inner_plain();
    for_each_channel(map, [&](dim_t outer_plain, dim_t outer_packed, dim_t, dim_t,
                              const std::vector<dim_t> &inner_packed) {
        for (std::size_t k = 0; k < inner_plain.size(); k++)
            to[outer_plain + inner_plain[k]] =
                static_cast<Element>(from[outer_packed + inner_packed[k]] ^ flip);
    });
}

/// Calls body(packed product, its offset, its view of plain weights) for each product of a recurrent network.
template <typename Body>
void for_each_recurrent_part(const memory_desc &packed, const memory_desc &plain, const Body &body) {
    for (dim_t l = 0; l < packed.dims[0]; l++)
        for (dim_t d = 0; d < packed.dims[1]; d++)
            for (int i = 0; i < parts_per_layer(packed); i++) {
                const recurrent_part part = part_of_layer(packed, l, d, i);
                body(part.weights, part.offset, plain_part_of_layer(plain, packed, l, d, i));
            }
}

/// Unsigned weights are stored with 128 subtracted.
std::uint8_t flip_of(const memory_desc &packed) { return packed.data_type == data_type::u8 ? 0x80 : 0; }

} // namespace

void pack_weights(const memory_desc &plain, const void *src, const memory_desc &packed, void *dst,
                  instruction_set isa) {
    if (element_count(packed) == 0)
        return;
    if (has_parts(packed.packed_kind)) {
        const std::vector<kernel_part> parts = kernel_parts(packed);
        for (std::size_t i = 0; i < parts.size(); i++)
            pack_weights(plain_part(plain, packed, i), src, parts[i].weights,
                         static_cast<std::int8_t *>(dst) + parts[i].offset, isa);
        return;
    }
    if (is_packed_recurrent(packed)) {
        for_each_recurrent_part(
            packed, plain, [&](const memory_desc &part, dim_t offset, const memory_desc &view) {
                pack_weights(view, src, part, static_cast<std::int8_t *>(dst) + offset, isa);
            });
        return;
    }
    const weights_map map(packed, plain);
    if (packs_in_blocks(map.geometry, isa))
        return pack_blocks(map.geometry, blocks_of(map, static_cast<const std::uint8_t *>(src)),
                           flip_of(packed), static_cast<std::int8_t *>(dst), isa);
    std::memset(dst, 0, size_in_bytes(packed));
    if (packed.data_type == data_type::f32)
        pack_floats(map, static_cast<const std::uint32_t *>(src), static_cast<std::uint32_t *>(dst));
    else
        pack_codes(map, flip_of(packed), static_cast<const std::uint8_t *>(src),
                   static_cast<std::uint8_t *>(dst));
}

void unpack_weights(const memory_desc &packed, const void *src, const memory_desc &plain, void *dst) {
    if (element_count(packed) == 0)
        return;
    if (has_parts(packed.packed_kind)) {
        const std::vector<kernel_part> parts = kernel_parts(packed);
        for (std::size_t i = 0; i < parts.size(); i++)
            unpack_weights(parts[i].weights, static_cast<const std::int8_t *>(src) + parts[i].offset,
                           plain_part(plain, packed, i), dst);
        return;
    }
    if (is_packed_recurrent(packed)) {
        for_each_recurrent_part(
            packed, plain, [&](const memory_desc &part, dim_t offset, const memory_desc &view) {
                unpack_weights(part, static_cast<const std::int8_t *>(src) + offset, view, dst);
            });
        return;
    }
    const weights_map map(packed, plain);
    if (packed.data_type == data_type::f32)
        unpack<std::uint32_t>(map, 0, src, dst);
    else
        unpack<std::uint8_t>(map, flip_of(packed), src, dst);
}

} // namespace octet::impl
