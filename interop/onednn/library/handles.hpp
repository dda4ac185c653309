#pragma once // SPDX-License-Identifier: Apache-2.0

// What is behind the handles of octet/compat/dnnl.h, and how failures cross it: functions do their work in `guarded`,
// which makes a status of an exception and keeps its sentence for octet_dnnl_last_error().
//
// This room is a client of the public headers like any other; nothing in the library knows it.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "octet/compat/dnnl.h"
#include "octet/octet.hpp"
#include "onednn/convert.hpp"

namespace octet::onednn {

/// Keeps the sentence of a failure for this thread.
void set_last_error(const char *sentence);

/// Throws where an argument is a null pointer.
template <typename T> T *needed(T *pointer, const char *name) {
    if (pointer == nullptr)
        refuse(status::invalid_arguments, std::string(name) + " is a null pointer");
    return pointer;
}

/// Writes a new handle to what `make()` returns. An assignment would make it first, and lose it where the place is null.
template <typename T, typename Make> void create(T **handle, const char *name, const Make &make) {
    T *&place = *needed(handle, name);
    place = new T(make());
}

/// The status of `call()`.
template <typename Call> dnnl_status_t guarded(Call &&call) {
    try {
        call();
        return dnnl_success;
    } catch (const error &e) {
        set_last_error(e.what());
        return static_cast<dnnl_status_t>(e.status);
    } catch (const std::bad_alloc &) {
        set_last_error("out of memory");
        return dnnl_out_of_memory;
    } catch (const std::exception &e) {
        set_last_error(e.what());
        return dnnl_runtime_error;
    }
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

/// A fused depthwise convolution: kept for the client, refused by every primitive.
struct depthwise_post_op {
    dnnl_data_type_t weights, bias, dst;
    dnnl_dim_t kernel, stride, padding;
    int mask;
    std::vector<float> scales;
};

struct dnnl_post_ops {
    octet::post_ops value;
    std::map<int, dnnl_memory_desc_t> binary_descs; ///< by index, for the getter
    std::map<int, depthwise_post_op> depthwise;     ///< by index; `value` holds an eltwise in its place
};

struct dnnl_primitive_attr {
    octet::primitive_attr value;
    dnnl_post_ops post_ops;
    dnnl_fpmath_mode_t fpmath_mode = dnnl_fpmath_mode_strict;
    /// The values that getters point to.
    std::map<int, std::vector<float>> scales;
    std::map<int, std::vector<std::int32_t>> zero_points;
};

namespace octet::onednn {

/// A primitive descriptor's content, shared by its clones. Tensors are found by their execution argument; those that the
/// client described completely are returned bit for bit.
struct described {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    dnnl_prop_kind_t prop = dnnl_prop_kind_undef;
    std::vector<char> op_desc;
    dnnl_primitive_attr attr;
    primitive_desc_base value;
    std::string implementation;
    std::map<int, dnnl_memory_desc_t> tensors;
    std::vector<int> open; ///< those with sizes that come with the execution
    int inputs = 0;
};

} // namespace octet::onednn

struct dnnl_primitive_desc {
    std::shared_ptr<const octet::onednn::described> content;
};

struct dnnl_primitive_desc_iterator {
    dnnl_primitive_desc current;
    bool ended = false;
};

struct dnnl_primitive {
    dnnl_primitive_desc pd;
    octet::primitive value;
};
