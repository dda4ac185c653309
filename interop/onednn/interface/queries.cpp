// The functions of oneDNN's interface that answer questions about primitive descriptors. The answers are
// those that oneDNN 2.6 gives: tensors that do not exist are a zero descriptor, never null.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/interface/behind.hpp"
#include "onednn/interface/failures.hpp"
#include "onednn/interface/handles.hpp"
#include "onednn/op_descs.hpp"

using namespace octet::onednn;

namespace {

/// Tensors of a recurrent network in oneDNN's order: weights that are absent are not counted, the bias is last.
int rnn_argument_of(const problem &p, dnnl_query_t what, int index) {
    constexpr int weights[] = {DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_WEIGHTS_PEEPHOLE,
                               DNNL_ARG_WEIGHTS_PROJECTION, DNNL_ARG_BIAS};
    if (what == dnnl_query_src_md || what == dnnl_query_dst_md)
        return index < 0 || index > 2 ? 0 : (what == dnnl_query_src_md ? DNNL_ARG_SRC : DNNL_ARG_DST) + index;
    if (what == dnnl_query_weights_md)
        for (const int arg : weights)
            if (p.tensor(arg) && index-- == 0)
                return arg;
    return what == dnnl_query_exec_arg_md ? index : 0;
}

/// The argument that `what` and `index` name, 0 for none.
int argument_of(const problem &p, dnnl_query_t what, int index) {
    const bool has_many_sources = p.kind == dnnl_sum || p.kind == dnnl_concat;
    const bool normalizes = p.kind == dnnl_batch_normalization || p.kind == dnnl_layer_normalization;
    if (normalizes && index > 0 && (what == dnnl_query_src_md || what == dnnl_query_dst_md))
        return DNNL_ARG_MEAN + index - 1; // mean and variance
    if (p.kind == dnnl_rnn)
        return rnn_argument_of(p, what, index);
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

template <typename T> dnnl_status_t answer(void *result, T value) {
    *static_cast<T *>(result) = value;
    return dnnl_success;
}

dnnl_status_t query(const problem &p, dnnl_query_t what, int index, void *result) {
    static const dnnl_memory_desc_t none{};
    if (is_md_query(what)) {
        if (index != 0 && (what == dnnl_query_workspace_md || what == dnnl_query_scratchpad_md))
            return dnnl_invalid_arguments;
        const dnnl_memory_desc_t *md = p.tensor(argument_of(p, what, index));
        return answer(result, md ? md : &none);
    }
    const const_dnnl_op_desc_t op_desc = p.op_desc.empty() ? nullptr : p.op_desc.data();
    const dnnl_primitive_kind_t kind = kind_of(op_desc);
    const dnnl_prop_kind_t prop = prop_kind_of(kind, op_desc);
    switch (what) {
    case dnnl_query_engine:
    case dnnl_query_scratchpad_engine:
        return answer(result, p.engine);
    case dnnl_query_primitive_kind:
        return answer(result, p.kind);
    case dnnl_query_num_of_inputs_s32:
        return answer<int>(result, p.inputs);
    case dnnl_query_num_of_outputs_s32:
        return answer<int>(result, p.outputs);
    case dnnl_query_memory_consumption_s64: // scratchpads that the library keeps: Octet's belongs to threads
    case dnnl_query_cache_blob_id_size_s64:
        return answer<dnnl_dim_t>(result, 0);
    case dnnl_query_cache_blob_id:
        return answer<const std::uint8_t *>(result, nullptr);
    case dnnl_query_impl_info_str:
        return answer(result, p.info.c_str());
    case dnnl_query_prop_kind:
        return prop == dnnl_prop_kind_undef ? dnnl_unimplemented : answer(result, prop);
    case dnnl_query_reorder_src_engine:
        return p.kind == dnnl_reorder ? answer(result, p.engine) : dnnl_unimplemented;
    case dnnl_query_reorder_dst_engine:
        return p.kind == dnnl_reorder ? answer(result, p.dst_engine) : dnnl_unimplemented;
    case dnnl_query_op_d:
        return op_desc && index == 0 ? answer(result, op_desc) : dnnl_invalid_arguments;
    default:
        if (what == dnnl_query_undef || what != op_desc_query(kind))
            return dnnl_unimplemented;
        return index == 0 ? answer(result, op_desc) : dnnl_invalid_arguments;
    }
}

} // namespace

extern "C" {

dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index,
                                        void *result) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on("pd", behind().dnnl_primitive_desc_query, desc, what, index, result);
    return guarded([&] { return query(*own->what, what, index, needed(result, "result")); });
}

const dnnl_memory_desc_t *dnnl_primitive_desc_query_md(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                                       int index) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return call_behind(behind().dnnl_primitive_desc_query_md,
                           static_cast<const dnnl_memory_desc_t *>(nullptr), desc, what, index);
    const dnnl_memory_desc_t *md = nullptr;
    return is_md_query(what) && query(*own->what, what, index, &md) == dnnl_success ? md : nullptr;
}

int dnnl_primitive_desc_query_s32(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return call_behind(behind().dnnl_primitive_desc_query_s32, 0, desc, what, index);
    int value = 0;
    const bool is_s32 = what == dnnl_query_num_of_inputs_s32 || what == dnnl_query_num_of_outputs_s32;
    return is_s32 && query(*own->what, what, index, &value) == dnnl_success ? value : 0;
}

dnnl_status_t dnnl_primitive_desc_get_attr(const_dnnl_primitive_desc_t desc,
                                           const_dnnl_primitive_attr_t *attr) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on("pd", behind().dnnl_primitive_desc_get_attr, desc, attr);
    return guarded([&] { *needed(attr, "attr") = own->what->attr; });
}

} // extern "C"
