/* Stands in for a library of oneDNN's next major version: all that matters here is what it calls itself, and
   that a call arrives. */ /* SPDX-License-Identifier: Apache-2.0 */

#include <oneapi/dnnl/dnnl_types.h>

const dnnl_version_t *dnnl_version(void);
const dnnl_version_t *dnnl_version(void) {
    static const dnnl_version_t version = {3, 1, 0, "", DNNL_RUNTIME_OMP, DNNL_RUNTIME_NONE};
    return &version;
}

int dnnl_primitive_desc_clone(void *result, const void *desc);
int dnnl_primitive_desc_clone(void *result, const void *desc) {
    (void)result, (void)desc;
    return 77;
}
