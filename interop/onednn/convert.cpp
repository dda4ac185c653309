// Enumerators are matched by their names, which are the same in both vocabularies; descriptors field by field.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/convert.hpp"

#include <algorithm>
#include <unordered_map>

#include "octet/compat/dnnl_debug.h"
#include "onednn/names.hpp"
#include "onednn/packed_descriptor.hpp"

namespace octet::onednn {

namespace {

constexpr int octet_enumerators = 128; ///< none has a higher value

/// Octet's enumerator for each of oneDNN's numbers that has the name of one.
template <typename Enum> const std::unordered_map<int, Enum> &by_number(const std::vector<named> &names) {
    static const std::unordered_map<int, Enum> map = [&] {
        std::unordered_map<int, Enum> found;
        for (const named &n : names)
            for (int i = 0; i < octet_enumerators; i++)
                if (std::string(n.name) == to_string(static_cast<Enum>(i)))
                    found.emplace(n.value, static_cast<Enum>(i));
        return found;
    }();
    return map;
}

template <typename Enum> Enum to_octet(const std::vector<named> &names, int value, const char *what) {
    const auto &map = by_number<Enum>(names);
    const auto found = map.find(value);
    if (found == map.end())
        refuse(status::unimplemented, std::string(what) + ' ' +
                                          name_of(names, value, std::to_string(value).c_str()) +
                                          " is one of oneDNN's that Octet does not have");
    return found->second;
}

template <typename Enum> int to_onednn(const std::vector<named> &names, Enum value) {
    for (const auto &[number, of_octet] : by_number<Enum>(names))
        if (of_octet == value)
            return number;
    return 0;
}

} // namespace

data_type type_of(dnnl_data_type_t type) {
    const auto value = static_cast<data_type>(type); // the numbers are the same
    if (std::string("unknown") == to_string(value) || elements_per_byte(value) > 1) // not in oneDNN 2.6
        refuse(status::unimplemented, std::string("data type ") + dnnl_dt2str(type) +
                                          " is one of oneDNN's that Octet does not have");
    return value;
}
dnnl_data_type_t type_of(data_type type) { return static_cast<dnnl_data_type_t>(type); }

prop_kind prop_of(dnnl_prop_kind_t prop) {
    switch (prop) {
    case dnnl_forward_training:
        return prop_kind::forward_training;
    case dnnl_forward_inference:
        return prop_kind::forward_inference;
    case dnnl_prop_kind_undef:
        return prop_kind::undef;
    default:
        refuse(status::unimplemented,
               std::string("prop_kind ") + dnnl_prop_kind2str(prop) + ": Octet has no backward pass");
    }
}

algorithm algorithm_of(dnnl_alg_kind_t alg) {
    return to_octet<algorithm>(alg_kind_names(), alg, "algorithm");
}
dnnl_alg_kind_t algorithm_of(algorithm alg) {
    return static_cast<dnnl_alg_kind_t>(to_onednn(alg_kind_names(), alg));
}

primitive_kind kind_of(dnnl_primitive_kind_t kind) {
    return to_octet<primitive_kind>(prim_kind_names(), kind, "primitive");
}
dnnl_primitive_kind_t kind_of(primitive_kind kind) {
    return static_cast<dnnl_primitive_kind_t>(to_onednn(prim_kind_names(), kind));
}

memory::desc desc_of(const dnnl_memory_desc_t &md, const char *name) {
    if (md.ndims == 0)
        return {};
    const std::string begin = std::string(name) + ": ";
    if (md.ndims > max_ndims)
        refuse(status::unimplemented, begin + std::to_string(md.ndims) +
                                          " dimensions, Octet's primitives take 6; reorder takes more where "
                                          "neighbouring ones can be joined");
    if (is_blocked(md))
        refuse(status::unimplemented,
               begin + "a blocked layout, which only reorder takes; allowed: plain ones, any");
    memory_desc result;
    result.ndims = md.ndims;
    result.data_type = type_of(md.data_type);
    std::copy_n(md.dims, md.ndims, result.dims);
    if (is_packed(md)) {
        read_packed(md, result);
        return result;
    }
    switch (md.format_kind) {
    case dnnl_format_kind_any:
        result.format_kind = format_kind::any;
        break;
    case dnnl_blocked:
        result.format_kind = format_kind::plain;
        result.offset0 = md.offset0;
        std::copy_n(md.format_desc.blocking.strides, md.ndims, result.strides);
        break;
    case dnnl_format_kind_octet: {
        const octet_dnnl_packed_desc_t &packed = md.format_desc.octet;
        result.format_kind = format_kind::packed;
        result.packed_kind = static_cast<packed_kind>(packed.kind);
        result.packed_groups = packed.groups;
        result.packed_width = packed.width;
        result.packed_patches = {packed.patches[0], packed.patches[1], packed.patches[2], packed.patches[3],
                                 packed.patches[4]};
        std::copy_n(packed.steps, 3, result.packed_steps);
        break;
    }
    default:
        refuse(status::invalid_arguments, begin + "format kind " + dnnl_fmt_kind2str(md.format_kind));
    }
    return result;
}

dnnl_memory_desc_t desc_of(const memory::desc &desc) {
    const memory_desc &from = desc.data;
    dnnl_memory_desc_t md{};
    if (from.ndims == 0)
        return md;
    md.ndims = from.ndims;
    md.data_type = type_of(from.data_type);
    std::copy_n(from.dims, from.ndims, md.dims);
    std::copy_n(from.dims, from.ndims, md.padded_dims);
    switch (from.format_kind) {
    case format_kind::plain:
        md.format_kind = dnnl_blocked;
        md.offset0 = from.offset0;
        std::copy_n(from.strides, from.ndims, md.format_desc.blocking.strides);
        break;
    case format_kind::packed: {
        md.format_kind = dnnl_format_kind_octet;
        octet_dnnl_packed_desc_t &packed = md.format_desc.octet;
        const patch_order &p = from.packed_patches;
        packed.kind = static_cast<int>(from.packed_kind);
        packed.groups = from.packed_groups;
        packed.width = from.packed_width;
        const dim_t patches[] = {p.height, p.row_phases, p.row_shift, p.column_phases, p.column_shift};
        std::copy_n(patches, 5, packed.patches);
        std::copy_n(from.packed_steps, 3, packed.steps);
        break;
    }
    default:
        md.format_kind = static_cast<dnnl_format_kind_t>(from.format_kind);
    }
    return md;
}

namespace {

struct dimension {
    dim_t size, src_stride, dst_stride;
};

/// Splits one logical dimension where either tensor's blocks end. Strides of the pieces, outermost first.
std::vector<std::pair<dim_t, dim_t>> pieces_of(const dnnl_memory_desc_t &md, int d) {
    const dnnl_blocking_desc_t &blocking = md.format_desc.blocking;
    std::vector<std::pair<dim_t, dim_t>> pieces;
    dim_t stride = 1, blocks = 1;
    for (int b = blocking.inner_nblks - 1; b >= 0; b--) {
        if (blocking.inner_idxs[b] == d) {
            pieces.insert(pieces.begin(), {blocking.inner_blks[b], stride});
            blocks *= blocking.inner_blks[b];
        }
        stride *= blocking.inner_blks[b];
    }
    if (md.dims[d] % blocks != 0)
        refuse(status::unimplemented,
               "reorder: dimension " + std::to_string(d) + " has " + std::to_string(md.dims[d]) +
                   " elements, no multiple of its blocks of " + std::to_string(blocks));
    pieces.insert(pieces.begin(), {md.dims[d] / blocks, blocking.strides[d]});
    return pieces;
}

/// Both tensors' pieces of a dimension, cut into common ones.
void append_common(std::vector<dimension> &out, std::vector<std::pair<dim_t, dim_t>> a,
                   std::vector<std::pair<dim_t, dim_t>> b) {
    std::vector<dimension> found; // innermost first
    while (!a.empty() && !b.empty()) {
        auto &x = a.back();
        auto &y = b.back();
        const dim_t size = std::min(x.first, y.first);
        if (size > 0 && (x.first % size != 0 || y.first % size != 0))
            refuse(status::unimplemented, "reorder: blocks of sizes that do not divide each other");
        found.push_back({size, x.second, y.second});
        for (auto *list : {&a, &b}) {
            auto &piece = list->back();
            if (piece.first == size)
                list->pop_back();
            else
                piece = {piece.first / size, piece.second * size};
        }
    }
    for (auto *list : {&a, &b}) // only factors of size 1 may be left
        for (const auto &piece : *list)
            if (piece.first != 1)
                refuse(status::invalid_arguments, "reorder: dimensions differ");
    out.insert(out.end(), found.rbegin(), found.rend());
}

} // namespace

plain_pair plain_views(const dnnl_memory_desc_t &src, const dnnl_memory_desc_t &dst) {
    if (src.ndims != dst.ndims || src.format_kind != dnnl_blocked || dst.format_kind != dnnl_blocked)
        refuse(status::unimplemented, "reorder: blocked layouts go to and from plain and blocked ones");
    std::vector<dimension> all;
    for (int d = 0; d < src.ndims; d++)
        append_common(all, pieces_of(src, d), pieces_of(dst, d));
    std::vector<dimension> joined;
    for (const dimension &d : all) {
        if (d.size == 1)
            continue;
        if (!joined.empty() && joined.back().src_stride == d.size * d.src_stride &&
            joined.back().dst_stride == d.size * d.dst_stride)
            joined.back() = {joined.back().size * d.size, d.src_stride, d.dst_stride};
        else
            joined.push_back(d);
    }
    if (joined.empty())
        joined.push_back({1, 1, 1});
    if (joined.size() > static_cast<std::size_t>(max_ndims))
        refuse(status::unimplemented, "reorder: " + std::to_string(joined.size()) +
                                          " dimensions are left after joining and splitting, allowed: 6");
    memory_desc plain[2];
    for (int side = 0; side < 2; side++) {
        const dnnl_memory_desc_t &from = side == 0 ? src : dst;
        plain[side].ndims = static_cast<int>(joined.size());
        plain[side].data_type = type_of(from.data_type);
        plain[side].format_kind = format_kind::plain;
        plain[side].offset0 = from.offset0;
        for (std::size_t d = 0; d < joined.size(); d++) {
            plain[side].dims[d] = joined[d].size;
            plain[side].strides[d] = side == 0 ? joined[d].src_stride : joined[d].dst_stride;
        }
    }
    return {plain[0], plain[1]};
}

} // namespace octet::onednn
