// Operations: described, queried, executed. What they compute is compared byte by byte.
// SPDX-License-Identifier: Apache-2.0
// clang-format off
namespace {

void operations(table &t, const client &c) {
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.src_desc() == c.u8_image,
          pd.weights_desc() == c.s8_weights, pd.bias_desc() == c.s32_bias, pd.dst_desc() == c.s8_image))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.get_kind() == primitive::kind::convolution))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); const char *name = pd.impl_info_str();
          print(std::strlen(name) > 0))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.query_md(query::src_md) == pd.src_desc(),
          pd.query_md(query::weights_md, 1) == pd.bias_desc()))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng);
          print(pd.query_md(query::exec_arg_md, DNNL_ARG_DST) == c.s8_image,
                pd.query_md(query::exec_arg_md, DNNL_ARG_SRC_1).is_zero()))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.workspace_desc().is_zero()))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); pd.query_md(query::impl_info_str))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng);
          print(pd.query_s64(query::memory_consumption_s64) >= 0))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.get_engine().get_kind() ==
          c.eng.get_kind()))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.get_cache_blob_id().size()))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); convolution_forward p(pd); print(bool(p),
          p.get_kind() == primitive::kind::convolution))
    IDIOM(convolution_forward p{{c.conv_d, c.eng}}; print(p.get_primitive_desc() != nullptr))
    IDIOM(convolution_forward p{{c.conv_d, c.eng}}; dnnl_prop_kind_t k;
          dnnl_primitive_desc_query(p.get_primitive_desc(), dnnl_query_prop_kind, 0, &k); print(k ==
          dnnl_forward_inference))
    IDIOM(convolution_forward p; print(bool(p)); p = convolution_forward({c.conv_d, c.eng}); print(bool(p)))
    IDIOM(primitive p = convolution_forward({c.conv_d, c.eng}); print(p.get_kind() == primitive::kind::convolution))
    IDIOM(convolution_forward::primitive_desc pd; print(bool(pd)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); engine e = pd.get_engine();
          print(engine::query(pd) == e))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, primitive_attr(), c.eng);
          convolution_forward::primitive_desc copy(pd); print(copy.dst_desc() == pd.dst_desc()))
    IDIOM(primitive_attr a; a.set_output_scales(0, {0.5f}); convolution_forward::primitive_desc pd(c.conv_d, a, c.eng);
          int m; std::vector<float> v; pd.get_primitive_attr().get_output_scales(m, v); print(v[0]))
    IDIOM(print(c.conv_d.data.strides[0], c.conv_d.data.padding[1][0], c.conv_d.data.alg_kind ==
          dnnl_convolution_direct))
    IDIOM(convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, c.u8_image,
          c.any_weights, c.s8_image, {1, 1}, {1, 1}, {1, 1}); convolution_forward::primitive_desc pd(d, c.eng);
          print(pd.weights_desc().dims()); print(pd.bias_desc().is_zero()))
    IDIOM(convolution_forward::primitive_desc pd({prop_kind::forward, algorithm::convolution_auto, c.u8_image,
          c.any_weights, c.s32_bias, c.s8_image, dims{1, 1}, dims{1, 1}, dims{1, 1}}, c.eng); print(bool(pd)))
    IDIOM(convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, c.u8_image,
          c.any_weights, c.s8_image, {1}, {1, 1}, {1, 1}))
    IDIOM(memory::desc wrong({2, 17, 5, 4}, dt::s8, tag::nhwc); convolution_forward::primitive_desc({
          prop_kind::forward_inference, algorithm::convolution_direct, c.u8_image, c.s8_weights, wrong, dims{1, 1},
          dims{1, 1}, dims{1, 1}}, c.eng))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); print(pd.next_impl() || true))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); while (pd.next_impl()) {} print("end"))
    IDIOM(post_ops p; p.append_dw_k3s1p1(dt::s8, dt::f32, dt::u8, 0, {}); primitive_attr a; a.set_post_ops(p);
          convolution_forward::primitive_desc pd(c.conv_d, a, c.eng, true); print("no error"))
    IDIOM(dnnl::primitive_desc pd(&c.conv_d.data, nullptr, c.eng, nullptr); print(pd.src_desc(0) == c.u8_image))
    IDIOM(auto hint = convolution_forward::primitive_desc(c.conv_d, c.eng); convolution_backward_data::desc
          d(algorithm::convolution_direct, c.u8_image, c.s8_weights, c.s8_image, {1, 1}, {1, 1}, {1, 1});
          convolution_backward_data::primitive_desc pd(d, c.eng, hint, true); print("a name"))

    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); memory out = c.run<convolution_forward>(pd,
          {{DNNL_ARG_SRC, c.filled_u8(c.u8_image)}, {DNNL_ARG_WEIGHTS, c.filled_s8(c.s8_weights)},
           {DNNL_ARG_BIAS, c.filled_s32(c.s32_bias)}}); print(c.values<int8_t>(out)))
    IDIOM(primitive_attr a; a.set_output_scales(2, std::vector<float>(16, 0.003f));
          a.set_zero_points(DNNL_ARG_SRC, 0, {4}); a.set_zero_points(DNNL_ARG_DST, 0, {-5}); post_ops p;
          p.append_eltwise(1.f, algorithm::eltwise_relu, 0, 0); a.set_post_ops(p);
          convolution_forward::primitive_desc pd(c.conv_d, a, c.eng); memory out =
          c.run<convolution_forward>(pd, {{DNNL_ARG_SRC, c.filled_u8(c.u8_image)}, {DNNL_ARG_WEIGHTS,
          c.filled_s8(c.s8_weights)}, {DNNL_ARG_BIAS, c.filled_s32(c.s32_bias)}});
          print(c.values<int8_t>(out)))
    IDIOM(memory::desc x({3, 20}, dt::u8, tag::ab); memory::desc w({20, 5}, dt::s8, tag::ab); memory::desc
          y({3, 5}, dt::u8, tag::ab); primitive_attr a; a.set_output_scales(0, {DNNL_RUNTIME_F32_VAL});
          a.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL}); matmul::primitive_desc pd({x, w, y}, a,
          c.eng); float scale = 0.004f; int32_t zero = 77; memory s({{1}, dt::f32, tag::x}, c.eng, &scale);
          memory z({{1}, dt::s32, tag::x}, c.eng, &zero); print( c.values<uint8_t>(c.run<matmul>(pd,
          {{DNNL_ARG_SRC, c.filled_u8(x)}, {DNNL_ARG_WEIGHTS, c.filled_s8(w)}, {DNNL_ARG_ATTR_OUTPUT_SCALES,
          s}, {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, z}}))))
    IDIOM(memory::desc x({DNNL_RUNTIME_DIM_VAL, 20}, dt::u8, tag::ab); memory::desc w({20, 5}, dt::s8,
          tag::ab); memory::desc y({DNNL_RUNTIME_DIM_VAL, 5}, dt::u8, tag::ab); primitive_attr a;
          a.set_output_scales(0, {0.004f}); matmul::primitive_desc pd({x, w, y}, a, c.eng); matmul p(pd);
          stream s(c.eng); print(pd.src_desc() == x, pd.dst_desc() == y); for (memory::dim rows : {1, 7}) {
          memory src = c.filled_u8({{rows, 20}, dt::u8, tag::ab}); memory dst({{rows, 5}, dt::u8, tag::ab},
          c.eng); p.execute(s, {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, c.filled_s8(w)}, {DNNL_ARG_DST,
          dst}}); s.wait(); print(c.values<uint8_t>(dst)); })
    IDIOM(primitive_attr a; a.set_scratchpad_mode(scratchpad_mode::user); convolution_forward::primitive_desc
          pd(c.conv_d, a, c.eng); memory pad(pd.scratchpad_desc(), c.eng); memory out =
          c.run<convolution_forward>(pd, {{DNNL_ARG_SRC, c.filled_u8(c.u8_image)}, {DNNL_ARG_WEIGHTS,
          c.filled_s8(c.s8_weights)}, {DNNL_ARG_BIAS, c.filled_s32(c.s32_bias)}, {DNNL_ARG_SCRATCHPAD, pad}});
          print(c.values<int8_t>(out)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); std::vector<uint8_t> v(320, 9); memory
          other({{320}, dt::u8, tag::x}, c.eng, v.data()); memory out = c.run<convolution_forward>(pd,
          {{DNNL_ARG_SRC, other}, {DNNL_ARG_WEIGHTS, c.filled_s8(c.s8_weights)}, {DNNL_ARG_BIAS,
          c.filled_s32(c.s32_bias)}}); print(c.values<int8_t>(out)))
    IDIOM(convolution_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::convolution_direct,
          c.u8_image, c.any_weights, c.s32_bias, c.s8_image, dims{1, 1}, dims{1, 1}, dims{1, 1}}, c.eng);
          memory user = c.filled_s8(c.s8_weights); memory packed(pd.weights_desc(), c.eng); reorder(user,
          packed).execute(c.s, user, packed); memory out = c.run<convolution_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_u8(c.u8_image)}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_BIAS, c.filled_s32(c.s32_bias)},
          {DNNL_ARG_WORKSPACE, memory(memory::desc(), c.eng)}}); stream(c.s).wait();
          print(c.values<int8_t>(out)))
    IDIOM(convolution_forward::primitive_desc pd(c.conv_d, c.eng); convolution_forward(pd).execute(c.s, {}))

    IDIOM(memory::desc w({8, 4, 3, 3}, dt::s8, tag::iohw); memory::desc x({1, 4, 3, 3}, dt::u8, tag::nhwc);
          memory::desc y({1, 8, 7, 7}, dt::s32, tag::nhwc); deconvolution_forward::primitive_desc pd({
          prop_kind::forward_inference, algorithm::deconvolution_direct, x, w, y, dims{2, 2}, dims{0, 0},
          dims{0, 0}}, c.eng); print(c.values<int32_t>(c.run<deconvolution_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_u8(x)}, {DNNL_ARG_WEIGHTS, c.filled_s8(w)}}))))
    IDIOM(memory::desc x({3, 20}, dt::s8, tag::nc); memory::desc w({5, 20}, dt::s8, tag::oi); memory::desc
          b({5}, dt::f32, tag::x); memory::desc y({3, 5}, dt::f32, tag::nc); primitive_attr a;
          a.set_output_scales(0, {0.125f}); inner_product_forward::primitive_desc
          pd({prop_kind::forward_inference, x, w, b, y}, a, c.eng);
          print(c.values<float>(c.run<inner_product_forward>(pd, {{DNNL_ARG_SRC, c.filled_s8(x)},
          {DNNL_ARG_WEIGHTS, c.filled_s8(w)}, {DNNL_ARG_BIAS, c.filled_f32(b)}}))))
    IDIOM(memory::desc x({2, 3, 20}, dt::u8, tag::abc); memory::desc w({2, 20, 5}, dt::s8, tag::acb);
          memory::desc y({2, 3, 5}, dt::s32, tag::abc); primitive_attr a; a.set_zero_points(DNNL_ARG_SRC, 0,
          {128}); matmul::primitive_desc pd( matmul::desc(x, w, y), a, c.eng);
          print(c.values<int32_t>(c.run<matmul>(pd, {{DNNL_ARG_SRC, c.filled_u8(x)}, {DNNL_ARG_WEIGHTS,
          c.filled_s8(w)}}))))
    IDIOM(memory::desc x({DNNL_RUNTIME_DIM_VAL, 20}, dt::u8, {DNNL_RUNTIME_DIM_VAL, 1}); memory::desc w({20,
          5}, dt::s8, tag::ab); memory::desc y({DNNL_RUNTIME_DIM_VAL, 5}, dt::f32, {DNNL_RUNTIME_DIM_VAL, 1});
          matmul::primitive_desc pd({x, w, y}, c.eng); matmul p(pd); memory b = c.filled_s8(w); for
          (memory::dim rows : {1, 3, 7}) { memory a = c.filled_u8({{rows, 20}, dt::u8, tag::ab}); memory
          r({{rows, 5}, dt::f32, tag::ab}, c.eng); p.execute(c.s, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b},
          {DNNL_ARG_DST, r}}); print(c.values<float>(r)); })
    IDIOM(memory::desc x({DNNL_RUNTIME_DIM_VAL, 4}, dt::u8, tag::ab); memory m(x, c.eng))
}

