// Functions of single codes as LiteRT's default runtime computes them: XNNPACK's, and those of its own
// optimized kernels. Codes are 256, so a function is a table of its results, which a reorder looks up: all
// speak of one code and of reals.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "network/tflite/ops/operators.hpp"

namespace octet::model {
namespace {

float nearest_even(float x) { return std::nearbyint(x); }

/// Makes a table with f(code) for each code; results outside the type's codes are clamped.
template <typename Function> std::unique_ptr<step> code_table(const lowering &l, const Function &f) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8});
    l.output({src.type});
    need_output_dims(l, src.dims);
    const buffer from = l.input_buffer(0), to = l.output_buffer();
    return one_step(reorder_desc(from, to, table_attr(src.type, f)),
                    {{OCTET_ARG_FROM, from}, {OCTET_ARG_TO, to}});
}

/// Source and destination of a function.
struct codes {
    linear_codes x, y;

    explicit codes(const lowering &l)
        : x(per_tensor(l.input(0), "input 0")), y(per_tensor(l.output(), "the output")) {}
    float ratio() const { return x.scale / y.scale; }
    float real(std::int32_t code) const { return static_cast<float>(code - x.zero_point) * x.scale; }
};

/// A factor with 8 fraction bits.
std::int32_t in_8_bits(float factor) { return static_cast<std::int32_t>(nearest_even(256.f * factor)); }
/// x * m / 256, ties up.
std::int32_t scaled_by_8_bits(std::int32_t x, std::int32_t m) { return (x * m + 128) >> 8; }

/// XNNPACK's table of a function f of reals: clamp(rne(f32(f(x)·f32(1 / s_y)) + z_y)). The zero point is
/// added before the rounding, in one operation with the product if that is contracted.
template <typename Function> std::unique_ptr<step> xnnpack_table(const lowering &l, const Function &f) {
    const codes q(l);
    const bool is_contracted = contracts(elementwise_rule(l));
    const float per_unit = 1.f / q.y.scale;
    return code_table(l, [&](std::int32_t code) {
        const float real =
            product_plus(f(q.real(code)), per_unit, static_cast<float>(q.y.zero_point), is_contracted);
        return static_cast<std::int32_t>(nearest_even(std::clamp(real, -1024.f, 1024.f)));
    });
}

/// LiteRT's table of a function f of reals: clamp(rha(f32(f(x)·f32(1 / s_y))) + z_y). The zero point is added
/// after the rounding, half away from zero.
template <typename Function> std::unique_ptr<step> litert_table(const lowering &l, const Function &f) {
    const codes q(l);
    const float per_unit = 1.f / q.y.scale;
    return code_table(l, [&](std::int32_t code) {
        const float real = std::round(f(q.real(code)) * per_unit);
        return static_cast<std::int32_t>(std::clamp(real, -1024.f, 1024.f)) + q.y.zero_point;
    });
}

// Correctly rounded, as good C libraries' functions of floats are but for a few last bits.
float tanh_of(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
float exp_of(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

} // namespace

primitive_attr table_attr(data_type type, const std::function<std::int32_t(std::int32_t)> &f) {
    const std::int32_t lowest = type == data_type::s8 ? -128 : 0, highest = lowest + 255;
    std::array<std::uint8_t, 256> entries;
    for (std::int32_t code = lowest; code <= highest; code++)
        entries[static_cast<std::size_t>(code - lowest)] =
            static_cast<std::uint8_t>(std::clamp(f(code), lowest, highest));
    primitive_attr attr = copy_attr(type);
    post_ops ops;
    ops.append_table({type, entries});
    attr.set_post_ops(ops);
    return attr;
}

std::unique_ptr<step> lower_xnnpack_quantize(const lowering &l) {
    if (l.input(0).type == data_type::f32) {
        const linear_codes y = per_tensor(l.output({data_type::s8, data_type::u8}), "the output");
        need_output_dims(l, l.input(0).dims);
        primitive_attr attr;
        attr.set_requantization(xnnpack_rule);
        attr.set_output_scales(0, {1.f / y.scale});
        set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
        const buffer from = l.input_buffer(0), to = l.output_buffer();
        return one_step(reorder_desc(from, to, attr), {{OCTET_ARG_FROM, from}, {OCTET_ARG_TO, to}});
    }
    const codes q(l);
    const std::int32_t m = in_8_bits(q.ratio());
    return code_table(
        l, [&](std::int32_t code) { return scaled_by_8_bits(code - q.x.zero_point, m) + q.y.zero_point; });
}

std::unique_ptr<step> lower_xnnpack_leaky_relu(const lowering &l) {
    const codes q(l);
    const std::int32_t positive = in_8_bits(q.ratio()), negative = in_8_bits(q.ratio() * l.real("alpha"));
    return code_table(l, [&](std::int32_t code) {
        const std::int32_t d = code - q.x.zero_point;
        return scaled_by_8_bits(d, d < 0 ? negative : positive) + q.y.zero_point;
    });
}

std::unique_ptr<step> lower_xnnpack_logistic(const lowering &l) {
    return xnnpack_table(l, [](float x) {
        if (x > 100.f || x < -100.f)
            return x > 0.f ? 1.f : 0.f;
        const double e = std::exp(static_cast<double>(x));
        return static_cast<float>(e / (1. + e));
    });
}

std::unique_ptr<step> lower_xnnpack_tanh(const lowering &l) { return xnnpack_table(l, tanh_of); }

std::unique_ptr<step> lower_xnnpack_elu(const lowering &l) {
    return xnnpack_table(
        l, [](float x) { return x < 0.f ? static_cast<float>(std::expm1(static_cast<double>(x))) : x; });
}

std::unique_ptr<step> lower_litert_logistic(const lowering &l) {
    return litert_table(l, [](float x) { return 1.f / (1.f + exp_of(-x)); });
}

std::unique_ptr<step> lower_litert_tanh(const lowering &l) { return litert_table(l, tanh_of); }

std::unique_ptr<step> lower_litert_softmax(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}),
                 &dst = l.output({src.type, data_type::s16});
    need_output_dims(l, src.dims);
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    const float beta = l.real("beta");
    // LiteRT itself asks for that much.
    constexpr float per_code = 1.f / 256;
    if (dst.type == data_type::s8 &&
        (std::abs(y.scale - per_code) > 0.001f * per_code || y.zero_point != -128))
        refuse("the output has scale " + std::to_string(y.scale) + " and zero point " +
               std::to_string(y.zero_point) + ", allowed are 1/256, to a thousandth, and -128");
    if (!(beta > 0 && std::isfinite(beta)))
        refuse("beta is " + std::to_string(beta) + ", allowed are positive numbers");
    primitive_attr attr;
    attr.set_requantization(l.rule());
    attr.set_scales(OCTET_ARG_SRC, 0, {x.scale * beta});
    attr.set_scales(OCTET_ARG_DST, 0, {y.scale});
    attr.set_zero_points(OCTET_ARG_DST, 0, {y.zero_point});
    const memory::desc src_md = dense_desc(src), dst_md = dense_desc(dst);
    const softmax_forward::desc d(inference, src_md, dst_md, src_md.get_ndims() - 1);
    return one_step(softmax_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)}, {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

} // namespace octet::model
