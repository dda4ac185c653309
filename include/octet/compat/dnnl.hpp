#pragma once // SPDX-License-Identifier: Apache-2.0

/// oneDNN 2.6's C++ interface on Octet, for int8 clients who want no oneDNN. A program that creates int8
/// inference primitives compiles with
///
///     #include "octet/compat/dnnl.hpp"      in the place of      #include "oneapi/dnnl/dnnl.hpp"
///
/// or, without a change of its sources, with -I PREFIX/include/octet/compat/onednn, and links octet::octet
/// instead of dnnl. It gives the bytes that oneDNN 2.6.3 gives on a machine with AVX512-VNNI, with the
/// exceptions of doc/onednn.md, which also lists what only oneDNN accepts.
///
/// `namespace dnnl` is a real one: clients reopen it and declare its types in advance. Below it is the C
/// interface (octet/compat/dnnl.h) with oneDNN's numbers; `get()` of every object gives its handle there.
/// Failures are dnnl::error with Octet's sentences.
///
/// A program sees this header or oneDNN's, not both: they define the same names. Two libraries in one process
/// may differ if each hides its symbols; the functions below have names of their own, so oneDNN itself may be
/// there too.

#include "octet/compat/dnnl_absent.hpp"

namespace dnnl {

using version_t = dnnl_version_t; ///< the version of the interface

/// Settings of the process (octet/settings.hpp). A wrong value is `status::invalid_arguments`.
///@{
inline const version_t *version() { return dnnl_version(); }
inline status set_verbose(int level) { return static_cast<status>(dnnl_set_verbose(level)); }
inline status set_jit_dump(int enable) { return static_cast<status>(dnnl_set_jit_dump(enable)); }
inline status set_jit_profiling_flags(unsigned flags) {
    return static_cast<status>(dnnl_set_jit_profiling_flags(flags));
}
inline status set_jit_profiling_jitdumpdir(const std::string &directory) {
    return static_cast<status>(dnnl_set_jit_profiling_jitdumpdir(directory.c_str()));
}
inline status set_max_cpu_isa(cpu_isa isa) {
    return static_cast<status>(dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(isa)));
}
inline cpu_isa get_effective_cpu_isa() { return static_cast<cpu_isa>(dnnl_get_effective_cpu_isa()); }
inline status set_cpu_isa_hints(cpu_isa_hints hints) {
    return static_cast<status>(dnnl_set_cpu_isa_hints(static_cast<dnnl_cpu_isa_hints_t>(hints)));
}
inline cpu_isa_hints get_cpu_isa_hints() { return static_cast<cpu_isa_hints>(dnnl_get_cpu_isa_hints()); }
inline fpmath_mode get_default_fpmath_mode() {
    dnnl_fpmath_mode_t result;
    octet_detail::check(dnnl_get_default_fpmath_mode(&result));
    return static_cast<fpmath_mode>(result);
}
inline status set_default_fpmath_mode(fpmath_mode mode) {
    return static_cast<status>(dnnl_set_default_fpmath_mode(convert_to_c(mode)));
}
///@}

/// Bound of the primitive cache in entries, each counted as 64 KiB of Octet's bound in bytes; 0 disables it.
///@{
inline int get_primitive_cache_capacity() {
    int result = 0;
    octet_detail::check(dnnl_get_primitive_cache_capacity(&result));
    return result;
}
inline void set_primitive_cache_capacity(int capacity) {
    octet_detail::check(dnnl_set_primitive_cache_capacity(capacity));
}
///@}

/// Row-major matrix products (octet/compat/dnnl.h).
///@{
inline status sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
                    const float *a, dnnl_dim_t lda, const float *b, dnnl_dim_t ldb, float beta, float *c,
                    dnnl_dim_t ldc) {
    return static_cast<status>(dnnl_sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
}
inline status gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
                           float alpha, const std::uint8_t *a, dnnl_dim_t lda, std::uint8_t ao,
                           const std::int8_t *b, dnnl_dim_t ldb, std::int8_t bo, float beta, std::int32_t *c,
                           dnnl_dim_t ldc, const std::int32_t *co) {
    return static_cast<status>(
        dnnl_gemm_u8s8s32(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co));
}
inline status gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
                           float alpha, const std::int8_t *a, dnnl_dim_t lda, std::int8_t ao,
                           const std::int8_t *b, dnnl_dim_t ldb, std::int8_t bo, float beta, std::int32_t *c,
                           dnnl_dim_t ldc, const std::int32_t *co) {
    return static_cast<status>(
        dnnl_gemm_s8s8s32(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co));
}
///@}

} // namespace dnnl

// oneAPI's name of it, in which Doxygen sees a ring.
/// @cond
namespace oneapi {
namespace dnnl = ::dnnl;
}
/// @endcond
