#ifndef OCTET_COMPAT_DNNL_DEBUG_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_DEBUG_H

/* Names of enumerators, in oneDNN's spelling. */

#include "octet/compat/dnnl_config.h"
#include "octet/compat/dnnl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "unknown" for a number that is none. */
OCTET_DNNL_API const char *dnnl_status2str(dnnl_status_t value) OCTET_DNNL_SYMBOL(dnnl_status2str);
OCTET_DNNL_API const char *dnnl_dt2str(dnnl_data_type_t value) OCTET_DNNL_SYMBOL(dnnl_dt2str);
OCTET_DNNL_API const char *dnnl_fmt_kind2str(dnnl_format_kind_t value) OCTET_DNNL_SYMBOL(dnnl_fmt_kind2str);
OCTET_DNNL_API const char *dnnl_fmt_tag2str(dnnl_format_tag_t value) OCTET_DNNL_SYMBOL(dnnl_fmt_tag2str);
OCTET_DNNL_API const char *dnnl_prop_kind2str(dnnl_prop_kind_t value) OCTET_DNNL_SYMBOL(dnnl_prop_kind2str);
OCTET_DNNL_API const char *dnnl_prim_kind2str(dnnl_primitive_kind_t value)
        OCTET_DNNL_SYMBOL(dnnl_prim_kind2str);
OCTET_DNNL_API const char *dnnl_alg_kind2str(dnnl_alg_kind_t value) OCTET_DNNL_SYMBOL(dnnl_alg_kind2str);
OCTET_DNNL_API const char *dnnl_rnn_flags2str(dnnl_rnn_flags_t value) OCTET_DNNL_SYMBOL(dnnl_rnn_flags2str);
OCTET_DNNL_API const char *dnnl_rnn_direction2str(dnnl_rnn_direction_t value)
        OCTET_DNNL_SYMBOL(dnnl_rnn_direction2str);
OCTET_DNNL_API const char *dnnl_engine_kind2str(dnnl_engine_kind_t value)
        OCTET_DNNL_SYMBOL(dnnl_engine_kind2str);
OCTET_DNNL_API const char *dnnl_fpmath_mode2str(dnnl_fpmath_mode_t value)
        OCTET_DNNL_SYMBOL(dnnl_fpmath_mode2str);
OCTET_DNNL_API const char *dnnl_scratchpad_mode2str(dnnl_scratchpad_mode_t value)
        OCTET_DNNL_SYMBOL(dnnl_scratchpad_mode2str);
OCTET_DNNL_API const char *dnnl_cpu_isa2str(dnnl_cpu_isa_t value) OCTET_DNNL_SYMBOL(dnnl_cpu_isa2str);
OCTET_DNNL_API const char *dnnl_cpu_isa_hints2str(dnnl_cpu_isa_hints_t value)
        OCTET_DNNL_SYMBOL(dnnl_cpu_isa_hints2str);
OCTET_DNNL_API const char *dnnl_runtime2str(unsigned value) OCTET_DNNL_SYMBOL(dnnl_runtime2str);

#ifdef __cplusplus
}
#endif

#endif
