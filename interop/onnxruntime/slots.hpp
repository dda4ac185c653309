#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's C interface as this library uses it: tables of functions that only grow, so that a function
// is a position with a signature. None of ONNX Runtime's headers is needed. Positions and signatures are
// those of the public header's tables, and each function has been called in ONNX Runtime 1.30.0 with an
// answer that was checked (interop/onnxruntime/tests).

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace octet::onnxruntime {

// ---- What the tables hand out, known by address alone.

struct ort_status;
struct ort_graph;
struct ort_node;
struct ort_value;
struct ort_value_info;
struct ort_type_info;
struct ort_shape_info;
struct ort_attribute;
struct ort_kernel_context;
struct ort_compute_context;
struct ort_session_options;
struct ort_logger;
struct ort_key_values;
struct ort_hardware_device;
struct ort_ep_device;
struct ort_support_info;
struct ort_ep_factory;

/// The entry that a program gets: `get_api` answers null for a version that the runtime lacks, and prints a line.
struct ort_api_base {
    const void *const *(*get_api)(std::uint32_t version);
    const char *(*version_text)();
};

/// Result of functions that can fail: null, or a status to be released.
struct may_fail {};

/// Position of a function in its table.
template <std::size_t Index, typename Signature> struct slot;
template <std::size_t Index, typename Result, typename... Parameters>
struct slot<Index, Result(Parameters...)> {
    static constexpr std::size_t index = Index;
    using result = std::conditional_t<std::is_same_v<Result, may_fail>, ort_status *, Result>;
    static constexpr bool can_fail = std::is_same_v<Result, may_fail>;
    using function = result (*)(Parameters...);
};

namespace api { // ---- The main table, of version 23 and later

inline constexpr std::uint32_t version = 23; ///< the oldest that has plugins with all that is used here

inline constexpr slot<0, ort_status *(int code, const char *text)> create_status{};
inline constexpr slot<2, const char *(const ort_status *)> get_error_message{};
inline constexpr slot<93, void(ort_status *)> release_status{};

inline constexpr slot<51, may_fail(ort_value *, void **)> get_tensor_data{};
inline constexpr slot<55, may_fail(const ort_type_info *, const ort_shape_info **)> cast_to_tensor_info{};
inline constexpr slot<60, may_fail(const ort_shape_info *, int *)> get_element_type{};
inline constexpr slot<61, may_fail(const ort_shape_info *, std::size_t *)> get_dimensions_count{};
inline constexpr slot<62, may_fail(const ort_shape_info *, std::int64_t *, std::size_t)> get_dimensions{};
inline constexpr slot<63, may_fail(const ort_shape_info *, const char **, std::size_t)>
    get_symbolic_dimensions{};
inline constexpr slot<65, may_fail(const ort_value *, ort_shape_info **)> get_tensor_shape{};
inline constexpr slot<99, void(ort_shape_info *)> release_shape{};
inline constexpr slot<96, void(ort_value *)> release_value{};

inline constexpr slot<88, may_fail(const ort_kernel_context *, std::size_t *)> context_input_count{};
inline constexpr slot<89, may_fail(const ort_kernel_context *, std::size_t *)> context_output_count{};
inline constexpr slot<90, may_fail(const ort_kernel_context *, std::size_t, const ort_value **)>
    context_input{};
inline constexpr slot<91, may_fail(ort_kernel_context *, std::size_t, const std::int64_t *, std::size_t,
                                   ort_value **)>
    context_output{};

inline constexpr slot<211, may_fail(const char *name, const void *, int length, int type, ort_attribute **)>
    create_attribute{};
inline constexpr slot<212, void(ort_attribute *)> release_attribute{};
inline constexpr slot<247, may_fail(const ort_logger *, int severity, const char *message, const char *file,
                                    int line, const char *function)>
    log_message{};
inline constexpr slot<272, may_fail(const ort_attribute *, int type, void *, std::size_t bytes,
                                    std::size_t *needed)>
    read_attribute{};

inline constexpr slot<274, may_fail(const ort_kernel_context *, void (*)(void *, std::size_t),
                                    std::size_t total, std::size_t batches, void *)>
    parallel_for{};
inline constexpr slot<289, may_fail(const ort_value_info *, const char **)> value_name{};
inline constexpr slot<290, may_fail(const ort_value_info *, const ort_type_info **)> value_type{};
inline constexpr slot<291, const void *const *()> get_model_editor_api{};
inline constexpr slot<295, void(ort_key_values **)> create_key_values{};
inline constexpr slot<296, void(ort_key_values *, const char *, const char *)> add_key_value{};
inline constexpr slot<298,
                      void(const ort_key_values *, const char *const **, const char *const **, std::size_t *)>
    get_key_values{};
inline constexpr slot<300, void(ort_key_values *)> release_key_values{};
inline constexpr slot<307, int(const ort_hardware_device *)> hardware_type{};
inline constexpr slot<317, const void *const *()> get_ep_api{};

inline constexpr slot<318, may_fail(const ort_value *, std::size_t *)> tensor_bytes{};
inline constexpr slot<326, may_fail(const ort_value_info *, const ort_value **)> initializer_value{};
inline constexpr slot<330, may_fail(const ort_value_info *, bool *)> is_graph_output{};
inline constexpr slot<331, may_fail(const ort_value_info *, bool *)> is_constant{};
inline constexpr slot<332, may_fail(const ort_value_info *, bool *)> is_from_outer_scope{};
inline constexpr slot<334, may_fail(const ort_graph *, const char **)> model_path{};
inline constexpr slot<336, may_fail(const ort_graph *, std::size_t *)> operator_set_count{};
inline constexpr slot<337, may_fail(const ort_graph *, const char **, std::int64_t *, std::size_t)>
    operator_sets{};
inline constexpr slot<344, may_fail(const ort_graph *, std::size_t *)> node_count{};
inline constexpr slot<345, may_fail(const ort_graph *, const ort_node **, std::size_t)> nodes{};
inline constexpr slot<349, may_fail(const ort_node *, const char **)> node_name{};
inline constexpr slot<350, may_fail(const ort_node *, const char **)> node_operator{};
inline constexpr slot<351, may_fail(const ort_node *, const char **)> node_domain{};
inline constexpr slot<353, may_fail(const ort_node *, std::size_t *)> node_input_count{};
inline constexpr slot<354, may_fail(const ort_node *, const ort_value_info **, std::size_t)> node_inputs{};
inline constexpr slot<355, may_fail(const ort_node *, std::size_t *)> node_output_count{};
inline constexpr slot<356, may_fail(const ort_node *, const ort_value_info **, std::size_t)> node_outputs{};
inline constexpr slot<357, may_fail(const ort_node *, std::size_t *)> node_implicit_count{};
inline constexpr slot<358, may_fail(const ort_node *, const ort_value_info **, std::size_t)> node_implicit{};
inline constexpr slot<359, may_fail(const ort_node *, std::size_t *)> attribute_count{};
inline constexpr slot<360, may_fail(const ort_node *, const ort_attribute **, std::size_t)> attributes{};
inline constexpr slot<362, may_fail(const ort_attribute *, ort_value **)> attribute_tensor{};
inline constexpr slot<363, may_fail(const ort_attribute *, int *)> attribute_type{};
inline constexpr slot<364, may_fail(const ort_attribute *, const char **)> attribute_name{};
inline constexpr slot<365, may_fail(const ort_node *, std::size_t *)> subgraph_count{};
inline constexpr slot<379, may_fail(const ort_session_options *, ort_key_values **)> session_entries{};

/// The last one of version 23 that is used.
inline constexpr std::size_t last = 379;

/// Whether a shape is known: without dimensions it may be a number's. Of version 24.
inline constexpr slot<390, bool(const ort_shape_info *)> has_shape{};

} // namespace api

namespace ep_api { // ---- The table of plugins

/// How parts become one node: whether their constants are its inputs, too.
struct fusion_options {
    std::uint32_t version = api::version;
    bool drop_constants = true;
    std::uint64_t reserved[6] = {}; ///< for members that later versions have
};

inline constexpr slot<0,
                      may_fail(ort_ep_factory *, const ort_hardware_device *, const ort_key_values *metadata,
                               const ort_key_values *options, ort_ep_device **)>
    create_ep_device{};
inline constexpr slot<2, may_fail(ort_support_info *, const ort_node *const *, std::size_t,
                                  const fusion_options *)>
    add_nodes_to_fuse{};
inline constexpr slot<4, const char *(const ort_compute_context *)> fused_node_name{};

} // namespace ep_api

namespace editor_api { // ---- The table that makes graphs

inline constexpr slot<6, may_fail(const char *op, const char *domain, const char *name,
                                  const char *const *inputs, std::size_t, const char *const *outputs,
                                  std::size_t, ort_attribute **, std::size_t, ort_node **)>
    create_node{};

} // namespace editor_api

// ---- Numbers

namespace code { // codes of a status
inline constexpr int fail = 1, invalid_argument = 2, not_implemented = 9, provider_failed = 11;
}

namespace element { // types of ONNX tensors
inline constexpr int none = 0, f32 = 1, u8 = 2, s8 = 3, s16 = 5, s32 = 6, s64 = 7, boolean = 9, f16 = 10,
                     u4 = 21, s4 = 22;
}

namespace attribute_kind {
inline constexpr int integer = 1, integers = 2, real = 3, reals = 4, text = 5, texts = 6, graph = 7,
                     tensor = 8;
}

namespace ort_compatibility { // compatibility of a compiled model with a device
inline constexpr int unknown = 0, runs = 1, does_not_run = 3;
}

inline constexpr int log_warning = 2;
inline constexpr int hardware_cpu = 0;

} // namespace octet::onnxruntime
