// Primitives of the C interface. As in oneDNN, a tensor is used with the layout that the primitive descriptor names.

#include <unordered_map>

#include "compat/convert.hpp"

using namespace octet::compat;
using octet::status;

namespace {

/// The argument as the primitive wants it. Memory with another descriptor is used as if it had the right one, because
/// clients rely on that; those that have it are shared without an allocation. Sizes that come with the execution are the
/// memory's.
octet::memory argument(const described &pd, int arg, const_dnnl_memory_t memory) {
    const octet::memory::desc wanted = pd.value.arg_desc(arg);
    const bool has_sizes = wanted.get_size() != OCTET_RUNTIME_SIZE_VAL;
    if (memory->value && (!has_sizes || memory->value.get_desc() == wanted))
        return memory->value;
    return octet::memory(wanted, the_engine()->value, memory->handle);
}

} // namespace

dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t pd) {
    return guarded([&] {
        const octet::primitive value(needed(pd, "pd")->content->value);
        *needed(primitive, "primitive") = new dnnl_primitive{*pd, value};
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
        std::unordered_map<int, octet::memory> arguments;
        for (int i = 0; i < count; i++) {
            const dnnl_exec_arg_t &a = needed(args, "args")[i];
            if (a.memory != nullptr && pd.tensors.count(a.arg) != 0)
                arguments.emplace(a.arg, argument(pd, a.arg, a.memory));
        }
        primitive->value.execute(needed(stream, "stream")->value, arguments);
    });
}
dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive) {
    delete primitive;
    return dnnl_success;
}
