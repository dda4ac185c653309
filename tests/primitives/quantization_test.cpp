// Quantization: around every tie, and with any scale that comes as an argument.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

/// Quantization with scale and zero point as attributes, or as arguments.
class quantization {
public:
    quantization(const memory::desc &src, const memory::desc &dst, bool are_arguments, float scale,
                 std::int32_t zero_point)
        : scale_(scale), zero_point_(zero_point) {
        primitive_attr attr;
        attr.set_requantization(requantization_rule::ort_f32);
        attr.set_scales(OCTET_ARG_DST, 0, {are_arguments ? OCTET_RUNTIME_F32_VAL : scale});
        attr.set_zero_points(OCTET_ARG_DST, 0, {are_arguments ? OCTET_RUNTIME_S32_VAL : zero_point});
        pd_ = reorder::primitive_desc(eng(), src, eng(), dst, attr);
        if (are_arguments)
            arguments_ = {{OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST,
                           memory({{1}, data_type::f32, format_tag::a}, eng(), &scale_)},
                          {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST,
                           memory({{1}, data_type::s32, format_tag::a}, eng(), &zero_point_)}};
    }
    void execute(const memory &src, const memory &dst) {
        arguments_[OCTET_ARG_SRC] = src;
        arguments_[OCTET_ARG_DST] = dst;
        primitive(pd_).execute(stream(eng()), arguments_);
    }

private:
    float scale_;
    std::int32_t zero_point_;
    reorder::primitive_desc pd_;
    std::unordered_map<int, memory> arguments_;
};

/// Around every tie of many scales the quotient decides by its last bit; the oracle divides.
TEST(Streams, QuantizationDividesExactly) {
    random_source r(4700000);
    constexpr int steps = 3; // floats on each side of a tie
    const memory::desc src({512 * (2 * steps + 1)}, data_type::f32, format_tag::a),
        dst(src.dims(), data_type::u8, format_tag::a);
    const memory x(src, eng()), y(dst, eng());
    auto *values = static_cast<float *>(x.get_data_handle());
    const auto *codes = static_cast<const std::uint8_t *>(y.get_data_handle());
    for (int i = 0; i < 200; i++) {
        const float scale = std::ldexp(r.real(0.5f, 1.f), static_cast<int>(r.between(-40, 10)));
        float *value = values;
        for (int tie = -256; tie < 256; tie++) {
            *value = (static_cast<float>(tie) + 0.5f) * scale;
            for (int step = 0; step < steps; step++)
                *value = std::nextafter(*value, -HUGE_VALF);
            for (int step = 0; step < 2 * steps; step++, value++)
                value[1] = std::nextafter(*value, HUGE_VALF);
            value++;
        }
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            quantization(src, dst, i % 2 == 1, scale, 128).execute(x, y);
            for (int k = 0; k < src.dims()[0]; k++) {
                const float code = std::nearbyint(values[k] / scale) + 128.f;
                ASSERT_EQ(codes[k], std::min(std::max(code, 0.f), 255.f))
                    << values[k] << " / " << scale << " at " << to_string(level);
            }
        }
        set_max_cpu_isa(cpu_isa::all);
    }
}

/// Scales and zero points for which multiplications would not give the code, and those next to them.
TEST(Streams, QuantizationTakesAnyScaleAsArgument) {
    constexpr float infinity = HUGE_VALF;
    random_source r(4800000);
    const memory::desc src({1000}, data_type::f32, format_tag::a),
        dst(src.dims(), data_type::u8, format_tag::a);
    const memory x(src, eng()), y(dst, eng()), expected(dst, eng());
    auto *values = static_cast<float *>(x.get_data_handle());
    for (const float scale : {0x1p-126f, 0x1p-61f, 0x1.8p-61f, 0x1p-60f, 0.1f, 0x1p60f, 0x1.8p60f, 0x1p127f,
                              infinity, 0.f, -0.5f, std::nanf("")})
        for (const std::int32_t zero_point :
             {0, 128, 1 << 15, (1 << 15) + 1, -(1 << 15) - 1, 1 << 20, -(1 << 30)}) {
            const float unit = scale > 0 && scale < 0x1p100f ? scale : 1.f;
            for (int i = 0; i < src.dims()[0]; i++)
                values[i] =
                    static_cast<float>(std::ldexp(r.real(-1.f, 1.f), static_cast<int>(r.between(0, 24)))) *
                    unit;
            const float edges[] = {0.f,           -0.f,      infinity,  -infinity,
                                   std::nanf(""), 0x1p-149f, 0x1p-126f, 0x1.fffffep127f};
            std::copy(std::begin(edges), std::end(edges), values + r.between(0, 900));
            set_max_cpu_isa(cpu_isa::ref);
            quantization(src, dst, true, scale, zero_point).execute(x, expected);
            for (const cpu_isa level : get_available_cpu_isas()) {
                set_max_cpu_isa(level);
                quantization(src, dst, true, scale, zero_point).execute(x, y);
                ASSERT_EQ(std::memcmp(y.get_data_handle(), expected.get_data_handle(), dst.get_size()), 0)
                    << scale << ", " << zero_point << " at " << to_string(level);
            }
            set_max_cpu_isa(cpu_isa::all);
        }
}

} // namespace
} // namespace octet::test
