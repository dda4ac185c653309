// oneDNN's matmul behind one function.
// SPDX-License-Identifier: Apache-2.0
#include "onednn_device.hpp"

#include <cstring>

#include <oneapi/dnnl/dnnl.hpp>

extern "C" __attribute__((visibility("default"))) void
onednn_device_matmul(const std::int8_t *x, std::int64_t rows, std::int64_t length, const std::int8_t *weights,
                     float scale, std::int32_t src_zero_point, std::int32_t dst_zero_point, bool is_u8,
                     std::uint8_t *y) {
    using namespace dnnl;
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const auto type = is_u8 ? memory::data_type::u8 : memory::data_type::s8;
    const memory src({{rows, length}, memory::data_type::s8, memory::format_tag::ab}, cpu);
    const memory w({{length, 1}, memory::data_type::s8, memory::format_tag::ab}, cpu);
    const memory dst({{rows, 1}, type, memory::format_tag::ab}, cpu);
    std::memcpy(src.get_data_handle(), x, static_cast<std::size_t>(rows * length));
    std::memcpy(w.get_data_handle(), weights, static_cast<std::size_t>(length));
    primitive_attr attr;
    attr.set_output_scales(0, {scale});
    attr.set_zero_points(DNNL_ARG_SRC, 0, {src_zero_point});
    attr.set_zero_points(DNNL_ARG_DST, 0, {dst_zero_point});
    const matmul::primitive_desc pd({src.get_desc(), w.get_desc(), dst.get_desc()}, attr, cpu);
    matmul(pd).execute(s, {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, dst}});
    s.wait();
    std::memcpy(y, dst.get_data_handle(), static_cast<std::size_t>(rows));
}
