#include "dnnl/descriptors.hpp"

#include <algorithm>
#include <numeric>

#include "dnnl/packed_descriptor.hpp"

namespace octet::interop {
namespace {

/// The layout of a descriptor by blocks, if they are plain strides.
void read_strides(const dnnl_memory_desc_t &md, octet::memory_desc &into) {
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
    into.format_kind = octet::format_kind::plain;
    into.offset0 = md.offset0;
    std::copy(blocks.strides, blocks.strides + md.ndims, into.strides);
}

} // namespace

bool is_8_bit(const dnnl_memory_desc_t &md) { return md.data_type == dnnl_s8 || md.data_type == dnnl_u8; }

octet::data_type to_octet(dnnl_data_type_t type) {
    switch (type) {
    case dnnl_data_type_undef:
        return octet::data_type::undef;
    case dnnl_f32:
        return octet::data_type::f32;
    case dnnl_s32:
        return octet::data_type::s32;
    case dnnl_s8:
        return octet::data_type::s8;
    case dnnl_u8:
        return octet::data_type::u8;
    case dnnl_bf16:
        return octet::data_type::bf16;
    default:
        throw refusal("a type that is none of f32, bf16, s32, s8, u8");
    }
}

octet::memory::desc to_octet(const dnnl_memory_desc_t &md) {
    octet::memory_desc result;
    if (md.ndims == 0)
        return result;
    if (md.ndims < 0 || md.ndims > octet::max_ndims)
        throw refusal("more than 6 dimensions");
    result.ndims = md.ndims;
    std::copy(md.dims, md.dims + md.ndims, result.dims);
    result.data_type = to_octet(md.data_type);
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] == 0)
            throw refusal("an empty tensor");
    if (is_packed(md))
        read_packed(md, result);
    else if (md.format_kind == dnnl_format_kind_any)
        result.format_kind = octet::format_kind::any;
    else if (md.format_kind == dnnl_blocked)
        read_strides(md, result);
    else
        throw refusal("an opaque layout");
    return result;
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

octet::prop_kind to_octet(dnnl_prop_kind_t prop) {
    if (prop == dnnl_forward_training)
        return octet::prop_kind::forward_training;
    if (prop == dnnl_forward_inference)
        return octet::prop_kind::forward_inference;
    throw refusal("no forward pass");
}

octet::algorithm to_octet(dnnl_alg_kind_t alg) {
    using to = octet::algorithm;
    switch (alg) {
#define OCTET_SAME(name)                                                                                     \
    case dnnl_##name:                                                                                        \
        return to::name;
        OCTET_SAME(convolution_direct)
        OCTET_SAME(convolution_auto)
        OCTET_SAME(deconvolution_direct)
        OCTET_SAME(eltwise_relu)
        OCTET_SAME(eltwise_tanh)
        OCTET_SAME(eltwise_elu)
        OCTET_SAME(eltwise_square)
        OCTET_SAME(eltwise_abs)
        OCTET_SAME(eltwise_sqrt)
        OCTET_SAME(eltwise_linear)
        OCTET_SAME(eltwise_bounded_relu)
        OCTET_SAME(eltwise_soft_relu)
        OCTET_SAME(eltwise_logistic)
        OCTET_SAME(eltwise_exp)
        OCTET_SAME(eltwise_gelu_tanh)
        OCTET_SAME(eltwise_swish)
        OCTET_SAME(eltwise_log)
        OCTET_SAME(eltwise_clip)
        OCTET_SAME(eltwise_clip_v2)
        OCTET_SAME(eltwise_pow)
        OCTET_SAME(eltwise_gelu_erf)
        OCTET_SAME(eltwise_round)
        OCTET_SAME(eltwise_logsigmoid)
        OCTET_SAME(eltwise_mish)
        OCTET_SAME(eltwise_hardswish)
        OCTET_SAME(pooling_max)
        OCTET_SAME(pooling_avg_include_padding)
        OCTET_SAME(pooling_avg_exclude_padding)
        OCTET_SAME(binary_add)
        OCTET_SAME(binary_mul)
        OCTET_SAME(binary_max)
        OCTET_SAME(binary_min)
        OCTET_SAME(binary_div)
        OCTET_SAME(binary_sub)
        OCTET_SAME(binary_ge)
        OCTET_SAME(binary_gt)
        OCTET_SAME(binary_le)
        OCTET_SAME(binary_lt)
        OCTET_SAME(binary_eq)
        OCTET_SAME(binary_ne)
        OCTET_SAME(resampling_nearest)
        OCTET_SAME(resampling_linear)
        OCTET_SAME(softmax_accurate)
        OCTET_SAME(softmax_log)
#undef OCTET_SAME
    default:
        throw refusal("an algorithm that Octet lacks");
    }
}

} // namespace octet::interop
