// The functions of oneDNN's interface that make and destroy primitive descriptors and iterators. Each looks
// at what it was given: ours is served here, anything else goes to the library behind as it came.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/interface/behind.hpp"
#include "onednn/interface/decision.hpp"
#include "onednn/interface/failures.hpp"
#include "onednn/interface/handles.hpp"
#include "onednn/op_descs.hpp"

using namespace octet::onednn;

namespace {

request request_of(const_dnnl_op_desc_t op_desc, const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    request r;
    r.kind = kind_of(op_desc);
    r.op_desc = op_desc;
    r.attr = attr;
    r.engine = engine;
    return r;
}

/// A forward descriptor of ours means nothing to the library behind; its backward operations do without.
const_dnnl_primitive_desc_t real_hint(const_dnnl_primitive_desc_t hint) {
    return ours<const taken_desc>(hint) ? nullptr : hint;
}

dnnl_primitive_desc_t new_desc(const std::shared_ptr<const problem> &what) {
    return handle_of<dnnl_primitive_desc_t>(new taken_desc{{}, what});
}

} // namespace

namespace octet::onednn {

dnnl_status_t answer(const decision &made, dnnl_primitive_desc_t *result) noexcept {
    return guarded([&] {
        if (made.taken)
            *result = new_desc(made.taken);
        return made.refusal;
    });
}

} // namespace octet::onednn

extern "C" {

dnnl_status_t dnnl_primitive_desc_iterator_create(dnnl_primitive_desc_iterator_t *iterator,
                                                  const_dnnl_op_desc_t op_desc,
                                                  const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                                  const_dnnl_primitive_desc_t hint) {
    return guarded([&] {
        if (may_take()) {
            needed(iterator, "iterator");
            const decision made = decide(request_of(needed(op_desc, "desc"), attr, needed(engine, "engine")));
            if (made.taken)
                *iterator = handle_of<dnnl_primitive_desc_iterator_t>(new taken_iterator{{}, made.taken});
            if (!made.falls_back())
                return made.refusal;
        }
        return hand_on("iterator", behind().dnnl_primitive_desc_iterator_create, iterator, op_desc, attr,
                       engine, real_hint(hint));
    });
}

dnnl_status_t dnnl_primitive_desc_iterator_next(dnnl_primitive_desc_iterator_t iterator) {
    auto *own = ours<taken_iterator>(iterator);
    if (!own)
        return hand_on("iterator", behind().dnnl_primitive_desc_iterator_next, iterator);
    if (own->at_end)
        return dnnl_iterator_ends;
    // The client's descriptor may be gone by now, the copy is not.
    const problem &what = *own->what;
    request r = request_of(what.op_desc.data(), what.attr, what.engine);
    dnnl_status_t status = dnnl_iterator_ends;
    if (own->rest)
        status = behind().dnnl_primitive_desc_iterator_next(own->rest);
    else if (can_serve_behind(r))
        status =
            behind().dnnl_primitive_desc_iterator_create(&own->rest, r.op_desc, r.attr, r.engine, nullptr);
    own->at_end = status != dnnl_success;
    return own->at_end ? dnnl_iterator_ends : dnnl_success;
}

dnnl_primitive_desc_t dnnl_primitive_desc_iterator_fetch(const_dnnl_primitive_desc_iterator_t iterator) {
    const auto *own = ours<const taken_iterator>(iterator);
    if (!own)
        return call_behind(behind().dnnl_primitive_desc_iterator_fetch, dnnl_primitive_desc_t{}, iterator);
    if (own->at_end)
        return nullptr;
    if (own->rest)
        return behind().dnnl_primitive_desc_iterator_fetch(own->rest);
    dnnl_primitive_desc_t result = nullptr;
    guarded([&] { result = new_desc(own->what); });
    return result;
}

dnnl_status_t dnnl_primitive_desc_iterator_destroy(dnnl_primitive_desc_iterator_t iterator) {
    auto *own = ours<taken_iterator>(iterator);
    if (!own)
        return hand_on("iterator", behind().dnnl_primitive_desc_iterator_destroy, iterator);
    if (own->rest)
        behind().dnnl_primitive_desc_iterator_destroy(own->rest);
    delete own;
    return dnnl_success;
}

// The real library's makes an iterator through this library's functions and would take ours for its own, so
// it is called only where none of ours can come out.
dnnl_status_t dnnl_primitive_desc_create(dnnl_primitive_desc_t *result, const_dnnl_op_desc_t op_desc,
                                         const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                         const_dnnl_primitive_desc_t hint) {
    if (!knows_structures() || !result)
        return hand_on("pd", behind().dnnl_primitive_desc_create, result, op_desc, attr, engine, hint);
    dnnl_primitive_desc_iterator_t iterator = nullptr;
    const dnnl_status_t status = dnnl_primitive_desc_iterator_create(&iterator, op_desc, attr, engine, hint);
    if (status != dnnl_success)
        return status;
    *result = dnnl_primitive_desc_iterator_fetch(iterator);
    dnnl_primitive_desc_iterator_destroy(iterator);
    return *result ? dnnl_success : dnnl_out_of_memory;
}

dnnl_status_t dnnl_primitive_desc_clone(dnnl_primitive_desc_t *result, const_dnnl_primitive_desc_t desc) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on("pd", behind().dnnl_primitive_desc_clone, result, desc);
    return guarded([&] {
        needed(result, "pd"); // before there is an object that could be lost
        *result = new_desc(own->what);
    });
}

dnnl_status_t dnnl_primitive_desc_destroy(dnnl_primitive_desc_t desc) {
    auto *own = ours<taken_desc>(desc);
    if (!own)
        return hand_on("pd", behind().dnnl_primitive_desc_destroy, desc);
    delete own;
    return dnnl_success;
}

dnnl_status_t dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *result, const dnnl_memory_desc_t *src,
                                                 dnnl_engine_t src_engine, const dnnl_memory_desc_t *dst,
                                                 dnnl_engine_t dst_engine, const_dnnl_primitive_attr_t attr) {
    return guarded([&] {
        if (may_take()) {
            request r;
            r.kind = dnnl_reorder;
            r.attr = attr;
            r.engine = needed(src_engine, "src_engine");
            r.dst_engine = needed(dst_engine, "dst_engine");
            r.srcs = {needed(src, "src")};
            r.dst = needed(dst, "dst");
            needed(result, "pd");
            const decision made = decide(r);
            if (!made.falls_back())
                return answer(made, result);
        }
        return hand_on("pd", behind().dnnl_reorder_primitive_desc_create, result, src, src_engine, dst,
                       dst_engine, attr);
    });
}

} // extern "C"
