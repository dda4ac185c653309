// dst = epilogue( src_0 op src_1 ), in the arithmetic that the problem's form names (octet/binary.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "common/binary_problem.hpp"
#include "common/bound_epilogue.hpp"
#include "common/element.hpp"
#include "common/qlinear.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// The operands of one execution.
struct operands {
    const binary_problem &p;
    const void *src0, *src1;
    std::int32_t zp0, zp1, dst_zp;

    operands(const binary_problem &p, const arguments &args)
        : p(p), src0(args.get<const void>(OCTET_ARG_SRC_0)), src1(args.get<const void>(OCTET_ARG_SRC_1)),
          zp0(value_of(p.zero_points0, args)), zp1(value_of(p.zero_points1, args)),
          dst_zp(value_of(p.dst_zero_point, args)) {}

    std::int32_t code0(const coordinates &at) const {
        return load_s32(src0, p.src0.data_type, broadcast_offset(p.src0, at));
    }
    std::int32_t code1(const coordinates &at) const {
        return load_s32(src1, p.src1.data_type, broadcast_offset(p.src1, at));
    }
    std::int32_t centred0(const coordinates &at) const { return wrap(std::int64_t{code0(at)} - zp0); }
    std::int32_t centred1(const coordinates &at) const { return wrap(std::int64_t{code1(at)} - zp1); }
    float real0(const coordinates &at) const { return p.scale0 * static_cast<float>(centred0(at)); }
    float real1(const coordinates &at) const { return p.scale1 * static_cast<float>(centred1(at)); }

private:
    static std::int32_t value_of(const zero_points &z, const arguments &args) {
        const std::int32_t *values = z.bind(args);
        return values ? *values : 0;
    }
};

/// Last axis along which an operand varies: where src0 is constant there, ONNX Runtime lets it enter first.
bool src0_is_scalar_inside(const binary_problem &p) {
    for (int d = p.dst.ndims - 1; d >= 0; d--)
        if (p.src0.dims[d] > 1 || p.src1.dims[d] > 1)
            return p.src0.dims[d] == 1;
    return false;
}

template <typename Body> void for_each_element(const binary_problem &p, const Body &body) {
    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, p.dst);
        for (dim_t index = begin; index < end; index++, advance(at, p.dst))
            body(at);
    });
}

void run_f32(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    for_each_element(p, [&](const coordinates &at) {
        const float a = p.scale0 * load_f32(in.src0, p.src0.data_type, broadcast_offset(p.src0, at));
        const float b = p.scale1 * load_f32(in.src1, p.src1.data_type, broadcast_offset(p.src1, at));
        out.finish(binary_op(p.alg, a, b), at);
    });
}

void run_scaled_sum(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    const auto rescaled = [&](std::int32_t centred, fixed_point_multiplier m) -> std::int64_t {
        return rescaled_code(p.out_stage.rule, centred, m);
    };
    const int sign = p.alg == algorithm::binary_sub ? -1 : 1;
    for_each_element(p, [&](const coordinates &at) {
        const std::int64_t u0 = rescaled(in.centred0(at), p.multiplier0),
                           u1 = rescaled(in.centred1(at), p.multiplier1);
        out.apply(wrap(u0 + sign * u1), at);
    });
}

void run_product(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    for_each_element(p, [&](const coordinates &at) {
        out.apply(wrap(std::int64_t{in.centred0(at)} * in.centred1(at)), at);
    });
}

void run_qlinear_sum(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    if (src0_is_scalar_inside(p)) {
        const qlinear_sum sum(p.scale1, in.zp1, p.scale0, in.zp0, p.dst_scale, in.dst_zp);
        for_each_element(p, [&](const coordinates &at) { out.finish(sum(in.code1(at), in.code0(at)), at); });
    } else {
        const qlinear_sum sum(p.scale0, in.zp0, p.scale1, in.zp1, p.dst_scale, in.dst_zp);
        for_each_element(p, [&](const coordinates &at) { out.finish(sum(in.code0(at), in.code1(at)), at); });
    }
}

void run_qlinear_product(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    const qlinear_product product(p.scale0, in.zp0, p.scale1, in.zp1, p.dst_scale, in.dst_zp);
    for_each_element(p, [&](const coordinates &at) { out.finish(product(in.code0(at), in.code1(at)), at); });
}

/// QNNPACK only adds; XNNPACK's difference is rounded like a sum.
void run_weighted_sum(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    const int shift = p.multiplier0.shift, sign = p.alg == algorithm::binary_sub ? -1 : 1;
    for_each_element(p, [&](const coordinates &at) {
        const std::int64_t acc = std::int64_t{in.centred0(at)} * p.multiplier0.multiplier +
                                 std::int64_t{in.centred1(at)} * p.multiplier1.multiplier * sign;
        out.finish(p.form == binary_form::xnnpack_sum ? wrap(rounded_shift_right(wrap(acc), shift))
                                                      : rounding_divide_by_pot(wrap(acc), shift),
                   at);
    });
}

void run_dequantized(const binary_problem &p, const operands &in, const bound_epilogue &out) {
    const bool rounds_away = is_snps_caffe(p.out_stage.rule);
    for_each_element(p, [&](const coordinates &at) {
        const float x = binary_op(p.alg, in.real0(at), in.real1(at)) / p.dst_scale;
        out.finish(rounds_away ? round_half_away(x) : x, at);
    });
}

void run(const binary_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const operands in(p, args);
    switch (p.form) {
    case binary_form::f32:
        return run_f32(p, in, out);
    case binary_form::scaled_sum:
        return run_scaled_sum(p, in, out);
    case binary_form::product:
        return run_product(p, in, out);
    case binary_form::qlinear_sum:
        return run_qlinear_sum(p, in, out);
    case binary_form::qlinear_product:
        return run_qlinear_product(p, in, out);
    case binary_form::qnnpack_sum:
    case binary_form::xnnpack_sum:
        return run_weighted_sum(p, in, out);
    case binary_form::dequantized:
        return run_dequantized(p, in, out);
    }
}

} // namespace

std::shared_ptr<const kernel> create(const binary_problem &p) {
    return std::make_shared<reference_kernel<binary_problem>>(p, run);
}

} // namespace octet::impl::ref
