// Primitive descriptors of the C interface: a request becomes Octet's primitive descriptor, and queries are answered from a
// table of tensors by execution argument that is filled when the descriptor is made.
// SPDX-License-Identifier: Apache-2.0
#include "octet/compat/dnnl_debug.h"
#include "onednn/library/handles.hpp"
#include "onednn/translate.hpp"

using namespace octet::onednn;
using octet::status;

namespace {

const octet::primitive_attr &checked(const dnnl_primitive_attr &attr) {
    if (!attr.post_ops.depthwise.empty())
        refuse(status::unimplemented, "post_ops: a fused depthwise convolution");
    return attr.value;
}

/// The request as Octet's, and what queries are answered from. A description of the client's is returned bit for bit where it
/// left nothing open.
dnnl_primitive_desc described_by(const request &r) {
    static const dnnl_primitive_attr defaults;
    const dnnl_primitive_attr &attr = r.attr == nullptr ? defaults : *r.attr;
    auto result = std::make_shared<described>();
    result->value = translate(r, checked(attr));
    result->kind = r.kind == dnnl_logsoftmax ? dnnl_softmax : r.kind; // as in oneDNN
    result->prop = prop_kind_of(r.kind, r.op_desc);
    result->op_desc = copy_of_op_desc(r);
    result->attr = attr;
    result->implementation = std::string("octet:") + result->value.impl_info_str();
    std::map<int, const dnnl_memory_desc_t *> given;
    for (const named_tensor &tensor : tensors_of(r))
        given.emplace(tensor.arg, tensor.md);
    for (const int arg : result->value.args()) {
        const auto client = given.find(arg);
        const bool is_open = client == given.end() || client->second->format_kind == dnnl_format_kind_any;
        result->tensors[arg] = is_open ? desc_of(result->value.arg_desc(arg)) : *client->second;
        if (dnnl_memory_desc_get_size(&result->tensors[arg]) == DNNL_RUNTIME_SIZE_VAL)
            result->open.push_back(arg);
        const bool is_attribute = arg > DNNL_ARG_WORKSPACE && arg < DNNL_ARG_MULTIPLE_SRC;
        if (arg != DNNL_ARG_DST && !is_attribute && arg < DNNL_ARG_MULTIPLE_DST)
            result->inputs++;
    }
    if (attr.value.get_scratchpad_mode() == octet::scratchpad_mode::user)
        result->tensors[DNNL_ARG_SCRATCHPAD] = desc_of(result->value.scratchpad_desc());
    return {result};
}

/// Before more of a description is read than its first two fields: those of operations that Octet does not have end there.
void check_direction(dnnl_primitive_kind_t kind, const_dnnl_op_desc_t desc) {
    try {
        prop_of(prop_kind_of(kind, desc));
    } catch (const octet::error &e) {
        refuse(e.status, std::string(dnnl_prim_kind2str(kind)) + ": " + e.what());
    }
}

dnnl_primitive_desc from_operation(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                   dnnl_engine_t engine) {
    request r;
    r.kind = kind_of(needed(desc, "desc"));
    r.op_desc = desc;
    r.attr = attr;
    r.engine = needed(engine, "engine");
    check_direction(r.kind, desc);
    return described_by(r);
}

/// Which argument a query by role and index means.
int argument_of(const described &pd, dnnl_query_t what, int index) {
    const bool has_many = pd.kind == dnnl_concat || pd.kind == dnnl_sum;
    const bool normalizes = pd.kind == dnnl_batch_normalization || pd.kind == dnnl_layer_normalization;
    if (normalizes && index > 0 && (what == dnnl_query_src_md || what == dnnl_query_dst_md))
        return DNNL_ARG_MEAN + index - 1; // mean and variance
    switch (what) {
    case dnnl_query_src_md:
        return (has_many ? DNNL_ARG_MULTIPLE_SRC : DNNL_ARG_SRC_0) + index;
    case dnnl_query_weights_md:
        return index == 1 ? DNNL_ARG_BIAS : DNNL_ARG_WEIGHTS_0 + index;
    case dnnl_query_dst_md:
        return DNNL_ARG_DST_0 + index;
    case dnnl_query_scratchpad_md:
        return index == 0 ? DNNL_ARG_SCRATCHPAD : 0;
    case dnnl_query_exec_arg_md:
        return index;
    default:
        return 0;
    }
}

bool is_md_query(dnnl_query_t what) {
    return (what > dnnl_query_some_md && what <= dnnl_query_scratchpad_md) || what == dnnl_query_exec_arg_md;
}

template <typename T> void answer(void *result, T value) {
    *static_cast<T *>(needed(result, "result")) = value;
}

void query(const described &pd, dnnl_query_t what, void *result) {
    switch (what) {
    case dnnl_query_engine:
    case dnnl_query_scratchpad_engine:
        return answer(result, the_engine());
    case dnnl_query_reorder_src_engine:
    case dnnl_query_reorder_dst_engine:
        if (pd.kind != dnnl_reorder)
            break;
        return answer(result, the_engine());
    case dnnl_query_primitive_kind:
        return answer(result, pd.kind);
    case dnnl_query_prop_kind:
        return answer(result, pd.prop);
    case dnnl_query_num_of_inputs_s32:
        return answer(result, pd.inputs);
    case dnnl_query_num_of_outputs_s32:
        return answer(result, 1);
    case dnnl_query_memory_consumption_s64:
        return answer(result,
                      static_cast<dnnl_dim_t>(pd.value.query_s64(octet::query::memory_consumption_s64)));
    case dnnl_query_cache_blob_id_size_s64:
        return answer(result, dnnl_dim_t{0});
    case dnnl_query_cache_blob_id:
        return answer(result, static_cast<const std::uint8_t *>(nullptr));
    case dnnl_query_impl_info_str:
        return answer(result, pd.implementation.c_str());
    default:
        if (what > dnnl_query_some_d && what < dnnl_query_some_md && !pd.op_desc.empty())
            return answer(result, static_cast<const_dnnl_op_desc_t>(pd.op_desc.data()));
    }
    refuse(status::unimplemented, "query " + std::to_string(what) + " of " + dnnl_prim_kind2str(pd.kind));
}

template <typename Make> dnnl_status_t created(dnnl_primitive_desc_t *pd, Make make) {
    return guarded([&] { create(pd, "pd", [&] { return dnnl_primitive_desc{make()}; }); });
}

} // namespace

