// oneDNN's matmul and binary, each behind one function.
// SPDX-License-Identifier: Apache-2.0
#include "onednn_device.hpp"

#include <cstring>

#include <oneapi/dnnl/dnnl.hpp>

using namespace dnnl;

namespace {

memory::data_type code_type(bool is_u8) { return is_u8 ? memory::data_type::u8 : memory::data_type::s8; }

} // namespace

extern "C" __attribute__((visibility("default"))) void
onednn_device_matmul(const std::int8_t *x, std::int64_t rows, std::int64_t length, const std::int8_t *weights,
                     const float *scales, std::int64_t channels, std::int32_t src_zero_point,
                     std::int32_t dst_zero_point, bool is_u8, std::uint8_t *y) {
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const memory src({{rows, length}, memory::data_type::s8, memory::format_tag::ab}, cpu);
    const memory w({{length, channels}, memory::data_type::s8, memory::format_tag::ba}, cpu);
    const memory dst({{rows, channels}, code_type(is_u8), memory::format_tag::ab}, cpu);
    std::memcpy(src.get_data_handle(), x, static_cast<std::size_t>(rows * length));
    std::memcpy(w.get_data_handle(), weights, static_cast<std::size_t>(length * channels));
    primitive_attr attr;
    attr.set_output_scales(channels == 1 ? 0 : 2, {scales, scales + channels});
    attr.set_zero_points(DNNL_ARG_SRC, 0, {src_zero_point});
    attr.set_zero_points(DNNL_ARG_DST, 0, {dst_zero_point});
    const matmul::primitive_desc pd({src.get_desc(), w.get_desc(), dst.get_desc()}, attr, cpu);
    matmul(pd).execute(s, {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, dst}});
    s.wait();
    std::memcpy(y, dst.get_data_handle(), static_cast<std::size_t>(rows * channels));
}

extern "C" __attribute__((visibility("default"))) void
onednn_device_binary(bool multiplies, const std::uint8_t *a, const std::uint8_t *b, std::int64_t count,
                     float scale_a, float scale_b, bool is_u8, std::uint8_t *y) {
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const memory::desc md({count}, code_type(is_u8), memory::format_tag::a);
    const memory first(md, cpu), second(md, cpu), dst(md, cpu);
    std::memcpy(first.get_data_handle(), a, static_cast<std::size_t>(count));
    std::memcpy(second.get_data_handle(), b, static_cast<std::size_t>(count));
    primitive_attr attr;
    attr.set_scales(DNNL_ARG_SRC_0, 0, {scale_a});
    attr.set_scales(DNNL_ARG_SRC_1, 0, {scale_b});
    const algorithm alg = multiplies ? algorithm::binary_mul : algorithm::binary_add;
    const binary::primitive_desc pd({alg, md, md, md}, attr, cpu);
    binary(pd).execute(s, {{DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}, {DNNL_ARG_DST, dst}});
    s.wait();
    std::memcpy(y, dst.get_data_handle(), static_cast<std::size_t>(count));
}
