// Engines, streams and memory of the C interface. There is one engine. A memory object has its descriptor as the client
// gave it, and Octet's memory beside it for what primitives can take.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <new>

#include "onednn/library/handles.hpp"

using namespace octet::onednn;
using octet::status;

namespace octet::onednn {

namespace {
std::string &last_error() {
    thread_local std::string sentence;
    return sentence;
}
} // namespace

void report(const char *sentence) noexcept {
    try {
        last_error() = sentence;
    } catch (...) { // no memory for the sentence: the status says enough
    }
}

dnnl_engine_t the_engine() {
    static dnnl_engine engine;
    return &engine;
}

} // namespace octet::onednn

namespace {

/// Aligned to 64 bytes as Octet's own buffers are. Elements of padding are zero, as in oneDNN.
std::shared_ptr<void> allocate(const dnnl_memory_desc_t &md) {
    constexpr std::align_val_t alignment{64};
    const std::size_t bytes = dnnl_memory_desc_get_size(&md);
    if (bytes == 0)
        return nullptr;
    std::shared_ptr<void> buffer(::operator new(bytes, alignment),
                                 [](void *p) { ::operator delete(p, alignment); });
    if (is_blocked(md))
        std::memset(buffer.get(), 0, bytes);
    return buffer;
}

} // namespace

const char *octet_dnnl_last_error() { return last_error().c_str(); }

size_t dnnl_engine_get_count(dnnl_engine_kind_t kind) { return kind == dnnl_gpu ? 0 : 1; }

dnnl_status_t dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index) {
    return guarded([&] {
        if (kind != dnnl_cpu && kind != dnnl_any_engine)
            refuse(status::invalid_arguments, "engine: there is no GPU, allowed: dnnl_cpu");
        if (index != 0)
            refuse(status::invalid_arguments, "engine: index " + std::to_string(index) + ", allowed: 0");
        *needed(engine, "engine") = the_engine();
    });
}
dnnl_status_t dnnl_engine_get_kind(dnnl_engine_t engine, dnnl_engine_kind_t *kind) {
    return guarded([&] {
        needed(engine, "engine");
        *needed(kind, "kind") = dnnl_cpu;
    });
}
dnnl_status_t dnnl_engine_destroy(dnnl_engine_t) { return dnnl_success; }

dnnl_status_t dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine, unsigned) {
    return guarded([&] {
        needed(engine, "engine");
        create(stream, "stream", [&] { return dnnl_stream{engine, octet::stream(engine->value)}; });
    });
}
dnnl_status_t dnnl_stream_get_engine(const_dnnl_stream_t stream, dnnl_engine_t *engine) {
    return guarded([&] { *needed(engine, "engine") = needed(stream, "stream")->engine; });
}
dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream) {
    return guarded([&] { needed(stream, "stream"); });
}
dnnl_status_t dnnl_stream_destroy(dnnl_stream_t stream) {
    delete stream;
    return dnnl_success;
}

dnnl_status_t dnnl_memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *md, dnnl_engine_t engine,
                                 void *handle) {
    return guarded([&] {
        needed(engine, "engine");
        needed(memory, "memory");
        if (needed(md, "memory descriptor")->format_kind == dnnl_format_kind_any)
            refuse(status::invalid_arguments, "memory: its layout is `any`, allowed: one that a primitive "
                                              "descriptor or a tag names");
        if (dnnl_memory_desc_get_size(md) == DNNL_RUNTIME_SIZE_VAL)
            refuse(status::invalid_arguments, "memory: a dimension is DNNL_RUNTIME_DIM_VAL, allowed: sizes");
        auto result = std::make_unique<dnnl_memory>();
        result->md = *md;
        result->handle = handle;
        if (handle == DNNL_MEMORY_ALLOCATE) {
            result->owned = allocate(*md);
            result->handle = result->owned.get();
        }
        try {
            if (md->ndims > 0)
                result->value = octet::memory(desc_of(*md, "memory"), engine->value, result->handle);
        } catch (const octet::error &e) {
            if (e.status != status::unimplemented)
                throw;
        }
        *memory = result.release();
    });
}
dnnl_status_t dnnl_memory_get_memory_desc(const_dnnl_memory_t memory, const dnnl_memory_desc_t **md) {
    return guarded([&] { *needed(md, "memory descriptor") = &needed(memory, "memory")->md; });
}
dnnl_status_t dnnl_memory_get_engine(const_dnnl_memory_t memory, dnnl_engine_t *engine) {
    return guarded([&] {
        needed(memory, "memory");
        *needed(engine, "engine") = the_engine();
    });
}
dnnl_status_t dnnl_memory_map_data(const_dnnl_memory_t memory, void **mapped) {
    return dnnl_memory_get_data_handle(memory, mapped);
}
dnnl_status_t dnnl_memory_unmap_data(const_dnnl_memory_t memory, void *) {
    return guarded([&] { needed(memory, "memory"); });
}
dnnl_status_t dnnl_memory_get_data_handle(const_dnnl_memory_t memory, void **handle) {
    return guarded([&] { *needed(handle, "handle") = needed(memory, "memory")->handle; });
}
dnnl_status_t dnnl_memory_set_data_handle(dnnl_memory_t memory, void *handle) {
    return guarded([&] {
        needed(memory, "memory")->handle = handle;
        if (memory->value)
            memory->value.set_data_handle(handle);
        memory->owned = nullptr;
    });
}
dnnl_status_t dnnl_memory_set_data_handle_v2(dnnl_memory_t memory, void *handle, dnnl_stream_t) {
    return dnnl_memory_set_data_handle(memory, handle);
}
dnnl_status_t dnnl_memory_destroy(dnnl_memory_t memory) {
    delete memory;
    return dnnl_success;
}