dnnl_status_t dnnl_primitive_desc_iterator_create(dnnl_primitive_desc_iterator_t *iterator,
                                                  const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                                  dnnl_engine_t engine, const_dnnl_primitive_desc_t) {
    return guarded([&] {
        create(iterator, "iterator",
               [&] { return dnnl_primitive_desc_iterator{from_operation(desc, attr, engine)}; });
    });
}
dnnl_status_t dnnl_primitive_desc_iterator_next(dnnl_primitive_desc_iterator_t iterator) {
    if (iterator == nullptr)
        return dnnl_invalid_arguments;
    iterator->ended = true;
    return dnnl_iterator_ends;
}
dnnl_primitive_desc_t dnnl_primitive_desc_iterator_fetch(const_dnnl_primitive_desc_iterator_t iterator) {
    dnnl_primitive_desc_t result = nullptr;
    if (iterator != nullptr && !iterator->ended)
        created(&result, [&] { return iterator->current; });
    return result;
}
dnnl_status_t dnnl_primitive_desc_iterator_destroy(dnnl_primitive_desc_iterator_t iterator) {
    delete iterator;
    return dnnl_success;
}

dnnl_status_t dnnl_primitive_desc_create(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t desc,
                                         const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                         const_dnnl_primitive_desc_t) {
    return created(pd, [&] { return from_operation(desc, attr, engine); });
}

dnnl_status_t dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *src,
                                                 dnnl_engine_t src_engine, const dnnl_memory_desc_t *dst,
                                                 dnnl_engine_t dst_engine, const_dnnl_primitive_attr_t attr) {
    return created(pd, [&] {
        request r;
        r.kind = dnnl_reorder;
        r.attr = attr;
        r.srcs = {needed(src, "src")};
        r.dst = needed(dst, "dst");
        r.engine = needed(src_engine, "src_engine");
        r.dst_engine = needed(dst_engine, "dst_engine");
        return described_by(r);
    });
}

namespace {

/// Makes the request that concat and sum have in common.
request request_of_many(dnnl_primitive_kind_t kind, const dnnl_memory_desc_t *dst, int n,
                        const dnnl_memory_desc_t *srcs, const_dnnl_primitive_attr_t attr,
                        dnnl_engine_t engine) {
    request r;
    r.kind = kind;
    r.attr = attr;
    for (int i = 0; i < n; i++)
        r.srcs.push_back(needed(srcs, "srcs") + i);
    r.dst = dst == nullptr || dst->ndims == 0 ? nullptr : dst;
    r.engine = needed(engine, "engine");
    return r;
}

} // namespace

dnnl_status_t dnnl_concat_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *dst,
                                                int n, int dimension, const dnnl_memory_desc_t *srcs,
                                                const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    return created(pd, [&] {
        request r = request_of_many(dnnl_concat, dst, n, srcs, attr, engine);
        r.concat_dimension = dimension;
        return described_by(r);
    });
}
dnnl_status_t dnnl_sum_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *dst, int n,
                                             const float *scales, const dnnl_memory_desc_t *srcs,
                                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    return created(pd, [&] {
        request r = request_of_many(dnnl_sum, dst, n, srcs, attr, engine);
        r.scales = needed(scales, "scales");
        return described_by(r);
    });
}

dnnl_status_t dnnl_primitive_desc_clone(dnnl_primitive_desc_t *pd, const_dnnl_primitive_desc_t from) {
    return created(pd, [&] { return *needed(from, "pd"); });
}
dnnl_status_t dnnl_primitive_desc_get_attr(const_dnnl_primitive_desc_t pd,
                                           const_dnnl_primitive_attr_t *attr) {
    return guarded([&] { *needed(attr, "attr") = &needed(pd, "pd")->content->attr; });
}
dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index,
                                        void *result) {
    return guarded([&] {
        if (is_md_query(what))
            return answer(result, dnnl_primitive_desc_query_md(needed(pd, "pd"), what, index));
        query(*needed(pd, "pd")->content, what, result);
    });
}
/// Tensors that the primitive does not have have the zero descriptor.
const dnnl_memory_desc_t *dnnl_primitive_desc_query_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what,
                                                       int index) {
    static const dnnl_memory_desc_t zero{};
    if (pd == nullptr || !is_md_query(what))
        return nullptr;
    const auto found = pd->content->tensors.find(argument_of(*pd->content, what, index));
    return found == pd->content->tensors.end() ? &zero : &found->second;
}
int dnnl_primitive_desc_query_s32(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index) {
    int result = 0;
    if (what != dnnl_query_num_of_inputs_s32 && what != dnnl_query_num_of_outputs_s32)
        return 0;
    return dnnl_primitive_desc_query(pd, what, index, &result) == dnnl_success ? result : 0;
}
dnnl_status_t dnnl_primitive_desc_destroy(dnnl_primitive_desc_t pd) {
    delete pd;
    return dnnl_success;
}
