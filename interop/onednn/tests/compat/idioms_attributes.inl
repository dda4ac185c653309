// Attributes, post-ops, errors and settings of the process.
// SPDX-License-Identifier: Apache-2.0
// clang-format off
namespace {

void attributes(table &t, const client &c) {
    IDIOM(primitive_attr a; int m; std::vector<float> v; a.get_output_scales(m, v); print(m, v.size(), v[0]))
    IDIOM(primitive_attr a; a.set_output_scales(0, {0.5f}); int m; std::vector<float> v; a.get_output_scales(m, v);
          print(m, v[0]))
    IDIOM(primitive_attr a; a.set_output_scales(2, std::vector<float>(16, 2.f)); int m; std::vector<float> v;
          a.get_output_scales(m, v); print(m, v.size()))
    IDIOM(primitive_attr a; a.set_output_scales(2, {DNNL_RUNTIME_F32_VAL}); int m; std::vector<float> v;
          a.get_output_scales(m, v); print(m, v.size(), v[0] != v[0]))
    IDIOM(primitive_attr a; a.set_zero_points(DNNL_ARG_SRC, 0, {3}); int m; std::vector<int32_t> v;
          a.get_zero_points(DNNL_ARG_SRC, m, v); print(m, v[0]))
    IDIOM(primitive_attr a; a.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL}); int m;
          std::vector<int32_t> v; a.get_zero_points(DNNL_ARG_DST, m, v); print(v[0]))
    IDIOM(primitive_attr a; int m; std::vector<int32_t> v; a.get_zero_points(DNNL_ARG_WEIGHTS, m, v); print(m, v[0]))
    IDIOM(primitive_attr a; a.set_scales(DNNL_ARG_SRC_1, 0, {4.f}); int m; std::vector<float> v;
          a.get_scales(DNNL_ARG_SRC_1, m, v); print(m, v[0]))
    IDIOM(primitive_attr a; a.set_scratchpad_mode(scratchpad_mode::user);
          print(a.get_scratchpad_mode() == scratchpad_mode::user))
    IDIOM(primitive_attr a; a.set_fpmath_mode(fpmath_mode::any); print(a.get_fpmath_mode() == fpmath_mode::any))
    IDIOM(primitive_attr a; primitive_attr b = a; b.set_output_scales(0, {2.f}); int m; std::vector<float> v;
          a.get_output_scales(m, v); print(v[0]))
    IDIOM(primitive_attr a; dnnl_primitive_attr_t copy; dnnl_primitive_attr_clone(&copy, a.get());
          a.set_output_scales(0, {2.f}); int m; std::vector<float> v; primitive_attr(copy).get_output_scales(m, v);
          print(v[0]))
    IDIOM(primitive_attr a; print(a.get_post_ops().len()))

    IDIOM(post_ops p; p.append_sum(); float s; p.get_params_sum(0, s); print(p.len(), s))
    IDIOM(post_ops p; p.append_sum(0.5f, dt::u8); float s; dt d; p.get_params_sum(0, s, d); print(s, d == dt::u8))
    IDIOM(post_ops p; p.append_sum(0.5f, 3, dt::s8); float s; dt d; int32_t z; p.get_params_sum(0, s, z, d);
          print(s, z, d == dt::s8))
    IDIOM(post_ops p; p.append_eltwise(1.f, algorithm::eltwise_relu, 0.25f, 0.f); float s; float a; float b;
          algorithm g; p.get_params_eltwise(0, s, g, a, b); print(s, a, b, g == algorithm::eltwise_relu))
    IDIOM(post_ops p; p.append_binary(algorithm::binary_add, c.s8_image); algorithm g; memory::desc d;
          p.get_params_binary(0, g, d); print(g == algorithm::binary_add, d == c.s8_image))
    IDIOM(post_ops p; p.append_prelu(2); int m; p.get_params_prelu(0, m); print(m))
    IDIOM(post_ops p; p.append_sum(); p.append_prelu(0); p.append_eltwise(1.f, algorithm::eltwise_tanh, 0, 0);
          p.append_binary(algorithm::binary_mul, c.s32_bias);
          for (int i = 0; i < p.len(); i++) print(static_cast<int>(p.kind(i))))
    IDIOM(post_ops p; p.append_dw_k3s2p1(dt::s8, dt::f32, dt::u8, 0, {2.f}); dt w; dt b; dt d; int m;
          std::vector<float> v; p.get_params_dw_k3s2p1(0, w, b, d, m, v); print(w == dt::s8, d == dt::u8, m,
          v[0]))
    IDIOM(post_ops p; p.append_dw(dt::s8, dt::f32, dt::u8, 3, 1, 1, 0, {}); memory::dim k; memory::dim s;
          memory::dim l; dt w; dt b; dt d; int m; std::vector<float> v; p.get_params_dw(0, w, b, d, k, s, l,
          m, v); print(k, s, l))
    IDIOM(post_ops p; p.append_sum(); float s; float a; float b; algorithm g; p.get_params_eltwise(0, s, g, a, b))
    IDIOM(post_ops p; float s; p.get_params_sum(0, s))
    IDIOM(post_ops p; post_ops q = p; q.append_sum(); print(p.len()))
    IDIOM(post_ops p; p.append_sum(2.f); primitive_attr a; a.set_post_ops(p); p.append_sum(3.f);
          print(a.get_post_ops().len()))
    IDIOM(post_ops p; p.append_sum(2.f); primitive_attr a; a.set_post_ops(p); const post_ops q = a.get_post_ops();
          print(q.kind(0) == primitive::kind::sum))
    IDIOM(post_ops p; p.append_eltwise(1.f, algorithm::eltwise_gelu, 0.f, 0.f); float s; float a; float b; algorithm g;
          p.get_params_eltwise(0, s, g, a, b); print(g == algorithm::eltwise_gelu_tanh))
    IDIOM(post_ops p; p.append_eltwise(1.f, algorithm::convolution_direct, 0.f, 0.f))

    IDIOM(error::wrap_c_api(dnnl_success, "fine"); print("no error"))
    IDIOM(error::wrap_c_api(dnnl_unimplemented, "not here"))
    IDIOM(try { error::wrap_c_api(dnnl_runtime_error, "a sentence"); } catch (const std::exception &e) {
          print(e.what()); })
    IDIOM(try { throw dnnl::error(dnnl_out_of_memory, "m"); } catch (dnnl::error &e) { print(e.status, e.message); })
    IDIOM(try { memory(c.any_weights, c.eng); } catch (error &e) { print(e.status == dnnl_invalid_arguments); })
    IDIOM(DNNL_THROW_ERROR(dnnl_unimplemented, "by macro"))
    IDIOM(status st = status::success; print(static_cast<int>(st), status::unimplemented == status(3)))

    IDIOM(const version_t *v = version(); print(v->major, v->minor, v->patch))
    IDIOM(print(dnnl_version()->major, DNNL_VERSION_MAJOR, version()->gpu_runtime != DNNL_RUNTIME_SYCL))
    IDIOM(const char *hash = version()->hash; print(hash != nullptr))
    IDIOM(if (set_verbose(0) != status::success) print("cannot"))
    IDIOM(print(set_verbose(17) == status::invalid_arguments))
    IDIOM(print(static_cast<int>(set_jit_dump(0))))
    IDIOM(print(set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE) == status::success))
    IDIOM(cpu_isa isa = get_effective_cpu_isa(); print(isa != cpu_isa::all))
    IDIOM(cpu_isa_hints h = get_cpu_isa_hints(); print(h == cpu_isa_hints::no_hints))
    IDIOM(set_primitive_cache_capacity(1024); print(get_primitive_cache_capacity()))
    IDIOM(set_primitive_cache_capacity(0); print(get_primitive_cache_capacity()); set_primitive_cache_capacity(1024))
    IDIOM(set_primitive_cache_capacity(-1))
    IDIOM(print(get_default_fpmath_mode() == fpmath_mode::strict))
    IDIOM(print(dnnl_status2str(dnnl_unimplemented), dnnl_dt2str(dnnl_u8), dnnl_fmt_kind2str(dnnl_blocked)))
    IDIOM(print(dnnl_prop_kind2str(dnnl_backward_data), dnnl_prim_kind2str(dnnl_softmax_v2)))
    IDIOM(print(dnnl_alg_kind2str(dnnl_eltwise_gelu), dnnl_alg_kind2str(dnnl_reduction_mean)))
    IDIOM(print(dnnl_engine_kind2str(dnnl_gpu), dnnl_scratchpad_mode2str(dnnl_scratchpad_mode_user)))
    IDIOM(print(dnnl_runtime2str(DNNL_RUNTIME_TBB), dnnl_cpu_isa2str(dnnl_cpu_isa_avx2)))
    IDIOM(print(dnnl_fmt_tag2str(dnnl_nhwc), dnnl_fmt_tag2str(dnnl_nChw16c), dnnl_fmt_tag2str(dnnl_format_tag_any)))
    IDIOM(print(dnnl_status2str(static_cast<dnnl_status_t>(7)), dnnl_dt2str(static_cast<dnnl_data_type_t>(7))))
    IDIOM(print(dnnl_rnn_direction2str(dnnl_unidirectional), dnnl_fpmath_mode2str(dnnl_fpmath_mode_any)))
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_NONE || DNNL_GPU_RUNTIME == DNNL_RUNTIME_SYCL ||                        \
    !defined(DNNL_CPU_THREADING_RUNTIME)
#error "the runtimes are told wrong"
#endif
    IDIOM(print(static_cast<unsigned>(normalization_flags::use_scale | normalization_flags::use_shift)))
    IDIOM(normalization_flags f = normalization_flags::none; f |= normalization_flags::use_scale_shift;
          print(static_cast<unsigned>(f & normalization_flags::use_scale_shift)))
    IDIOM(print(static_cast<int>(convert_to_c(algorithm::pooling_avg)), static_cast<int>(convert_to_c(query::src_md))))
    IDIOM(print(static_cast<int>(convert_to_c(prop_kind::backward_weights)), int(rnn_direction::unidirectional)))
    IDIOM(print(convert_to_c(std::vector<memory::desc>{c.s32_bias, c.u8_image}).size()))
}

} // namespace
