#pragma once // SPDX-License-Identifier: Apache-2.0

// oneDNN itself, behind a table of pointers. This library stands in front of the real one under the same names, so it may
// not refer to any of them: an undefined dnnl_* symbol would be its own, or missing where the client's library is loaded
// with RTLD_LOCAL (Python does that). The real library is looked for by name at the first call that needs it.

#include "octet/compat/dnnl.h"

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
    X(dnnl_primitive_attr_get_post_ops)                                                                      \
    X(dnnl_post_ops_len)                                                                                     \
    X(dnnl_post_ops_get_kind)                                                                                \
    X(dnnl_post_ops_get_params_sum_v3)                                                                       \
    X(dnnl_post_ops_get_params_eltwise)                                                                      \
    X(dnnl_post_ops_get_params_binary)                                                                       \
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

/// The functions of oneDNN that are used here, each null where the library doesn't have it.
struct real_functions {
#define OCTET_REAL_MEMBER(name) decltype(&::name) name = nullptr;
    OCTET_REAL_FUNCTIONS(OCTET_REAL_MEMBER)
#undef OCTET_REAL_MEMBER
};

struct real_library : real_functions {
    void *handle = nullptr; ///< for dlsym
    bool is_known =
        false; ///< oneDNN 2.x with everything above: the structures are those of this library's headers
    unsigned cpu_runtime = 0; ///< DNNL_RUNTIME_*
};

/// The library that the process has loaded, or libdnnl.so.2. Without either all pointers are null.
const real_library &real();

/// Calls a function of the real library. Where it is missing, says so once and returns `otherwise`.
template <typename Result, typename... Parameters, typename... Arguments>
Result call_real(Result (*function)(Parameters...), Result otherwise, Arguments... args) {
    return function ? function(args...) : otherwise;
}

/// Calls a function of the real library that returns a status; `dnnl_runtime_error` where it is missing.
template <typename... Parameters, typename... Arguments>
dnnl_status_t hand_on(dnnl_status_t (*function)(Parameters...), Arguments... args) {
    return call_real(function, dnnl_runtime_error, args...);
}

} // namespace octet::onednn
