#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, first part: failures, handles and enumerations. A handle shares an object of the C interface;
// enumerators are those of the C interface, by number.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "octet/compat/dnnl.h"
#include "octet/export.hpp"

#define DNNL_ENABLE_EXCEPTIONS 1
/// oneDNN's way to fail, which clients use as well.
#define DNNL_THROW_ERROR(status, message) throw ::dnnl::error(status, message)

/// oneDNN's C++ interface, on Octet.
namespace dnnl {

/// A failure: oneDNN's status for programs, and a sentence for people. What this library throws has Octet's
/// sentence, which names the argument, what was given and what is allowed.
struct error : public std::exception {
    dnnl_status_t status; ///< why
    const char *message;  ///< the text of what()

    /// Keeps a copy of the text.
    error(dnnl_status_t why, const std::string &text)
        : status(why), message(nullptr), text_(std::make_shared<const std::string>(text)) {
        message = text_->c_str();
    }
    const char *what() const noexcept override { return message; } ///< the sentence

    /// Throws unless `status` is success.
    static void wrap_c_api(dnnl_status_t status, const char *message) {
        if (status != dnnl_success)
            throw error(status, message);
    }

private:
    std::shared_ptr<const std::string> text_;
};

/// Turns a status of the C interface into an exception, whose text is Octet's sentence about the last
/// failure.
namespace octet_detail {
/// Throws it unless `status` is success.
inline void check(dnnl_status_t status) {
    if (status != dnnl_success)
        throw error(status, octet_dnnl_last_error());
}
} // namespace octet_detail

/// Throws unless the container has between `min_size` and `max_size` (-1: any number of) elements.
template <typename T>
void validate_container_size(const T &v, const char *error_message, int min_size = 1, int max_size = -1) {
    const auto size = static_cast<int>(v.size());
    if (size < min_size || (max_size >= 0 && size > max_size))
        throw error(dnnl_invalid_arguments, error_message);
}

/// How an object of the C interface is destroyed: `destructor(T)` of a specialization for each.
template <typename T> struct handle_traits {};
/// @cond
template <> struct handle_traits<dnnl_engine_t> {
    static dnnl_status_t destructor(dnnl_engine_t p) { return dnnl_engine_destroy(p); }
};
template <> struct handle_traits<dnnl_stream_t> {
    static dnnl_status_t destructor(dnnl_stream_t p) { return dnnl_stream_destroy(p); }
};
template <> struct handle_traits<dnnl_memory_t> {
    static dnnl_status_t destructor(dnnl_memory_t p) { return dnnl_memory_destroy(p); }
};
template <> struct handle_traits<dnnl_primitive_attr_t> {
    static dnnl_status_t destructor(dnnl_primitive_attr_t p) { return dnnl_primitive_attr_destroy(p); }
};
template <> struct handle_traits<dnnl_post_ops_t> {
    static dnnl_status_t destructor(dnnl_post_ops_t p) { return dnnl_post_ops_destroy(p); }
};
template <> struct handle_traits<dnnl_primitive_desc_t> {
    static dnnl_status_t destructor(dnnl_primitive_desc_t p) { return dnnl_primitive_desc_destroy(p); }
};
template <> struct handle_traits<dnnl_primitive_desc_iterator_t> {
    static dnnl_status_t destructor(dnnl_primitive_desc_iterator_t p) {
        return dnnl_primitive_desc_iterator_destroy(p);
    }
};
template <> struct handle_traits<dnnl_primitive_t> {
    static dnnl_status_t destructor(dnnl_primitive_t p) { return dnnl_primitive_destroy(p); }
};
/// @endcond

/// A shared object of the C interface. Copies are the same object, except for attributes set later on.
template <typename T, typename traits = handle_traits<T>> struct handle {
    handle() = default;                          ///< none
    handle(const handle &) = default;            ///< the same object
    handle(handle &&) = default;                 ///< the same object
    handle &operator=(const handle &) = default; ///< the same object
    handle &operator=(handle &&) = default;      ///< the same object
    ~handle() = default;                         ///< destroys the object with its last handle
    /// Takes the object over; with `weak` it stays the caller's.
    explicit handle(T t, bool weak = false) { reset(t, weak); }
    /// Takes over another object, with `weak` as in the constructor.
    void reset(T t, bool weak = false) { data_.reset(t, weak ? keep : traits::destructor); }

    /// The object of the C interface. Throws where there is none, unless `allow_empty`.
    T get(bool allow_empty = false) const {
        if (!data_ && !allow_empty)
            throw error(dnnl_invalid_arguments, "object is not initialized");
        return data_.get();
    }
    explicit operator T() const { return get(true); }                           ///< the object or null
    explicit operator bool() const { return data_ != nullptr; }                 ///< whether there is one
    bool operator==(const handle &other) const { return data_ == other.data_; } ///< one object
    bool operator!=(const handle &other) const { return data_ != other.data_; } ///< two

private:
    static dnnl_status_t keep(T) { return dnnl_success; }
    std::shared_ptr<std::remove_pointer_t<T>> data_;
};

/// The result of functions that change settings or compute products directly.
///@{
enum class status {
    success = dnnl_success,
    out_of_memory = dnnl_out_of_memory,
    invalid_arguments = dnnl_invalid_arguments,
    unimplemented = dnnl_unimplemented,
    iterator_ends = dnnl_iterator_ends,
    runtime_error = dnnl_runtime_error,
    not_required = dnnl_not_required
};
///@}

/// Permission to compute f32 in less: accepted, not made use of.
///@{
enum class fpmath_mode {
    strict = dnnl_fpmath_mode_strict,
    bf16 = dnnl_fpmath_mode_bf16,
    f16 = dnnl_fpmath_mode_f16,
    any = dnnl_fpmath_mode_any
};
///@}
inline dnnl_fpmath_mode_t convert_to_c(fpmath_mode value) {
    return static_cast<dnnl_fpmath_mode_t>(value);
} ///< the number

/// The owner of the scratchpad.
///@{
enum class scratchpad_mode { library = dnnl_scratchpad_mode_library, user = dnnl_scratchpad_mode_user };
///@}
inline dnnl_scratchpad_mode_t convert_to_c(scratchpad_mode value) {
    return static_cast<dnnl_scratchpad_mode_t>(value);
} ///< the number

/// Direction. Octet has no backward pass: creating such a primitive descriptor is unimplemented.
///@{
enum class prop_kind {
    undef = dnnl_prop_kind_undef,
    forward_training = dnnl_forward_training,
    forward_inference = dnnl_forward_inference,
    forward_scoring = dnnl_forward_scoring,
    forward = dnnl_forward,
    backward = dnnl_backward,
    backward_data = dnnl_backward_data,
    backward_weights = dnnl_backward_weights,
    backward_bias = dnnl_backward_bias
};
///@}
inline dnnl_prop_kind_t convert_to_c(prop_kind value) {
    return static_cast<dnnl_prop_kind_t>(value);
} ///< the number

/// Algorithms of all operations.
///@{
enum class algorithm {
    undef = dnnl_alg_kind_undef,
#define OCTET_DNNL_KIND(name, number) name = number,
    OCTET_DNNL_ALGORITHMS(OCTET_DNNL_KIND)
#undef OCTET_DNNL_KIND
        eltwise_gelu = dnnl_eltwise_gelu,
    pooling_avg = dnnl_pooling_avg
};
///@}
inline dnnl_alg_kind_t convert_to_c(algorithm value) {
    return static_cast<dnnl_alg_kind_t>(value);
} ///< the number

/// Parameters of normalizations.
///@{
enum class normalization_flags : unsigned {
    none = dnnl_normalization_flags_none,
    use_global_stats = dnnl_use_global_stats,
    use_scale_shift = dnnl_use_scaleshift,
    fuse_norm_relu = dnnl_fuse_norm_relu,
    use_scale = dnnl_use_scale,
    use_shift = dnnl_use_shift
};
///@}
inline dnnl_normalization_flags_t convert_to_c(normalization_flags value) {
    return static_cast<dnnl_normalization_flags_t>(value);
} ///< the number

/// Names for code that mentions recurrent networks; Octet has none.
///@{
enum class rnn_flags : unsigned { undef = dnnl_rnn_flags_undef };
///@}
inline dnnl_rnn_flags_t convert_to_c(rnn_flags value) {
    return static_cast<dnnl_rnn_flags_t>(value);
} ///< the number

/// Names of directions, for code that mentions recurrent networks.
///@{
enum class rnn_direction {
    unidirectional_left2right = dnnl_unidirectional_left2right,
    unidirectional_right2left = dnnl_unidirectional_right2left,
    bidirectional_concat = dnnl_bidirectional_concat,
    bidirectional_sum = dnnl_bidirectional_sum,
    unidirectional = dnnl_unidirectional
};
///@}
inline dnnl_rnn_direction_t convert_to_c(rnn_direction value) {
    return static_cast<dnnl_rnn_direction_t>(value);
} ///< the number

/// The questions that a primitive descriptor answers.
///@{
enum class query {
    undef = dnnl_query_undef,
    engine = dnnl_query_engine,
    primitive_kind = dnnl_query_primitive_kind,
    num_of_inputs_s32 = dnnl_query_num_of_inputs_s32,
    num_of_outputs_s32 = dnnl_query_num_of_outputs_s32,
    time_estimate_f64 = dnnl_query_time_estimate_f64,
    memory_consumption_s64 = dnnl_query_memory_consumption_s64,
    scratchpad_engine = dnnl_query_scratchpad_engine,
    reorder_src_engine = dnnl_query_reorder_src_engine,
    reorder_dst_engine = dnnl_query_reorder_dst_engine,
    impl_info_str = dnnl_query_impl_info_str,
    prop_kind = dnnl_query_prop_kind,
    cache_blob_id_size_s64 = dnnl_query_cache_blob_id_size_s64,
    cache_blob_id = dnnl_query_cache_blob_id,
    op_d = dnnl_query_op_d,
    convolution_d = dnnl_query_convolution_d,
    deconvolution_d = dnnl_query_deconvolution_d,
    shuffle_d = dnnl_query_shuffle_d,
    eltwise_d = dnnl_query_eltwise_d,
    softmax_d = dnnl_query_softmax_d,
    pooling_d = dnnl_query_pooling_d,
    lrn_d = dnnl_query_lrn_d,
    batch_normalization_d = dnnl_query_batch_normalization_d,
    layer_normalization_d = dnnl_query_layer_normalization_d,
    inner_product_d = dnnl_query_inner_product_d,
    rnn_d = dnnl_query_rnn_d,
    binary_d = dnnl_query_binary_d,
    logsoftmax_d = dnnl_query_logsoftmax_d,
    matmul_d = dnnl_query_matmul_d,
    resampling_d = dnnl_query_resampling_d,
    reduction_d = dnnl_query_reduction_d,
    src_md = dnnl_query_src_md,
    diff_src_md = dnnl_query_diff_src_md,
    weights_md = dnnl_query_weights_md,
    diff_weights_md = dnnl_query_diff_weights_md,
    dst_md = dnnl_query_dst_md,
    diff_dst_md = dnnl_query_diff_dst_md,
    workspace_md = dnnl_query_workspace_md,
    scratchpad_md = dnnl_query_scratchpad_md,
    exec_arg_md = dnnl_query_exec_arg_md
};
///@}
inline dnnl_query_t convert_to_c(query value) { return static_cast<dnnl_query_t>(value); } ///< the number

/// Instruction sets.
///@{
enum class cpu_isa {
    all = dnnl_cpu_isa_all,
    sse41 = dnnl_cpu_isa_sse41,
    avx = dnnl_cpu_isa_avx,
    avx2 = dnnl_cpu_isa_avx2,
    avx512_mic = dnnl_cpu_isa_avx512_mic,
    avx512_mic_4ops = dnnl_cpu_isa_avx512_mic_4ops,
    avx512_core = dnnl_cpu_isa_avx512_core,
    avx512_core_vnni = dnnl_cpu_isa_avx512_core_vnni,
    avx512_core_bf16 = dnnl_cpu_isa_avx512_core_bf16,
    avx512_core_amx = dnnl_cpu_isa_avx512_core_amx,
    avx2_vnni = dnnl_cpu_isa_avx2_vnni
};
///@}

/// Accepted and without effect.
///@{
enum class cpu_isa_hints { no_hints = dnnl_cpu_isa_no_hints, prefer_ymm = dnnl_cpu_isa_prefer_ymm };
///@}

/// Sets of flags.
///@{
#define OCTET_DNNL_FLAGS(type)                                                                               \
    inline constexpr type operator|(type a, type b) {                                                        \
        return static_cast<type>(static_cast<unsigned>(a) | static_cast<unsigned>(b));                       \
    }                                                                                                        \
    inline constexpr type operator&(type a, type b) {                                                        \
        return static_cast<type>(static_cast<unsigned>(a) & static_cast<unsigned>(b));                       \
    }                                                                                                        \
    inline constexpr type operator^(type a, type b) {                                                        \
        return static_cast<type>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));                       \
    }                                                                                                        \
    inline constexpr type operator~(type a) { return static_cast<type>(~static_cast<unsigned>(a)); }         \
    inline type &operator|=(type &a, type b) { return a = a | b; }                                           \
    inline type &operator&=(type &a, type b) { return a = a & b; }                                           \
    inline type &operator^=(type &a, type b) { return a = a ^ b; }
OCTET_DNNL_FLAGS(normalization_flags)
OCTET_DNNL_FLAGS(rnn_flags)
///@}

} // namespace dnnl
