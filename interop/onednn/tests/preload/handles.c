/* Every function of oneDNN's interface that liboctet_dnnl defines, on a handle that it takes and on one
   that it hands on. What a client can see is printed, except for what may differ: names of
   implementations, sizes of scratchpads and of packed weights, times. Run alone and with the library in
   front, the outputs are equal (handles_test.sh). In C, because the interface is. */
/* SPDX-License-Identifier: Apache-2.0 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#define SEE(call) printf("    %s: %d\n", #call, (int)(call))
#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != dnnl_success) {                                                                        \
            printf("%s failed\n", #call);                                                                    \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void print_md(const char *what, const dnnl_memory_desc_t *md) {
    if (!md) {
        printf("    %s: null\n", what);
        return;
    }
    printf("    %s: type %d dims", what, (int)md->data_type);
    for (int d = 0; d < md->ndims; d++)
        printf(" %d", (int)md->dims[d]);
    printf("\n");
}

/* Numbers that are neither all equal nor random. */
static dnnl_memory_t filled(const dnnl_memory_desc_t *md, int first) {
    dnnl_memory_t memory;
    void *data;
    MUST(dnnl_memory_create(&memory, md, engine, DNNL_MEMORY_ALLOCATE));
    MUST(dnnl_memory_get_data_handle(memory, &data));
    size_t bytes = dnnl_memory_desc_get_size(md);
    if (md->data_type == dnnl_f32)
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)data)[i] = (float)((first + (int)i * 7) % 23) - 11.f;
    else if (md->data_type == dnnl_s8) /* even, of 7 bits: oneDNN is exact then without VNNI, too */
        for (size_t i = 0; i < bytes; i++)
            ((int8_t *)data)[i] = (int8_t)(((size_t)first + i * 7) % 64 * 2 - 64);
    else
        for (size_t i = 0; i < bytes; i++)
            ((uint8_t *)data)[i] = (uint8_t)(first + i * 7);
    return memory;
}

static unsigned sum_of(dnnl_memory_t memory) {
    const dnnl_memory_desc_t *md;
    void *data;
    unsigned sum = 17;
    MUST(dnnl_memory_get_memory_desc(memory, &md));
    MUST(dnnl_memory_get_data_handle(memory, &data));
    for (size_t i = 0; i < dnnl_memory_desc_get_size(md); i++)
        sum = sum * 31 + ((uint8_t *)data)[i];
    return sum;
}

static void see_queries(const_dnnl_primitive_desc_t pd, dnnl_query_t own_d, dnnl_query_t other_d) {
    dnnl_primitive_kind_t kind;
    dnnl_prop_kind_t prop;
    dnnl_engine_t e;
    const dnnl_memory_desc_t *md;
    const char *name;
    const void *d;
    int n;
    int64_t bytes;
    double seconds;
    const uint8_t *id;
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind));
    SEE(kind);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_prop_kind, 0, &prop));
    SEE(prop);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_engine, 0, &e));
    SEE(e == engine);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_num_of_inputs_s32, 0, &n));
    SEE(n);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_num_of_outputs_s32, 0, &n));
    SEE(n);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_memory_consumption_s64, 0, &bytes));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_time_estimate_f64, 0, &seconds));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name));
    SEE(strlen(name) > 0);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_reorder_src_engine, 0, &e));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_cache_blob_id_size_s64, 0, &bytes));
    SEE(bytes);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_cache_blob_id, 0, &id));
    SEE(id == NULL);
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_op_d, 0, &d));
    SEE(*(const dnnl_primitive_kind_t *)d == kind);
    SEE(dnnl_primitive_desc_query(pd, own_d, 0, &d));
    SEE(dnnl_primitive_desc_query(pd, other_d, 0, &d));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_undef, 0, &d));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_src_md, 0, NULL));
    SEE(dnnl_primitive_desc_query(NULL, dnnl_query_src_md, 0, &md));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_scratchpad_md, 1, &md));
    SEE(dnnl_primitive_desc_query(pd, dnnl_query_src_md, 0, &md));
    print_md("src", md);
    print_md("src 1", dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 1));
    print_md("weights", dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0));
    print_md("bias", dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1));
    print_md("dst", dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0));
    print_md("dst 1", dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 1));
    print_md("workspace", dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0));
    print_md("diff_src", dnnl_primitive_desc_query_md(pd, dnnl_query_diff_src_md, 0));
    print_md("argument dst", dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, DNNL_ARG_DST));
    print_md("argument 3", dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, 3));
    print_md("a wrong query", dnnl_primitive_desc_query_md(pd, dnnl_query_engine, 0));
    SEE(dnnl_primitive_desc_query_s32(pd, dnnl_query_num_of_inputs_s32, 0));
    SEE(dnnl_primitive_desc_query_s32(pd, dnnl_query_engine, 0));
}

