#pragma once // SPDX-License-Identifier: Apache-2.0

// The objects behind those handles of octet/compat/dnnl.h that the library behind owns, where there is none:
// engines, streams, memory, attributes. interface/handles.hpp has the others.
//
// This room is a client of the public headers like any other; nothing in the library knows it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "octet/compat/dnnl.h"
#include "octet/octet.hpp"
#include "onednn/interface/failures.hpp"

namespace octet::onednn {

/// Writes a new handle to what `make()` returns. An assignment would make it first, and lose it where the
/// place is null.
template <typename T, typename Make> void create(T **handle, const char *name, const Make &make) {
    T *&place = *needed(handle, name);
    place = new T(make());
}

/// The one engine there is; its handle is never freed.
dnnl_engine_t the_engine();

} // namespace octet::onednn

struct dnnl_engine {
    octet::engine value{octet::engine::kind::cpu, 0};
};

struct dnnl_stream {
    dnnl_engine_t engine;
    octet::stream value;
};

/// `value` is empty where Octet has no such layout (blocked): then only reorder uses the memory.
struct dnnl_memory {
    dnnl_memory_desc_t md;
    void *handle = nullptr;
    std::shared_ptr<void> owned;
    octet::memory value;
};

struct dnnl_post_ops {
    octet::post_ops value;
    std::map<int, dnnl_memory_desc_t> binary_descs; ///< by index, for the getter
    std::map<int, std::vector<float>> scales;       ///< of a depthwise convolution, likewise
};

struct dnnl_primitive_attr {
    octet::primitive_attr value;
    dnnl_post_ops post_ops;
    dnnl_fpmath_mode_t fpmath_mode = dnnl_fpmath_mode_strict;
    /// The values that getters point to.
    std::map<int, std::vector<float>> scales;
    std::map<int, std::vector<std::int32_t>> zero_points;
};
