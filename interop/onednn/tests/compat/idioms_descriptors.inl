// Engines, streams, memory and its descriptors.
// SPDX-License-Identifier: Apache-2.0
// clang-format off
namespace {

/// A block-layout tensor's size and fields.
void print_fields(printer &print, const memory::desc &md) {
    const dnnl_memory_desc_t &d = md.data;
    print(d.ndims, d.format_kind, d.data_type, d.offset0, md.get_size());
    for (int i = 0; i < d.ndims; i++)
        print(d.dims[i], d.padded_dims[i], d.padded_offsets[i], d.format_desc.blocking.strides[i]);
    for (int i = 0; i < d.format_desc.blocking.inner_nblks; i++)
        print(d.format_desc.blocking.inner_idxs[i], d.format_desc.blocking.inner_blks[i]);
}

void descriptors(table &t, const client &c) {
    IDIOM(print(engine::get_count(engine::kind::cpu)))
    IDIOM(print(c.eng.get_kind() == engine::kind::cpu, bool(c.eng), bool(engine())))
    IDIOM(engine e; e = engine(engine::kind::cpu, 0); print(e.get_kind() == c.eng.get_kind()))
    IDIOM(engine(engine::kind::cpu, 7))
    IDIOM(print(static_cast<int>(convert_to_c(engine::kind::gpu))))
    IDIOM(dnnl_engine_t e = c.eng.get(); dnnl_engine_kind_t k; dnnl_engine_get_kind(e, &k); print(k == dnnl_cpu))
    IDIOM(engine().get())
    IDIOM(print(engine().get(true) == nullptr))
    IDIOM(stream s(c.eng, stream::flags::in_order); s.wait(); print(s.get_engine().get_kind() == engine::kind::cpu))
    IDIOM(stream s(c.eng, stream::flags::default_flags | stream::flags::in_order); print(bool(s)))
    IDIOM(dnnl::stream s{engine()})
    IDIOM(dnnl_stream_wait(c.s.get()))
    IDIOM(oneapi::dnnl::memory::dim n = 3; print(n))
    IDIOM(::dnnl::memory m; print(bool(m), m.get(true) == nullptr))

    IDIOM(memory::desc md; print(md.is_zero(), bool(md), md.data.ndims, md.get_size()))
    IDIOM(memory::desc md({2, 3, 4, 5}, dt::f32, tag::nchw); print_fields(print, md))
    IDIOM(memory::desc md({2, 3, 4, 5}, dt::s8, tag::nhwc); print_fields(print, md))
    IDIOM(memory::desc md({2, 16, 4, 5}, dt::s8, tag::nChw16c); print_fields(print, md))
    IDIOM(memory::desc md({2, 3, 4, 5}, dt::f32, tag::nChw8c); print_fields(print, md))
    IDIOM(memory::desc md({20, 33, 3, 3}, dt::s8, tag::OIhw4i16o4i); print_fields(print, md))
    IDIOM(memory::desc md({2, 32, 9, 3, 3}, dt::s8, tag::gOIhw16o16i); print_fields(print, md))
    IDIOM(memory::desc md({20, 33}, dt::bf16, tag::BA16a16b2a); print_fields(print, md))
    IDIOM(memory::desc md({7, 5}, dt::f16, tag::ba); print_fields(print, md))
    IDIOM(memory::desc md({2, 3}, dt::s32, dims{10, 2}); print_fields(print, md))
    IDIOM(memory::desc md({2, 3}, dt::s32, dims()); print_fields(print, md))
    IDIOM(memory::desc md({1, 2, 1, 2, 1, 2, 1, 2, 3, 1, 2, 2}, dt::u8, tag::abcdefghijkl); print_fields(print, md))
    IDIOM(memory::desc md(dims(12, 2), dt::f32, dims()); print(md.get_size(), md.data.format_desc.blocking.strides[0]))
    IDIOM(memory::desc md(dims(13, 1), dt::f32, dims()); print(md.get_size()))
    IDIOM(memory::desc md({2, 0, 4}, dt::f32, tag::abc); print(md.get_size(), bool(md), md.data.dims[1]))
    IDIOM(memory::desc md({DNNL_RUNTIME_DIM_VAL, 4}, dt::u8, tag::ab); print(md.data.dims[0] == DNNL_RUNTIME_DIM_VAL))
    IDIOM(memory::desc md({DNNL_RUNTIME_DIM_VAL, 4}, dt::u8, tag::ab); print(md.get_size() == DNNL_RUNTIME_SIZE_VAL))
    IDIOM(memory::desc md({4, DNNL_RUNTIME_DIM_VAL}, dt::u8, tag::ab); print_fields(print, md))
    IDIOM(memory::desc md({2, 3}, dt::f32, tag::nchw); print("no error"))
    IDIOM(memory::desc md({2, 3}, dt::f32, tag::nchw, true); print(md.is_zero()))
    IDIOM(memory::desc md({-2, 3}, dt::f32, tag::ab); print("no error"))
    IDIOM(memory::desc md({2, 3}, dt::undef, tag::ab, true); print(md.is_zero()))
    IDIOM(memory::desc md(c.u8_image.data); print(md == c.u8_image, md != c.s8_image))
    IDIOM(print(c.u8_image.dims()))
    IDIOM(print(c.u8_image.data_type() == dt::u8, c.u8_image.get_size()))
    IDIOM(dnnl_memory_desc_t d = c.u8_image.data; print(d.format_kind == dnnl_blocked, d.data_type == dnnl_u8))
    IDIOM(const auto &b = c.u8_image.data.format_desc.blocking; print(dims(b.strides, b.strides + 4)))
    IDIOM(print(c.u8_image.data.extra.flags == dnnl_memory_extra_flag_none))
    IDIOM(print(c.any_weights.data.format_kind == dnnl_format_kind_any, c.any_weights.get_size()))
    IDIOM(print(c.u8_image.data.data_type == dt::u8, dt::s8 != dnnl_s32, tag::nhwc == dnnl_acdb))
    IDIOM(print(dnnl::PEER::element_count(c.u8_image)))
    IDIOM(print(static_cast<int>(memory::convert_to_c(tag::nhwc)), static_cast<int>(memory::convert_to_c(dt::s8))))
    IDIOM(print(memory::data_type_size(dt::s32), memory::data_type_size(dt::bf16), memory::data_type_size(dt::u8)))
    IDIOM(memory::validate_dims(dims(13)))
    IDIOM(validate_container_size(dims(), "none", 1))
    IDIOM(print(c.u8_image == memory::desc({2, 8, 5, 4}, dt::u8, dims{160, 1, 32, 8})))
    IDIOM(print(memory::desc({1, 8, 1, 1}, dt::u8, tag::nhwc) == memory::desc({1, 8, 1, 1}, dt::u8, tag::nchw)))
    IDIOM(std::set<int> kinds{static_cast<int>(memory::format_kind::blocked)}; print(kinds.count(2)))
    IDIOM(print_fields(print, c.u8_image.submemory_desc({1, 4, 5, 4}, {1, 4, 0, 0})))
    IDIOM(print_fields(print, memory::desc({2, 32, 4}, dt::f32, tag::nCw16c).submemory_desc({1, 16, 4}, {1, 16, 0})))
    IDIOM(c.u8_image.submemory_desc({1, 4, 5, 4}, {2, 4, 0, 0}))
    IDIOM(print(c.u8_image.submemory_desc({1, 4, 5, 4}, {2, 4, 0, 0}, true).is_zero()))
    IDIOM(print_fields(print, memory::desc({6, 4}, dt::f32, tag::ab).reshape({2, 3, 4})))
    IDIOM(print_fields(print, memory::desc({2, 3, 4}, dt::f32, tag::abc).reshape({6, 4})))
    IDIOM(print_fields(print, memory::desc({16}, dt::f32, tag::x).reshape({1, 16, 1, 1})))
    IDIOM(memory::desc({6, 4}, dt::f32, tag::ba).reshape({24}))
    IDIOM(memory::desc({6, 4}, dt::f32, tag::ab).reshape({5, 5}))
    IDIOM(print_fields(print, c.u8_image.permute_axes({0, 3, 1, 2})))
    IDIOM(c.u8_image.permute_axes({0, 0, 1, 2}))
    IDIOM(print_fields(print, memory::desc({2, 32, 4}, dt::f32, tag::nCw16c).permute_axes({1, 0, 2})))

    IDIOM(memory m(c.u8_image, c.eng); print(m.get_desc() == c.u8_image, m.get_data_handle() != nullptr))
    IDIOM(std::vector<float> v(12); memory m(c.f32_matrix, c.eng, v.data()); print(m.get_data_handle() == v.data()))
    IDIOM(memory m(c.f32_matrix, c.eng, DNNL_MEMORY_NONE); print(m.get_data_handle() == nullptr))
    IDIOM(memory m(c.f32_matrix, c.eng, DNNL_MEMORY_ALLOCATE); print(m.get_data_handle() != nullptr))
    IDIOM(memory m({{{3}, dt::f32, tag::x}, c.eng}); print(m.get_desc().dims()))
    IDIOM(memory m(memory::desc(), c.eng); print(m.get_desc().is_zero(), m.get_data_handle() == nullptr))
    IDIOM(memory(c.any_weights, c.eng))
    IDIOM(memory m({{2, 3, 4, 5}, dt::f32, tag::nChw8c}, c.eng); print(m.get_desc().get_size()))
    IDIOM(std::vector<float> v(12); memory m(c.f32_matrix, c.eng); m.set_data_handle(v.data(), c.s);
          print(m.get_data_handle() == v.data()))
    IDIOM(memory m = c.filled_f32(c.f32_matrix); float *p = m.map_data<float>(); print(p[2]); m.unmap_data(p))
    IDIOM(memory a(c.f32_matrix, c.eng); memory b = a; print(a == b, a.get() == b.get(), a != memory()))
    IDIOM(memory a(c.f32_matrix, c.eng); memory b; b = std::move(a); print(bool(b), bool(a)))
    IDIOM(memory a(c.f32_matrix, c.eng); memory weak; weak.reset(a.get(), true); print(weak.get_desc() == c.f32_matrix))
    IDIOM(memory m(c.f32_matrix, c.eng); print(m.get_engine().get_kind() == engine::kind::cpu))
    IDIOM(memory m(c.f32_matrix, c.eng); dnnl_memory_t h = static_cast<dnnl_memory_t>(m); print(h == m.get()))
    IDIOM(handle<dnnl_engine_t> h(c.eng); print(bool(h)))
}

} // namespace