static void convolution(dnnl_data_type_t src_type, dnnl_data_type_t weights_type) {
    const dnnl_dims_t src_dims = {2, 16, 9, 8}, weights_dims = {24, 16, 3, 3}, bias_dims = {24},
                      dst_dims = {2, 24, 9, 8};
    const dnnl_dims_t ones = {1, 1};
    const int is_int8 = weights_type == dnnl_s8;
    dnnl_memory_desc_t src, weights, bias, dst, plain_weights;
    printf("convolution %d\n", (int)src_type);
    MUST(dnnl_memory_desc_init_by_tag(&src, 4, src_dims, src_type, dnnl_nhwc));
    MUST(dnnl_memory_desc_init_by_tag(&weights, 4, weights_dims, weights_type, dnnl_format_tag_any));
    MUST(dnnl_memory_desc_init_by_tag(&plain_weights, 4, weights_dims, weights_type, dnnl_oihw));
    MUST(dnnl_memory_desc_init_by_tag(&bias, 1, bias_dims, dnnl_f32, dnnl_x));
    MUST(dnnl_memory_desc_init_by_tag(&dst, 4, dst_dims, src_type, dnnl_nhwc));
    dnnl_convolution_desc_t d;
    MUST(dnnl_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, &src,
                                            &weights, &bias, &dst, ones, ones, ones));

    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;
    const float scale = 0.0078125f;
    MUST(dnnl_primitive_attr_create(&attr));
    if (is_int8)
        MUST(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &scale));
    MUST(dnnl_post_ops_create(&ops));
    MUST(dnnl_post_ops_append_eltwise(ops, 1.f, dnnl_eltwise_relu, 0.f, 0.f));
    MUST(dnnl_primitive_attr_set_post_ops(attr, ops));

    dnnl_primitive_desc_iterator_t iterator;
    SEE(dnnl_primitive_desc_iterator_create(&iterator, &d, attr, engine, NULL));
    dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(iterator), clone, again;
    SEE(pd != NULL);
    int others = 0;
    while (dnnl_primitive_desc_iterator_next(iterator) == dnnl_success) {
        dnnl_primitive_desc_t other = dnnl_primitive_desc_iterator_fetch(iterator);
        others += other != NULL;
        SEE(dnnl_primitive_desc_destroy(other));
        if (others == 1)
            break; /* how many there are depends on what is in front */
    }
    SEE(others);
    while (dnnl_primitive_desc_iterator_next(iterator) == dnnl_success) {
    }
    SEE(dnnl_primitive_desc_iterator_next(NULL));
    SEE(dnnl_primitive_desc_iterator_destroy(
        iterator)); /* before what was fetched from it, as dnnl.hpp does */

    SEE(dnnl_primitive_desc_create(&again, &d, attr, engine, NULL));
    SEE(dnnl_primitive_desc_create(&clone, NULL, attr, engine, NULL));
    SEE(dnnl_primitive_desc_create(&clone, &d, attr, NULL, NULL));
    SEE(dnnl_primitive_desc_clone(&clone, pd));
    SEE(dnnl_primitive_desc_clone(NULL, pd));
    SEE(dnnl_primitive_desc_destroy(pd));
    see_queries(clone, dnnl_query_convolution_d, dnnl_query_deconvolution_d);

    const_dnnl_primitive_attr_t kept;
    const_dnnl_post_ops_t kept_ops;
    dnnl_dim_t count;
    int mask;
    const float *scales;
    SEE(dnnl_primitive_desc_get_attr(clone, &kept));
    SEE(dnnl_primitive_desc_get_attr(clone, NULL));
    SEE(dnnl_primitive_attr_get_output_scales(kept, &count, &mask, &scales));
    printf("    scales %d %d %g\n", (int)count, mask, (double)scales[0]);
    SEE(dnnl_primitive_attr_get_post_ops(kept, &kept_ops));
    SEE(dnnl_post_ops_len(kept_ops));
    MUST(dnnl_post_ops_destroy(ops));
    MUST(dnnl_primitive_attr_destroy(attr)); /* the descriptor has its own */

    const dnnl_memory_desc_t *stored = dnnl_primitive_desc_query_md(again, dnnl_query_weights_md, 0);
    SEE(dnnl_memory_desc_equal(dnnl_primitive_desc_query_md(again, dnnl_query_src_md, 0), &src));
    SEE(dnnl_memory_desc_equal(stored, &plain_weights));
    SEE(dnnl_memory_desc_equal(stored, stored));
    SEE(dnnl_memory_desc_get_size(stored) >= 24 * 16 * 9);
    SEE(dnnl_memory_desc_get_size(&src));

    dnnl_memory_t src_memory = filled(&src, 3), plain_memory = filled(&plain_weights, 5),
                  bias_memory = filled(&bias, 1);
    dnnl_memory_t stored_memory, back_memory, dst_memory = filled(&dst, 0);
    MUST(dnnl_memory_create(&stored_memory, stored, engine, DNNL_MEMORY_ALLOCATE));
    MUST(dnnl_memory_create(&back_memory, &plain_weights, engine, DNNL_MEMORY_ALLOCATE));
    dnnl_primitive_desc_t reorder_pd;
    dnnl_primitive_t reorder, back, primitive;
    SEE(dnnl_reorder_primitive_desc_create(&reorder_pd, &plain_weights, engine, stored, engine, NULL));
    dnnl_engine_t where;
    SEE(dnnl_primitive_desc_query(reorder_pd, dnnl_query_reorder_dst_engine, 0, &where));
    SEE(where == engine);
    SEE(dnnl_primitive_create(&reorder, reorder_pd));
    SEE(dnnl_primitive_desc_destroy(reorder_pd));
    const dnnl_exec_arg_t pack[] = {{DNNL_ARG_FROM, plain_memory}, {DNNL_ARG_TO, stored_memory}};
    SEE(dnnl_primitive_execute(reorder, stream, 2, pack));
    if (is_int8) { /* what the real library packs, it doesn't unpack in every version */
        if (dnnl_reorder_primitive_desc_create(&reorder_pd, stored, engine, &plain_weights, engine, NULL) ==
            dnnl_success) {
            const dnnl_exec_arg_t unpack[] = {{DNNL_ARG_FROM, stored_memory}, {DNNL_ARG_TO, back_memory}};
            MUST(dnnl_primitive_create(&back, reorder_pd));
            MUST(dnnl_primitive_execute(back, stream, 2, unpack));
            if (sum_of(back_memory) != sum_of(plain_memory))
                printf("unpacked weights differ\n");
            MUST(dnnl_primitive_destroy(back));
            MUST(dnnl_primitive_desc_destroy(reorder_pd));
        }
    }

    SEE(dnnl_primitive_create(&primitive, again));
    SEE(dnnl_primitive_create(NULL, again));
    const_dnnl_primitive_desc_t lent;
    dnnl_primitive_kind_t kind;
    SEE(dnnl_primitive_get_primitive_desc(primitive, &lent));
    SEE(dnnl_primitive_get_primitive_desc(primitive, NULL));
    SEE(dnnl_primitive_desc_query(lent, dnnl_query_primitive_kind, 0, &kind));
    SEE(kind);
    size_t size = 0;
    const uint8_t blob[4] = {0};
    dnnl_primitive_t from_blob;
    SEE(dnnl_primitive_get_cache_blob(primitive, &size, NULL));
    SEE(dnnl_primitive_get_cache_blob(primitive, NULL, NULL));
    SEE(dnnl_primitive_create_from_cache_blob(&from_blob, again, 4, blob));
    SEE(dnnl_primitive_create_from_cache_blob(&from_blob, again, 0, NULL));
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, src_memory},
                                    {DNNL_ARG_WEIGHTS, stored_memory},
                                    {DNNL_ARG_BIAS, bias_memory},
                                    {DNNL_ARG_DST, dst_memory}};
    SEE(dnnl_primitive_execute(primitive, stream, 3, args));
    SEE(dnnl_primitive_execute(primitive, NULL, 4, args));
    SEE(dnnl_primitive_execute(primitive, stream, 4, args));
    SEE(dnnl_stream_wait(stream));
    if (is_int8) /* floats may be summed in another order by the next implementation, bytes may not */
        printf("    result %u\n", sum_of(dst_memory));
    SEE(dnnl_primitive_desc_destroy(again));
    SEE(dnnl_primitive_execute(primitive, stream, 4, args)); /* keeps what it needs */
    SEE(dnnl_primitive_destroy(primitive));
    SEE(dnnl_primitive_destroy(reorder));
    SEE(dnnl_primitive_desc_destroy(clone));
    MUST(dnnl_memory_destroy(src_memory));
    MUST(dnnl_memory_destroy(plain_memory));
    MUST(dnnl_memory_destroy(bias_memory));
    MUST(dnnl_memory_destroy(stored_memory));
    MUST(dnnl_memory_destroy(back_memory));
    MUST(dnnl_memory_destroy(dst_memory));
}

