// A reorder with rule ort_f32 behind a loop that finds its parameters.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/dynamic_quantization.hpp"

#include <algorithm>

namespace octet::model {

dynamic_quantize_step::dynamic_quantize_step(const lowering &l, const buffer &src, const buffer &dst,
                                             const buffer &scale, const buffer &zero_point)
    : count_(element_count(src.get_desc().dims())), loop_(count_), src_(src), scale_(scale),
      zero_point_u8_(zero_point),
      zero_point_s32_(l.scratch(memory::desc({1}, data_type::s32, format_tag::x))),
      found_(l.scratch(memory::desc({loop_.scratch_size()}, data_type::f32, format_tag::x))) {
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    attr.set_scales_mask(OCTET_ARG_DST, 0);
    attr.set_zero_points_mask(OCTET_ARG_DST, 0);
    quantize_.add(reorder_desc(src, dst, attr),
                  {{OCTET_ARG_SRC, src},
                   {OCTET_ARG_DST, dst},
                   {OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST, scale_},
                   {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST, zero_point_s32_}});
}

void dynamic_quantize_step::run(const stream &s, const run_memory &m) const {
    const loops::extremes e = loop_.run(m.at<float>(src_), m.at<float>(found_));
    const dynamic_quantization q = dynamic_quantization_of(std::min(e.low, 0.f), std::max(e.high, 0.f));
    *m.at<float>(scale_) = q.scale;
    *m.at<std::uint8_t>(zero_point_u8_) = static_cast<std::uint8_t>(q.zero_point);
    *m.at<std::int32_t>(zero_point_s32_) = q.zero_point;
    quantize_.run(s, m);
}

std::string dynamic_quantize_step::explain() const {
    return "the extremes of " + std::to_string(count_) + " elements, by a plain loop\n" + quantize_.explain();
}

} // namespace octet::model
