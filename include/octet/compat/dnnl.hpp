#pragma once

/// oneDNN 2.x's names for Octet. Code that creates int8 inference primitives in C++ compiles with
///
///     #include "octet/compat/dnnl.hpp"      in the place of      #include "oneapi/dnnl/dnnl.hpp"
///
/// and gives the bytes that oneDNN 2.6.3 gives on a machine with AVX512-VNNI. The exceptions: doc/onednn.md.
/// Programs that use more of oneDNN than what follows need changes; its own examples do.
///
/// What 2.x code finds: engine, stream, memory and its descriptors, primitive_attr, post_ops, and
/// convolution_forward, deconvolution_forward, inner_product_forward, matmul, reorder, pooling_forward and
/// pooling_v2_forward, binary, eltwise_forward, prelu_forward, resampling_forward, softmax_forward and
/// softmax_v2_forward, sum, concat in the desc → primitive_desc → execute spelling, with queries,
/// `dnnl::error`, and the DNNL_* constants.
///
/// What it does not find, or finds different:
/// - Plain layouts and `any` only. Blocked tags (nChw16c) do not exist; query what `any` became. Instead of
///   `desc::data.format_desc` there are `desc::get_strides()` and `format_kind::plain` (oneDNN: blocked).
/// - No bf16 and f16, no GPU, no backward pass, no other primitives. Deconvolution, inner product, matmul and
///   convolution take 8-bit sources only.
/// - Run-time dimensions (DNNL_RUNTIME_DIM_VAL) and the fused depthwise post-op are `unimplemented`.
/// - `primitive_attr` and `post_ops` are values: changing a copy leaves the original alone.
/// - Scales of 0, infinity and NaN are refused; so is memory with another descriptor than the primitive's.
/// - `impl_info_str()` is a std::string, `version()` text, the primitive cache is bounded in bytes, and
///   `set_max_cpu_isa`, `set_verbose` return nothing: they throw on a bad value. There is no C API.

#include "octet/octet.hpp"

namespace dnnl = octet;

namespace oneapi {
namespace dnnl = ::octet;
}

/// The version of oneDNN whose spelling this is.
#define DNNL_VERSION_MAJOR 2
#define DNNL_VERSION_MINOR 6
#define DNNL_VERSION_PATCH 3

#define DNNL_MAX_NDIMS (::octet::max_ndims)

#define DNNL_RUNTIME_F32_VAL OCTET_RUNTIME_F32_VAL
#define DNNL_RUNTIME_S32_VAL OCTET_RUNTIME_S32_VAL
#define DNNL_RUNTIME_DIM_VAL OCTET_RUNTIME_DIM_VAL
#define DNNL_RUNTIME_SIZE_VAL (static_cast<::std::size_t>(DNNL_RUNTIME_DIM_VAL))

#define DNNL_MEMORY_NONE OCTET_MEMORY_NONE
#define DNNL_MEMORY_ALLOCATE OCTET_MEMORY_ALLOCATE

#define DNNL_ARG_SRC_0 OCTET_ARG_SRC_0
#define DNNL_ARG_SRC OCTET_ARG_SRC
#define DNNL_ARG_FROM OCTET_ARG_FROM
#define DNNL_ARG_SRC_1 OCTET_ARG_SRC_1
#define DNNL_ARG_DST_0 OCTET_ARG_DST_0
#define DNNL_ARG_DST OCTET_ARG_DST
#define DNNL_ARG_TO OCTET_ARG_TO
#define DNNL_ARG_WEIGHTS_0 OCTET_ARG_WEIGHTS_0
#define DNNL_ARG_WEIGHTS OCTET_ARG_WEIGHTS
#define DNNL_ARG_BIAS OCTET_ARG_BIAS
#define DNNL_ARG_WORKSPACE 64
#define DNNL_ARG_SCRATCHPAD OCTET_ARG_SCRATCHPAD
#define DNNL_ARG_MULTIPLE_SRC OCTET_ARG_MULTIPLE_SRC
#define DNNL_ARG_ATTR_OUTPUT_SCALES OCTET_ARG_ATTR_OUTPUT_SCALES
#define DNNL_ARG_ATTR_ZERO_POINTS OCTET_ARG_ATTR_ZERO_POINTS
#define DNNL_ARG_ATTR_INPUT_SCALES OCTET_ARG_ATTR_INPUT_SCALES
#define DNNL_ARG_ATTR_SCALES OCTET_ARG_ATTR_SCALES
#define DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE OCTET_ARG_ATTR_MULTIPLE_POST_OP_BASE
#define DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) OCTET_ARG_ATTR_MULTIPLE_POST_OP(index)

/// What C++ clients take from oneDNN's C headers:
/// `catch (dnnl::error &e) { if (e.status == dnnl_unimplemented) … }`.
using dnnl_dim_t = ::octet::dim_t;
using dnnl_dims_t = ::octet::dim_t[::octet::max_ndims];
using dnnl_memory_desc_t = ::octet::memory_desc;
using dnnl_status_t = ::octet::status;

constexpr dnnl_status_t dnnl_success = ::octet::status::success;
constexpr dnnl_status_t dnnl_out_of_memory = ::octet::status::out_of_memory;
constexpr dnnl_status_t dnnl_invalid_arguments = ::octet::status::invalid_arguments;
constexpr dnnl_status_t dnnl_unimplemented = ::octet::status::unimplemented;
constexpr dnnl_status_t dnnl_runtime_error = ::octet::status::runtime_error;

inline const char *dnnl_status2str(dnnl_status_t status) {
    switch (status) {
    case dnnl_success:
        return "success";
    case dnnl_out_of_memory:
        return "out_of_memory";
    case dnnl_invalid_arguments:
        return "invalid_arguments";
    case dnnl_unimplemented:
        return "unimplemented";
    case dnnl_runtime_error:
        return "runtime_error";
    }
    return "unknown status";
}
