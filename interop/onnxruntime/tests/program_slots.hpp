#pragma once // SPDX-License-Identifier: Apache-2.0

// The functions of ONNX Runtime's table that programs call and providers do not. Environments, sessions,
// their options and memory are addresses to a program.

#include <cstddef>
#include <cstdint>

#include "onnxruntime/slots.hpp"

namespace octet::onnxruntime::program {

using log_function = void (*)(void *, int, const char *, const char *, const char *, const char *);
inline constexpr slot<4, may_fail(log_function, void *, int, const char *, void **)> create_env_with_logger{};
inline constexpr slot<7, may_fail(const void *, const char *, const void *, void **)>
    create_session_of_file{};
inline constexpr slot<8, may_fail(const void *, const void *, std::size_t, const void *, void **)>
    create_session{};
inline constexpr slot<9, may_fail(void *, const void *, const char *const *, const ort_value *const *,
                                  std::size_t, const char *const *, std::size_t, ort_value **)>
    run_session{};
inline constexpr slot<10, may_fail(void **)> create_options{};
inline constexpr slot<23, may_fail(void *, int)> set_level{};
inline constexpr slot<24, may_fail(void *, int)> set_threads{};
inline constexpr slot<30, may_fail(const void *, std::size_t *)> input_count{};
inline constexpr slot<31, may_fail(const void *, std::size_t *)> output_count{};
inline constexpr slot<33, may_fail(const void *, std::size_t, ort_type_info **)> input_type{};
inline constexpr slot<36, may_fail(const void *, std::size_t, void *, char **)> input_name{};
inline constexpr slot<37, may_fail(const void *, std::size_t, void *, char **)> output_name{};
inline constexpr slot<48, may_fail(void *, const std::int64_t *, std::size_t, int, ort_value **)>
    create_tensor{};
inline constexpr slot<49, may_fail(const void *, void *, std::size_t, const std::int64_t *, std::size_t, int,
                                   ort_value **)>
    create_tensor_with_data{};
inline constexpr slot<69, may_fail(int, int, void **)> create_cpu_memory_info{};
inline constexpr slot<76, may_fail(void *, void *)> allocator_free{};
inline constexpr slot<78, may_fail(void **)> default_allocator{};
inline constexpr slot<94, void(void *)> release_memory_info{};
inline constexpr slot<95, void(void *)> release_session{};
inline constexpr slot<98, void(ort_type_info *)> release_type{};
inline constexpr slot<100, void(void *)> release_options{};
inline constexpr slot<130, may_fail(void *, const char *, const char *)> add_entry{};
inline constexpr slot<133, may_fail(void *, const void *, const void *)> run_with_binding{};
inline constexpr slot<134, may_fail(void *, void **)> create_binding{};
inline constexpr slot<135, void(void *)> release_binding{};
inline constexpr slot<136, may_fail(void *, const char *, const ort_value *)> bind_input{};
inline constexpr slot<137, may_fail(void *, const char *, const ort_value *)> bind_output{};
inline constexpr slot<301, may_fail(void *, const char *, const char *)> register_library{};
inline constexpr slot<302, may_fail(void *, const char *)> unregister_library{};
inline constexpr slot<303, may_fail(const void *, const void *const **, std::size_t *)> get_ep_devices{};
inline constexpr slot<304, may_fail(void *, void *, const void *const *, std::size_t, const char *const *,
                                    const char *const *, std::size_t)>
    append_provider{};
inline constexpr slot<312, const char *(const void *)> device_provider{};
inline constexpr slot<407, may_fail(const void *, const void *const **, std::size_t *)> assigned_subgraphs{};
inline constexpr slot<408, may_fail(const void *, const char **)> assigned_provider{};
inline constexpr slot<409, may_fail(const void *, const void *const **, std::size_t *)> assigned_nodes{};
inline constexpr slot<412, may_fail(const void *, const char **)> assigned_operator{};
inline constexpr slot<3, may_fail(int, const char *, void **)> create_env{};
inline constexpr slot<92, void(void *)> release_env{};

} // namespace octet::onnxruntime::program
