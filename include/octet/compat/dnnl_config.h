#ifndef OCTET_COMPAT_DNNL_CONFIG_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_CONFIG_H

/* What oneDNN's build writes down about itself, said of Octet: a CPU library on oneTBB without a GPU. All of
   these are defined, because code asks with #if, where an unknown name equals 0 and so DNNL_RUNTIME_NONE. */

#include "octet/compat/dnnl_types.h"

#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_TBB
#define DNNL_CPU_RUNTIME DNNL_RUNTIME_TBB
#define DNNL_GPU_RUNTIME DNNL_RUNTIME_NONE

#define DNNL_API OCTET_DNNL_API
#define DNNL_DEPRECATED __attribute__((deprecated))

#define BUILD_TRAINING 0
#define BUILD_INFERENCE 1

#endif
