#pragma once // SPDX-License-Identifier: Apache-2.0

// The library behind the interface. The functions of this folder are compiled twice: into liboctet, where
// nothing is behind them and every request is Octet's (library/nothing_behind.cpp), and into liboctet_dnnl,
// which passes the requests that Octet does not take to the real oneDNN (preload/decide.cpp,
// preload/real_library.cpp). Each defines all functions that are declared here.

#include <chrono>

#include "octet/compat/dnnl.h"
#include "octet/octet.hpp"
#include "onednn/op_descs.hpp"

namespace octet::onednn {

#define OCTET_REAL_FUNCTIONS(X)                                                                              \
    X(dnnl_version)                                                                                          \
    X(dnnl_primitive_desc_iterator_create)                                                                   \
    X(dnnl_primitive_desc_iterator_next)                                                                     \
    X(dnnl_primitive_desc_iterator_fetch)                                                                    \
    X(dnnl_primitive_desc_iterator_destroy)                                                                  \
    X(dnnl_primitive_desc_create)                                                                            \
    X(dnnl_primitive_desc_clone)                                                                             \
    X(dnnl_primitive_desc_get_attr)                                                                          \
    X(dnnl_primitive_desc_destroy)                                                                           \
    X(dnnl_primitive_desc_query)                                                                             \
    X(dnnl_primitive_desc_query_md)                                                                          \
    X(dnnl_primitive_desc_query_s32)                                                                         \
    X(dnnl_primitive_create)                                                                                 \
    X(dnnl_primitive_create_from_cache_blob)                                                                 \
    X(dnnl_primitive_get_cache_blob)                                                                         \
    X(dnnl_primitive_get_primitive_desc)                                                                     \
    X(dnnl_primitive_execute)                                                                                \
    X(dnnl_primitive_destroy)                                                                                \
    X(dnnl_primitive_attr_create)                                                                            \
    X(dnnl_primitive_attr_clone)                                                                             \
    X(dnnl_primitive_attr_destroy)                                                                           \
    X(dnnl_primitive_attr_get_scratchpad_mode)                                                               \
    X(dnnl_primitive_attr_get_output_scales)                                                                 \
    X(dnnl_primitive_attr_get_scales)                                                                        \
    X(dnnl_primitive_attr_get_zero_points)                                                                   \
    X(dnnl_primitive_attr_get_rnn_data_qparams)                                                              \
    X(dnnl_primitive_attr_get_rnn_weights_qparams)                                                           \
    X(dnnl_primitive_attr_get_rnn_weights_projection_qparams)                                                \
    X(dnnl_primitive_attr_get_post_ops)                                                                      \
    X(dnnl_post_ops_len)                                                                                     \
    X(dnnl_post_ops_get_kind)                                                                                \
    X(dnnl_post_ops_get_params_sum_v3)                                                                       \
    X(dnnl_post_ops_get_params_eltwise)                                                                      \
    X(dnnl_post_ops_get_params_binary)                                                                       \
    X(dnnl_post_ops_get_params_dw)                                                                           \
    X(dnnl_post_ops_get_params_prelu)                                                                        \
    X(dnnl_memory_desc_get_size)                                                                             \
    X(dnnl_memory_desc_equal)                                                                                \
    X(dnnl_memory_create)                                                                                    \
    X(dnnl_memory_destroy)                                                                                   \
    X(dnnl_memory_get_memory_desc)                                                                           \
    X(dnnl_memory_get_data_handle)                                                                           \
    X(dnnl_reorder_primitive_desc_create)                                                                    \
    X(dnnl_concat_primitive_desc_create)                                                                     \
    X(dnnl_sum_primitive_desc_create)                                                                        \
    X(dnnl_engine_get_kind)                                                                                  \
    X(dnnl_stream_create)                                                                                    \
    X(dnnl_stream_get_engine)                                                                                \
    X(dnnl_stream_destroy)

/// The functions of oneDNN that are used here. Clients' memory objects and attributes belong to whoever is
/// behind; primitives, their descriptors and iterators only where Octet did not take them. Null: there is no
/// such function.
struct functions_behind {
#define OCTET_REAL_MEMBER(name) decltype(&::name) name = nullptr;
    OCTET_REAL_FUNCTIONS(OCTET_REAL_MEMBER)
#undef OCTET_REAL_MEMBER
};
const functions_behind &behind();

/// The answer for a handle that is not ours where nobody is behind that may know it. `handle` is its name.
dnnl_status_t nobody_behind(const char *handle);

/// Calls a function of the library behind; `otherwise` where it is missing.
template <typename Result, typename... Parameters, typename... Arguments>
Result call_behind(Result (*function)(Parameters...), Result otherwise, Arguments... args) {
    return function ? function(args...) : otherwise;
}

/// Calls a function of the library behind that returns a status. `handle` is the name of its first argument.
template <typename... Parameters, typename... Arguments>
dnnl_status_t hand_on(const char *handle, dnnl_status_t (*function)(Parameters...), Arguments... args) {
    return function ? function(args...) : nobody_behind(handle);
}

/// False if the library behind is of another version, whose structures are not those of this library's headers.
bool knows_structures();

/// True if the library behind could serve the request as well.
bool can_serve_behind(const request &r);

/// `md` with the layout that Octet gave it, if it was `any`; else as it is. Throws if that can't be written.
dnnl_memory_desc_t with_layout(const dnnl_memory_desc_t &md, const octet::memory::desc &chosen);

/// Measures an execution, Octet's or that of the library behind, while it lives.
class execution_timer {
public:
    explicit execution_timer(bool is_taken);
    ~execution_timer();
    execution_timer(const execution_timer &) = delete;
    execution_timer &operator=(const execution_timer &) = delete;

private:
    [[maybe_unused]] bool is_taken_; // nobody asks where nothing is behind
    std::chrono::steady_clock::time_point start_;
};

} // namespace octet::onednn
