// liboctet has nothing behind its interface of oneDNN: every request is Octet's, engines, memory and
// attributes are those of this folder, and a handle that is not ours is a null pointer.
// SPDX-License-Identifier: Apache-2.0
#include "octet/compat/dnnl_debug.h"
#include "onednn/interface/behind.hpp"
#include "onednn/interface/decision.hpp"
#include "onednn/library/handles.hpp"
#include "onednn/translate.hpp"

namespace octet::onednn {
namespace {

const primitive_attr &attributes_of(const request &r) {
    static const primitive_attr defaults;
    return r.attr ? r.attr->value : defaults;
}

/// Before more of a description is read than its first two fields: those of operations that Octet does not
/// have end there.
void check_direction(const request &r) {
    try {
        prop_of(prop_kind_of(r.kind, r.op_desc));
    } catch (const error &e) {
        refuse(e.status, std::string(dnnl_prim_kind2str(r.kind)) + ": " + e.what());
    }
}

/// As in oneDNN, null may be destroyed.
template <typename Handle> dnnl_status_t nothing_to_destroy(Handle) { return dnnl_success; }

functions_behind own_functions() {
    functions_behind f;
    f.dnnl_primitive_attr_create = dnnl_primitive_attr_create;
    f.dnnl_primitive_attr_clone = dnnl_primitive_attr_clone;
    f.dnnl_primitive_attr_destroy = dnnl_primitive_attr_destroy;
    f.dnnl_memory_get_memory_desc = dnnl_memory_get_memory_desc;
    f.dnnl_memory_get_data_handle = dnnl_memory_get_data_handle;
    f.dnnl_primitive_desc_iterator_destroy = nothing_to_destroy;
    f.dnnl_primitive_desc_destroy = nothing_to_destroy;
    f.dnnl_primitive_destroy = nothing_to_destroy;
    return f;
}

} // namespace

const functions_behind &behind() {
    static const functions_behind functions = own_functions();
    return functions;
}

dnnl_status_t nobody_behind(const char *handle) {
    return guarded([&] { needed(static_cast<const void *>(nullptr), handle); });
}

bool may_take() { return true; }
bool knows_structures() { return true; }
bool can_serve_behind(const request &) { return false; }

decision decide(const request &r) noexcept {
    decision made;
    made.refusal = guarded([&] {
        check_direction(r);
        made.taken = std::make_shared<problem>(r, r, translate(r, attributes_of(r)));
    });
    return made;
}

dnnl_memory_desc_t with_layout(const dnnl_memory_desc_t &md, const memory::desc &chosen) {
    return md.format_kind == dnnl_format_kind_any ? desc_of(chosen) : md;
}

execution_timer::execution_timer(bool is_taken) : is_taken_(is_taken) {}
execution_timer::~execution_timer() = default;

} // namespace octet::onednn

using namespace octet::onednn;

namespace {

/// Decides about the request that concat and sum have in common, completed by `add_own`.
template <typename AddOwn>
dnnl_status_t create_of_many(dnnl_primitive_kind_t kind, dnnl_primitive_desc_t *pd,
                             const dnnl_memory_desc_t *dst, int n, const dnnl_memory_desc_t *srcs,
                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine, const AddOwn &add_own) {
    return guarded([&] {
        request r;
        r.kind = kind;
        r.attr = attr;
        for (int i = 0; i < n; i++)
            r.srcs.push_back(needed(srcs, "srcs") + i);
        r.dst = dst == nullptr || dst->ndims == 0 ? nullptr : dst;
        r.engine = needed(engine, "engine");
        add_own(r);
        needed(pd, "pd");
        return answer(decide(r), pd);
    });
}

} // namespace

dnnl_status_t dnnl_concat_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *dst,
                                                int n, int dimension, const dnnl_memory_desc_t *srcs,
                                                const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    return create_of_many(dnnl_concat, pd, dst, n, srcs, attr, engine,
                          [&](request &r) { r.concat_dimension = dimension; });
}
dnnl_status_t dnnl_sum_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *dst, int n,
                                             const float *scales, const dnnl_memory_desc_t *srcs,
                                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    return create_of_many(dnnl_sum, pd, dst, n, srcs, attr, engine,
                          [&](request &r) { r.scales = needed(scales, "scales"); });
}
