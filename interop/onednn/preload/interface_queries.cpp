// The functions of oneDNN's interface that answer questions about primitive descriptors. The answers are those that oneDNN 2.6
// gives: tensors that do not exist are a zero descriptor, never null.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/op_descs.hpp"
#include "onednn/preload/handles.hpp"
#include "onednn/preload/real_library.hpp"

using namespace octet::onednn;

namespace {

const dnnl_memory_desc_t zero_desc = dnnl_memory_desc_t();

/// The tensor of a post-op: what the client gave it.
const dnnl_memory_desc_t *post_op_tensor(const problem &p, int arg) {
    const int index = arg / DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1;
    const_dnnl_post_ops_t ops = nullptr;
    const dnnl_memory_desc_t *src1 = nullptr;
    real().dnnl_primitive_attr_get_post_ops(p.attr, &ops);
    if (arg == (DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1) &&
        index < real().dnnl_post_ops_len(ops) && real().dnnl_post_ops_get_kind(ops, index) == dnnl_binary)
        real().dnnl_post_ops_get_params_binary(ops, index, nullptr, &src1);
    return src1;
}

/// Never null.
const dnnl_memory_desc_t *tensor(const problem &p, int arg) {
    const dnnl_memory_desc_t *md = p.tensor(arg);
    if (!md && arg >= DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE && arg < DNNL_ARG_ATTR_INPUT_SCALES)
        md = post_op_tensor(p, arg);
    return md ? md : &zero_desc;
}

/// The argument that `what` and `index` name, 0 for none.
int argument_of(const problem &p, dnnl_query_t what, int index) {
    const bool has_many_sources = p.kind == dnnl_sum || p.kind == dnnl_concat;
    switch (what) {
    case dnnl_query_src_md:
        return index < 0                             ? 0
               : has_many_sources                    ? DNNL_ARG_MULTIPLE_SRC + index
               : index == 0                          ? DNNL_ARG_SRC
               : index == 1 && p.kind == dnnl_binary ? DNNL_ARG_SRC_1
                                                     : 0;
    case dnnl_query_weights_md:
        return index == 0 ? DNNL_ARG_WEIGHTS : index == 1 ? DNNL_ARG_BIAS : 0;
    case dnnl_query_dst_md:
        return index == 0 ? DNNL_ARG_DST : 0;
    case dnnl_query_exec_arg_md:
        return index;
    default: // gradients, workspace, scratchpad: there are none
        return 0;
    }
}

bool is_md_query(dnnl_query_t what) {
    return (what > dnnl_query_some_md && what <= dnnl_query_scratchpad_md) || what == dnnl_query_exec_arg_md;
}

/// The query that asks for the descriptor of this operation.
dnnl_query_t op_desc_query(dnnl_primitive_kind_t kind) {
    switch (kind) {
    case dnnl_convolution:
        return dnnl_query_convolution_d;
    case dnnl_deconvolution:
        return dnnl_query_deconvolution_d;
    case dnnl_inner_product:
        return dnnl_query_inner_product_d;
    case dnnl_matmul:
        return dnnl_query_matmul_d;
    case dnnl_pooling:
        return dnnl_query_pooling_d;
    case dnnl_pooling_v2:
        return dnnl_query_pooling_v2_d;
    case dnnl_binary:
        return dnnl_query_binary_d;
    case dnnl_eltwise:
        return dnnl_query_eltwise_d;
    case dnnl_softmax:
        return dnnl_query_softmax_d;
    case dnnl_logsoftmax:
        return dnnl_query_logsoftmax_d;
    case dnnl_softmax_v2:
        return dnnl_query_softmax_v2_d;
    case dnnl_resampling:
        return dnnl_query_resampling_d;
    case dnnl_prelu:
        return dnnl_query_prelu_d;
    default:
        return dnnl_query_undef;
    }
}

/// Binary and matmul have no propagation kind; in the others it follows the operation's kind.
bool has_prop_kind(const problem &p) {
    return !p.op_desc.empty() && p.kind != dnnl_binary && p.kind != dnnl_matmul;
}

template <typename T> dnnl_status_t answer(void *result, T value) {
    *static_cast<T *>(result) = value;
    return dnnl_success;
}

dnnl_status_t query(const problem &p, dnnl_query_t what, int index, void *result) {
    if (is_md_query(what)) {
        if (index != 0 && (what == dnnl_query_workspace_md || what == dnnl_query_scratchpad_md))
            return dnnl_invalid_arguments;
        return answer<const dnnl_memory_desc_t *>(result, tensor(p, argument_of(p, what, index)));
    }
    if (what == dnnl_query_op_d || (what == op_desc_query(p.kind) && what != dnnl_query_undef))
        return p.op_desc.empty() || index != 0 ? dnnl_invalid_arguments
                                               : answer<const_dnnl_op_desc_t>(result, p.op_desc.data());
    switch (what) {
    case dnnl_query_engine:
    case dnnl_query_scratchpad_engine:
        return answer(result, p.engine);
    case dnnl_query_primitive_kind:
        return answer(result, p.kind);
    case dnnl_query_num_of_inputs_s32:
        return answer<int>(result, p.inputs);
    case dnnl_query_num_of_outputs_s32:
        return answer<int>(result, 1);
    case dnnl_query_memory_consumption_s64: // of a scratchpad that the library keeps: Octet's belongs to threads
    case dnnl_query_cache_blob_id_size_s64:
        return answer<dnnl_dim_t>(result, 0);
    case dnnl_query_cache_blob_id:
        return answer<const std::uint8_t *>(result, nullptr);
    case dnnl_query_impl_info_str:
        return answer(result, p.info.c_str());
    case dnnl_query_prop_kind:
        if (!has_prop_kind(p))
            return dnnl_unimplemented;
        return answer(result, reinterpret_cast<const dnnl_prop_kind_t *>(p.op_desc.data())[1]);
    case dnnl_query_reorder_src_engine:
        return p.kind == dnnl_reorder ? answer(result, p.engine) : dnnl_unimplemented;
    case dnnl_query_reorder_dst_engine:
        return p.kind == dnnl_reorder ? answer(result, p.dst_engine) : dnnl_unimplemented;
    default:
        return dnnl_unimplemented;
    }
}

} // namespace

extern "C" {

dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index,
                                        void *result) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on(real().dnnl_primitive_desc_query, desc, what, index, result);
    return result ? query(*own->what, what, index, result) : dnnl_invalid_arguments;
}

const dnnl_memory_desc_t *dnnl_primitive_desc_query_md(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                                       int index) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return call_real(real().dnnl_primitive_desc_query_md,
                         static_cast<const dnnl_memory_desc_t *>(nullptr), desc, what, index);
    const dnnl_memory_desc_t *md = nullptr;
    return is_md_query(what) && query(*own->what, what, index, &md) == dnnl_success ? md : nullptr;
}

int dnnl_primitive_desc_query_s32(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return call_real(real().dnnl_primitive_desc_query_s32, 0, desc, what, index);
    int value = 0;
    const bool is_s32 = what == dnnl_query_num_of_inputs_s32 || what == dnnl_query_num_of_outputs_s32;
    return is_s32 && query(*own->what, what, index, &value) == dnnl_success ? value : 0;
}

dnnl_status_t dnnl_primitive_desc_get_attr(const_dnnl_primitive_desc_t desc,
                                           const_dnnl_primitive_attr_t *attr) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on(real().dnnl_primitive_desc_get_attr, desc, attr);
    if (!attr)
        return dnnl_invalid_arguments;
    *attr = own->what->attr;
    return dnnl_success;
}

} // extern "C"
