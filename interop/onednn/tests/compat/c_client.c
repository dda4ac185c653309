/* A client in C: one convolution through octet/compat/dnnl.h. Returns the step that failed, 0 if all went well. */
/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "octet/compat/dnnl.h"
#include "octet/compat/dnnl_debug.h"

#define STEP(number, call)                                                                                     \
    if ((call) != dnnl_success)                                                                                \
    return number

int compat_c_client(int32_t *result) {
    const dnnl_dims_t src_dims = {1, 1, 3, 3}, weights_dims = {1, 1, 3, 3}, dst_dims = {1, 1, 1, 1};
    const dnnl_dims_t strides = {1, 1}, padding = {0, 0};
    dnnl_memory_desc_t src_md, weights_md, dst_md;
    dnnl_convolution_desc_t desc;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_memory_t src, weights, dst;
    uint8_t src_data[9] = {1, 2, 3, 4, 5, 6, 7, 8, 255};
    int8_t weights_data[9] = {1, -1, 1, -1, 1, -1, 1, -1, -128};

    STEP(1, dnnl_engine_create(&engine, dnnl_cpu, 0));
    STEP(2, dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    STEP(3, dnnl_memory_desc_init_by_tag(&src_md, 4, src_dims, dnnl_u8, dnnl_nhwc));
    STEP(4, dnnl_memory_desc_init_by_tag(&weights_md, 4, weights_dims, dnnl_s8, dnnl_oihw));
    STEP(5, dnnl_memory_desc_init_by_tag(&dst_md, 4, dst_dims, dnnl_s32, dnnl_nhwc));
    STEP(6, dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct, &src_md,
                                               &weights_md, NULL, &dst_md, strides, padding, padding));
    STEP(7, dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL));
    STEP(8, dnnl_primitive_create(&primitive, pd));
    STEP(9, dnnl_memory_create(&src, &src_md, engine, src_data));
    STEP(10, dnnl_memory_create(&weights, &weights_md, engine, weights_data));
    STEP(11, dnnl_memory_create(&dst, &dst_md, engine, result));
    {
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}};
        STEP(12, dnnl_primitive_execute(primitive, stream, 3, args));
    }
    STEP(13, dnnl_stream_wait(stream));
    dnnl_memory_destroy(src);
    dnnl_memory_destroy(weights);
    dnnl_memory_destroy(dst);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return strcmp(dnnl_prim_kind2str(desc.primitive_kind), "convolution") == 0 ? 0 : 14;
}