static void sum_and_concat(dnnl_data_type_t type) {
    const dnnl_dims_t dims = {2, 8, 4, 5};
    const float scales[] = {1.f, 2.f};
    dnnl_memory_desc_t srcs[2];
    printf("sum and concat %d\n", (int)type);
    MUST(dnnl_memory_desc_init_by_tag(&srcs[0], 4, dims, type, dnnl_nhwc));
    srcs[1] = srcs[0];
    for (int is_concat = 0; is_concat < 2; is_concat++) {
        dnnl_primitive_desc_t pd;
        dnnl_primitive_t primitive;
        if (is_concat)
            SEE(dnnl_concat_primitive_desc_create(&pd, NULL, 2, 1, srcs, NULL, engine));
        else
            SEE(dnnl_sum_primitive_desc_create(&pd, NULL, 2, scales, srcs, NULL, engine));
        print_md("src 1", dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 1));
        print_md("src 2", dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 2));
        const dnnl_memory_desc_t *dst = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
        print_md("dst", dst);
        SEE(dnnl_primitive_desc_query_s32(pd, dnnl_query_num_of_inputs_s32, 0));
        MUST(dnnl_primitive_create(&primitive, pd));
        dnnl_memory_t a = filled(&srcs[0], 1), b = filled(&srcs[1], 90), c = filled(dst, 0);
        const dnnl_exec_arg_t args[] = {
            {DNNL_ARG_MULTIPLE_SRC, a}, {DNNL_ARG_MULTIPLE_SRC + 1, b}, {DNNL_ARG_DST, c}};
        SEE(dnnl_primitive_execute(primitive, stream, 3, args));
        printf("    result %u\n", sum_of(c));
        MUST(dnnl_memory_destroy(a));
        MUST(dnnl_memory_destroy(b));
        MUST(dnnl_memory_destroy(c));
        MUST(dnnl_primitive_destroy(primitive));
        MUST(dnnl_primitive_desc_destroy(pd));
    }
    dnnl_primitive_desc_t pd;
    SEE(dnnl_concat_primitive_desc_create(&pd, NULL, 0, 1, srcs, NULL, engine));
    SEE(dnnl_sum_primitive_desc_create(&pd, NULL, 2, NULL, srcs, NULL, engine));
    SEE(dnnl_sum_primitive_desc_create(NULL, NULL, 2, scales, srcs, NULL, engine));
}

