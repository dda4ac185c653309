// The C interface, and the way between it and the C++ one.
// SPDX-License-Identifier: Apache-2.0
// clang-format off
namespace {

void c_interface(table &t, const client &c) {
    IDIOM(dnnl_dims_t n = {2, 3, 4, 5}; dnnl_memory_desc_t d; print(dnnl_memory_desc_init_by_tag(&d, 4, n,
          dnnl_f32, dnnl_nhwc)); print(d.format_desc.blocking.strides[1]);
          print(dnnl_memory_desc_get_size(&d)))
    IDIOM(dnnl_dims_t n = {2, 3}; dnnl_dims_t st = {5, 1}; dnnl_memory_desc_t d;
          print(dnnl_memory_desc_init_by_strides(&d, 2, n, dnnl_s8, st));
          print(dnnl_memory_desc_get_size(&d)))
    IDIOM(dnnl_dims_t n = {2, 3}; dnnl_memory_desc_t d; print(dnnl_memory_desc_init_by_tag(&d, 2, n, dnnl_f32,
          dnnl_nhwc)))
    IDIOM(print(dnnl_memory_desc_equal(&c.u8_image.data, &c.u8_image.data), dnnl_memory_desc_equal(&c.u8_image.data,
          &c.s8_image.data)))
    IDIOM(dnnl_memory_desc_t d; const int p[] = {1, 0}; dnnl_memory_desc_permute_axes(&d, &c.f32_matrix.data, p);
          print(d.dims[0], d.format_desc.blocking.strides[0]))
    IDIOM(dnnl_memory_desc_t d; dnnl_dims_t n = {12}; print(dnnl_memory_desc_reshape(&d, &c.f32_matrix.data,
          1, n)); print(d.ndims))
    IDIOM(dnnl_memory_desc_t d; dnnl_dims_t n = {1, 2}; dnnl_dims_t o = {1, 1};
          print(dnnl_memory_desc_init_submemory(&d, &c.f32_matrix.data, n, o)); print(d.offset0))
    IDIOM(dnnl_memory_desc_t zero{}; print(dnnl_memory_desc_get_size(&zero)); print(memory::desc(zero).is_zero()))
    IDIOM(print(dnnl_data_type_size(dnnl_bf16), dnnl_data_type_size(dnnl_s32)))
    IDIOM(dnnl_engine_t e; print(dnnl_engine_create(&e, dnnl_cpu, 0)); engine owner(e); print(bool(owner)))
    IDIOM(dnnl_engine_t e; print(dnnl_engine_create(&e, dnnl_cpu, 5)); print(dnnl_engine_get_count(dnnl_cpu)))
    IDIOM(dnnl_stream_t s; print(dnnl_stream_create(&s, c.eng.get(), dnnl_stream_default_flags)); stream owner(s);
          dnnl_engine_t e; print(dnnl_stream_get_engine(owner.get(), &e)); print(dnnl_stream_wait(s)))
    IDIOM(dnnl_memory_t m; print(dnnl_memory_create(&m, &c.f32_matrix.data, c.eng.get(),
          DNNL_MEMORY_ALLOCATE)); memory owner(m); void *h; const dnnl_memory_desc_t *d;
          print(dnnl_memory_get_data_handle(m, &h)); print(h != nullptr); print(dnnl_memory_get_memory_desc(m,
          &d)); print(dnnl_memory_desc_equal(d, &c.f32_matrix.data)))
    IDIOM(float v[12]; memory m(c.f32_matrix, c.eng); print(dnnl_memory_set_data_handle(m.get(), v));
          print(m.get_data_handle() == v))
    IDIOM(memory m(c.f32_matrix, c.eng); void *p = nullptr; print(dnnl_memory_map_data(m.get(), &p)); print(p
          != nullptr); print(dnnl_memory_unmap_data(m.get(), p)))
    IDIOM(memory m(c.f32_matrix, c.eng); dnnl_engine_t e = nullptr; print(dnnl_memory_get_engine(m.get(),
          &e)); print(e != nullptr))
    IDIOM(dnnl_memory_t m; print(dnnl_memory_create(&m, &c.any_weights.data, c.eng.get(), nullptr)))
    IDIOM(print(dnnl_memory_create(nullptr, nullptr, nullptr, nullptr)))

    IDIOM(dnnl_post_ops_t p; dnnl_post_ops_create(&p); print(dnnl_post_ops_append_sum(p, 2.f), dnnl_post_ops_len(p),
          dnnl_post_ops_get_kind(p, 0) == dnnl_sum); dnnl_post_ops_destroy(p))
    IDIOM(post_ops p; print(dnnl_post_ops_append_eltwise(p.get(), 1.f, dnnl_eltwise_tanh, 0.f, 0.f)); print(p.len()))
    IDIOM(primitive_attr a; const float v[] = {2.f}; print(dnnl_primitive_attr_set_output_scales(a.get(), 1,
          0, v)); dnnl_dim_t n; int m; const float *got; print(dnnl_primitive_attr_get_output_scales(a.get(),
          &n, &m, &got)); print(n); print(m); print(got[0]))
    IDIOM(primitive_attr a; const int32_t v[] = {2}; print(dnnl_primitive_attr_set_zero_points(a.get(),
          DNNL_ARG_SRC, 1, 0, v)))
    IDIOM(primitive_attr a; const_dnnl_post_ops_t p; print(dnnl_primitive_attr_get_post_ops(a.get(), &p));
          print(dnnl_post_ops_len(p)))
    IDIOM(dnnl_primitive_attr_t a; dnnl_primitive_attr_create(&a); print(dnnl_primitive_attr_set_scratchpad_mode(a,
          dnnl_scratchpad_mode_user)); dnnl_primitive_attr_destroy(a))

    IDIOM(dnnl_primitive_desc_t pd; print(dnnl_primitive_desc_create(&pd, &c.conv_d.data, nullptr,
          c.eng.get(), nullptr)); convolution_forward::primitive_desc owner(pd); print(owner.src_desc() ==
          c.u8_image))
    IDIOM(dnnl_primitive_desc_t pd; dnnl_primitive_desc_create(&pd, &c.conv_d.data, nullptr, c.eng.get(), nullptr);
          matmul::primitive_desc wrong(pd))
    IDIOM(dnnl_primitive_desc_iterator_t i; print(dnnl_primitive_desc_iterator_create(&i, &c.conv_d.data,
          nullptr, c.eng.get(), nullptr)); dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(i);
          print(pd != nullptr); dnnl_primitive_desc_destroy(pd);
          print(dnnl_primitive_desc_iterator_destroy(i)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); const dnnl_convolution_desc_t *d = nullptr;
          print(dnnl_primitive_desc_query(pd.get(), dnnl_query_convolution_d, 0, &d)); print(d->strides[0]);
          print(d->padding[0][1]))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(dnnl_primitive_desc_query_s32(pd.get(),
          dnnl_query_num_of_inputs_s32, 0), dnnl_primitive_desc_query_s32(pd.get(), dnnl_query_num_of_outputs_s32, 0)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); const dnnl_memory_desc_t *d =
          dnnl_primitive_desc_query_md( pd.get(), dnnl_query_dst_md, 0); print(dnnl_memory_desc_equal(d,
          &c.s8_image.data)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); dnnl_primitive_desc_t copy;
          print(dnnl_primitive_desc_clone( &copy, pd.get())); print(dnnl_primitive_desc_destroy(copy)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); const char *n = nullptr;
          print(dnnl_primitive_desc_query( pd.get(), dnnl_query_impl_info_str, 0, &n)); print(n != nullptr))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); dnnl_engine_t e;
          print(dnnl_primitive_desc_query(pd.get(), dnnl_query_reorder_src_engine, 0, &e) != dnnl_success))
    IDIOM(dnnl_matmul_desc_t d; memory::desc w({4, 5}, dt::s8, tag::ab); memory::desc x({3, 4}, dt::u8,
          tag::ab); memory::desc y({3, 5}, dt::s32, tag::ab); print(dnnl_matmul_desc_init(&d, &x.data,
          &w.data, nullptr, &y.data)); dnnl_primitive_desc_t pd; print(dnnl_primitive_desc_create(&pd, &d,
          nullptr, c.eng.get(), nullptr)); dnnl_primitive_t p; print(dnnl_primitive_create(&p, pd)); memory a
          = c.filled_u8(x); memory b = c.filled_s8(w); memory r(y, c.eng); dnnl_exec_arg_t args[] =
          {{DNNL_ARG_SRC, a.get()}, {DNNL_ARG_WEIGHTS, b.get()}, {DNNL_ARG_DST, r.get()}};
          print(dnnl_primitive_execute(p, c.s.get(), 3, args)); print(c.values<int32_t>(r));
          dnnl_primitive_destroy(p); dnnl_primitive_desc_destroy(pd))
    IDIOM(dnnl_primitive_desc_t pd; print(dnnl_reorder_primitive_desc_create(&pd, &c.f32_matrix.data, c.eng.get(),
          &c.f32_matrix.data, c.eng.get(), nullptr)); print(dnnl_primitive_desc_destroy(pd)))
    IDIOM(dnnl_eltwise_desc_t d; print(dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference,
          dnnl_eltwise_relu, &c.s8_image.data, 0.f, 0.f)); print(d.primitive_kind == dnnl_eltwise);
          print(d.alpha))
    IDIOM(const_dnnl_primitive_desc_t kept; convolution_forward p{{c.conv_d, c.eng}};
          print(dnnl_primitive_get_primitive_desc( p.get(), &kept)); print(kept != nullptr))
    IDIOM(binary::primitive_desc pd({algorithm::binary_add, c.s8_image, c.s8_image, c.s8_image}, c.eng);
          dnnl_prop_kind_t k; print(dnnl_primitive_desc_query(pd.get(), dnnl_query_prop_kind, 0, &k)); const
          void *d; print(dnnl_primitive_desc_query( pd.get(), dnnl_query_binary_d, 0, &d),
          dnnl_primitive_desc_query(pd.get(), dnnl_query_matmul_d, 0, &d)))
    IDIOM(post_ops o; o.append_binary(algorithm::binary_add, c.s8_image); primitive_attr a; a.set_post_ops(o);
          convolution_forward::primitive_desc pd(c.conv_d, a, c.eng);
          print(dnnl_primitive_desc_query_s32(pd.get(), dnnl_query_num_of_inputs_s32, 0)); dnnl_prop_kind_t k
          = dnnl_backward; print(dnnl_primitive_desc_query(pd.get(), dnnl_query_prop_kind, 0, &k)); print(k ==
          dnnl_forward_inference))
    IDIOM(int n = 0; print(dnnl_set_primitive_cache_capacity(1024), dnnl_get_primitive_cache_capacity(&n), n))
}

} // namespace
