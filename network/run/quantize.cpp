// Codes of real numbers by a reorder with the framework's rule, and back by the definition of scale and zero point.
// SPDX-License-Identifier: Apache-2.0
#include "octet/quantize.hpp"

#include "network/dialect.hpp"
#include "network/graph/graph.hpp"
#include "octet/float_environment.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

template <typename Code>
void to_reals(const void *codes, std::size_t count, float scale, std::int32_t zero_point, float *reals) {
    const Code *c = static_cast<const Code *>(codes);
    for (std::size_t i = 0; i < count; i++)
        reals[i] = scale * static_cast<float>(static_cast<std::int32_t>(c[i]) - zero_point);
}

void check_codes(data_type type, const quantization &q) {
    if (!is_code(type) && type != data_type::s16)
        refuse("codes of type " + to_text(type) + ", allowed are s8, u8 and s16");
    if (q.scales.size() != 1 || q.zero_points.size() != 1)
        refuse("codes and real numbers need one scale, the tensor has " + std::to_string(q.scales.size()));
}

} // namespace

void quantize(const std::string &framework, data_type type, const quantization &q, const float *reals,
              std::size_t count, void *codes) {
    check_codes(type, q);
    if (count == 0)
        return;
    primitive_attr attr;
    const dialect *const spoken = find_dialect(framework);
    attr.set_requantization(spoken ? spoken->quantization : tflite_rule);
    attr.set_scales(OCTET_ARG_DST, 0, q.scales);
    attr.set_zero_points(OCTET_ARG_DST, 0, q.zero_points);
    const engine cpu(engine::kind::cpu, 0);
    const memory::dims dims = {static_cast<dim_t>(count)};
    const memory from(memory::desc(dims, data_type::f32, memory::dims{1}), cpu, const_cast<float *>(reals));
    const memory to(memory::desc(dims, type, memory::dims{1}), cpu, codes);
    reorder(from, to, attr).execute(stream(cpu), from, to);
}

void dequantize(data_type type, const quantization &q, const void *codes, std::size_t count, float *reals) {
    check_codes(type, q);
    const default_float_environment environment;
    const auto convert = type == data_type::u8   ? to_reals<std::uint8_t>
                         : type == data_type::s8 ? to_reals<std::int8_t>
                                                 : to_reals<std::int16_t>;
    convert(codes, count, q.scales[0], q.zero_points[0], reals);
}

} // namespace model
} // namespace v0
} // namespace octet