/* A batch of products whose rows are known at execution only. */
static void run_time_sizes(void) {
    const dnnl_dim_t open = DNNL_RUNTIME_DIM_VAL;
    const dnnl_dims_t src_dims = {2, open, 24}, weights_dims = {1, 24, 40}, dst_dims = {2, open, 40};
    dnnl_memory_desc_t src, weights, dst;
    printf("run-time sizes\n");
    MUST(dnnl_memory_desc_init_by_tag(&src, 3, src_dims, dnnl_u8, dnnl_abc));
    MUST(dnnl_memory_desc_init_by_tag(&weights, 3, weights_dims, dnnl_s8, dnnl_abc));
    MUST(dnnl_memory_desc_init_by_tag(&dst, 3, dst_dims, dnnl_s32, dnnl_abc));
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    MUST(dnnl_matmul_desc_init(&d, &src, &weights, NULL, &dst));
    MUST(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL));
    print_md("src", dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0));
    SEE(dnnl_memory_desc_equal(&dst, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0)));
    MUST(dnnl_primitive_create(&primitive, pd));
    dnnl_memory_t weights_memory = filled(&weights, 5);
    for (int rows = 0; rows < 9; rows += 2) {
        const dnnl_dims_t some_src = {2, rows, 24}, some_dst = {2, rows, 40};
        dnnl_memory_desc_t this_src, this_dst;
        MUST(dnnl_memory_desc_init_by_tag(&this_src, 3, some_src, dnnl_u8, dnnl_abc));
        MUST(dnnl_memory_desc_init_by_tag(&this_dst, 3, some_dst, dnnl_s32, dnnl_abc));
        dnnl_memory_t a = filled(&this_src, rows), c = filled(&this_dst, 0);
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, weights_memory}, {DNNL_ARG_DST, c}};
        SEE(dnnl_primitive_execute(primitive, stream, 3, args));
        printf("    %d rows: %u\n", rows, sum_of(c));
        MUST(dnnl_memory_destroy(a));
        MUST(dnnl_memory_destroy(c));
    }
    MUST(dnnl_memory_destroy(weights_memory));
    MUST(dnnl_primitive_destroy(primitive));
    MUST(dnnl_primitive_desc_destroy(pd));
}

#ifdef AS_PLUGIN /* of failures.cpp */
#define main plugin_main
#endif
int main(void);
int main(void) {
    MUST(dnnl_engine_create(&engine, dnnl_cpu, 0));
    MUST(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    convolution(dnnl_u8, dnnl_s8);
    convolution(dnnl_f32, dnnl_f32);
    sum_and_concat(dnnl_u8);
    sum_and_concat(dnnl_f32);
    run_time_sizes();
    SEE(dnnl_primitive_desc_destroy(NULL));
    SEE(dnnl_primitive_destroy(NULL));
    SEE(dnnl_primitive_desc_iterator_destroy(NULL));
    SEE(dnnl_stream_destroy(stream));
    SEE(dnnl_engine_destroy(engine));
    return 0;
}