void more_operations(table &t, const client &c) {
    IDIOM(memory::desc y({2, 8, 2, 2}, dt::u8, tag::nhwc); pooling_forward::primitive_desc
          pd({prop_kind::forward_inference, algorithm::pooling_max, c.u8_image, y, {2, 2}, {3, 2}, {0, 0}, {0,
          0}}, c.eng); print(c.values<uint8_t>( c.run<pooling_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_u8(c.u8_image)}}))))
    IDIOM(memory::desc y({2, 8, 3, 4}, dt::u8, tag::nhwc); pooling_v2_forward::primitive_desc pd({
          prop_kind::forward_inference, algorithm::pooling_avg_exclude_padding, c.u8_image, y, {1, 1}, {2, 1},
          {1, 0}, {0, 0}, {0, 0}}, c.eng); print(c.values<uint8_t>(c.run<pooling_v2_forward>(pd,
          {{DNNL_ARG_SRC, c.filled_u8(c.u8_image)}}))))
    IDIOM(eltwise_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::eltwise_relu,
          c.s8_image, 0.f, 0.f}, c.eng); print(c.values<int8_t>(c.run<eltwise_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_s8(c.s8_image)}}))))
    IDIOM(eltwise_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::eltwise_square,
          c.f32_matrix}, c.eng); print(c.values<float>(c.run<eltwise_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_f32(c.f32_matrix)}}))))
    IDIOM(memory m = c.filled_f32(c.f32_matrix); eltwise_forward p({{prop_kind::forward_inference,
          algorithm::eltwise_abs, c.f32_matrix}, c.eng}); p.execute(c.s, {{DNNL_ARG_SRC, m}, {DNNL_ARG_DST,
          m}}); print(c.values<float>(m)))
    IDIOM(softmax_forward::primitive_desc pd({prop_kind::forward_inference, c.f32_matrix, 1}, c.eng); const auto v =
          c.values<float>(c.run<softmax_forward>(pd, {{DNNL_ARG_SRC, c.filled_f32(c.f32_matrix)}}));
          print(std::lround(1e4f * v[0]), std::lround(1e4f * v[5])))
    IDIOM(logsoftmax_forward::primitive_desc pd({prop_kind::forward_inference, c.f32_matrix, 1}, c.eng); const auto v =
          c.values<float>(c.run<logsoftmax_forward>(pd, {{DNNL_ARG_SRC, c.filled_f32(c.f32_matrix)}}));
          print(std::lround(1e3f * v[0]), std::lround(1e3f * v[5]), static_cast<int>(pd.get_kind())))
    IDIOM(memory::desc y({3, 4}, dt::u8, tag::ab); primitive_attr a; a.set_output_scales(0, {255.f});
          softmax_v2_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::softmax_accurate,
          c.f32_matrix, y, 1}, a, c.eng); print(c.values<uint8_t>(c.run<softmax_v2_forward>(pd,
          {{DNNL_ARG_SRC, c.filled_f32(c.f32_matrix)}}))))
    IDIOM(memory::desc w({1, 4}, dt::f32, tag::ab); prelu_forward::primitive_desc
          pd({prop_kind::forward_inference, c.f32_matrix, w}, c.eng);
          print(c.values<float>(c.run<prelu_forward>(pd, {{DNNL_ARG_SRC, c.filled<float>(c.f32_matrix, {1, -2,
          3, -4, 5})}, {DNNL_ARG_WEIGHTS, c.filled<float>(w, {2.f, 0.5f, -1.f, 3.f})}}))))
    IDIOM(memory::desc b({1, 8, 1, 1}, dt::u8, tag::nhwc); binary::primitive_desc pd({algorithm::binary_add,
          c.u8_image, b, c.u8_image}, c.eng); print(pd.src0_desc() == c.u8_image, pd.src1_desc() == b);
          print(c.values<uint8_t>( c.run<binary>(pd, {{DNNL_ARG_SRC_0, c.filled_u8(c.u8_image)},
          {DNNL_ARG_SRC_1, c.filled_u8(b)}}))))
    // 13.f / 11.f * 11.f is below 13
    IDIOM(memory::desc x({1, 4, 1, 11}, dt::u8, tag::nhwc), y({1, 4, 1, 13}, dt::u8, tag::nhwc);
          resampling_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::resampling_nearest,
          x, y}, c.eng); print(c.values<uint8_t>( c.run<resampling_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_u8(x)}}))))
    IDIOM(memory::desc y({2, 8, 10, 8}, dt::u8, tag::nhwc); resampling_forward::primitive_desc pd({
          prop_kind::forward_inference, algorithm::resampling_nearest, c.u8_image, y}, c.eng); print(c.values<uint8_t>(
          c.run<resampling_forward>(pd, {{DNNL_ARG_SRC, c.filled_u8(c.u8_image)}}))))
    IDIOM(resampling_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::resampling_linear,
          {2.f, 1.5f}, c.u8_image}, c.eng); print(pd.dst_desc().dims()))
    IDIOM(std::vector<memory::desc> x(2, c.u8_image); concat::primitive_desc pd(1, x, c.eng);
          print(pd.dst_desc().dims()); print(c.values<uint8_t>(c.run<concat>(pd, {{DNNL_ARG_MULTIPLE_SRC,
          c.filled_u8(c.u8_image)}, {DNNL_ARG_MULTIPLE_SRC + 1, c.filled_u8(c.u8_image)}}))))
    IDIOM(concat::primitive_desc pd(c.s8_image, 1, {c.u8_image, c.u8_image}, c.eng); print(pd.src_desc(1) ==
          c.u8_image))
    IDIOM(sum::primitive_desc pd(c.s8_image, {0.5f, 2.f}, {c.s8_image, c.s8_image}, c.eng); memory x =
          c.filled_s8(c.s8_image); print(c.values<int8_t>(c.run<sum>(pd, {{DNNL_ARG_MULTIPLE_SRC, x},
          {DNNL_ARG_MULTIPLE_SRC + 1, x}}))))
    IDIOM(sum::primitive_desc pd({1.f}, {c.s8_image, c.s8_image}, c.eng))
    IDIOM(sum::primitive_desc pd({1.f, 1.f}, {c.u8_image, c.u8_image}, c.eng); print(pd.dst_desc() == c.u8_image,
          pd.get_kind() == primitive::kind::sum))

    IDIOM(memory::desc y({3, 1}, dt::f32, tag::ab); reduction::primitive_desc pd({algorithm::reduction_sum,
          c.f32_matrix, y, 0.f, 0.f}, c.eng); print(c.values<float>(c.run<reduction>(pd, {{DNNL_ARG_SRC,
          c.filled_f32(c.f32_matrix)}}))))
    IDIOM(const auto f = normalization_flags::use_global_stats; batch_normalization_forward::primitive_desc pd({
          prop_kind::forward_inference, c.f32_matrix, 0.f, f}, c.eng); memory::desc n({4}, dt::f32, tag::x);
          print(pd.mean_desc() == n); print(c.values<float>(c.run<batch_normalization_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_f32(c.f32_matrix)}, {DNNL_ARG_MEAN, c.filled<float>(n, {1, 2, -1, 0.5f})}, {DNNL_ARG_VARIANCE,
          c.filled<float>(n, {4, 1, 16, 0.25f})}}))))
    IDIOM(layer_normalization_forward::primitive_desc pd({prop_kind::forward_inference, c.f32_matrix, 0.5f,
          normalization_flags::none}, c.eng); const auto v = c.values<float>(c.run<layer_normalization_forward>(pd,
          {{DNNL_ARG_SRC, c.filled_f32(c.f32_matrix)}})); for (float x : v) print(std::lround(1e4f * x)))
    IDIOM(batch_normalization_forward::primitive_desc pd({prop_kind::forward_training, c.f32_matrix, 0.5f,
          normalization_flags::none}, c.eng); memory m(pd.mean_desc(), c.eng); memory v(pd.variance_desc(),
          c.eng); const auto y = c.values<float>(c.run<batch_normalization_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_f32(c.f32_matrix)}, {DNNL_ARG_MEAN, m}, {DNNL_ARG_VARIANCE, v}})); for (float x : y)
          print(std::lround(1e4f * x)); for (float x : c.values<float>(m)) print(std::lround(1e4f * x)); for
          (float x : c.values<float>(v)) print(std::lround(1e4f * x)))
    IDIOM(batch_normalization_forward::primitive_desc pd({prop_kind::forward_inference, c.f32_matrix, 0.5f,
          normalization_flags::none}, c.eng); const auto y = c.values<float>(c.run<batch_normalization_forward>(pd,
          {{DNNL_ARG_SRC, c.filled_f32(c.f32_matrix)}})); for (float x : y) print(std::lround(1e4f * x)))
    IDIOM(layer_normalization_forward::primitive_desc pd({prop_kind::forward_training, c.f32_matrix, 0.5f,
          normalization_flags::none}, c.eng); memory m(pd.mean_desc(), c.eng); memory v(pd.variance_desc(), c.eng);
          c.run<layer_normalization_forward>(pd, {{DNNL_ARG_SRC, c.filled_f32(c.f32_matrix)}, {DNNL_ARG_MEAN, m},
          {DNNL_ARG_VARIANCE, v}}); print(pd.mean_desc().dims()); for (float x : c.values<float>(m))
          print(std::lround(1e4f * x)); for (float x : c.values<float>(v)) print(std::lround(1e4f * x)))
    IDIOM(memory::desc x({1, 2, 3, 3}, dt::f32, tag::nhwc); memory::desc w({2, 2, 3, 3}, dt::f32, tag::oihw);
          memory::desc y({1, 2, 7, 7}, dt::f32, tag::nhwc); deconvolution_forward::primitive_desc
          pd({prop_kind::forward_inference, algorithm::deconvolution_direct, x, w, y, {2, 2}, {0, 0}, {0, 0}},
          c.eng); const auto v = c.values<float>( c.run<deconvolution_forward>(pd, {{DNNL_ARG_SRC,
          c.filled_f32(x)}, {DNNL_ARG_WEIGHTS, c.filled_f32(w)}})); for (float a : v) print(std::lround(1e3f *
          a)))
    IDIOM(memory::desc x({1, 2, 4, 4}, dt::f32, tag::nchw); memory::desc y({1, 2, 2, 2}, dt::f32, tag::nchw);
          pooling_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::pooling_max, x, y, {2,
          2}, {2, 2}, {0, 0}, {0, 0}}, c.eng); print(c.values<float>(c.run<pooling_forward>(pd,
          {{DNNL_ARG_SRC, c.filled_f32(x)}}))))

    IDIOM(memory::desc y({3, 4}, dt::u8, tag::ba); memory a = c.filled_f32(c.f32_matrix); memory b(y, c.eng);
          reorder(a, b).execute(c.s, a, b); print(c.values<uint8_t>(b)))
    IDIOM(primitive_attr q; q.set_output_scales(0, {1 / 0.1f}); q.set_zero_points(DNNL_ARG_DST, 0, {100});
          memory::desc y({3, 4}, dt::u8, tag::ab); reorder::primitive_desc pd(c.eng, c.f32_matrix, c.eng, y,
          q); print(c.values<uint8_t>( c.run<reorder>(pd, {{DNNL_ARG_FROM, c.filled_f32(c.f32_matrix)}}))))
    IDIOM(memory a = c.filled_f32(c.f32_matrix); memory b(c.f32_matrix, c.eng); reorder::primitive_desc pd(a, b);
          reorder(pd).execute(c.s, {{DNNL_ARG_SRC, a}, {DNNL_ARG_DST, b}}); print(c.values<float>(b),
          pd.get_kind() == primitive::kind::reorder))
    IDIOM(reorder::primitive_desc pd(c.eng, c.f32_matrix, c.eng, c.u8_image, primitive_attr(), true); print(bool(pd)))
    IDIOM(reorder::primitive_desc pd(c.eng, c.f32_matrix, c.eng, c.f32_matrix); print(pd.get_src_engine().get_kind() ==
          engine::kind::cpu, pd.get_dst_engine().get_kind() == engine::kind::cpu))
    IDIOM(memory::desc x({2, 32, 3, 3}, dt::s8, tag::nchw); memory::desc y({2, 32, 3, 3}, dt::s8,
          tag::nChw16c); memory a = c.filled_s8(x); memory b(y, c.eng); reorder(a, b).execute(c.s, a, b);
          print(c.values<int8_t>(b)))
    IDIOM(memory::desc x({32, 16, 3, 3}, dt::s8, tag::OIhw4i16o4i); memory::desc y({32, 16, 3, 3}, dt::s32, tag::hwio);
          memory a = c.filled_s8(x); memory b(y, c.eng); reorder(a, b).execute(c.s, a, b); print(c.values<int32_t>(b)))
    IDIOM(dims shape(8, 2); memory::desc x(shape, dt::f32, dims()); memory::desc y(shape, dt::s8, dims()); memory a =
          c.filled_f32(x); memory b(y, c.eng); reorder(a, b).execute(c.s, a, b); print(c.values<int8_t>(b)))
    IDIOM(reorder p; print(bool(p)); p.execute(c.s, {}))

    IDIOM(float a[6] = {1, 2, 3, 4, 5, 6}; float b[6] = {1, 0, 2, 1, 0, 3}; float y[4] = {1, 1, 1, 1};
          print(sgemm('N', 'N', 2, 2, 3, 1.f, a, 3, b, 2, 0.f, y, 2) == status::success); print(y[0]);
          print(y[1]); print(y[2]); print(y[3]))
    IDIOM(float a[6] = {1, 2, 3, 4, 5, 6}; float b[6] = {1, 0, 2, 1, 0, 3}; float y[4] = {1, 2, 3, 4};
          dnnl_sgemm('T', 'T', 2, 2, 3, 2.f, a, 2, b, 3, 1.f, y, 2); print(y[0], y[1], y[2], y[3]))
    IDIOM(uint8_t a[6] = {1, 255, 3, 4, 50, 6}; int8_t b[6] = {1, -128, 2, 1, 0, 3}; int32_t y[4]; int32_t o =
          7; print(gemm_u8s8s32('N', 'N', 'F', 2, 2, 3, 1.f, a, 3, 0, b, 2, 0, 0.f, y, 2, &o) ==
          status::success); print(y[0]); print(y[1]); print(y[2]); print(y[3]))
    IDIOM(uint8_t a[6] = {1, 255, 3, 4, 50, 6}; int8_t b[6] = {1, -128, 2, 1, 0, 3}; int32_t y[4] = {9, 8, 7, 6};
          int32_t o[2] = {100, 200}; gemm_u8s8s32('T', 'N', 'R', 2, 2, 3, 0.5f, a, 2, 4, b, 2, -3, 2.f, y, 2, o);
          print(y[0], y[1], y[2], y[3]))
    IDIOM(int8_t a[6] = {1, -5, 3, 4, 50, 6}; int8_t b[6] = {1, -128, 2, 1, 0, 3}; int32_t y[4] = {9, 8, 7, 6};
          int32_t o[2] = {100, 200}; dnnl_gemm_s8s8s32('N', 'T', 'C', 2, 2, 3, 1.f, a, 3, 1, b, 3, 2, 1.f, y, 2, o);
          print(y[0], y[1], y[2], y[3]))
    IDIOM(float y[1]; print(sgemm('X', 'N', 1, 1, 1, 1.f, y, 1, y, 1, 0.f, y, 1) == status::invalid_arguments))

    IDIOM(lrn_forward::desc d(prop_kind::forward_inference, algorithm::lrn_across_channels, c.f32_matrix, 5,
          1.f, 0.75f); print("a name"))
    IDIOM(memory::desc x({2, 3, 4}, dt::f32, tag::tnc), y({2, 3, 5}, dt::f32, tag::tnc), none;
          memory::desc w({1, 1, 4, 3, 5}, dt::f32, tag::any), r({1, 1, 5, 3, 5}, dt::f32, tag::any);
          memory::desc h({1, 1, 3, 5}, dt::f32, tag::ldnc), b({1, 1, 3, 5}, dt::f32, tag::ldgo);
          gru_forward::desc d(prop_kind::forward_inference, rnn_direction::unidirectional, x, h, w, r, b, y, h);
          gru_forward::primitive_desc pd(d, c.eng); print(static_cast<int>(pd.get_kind()));
          print(pd.src_layer_desc() == x, pd.src_iter_desc() == h, pd.dst_iter_desc() == h, pd.dst_layer_desc() == y);
          print(pd.src_desc(1) == h, pd.dst_desc(1) == h, pd.weights_desc(2) == b, pd.bias_desc() == b))
    IDIOM(memory::desc x({2, 3, 4}, dt::f32, tag::tnc), y({2, 3, 5}, dt::f32, tag::tnc), none;
          memory::desc w({1, 1, 4, 1, 5}, dt::f32, tag::ldigo), r({1, 1, 5, 1, 5}, dt::f32, tag::ldigo);
          vanilla_rnn_forward::desc d(prop_kind::forward_inference, algorithm::eltwise_tanh,
                                      rnn_direction::unidirectional, x, none, w, r, none, y, none);
          print(static_cast<int>(d.data.activation_kind), d.data.src_iter_desc.ndims))
    IDIOM(primitive_attr a; a.set_rnn_data_qparams(100.f, 12.5f); float scale = 0; float shift = 0;
          a.get_rnn_data_qparams(scale, shift); print(scale, shift))
    IDIOM(primitive_attr a; int mask = 1; std::vector<float> s; a.get_rnn_weights_qparams(mask, s); print(mask, s[0]);
          a.set_rnn_weights_qparams(24, {1.f, 2.f, 3.f}); a.get_rnn_weights_qparams(mask, s); print(mask, s[2]);
          a.set_rnn_weights_projection_qparams(8, {4.f, 5.f}); a.get_rnn_weights_projection_qparams(mask, s);
          print(mask, s[1]))
    IDIOM(std::unordered_map<int, memory> args; args.insert({DNNL_ARG_DIFF_SRC, memory()}); print(args.size()))
}

} // namespace
