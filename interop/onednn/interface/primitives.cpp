// The functions of oneDNN's interface that make, run and destroy primitives. Execution takes the buffers of
// the client's memory objects and nothing else: oneDNN never compares a memory's descriptor with the
// problem's, and clients rely on that.
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "onednn/interface/behind.hpp"
#include "onednn/interface/failures.hpp"
#include "onednn/interface/handles.hpp"

using namespace octet::onednn;

namespace {

dnnl_memory_t find(int arg, int count, const dnnl_exec_arg_t *args) {
    for (int i = 0; i < count; i++)
        if (args[i].arg == arg)
            return args[i].memory;
    return nullptr;
}

/// The client's tensors whose sizes come with the execution.
std::vector<std::pair<int, octet::memory::desc>> open_tensors(const problem &what, int count,
                                                              const dnnl_exec_arg_t *args) {
    std::vector<std::pair<int, octet::memory::desc>> tensors;
    for (const int arg : what.open_args) {
        const dnnl_memory_desc_t *md = nullptr;
        if (behind().dnnl_memory_get_memory_desc(find(arg, count, args), &md) == dnnl_success)
            tensors.emplace_back(arg, desc_of(*md, "argument"));
    }
    return tensors;
}

/// Runs the primitive. Arguments that the client did not give are left out: Octet's primitive reports those
/// that it misses.
dnnl_status_t run(const taken_primitive &primitive, dnnl_stream_t stream, int count,
                  const dnnl_exec_arg_t *args) {
    const problem &what = *primitive.desc.what;
    if (what.foreign)
        return what.foreign->execute(primitive.code, stream, count, args);
    constexpr std::size_t most = 64; // four tensors, three zero points, scales, 32 post-ops; or sources
    std::array<octet::primitive::argument, most> few;
    std::vector<octet::primitive::argument> many(what.tensors.size() > most ? what.tensors.size() : 0);
    octet::primitive::argument *const buffers = many.empty() ? few.data() : many.data();
    std::size_t used = 0;
    for (const taken_argument &tensor : what.tensors) {
        const dnnl_memory_t memory = find(tensor.arg, count, args);
        void *handle = nullptr;
        if (memory && behind().dnnl_memory_get_data_handle(memory, &handle) == dnnl_success)
            buffers[used++] = {tensor.arg, handle};
    }
    static const octet::stream own_stream{octet::engine(octet::engine::kind::cpu, 0)};
    if (what.open_args.empty())
        primitive.code.execute(own_stream, buffers, used);
    else
        primitive.code.at_sizes(open_tensors(what, count, args)).execute(own_stream, buffers, used);
    return dnnl_success;
}

/// Refuses cache blobs with oneDNN's statuses for CPUs.
dnnl_status_t no_cache_blobs(bool has_arguments) {
    return guarded([&] {
        refuse(has_arguments ? octet::status::unimplemented : octet::status::invalid_arguments,
               "primitive: there are no cache blobs");
    });
}

} // namespace

extern "C" {

dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t desc) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on("pd", behind().dnnl_primitive_create, primitive, desc);
    return guarded([&] {
        needed(primitive, "primitive"); // before there is an object that could be lost
        *primitive = handle_of<dnnl_primitive_t>(new taken_primitive{{}, *own, own->what->code()});
    });
}

dnnl_status_t dnnl_primitive_create_from_cache_blob(dnnl_primitive_t *primitive,
                                                    const_dnnl_primitive_desc_t desc, size_t size,
                                                    const uint8_t *blob) {
    if (!ours<const taken_desc>(desc))
        return hand_on("pd", behind().dnnl_primitive_create_from_cache_blob, primitive, desc, size, blob);
    return no_cache_blobs(primitive && size && blob);
}

dnnl_status_t dnnl_primitive_get_cache_blob(const_dnnl_primitive_t primitive, size_t *size, uint8_t *blob) {
    if (!ours<const taken_primitive>(primitive))
        return hand_on("primitive", behind().dnnl_primitive_get_cache_blob, primitive, size, blob);
    return no_cache_blobs(size != nullptr);
}

dnnl_status_t dnnl_primitive_get_primitive_desc(const_dnnl_primitive_t primitive,
                                                const_dnnl_primitive_desc_t *desc) {
    const auto *own = ours<const taken_primitive>(primitive);
    if (!own)
        return hand_on("primitive", behind().dnnl_primitive_get_primitive_desc, primitive, desc);
    return guarded([&] { *needed(desc, "pd") = handle_of<const_dnnl_primitive_desc_t>(&own->desc); });
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                     const dnnl_exec_arg_t *args) {
    const auto *own = ours<const taken_primitive>(primitive);
    const execution_timer timer(own != nullptr);
    if (!own)
        return hand_on("primitive", behind().dnnl_primitive_execute, primitive, stream, count, args);
    return guarded([&] {
        needed(stream, "stream");
        if (count < 0)
            refuse(octet::status::invalid_arguments, "execute: " + std::to_string(count) + " arguments");
        if (count > 0)
            needed(args, "args");
        return run(*own, stream, count, args);
    });
}

dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive) {
    auto *own = ours<taken_primitive>(primitive);
    if (!own)
        return hand_on("primitive", behind().dnnl_primitive_destroy, primitive);
    delete own;
    return dnnl_success;
}

} // extern "C"
