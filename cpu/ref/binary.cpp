// f32 rules: dst = epilogue( (scale_0 * src_0) op (scale_1 * src_1) ).
// tflite rules, add: u_i = M_i((src_i - zp_i) << 20), dst = epilogue(M(u_0 + u_1)); the left shift leaves
// room for the rounding of M_i, which are at most 1/2.

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "cpu/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

constexpr int add_left_shift = 20; // TFLite's constant for 8-bit operands

std::int32_t fixed_point_term(requantization_rule rule, std::int32_t code, const std::int32_t *zero_point,
                              fixed_point_multiplier m) {
    const std::int64_t centred = std::int64_t{code} - (zero_point ? *zero_point : 0);
    return requantize(rule, wrap(centred * (std::int64_t{1} << add_left_shift)), m);
}

void run(const binary_problem &p, const arguments &args) {
    const bound_epilogue out(p.out_stage, args);
    const void *src0 = args.get<const void>(OCTET_ARG_SRC_0), *src1 = args.get<const void>(OCTET_ARG_SRC_1);
    const std::int32_t *zp0 = p.zero_points0.bind(args), *zp1 = p.zero_points1.bind(args);
    const requantization_rule rule = p.out_stage.rule;
    const float scale0 = p.scale0.is_set() ? p.scale0.values[0] : 1.f,
                scale1 = p.scale1.is_set() ? p.scale1.values[0] : 1.f;

    parallel_for(element_count(p.dst), 1024, [&](dim_t begin, dim_t end) {
        for (dim_t index = begin; index < end; index++) {
            const coordinates at = coordinates_of(index, p.dst);
            const dim_t offset0 = broadcast_offset(p.src0, at), offset1 = broadcast_offset(p.src1, at);
            if (is_float(rule)) {
                const float a = scale0 * load_f32(src0, p.src0.data_type, offset0);
                const float b = scale1 * load_f32(src1, p.src1.data_type, offset1);
                out.finish(binary_op(p.alg, a, b), at);
            } else {
                const std::int32_t u0 =
                    fixed_point_term(rule, load_s32(src0, p.src0.data_type, offset0), zp0, p.multiplier0);
                const std::int32_t u1 =
                    fixed_point_term(rule, load_s32(src1, p.src1.data_type, offset1), zp1, p.multiplier1);
                out.apply(wrapping_add(u0, u1), at);
            }
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const binary_problem &p) {
    return std::make_shared<reference_kernel<binary_problem>>(p, run);
}

} // namespace octet::impl::ref
