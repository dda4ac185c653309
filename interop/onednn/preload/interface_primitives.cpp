// The functions of oneDNN's interface that make, run and destroy primitives. Execution takes the buffers of the client's memory
// objects and nothing else: oneDNN never compares a memory's descriptor with the problem's, and clients rely on that.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "onednn/preload/decide.hpp"
#include "onednn/preload/descriptors.hpp"
#include "onednn/preload/handles.hpp"
#include "onednn/preload/real_library.hpp"
#include "onednn/preload/tally.hpp"
#include "onednn/preload/two_step_reorder.hpp"

using namespace octet::onednn;

namespace {

dnnl_memory_t find(int arg, int count, const dnnl_exec_arg_t *args) {
    for (int i = 0; i < count; i++)
        if (args[i].arg == arg)
            return args[i].memory;
    return nullptr;
}

/// The client's tensors whose sizes come with the execution. Empty if one of them has no elements.
std::vector<std::pair<int, octet::memory::desc>> open_tensors(const problem &what, int count,
                                                              const dnnl_exec_arg_t *args) {
    std::vector<std::pair<int, octet::memory::desc>> tensors;
    for (const int arg : what.open_args) {
        const dnnl_memory_desc_t *md = nullptr;
        if (real().dnnl_memory_get_memory_desc(find(arg, count, args), &md) != dnnl_success)
            throw refusal("a memory without descriptor");
        if (std::find(md->dims, md->dims + md->ndims, 0) != md->dims + md->ndims)
            return {};
        tensors.emplace_back(arg, to_octet(*md));
    }
    return tensors;
}

dnnl_status_t run(const taken_primitive &primitive, int count, const dnnl_exec_arg_t *args) {
    constexpr std::size_t most = 64; // four tensors, three zero points, scales, 32 post-ops; or sources
    const problem &what = *primitive.desc.what;
    std::array<octet::primitive::argument, most> few;
    std::vector<octet::primitive::argument> many;
    octet::primitive::argument *buffers = few.data();
    if (what.args.size() > most) {
        many.resize(what.args.size());
        buffers = many.data();
    }
    std::size_t used = 0;
    for (const int arg : what.args) {
        const dnnl_memory_t memory = find(arg, count, args);
        void *handle = nullptr;
        if (!memory || real().dnnl_memory_get_data_handle(memory, &handle) != dnnl_success)
            return dnnl_invalid_arguments;
        buffers[used++] = {arg, handle};
    }
    static const octet::stream stream{octet::engine(octet::engine::kind::cpu, 0)};
    if (what.open_args.empty())
        primitive.code.execute(stream, buffers, used);
    else if (const auto tensors = open_tensors(what, count, args); !tensors.empty())
        primitive.code.at_sizes(tensors).execute(stream, buffers, used);
    return dnnl_success;
}

} // namespace

extern "C" {

dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t desc) {
    const auto *own = ours<const taken_desc>(desc);
    if (!own)
        return hand_on(real().dnnl_primitive_create, primitive, desc);
    if (!primitive)
        return dnnl_invalid_arguments;
    try {
        *primitive = handle_of<dnnl_primitive_t>(new taken_primitive{{}, *own, own->what->code()});
        return dnnl_success;
    } catch (...) {
        return status_of_exception("primitive");
    }
}

dnnl_status_t dnnl_primitive_create_from_cache_blob(dnnl_primitive_t *primitive,
                                                    const_dnnl_primitive_desc_t desc, size_t size,
                                                    const uint8_t *blob) {
    if (!ours<const taken_desc>(desc))
        return hand_on(real().dnnl_primitive_create_from_cache_blob, primitive, desc, size, blob);
    return primitive && size && blob ? dnnl_unimplemented
                                     : dnnl_invalid_arguments; // what oneDNN says for CPUs
}

dnnl_status_t dnnl_primitive_get_cache_blob(const_dnnl_primitive_t primitive, size_t *size, uint8_t *blob) {
    if (!ours<const taken_primitive>(primitive))
        return hand_on(real().dnnl_primitive_get_cache_blob, primitive, size, blob);
    return size ? dnnl_unimplemented : dnnl_invalid_arguments;
}

dnnl_status_t dnnl_primitive_get_primitive_desc(const_dnnl_primitive_t primitive,
                                                const_dnnl_primitive_desc_t *desc) {
    const auto *own = ours<const taken_primitive>(primitive);
    if (!own)
        return hand_on(real().dnnl_primitive_get_primitive_desc, primitive, desc);
    if (!desc)
        return dnnl_invalid_arguments;
    *desc = handle_of<const_dnnl_primitive_desc_t>(&own->desc);
    return dnnl_success;
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                     const dnnl_exec_arg_t *args) {
    const auto *own = ours<const taken_primitive>(primitive);
    const tallied_time time(own != nullptr);
    if (!own)
        return hand_on(real().dnnl_primitive_execute, primitive, stream, count, args);
    if (!stream || count < 0 || (count > 0 && !args))
        return dnnl_invalid_arguments;
    try {
        const foreign_step *foreign = own->desc.what->foreign.get();
        return foreign ? foreign->execute(own->code, stream, count, args) : run(*own, count, args);
    } catch (const refusal &) { // of a memory
        return dnnl_invalid_arguments;
    } catch (...) {
        return status_of_exception("execution");
    }
}

dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive) {
    auto *own = ours<taken_primitive>(primitive);
    if (!own)
        return hand_on(real().dnnl_primitive_destroy, primitive);
    delete own;
    return dnnl_success;
}

} // extern "C"
