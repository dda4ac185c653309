// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>

#define PEER onednn
#include "client.inl"
#include "rnn_client.inl"

// The comparison is with a machine that has AVX512-VNNI. oneDNN's AMX convolutions are no oracle: with a sum
// post-op their results change from run to run.
[[maybe_unused]] static const dnnl::status limited = dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni);
