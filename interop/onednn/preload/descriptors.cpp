// Each field of a descriptor is taken over or refused; layouts that Octet chose are written back.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/descriptors.hpp"

#include <algorithm>
#include <numeric>

#include "onednn/convert.hpp"
#include "onednn/interface/behind.hpp"
#include "onednn/packed_descriptor.hpp"

namespace octet::onednn {
namespace {

/// Throws unless the layout is one of plain strides.
void check_strides(const dnnl_memory_desc_t &md) {
    const dnnl_blocking_desc_t &blocks = md.format_desc.blocking;
    if (blocks.inner_nblks != 0)
        throw refusal("a blocked layout");
    if (md.extra.flags != 0)
        throw refusal("a layout with compensation");
    if (!std::equal(md.dims, md.dims + md.ndims, md.padded_dims) ||
        std::any_of(md.padded_offsets, md.padded_offsets + md.ndims, [](dnnl_dim_t o) { return o != 0; }))
        throw refusal("a padded layout");
    const auto is_wrong = [](dnnl_dim_t stride) { return stride < 0 && stride != DNNL_RUNTIME_DIM_VAL; };
    if (md.offset0 < 0 || std::any_of(blocks.strides, blocks.strides + md.ndims, is_wrong))
        throw refusal("an offset known at execution only, or negative strides");
}

} // namespace

bool is_8_bit(const dnnl_memory_desc_t &md) { return md.data_type == dnnl_s8 || md.data_type == dnnl_u8; }

octet::data_type to_octet(dnnl_data_type_t type) {
    if (type != dnnl_data_type_undef && type != dnnl_f32 && type != dnnl_bf16 && type != dnnl_s32 &&
        type != dnnl_s8 && type != dnnl_u8)
        throw refusal("a type that is none of f32, bf16, s32, s8, u8");
    return type_of(type);
}

octet::memory::desc to_octet(const dnnl_memory_desc_t &md) {
    if (md.ndims < 0 || md.ndims > octet::max_ndims)
        throw refusal("more than 6 dimensions");
    to_octet(md.data_type);
    if (std::find(md.dims, md.dims + md.ndims, 0) != md.dims + md.ndims)
        throw refusal("an empty tensor");
    if (md.ndims > 0 && !is_packed(md) && md.format_kind != dnnl_format_kind_any) {
        if (md.format_kind != dnnl_blocked)
            throw refusal("an opaque layout");
        check_strides(md);
    }
    return desc_of(md, "tensor");
}

dnnl_memory_desc_t with_layout(const dnnl_memory_desc_t &md, const octet::memory::desc &chosen) {
    dnnl_memory_desc_t result = md;
    if (md.format_kind != dnnl_format_kind_any || chosen.is_zero())
        return result;
    if (chosen.get_format_kind() == octet::format_kind::packed) {
        if (!write_packed(chosen.data, result))
            throw refusal("packed weights whose description is too large");
        return result;
    }
    result.format_kind = dnnl_blocked;
    result.offset0 = chosen.data.offset0;
    std::copy(md.dims, md.dims + DNNL_MAX_NDIMS, result.padded_dims);
    result.format_desc.blocking = dnnl_blocking_desc_t();
    std::copy(chosen.data.strides, chosen.data.strides + md.ndims, result.format_desc.blocking.strides);
    return result;
}

octet::memory::desc laid_out_like(const octet::memory::desc &md, const octet::memory::desc &like) {
    if (md.get_format_kind() != octet::format_kind::any ||
        like.get_format_kind() != octet::format_kind::plain)
        return md;
    const int ndims = md.get_ndims();
    std::vector<int> order(static_cast<std::size_t>(ndims)); // outermost first
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return like.data.strides[a] > like.data.strides[b]; });
    octet::memory_desc result = md.data;
    result.format_kind = octet::format_kind::plain;
    dim_t stride = 1;
    for (int i = ndims - 1; i >= 0; i--) {
        result.strides[order[static_cast<std::size_t>(i)]] = stride;
        stride *= result.dims[order[static_cast<std::size_t>(i)]];
    }
    return result;
}

} // namespace octet::onednn
