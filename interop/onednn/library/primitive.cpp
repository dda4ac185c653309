// Primitives of the C interface. As in oneDNN, a buffer is used with the layout that the primitive descriptor names, whatever the
// memory object says: clients rely on it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "onednn/library/handles.hpp"

using namespace octet::onednn;
using octet::status;

namespace {

constexpr int few = 16; ///< arguments that need no allocation

/// The tensors whose sizes come with this execution, from the client's memory objects.
std::vector<std::pair<int, octet::memory::desc>> sizes(const described &pd, int count,
                                                       const dnnl_exec_arg_t *args) {
    std::vector<std::pair<int, octet::memory::desc>> tensors;
    for (int i = 0; i < count; i++)
        if (args[i].memory != nullptr && std::count(pd.open.begin(), pd.open.end(), args[i].arg) != 0)
            tensors.emplace_back(args[i].arg, desc_of(args[i].memory->md, "argument"));
    return tensors;
}

} // namespace

dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t pd) {
    return guarded([&] {
        const octet::primitive value(needed(pd, "pd")->content->value);
        create(primitive, "primitive", [&] { return dnnl_primitive{*pd, value}; });
    });
}
dnnl_status_t dnnl_primitive_create_from_cache_blob(dnnl_primitive_t *, const_dnnl_primitive_desc_t, size_t,
                                                    const uint8_t *) {
    return guarded([] { refuse(status::unimplemented, "primitive: there are no cache blobs"); });
}
dnnl_status_t dnnl_primitive_get_cache_blob(const_dnnl_primitive_t, size_t *, uint8_t *) {
    return guarded([] { refuse(status::unimplemented, "primitive: there are no cache blobs"); });
}
dnnl_status_t dnnl_primitive_get_primitive_desc(const_dnnl_primitive_t primitive,
                                                const_dnnl_primitive_desc_t *pd) {
    return guarded([&] { *needed(pd, "pd") = &needed(primitive, "primitive")->pd; });
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                     const dnnl_exec_arg_t *args) {
    return guarded([&] {
        const described &pd = *needed(primitive, "primitive")->pd.content;
        std::array<octet::primitive::argument, few> on_stack;
        std::vector<octet::primitive::argument> many(count > few ? static_cast<std::size_t>(count) : 0);
        octet::primitive::argument *const arguments = many.empty() ? on_stack.data() : many.data();
        std::size_t n = 0;
        for (int i = 0; i < count; i++) {
            const dnnl_exec_arg_t &a = needed(args, "args")[i];
            if (a.memory != nullptr && pd.tensors.count(a.arg) != 0)
                arguments[n++] = {a.arg, a.memory->handle};
        }
        const octet::stream &s = needed(stream, "stream")->value;
        if (pd.open.empty())
            primitive->value.execute(s, arguments, n);
        else
            primitive->value.at_sizes(sizes(pd, count, args)).execute(s, arguments, n);
    });
}
dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive) {
    delete primitive;
    return dnnl_success;
}
