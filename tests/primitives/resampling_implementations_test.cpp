// Resampling in every arithmetic, 1D to 3D.

#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

using rules = requantization_rule;

memory::dims channels_last(const memory::dims &dims) {
    memory::dims strides(dims.size());
    strides[1] = 1;
    dim_t stride = dims[1];
    for (std::size_t d = dims.size(); d-- > 2;) {
        strides[d] = stride;
        stride *= dims[d];
    }
    strides[0] = stride;
    return strides;
}

comparison random_resampling(random_source &r) {
    const rules rule = r.pick({rules::f32, rules::f32, rules::tflite_2step, rules::tflite_single_rounding,
                               rules::ort_f32, rules::caffe_double_round});
    const algorithm alg = r.pick({algorithm::resampling_nearest, algorithm::resampling_linear});
    const bool is_f32 = rule == rules::f32;
    memory::dims src_dims{r.between(1, 3), r.chance(30) ? r.between(60, 280) : r.between(1, 40)};
    memory::dims dst_dims = src_dims;
    for (dim_t spatial = is_f32 || alg == algorithm::resampling_nearest ? r.between(1, 3) : 2; spatial > 0;
         spatial--) {
        src_dims.push_back(r.between(1, 7));
        dst_dims.push_back(r.between(1, 12));
    }
    const data_type from = is_f32 ? random_type(r) : random_code(r);
    const data_type to = is_f32 && r.chance(60) ? random_type(r) : from;
    auto coordinates = resampling_coordinates::half_pixel;
    if (!is_f32)
        coordinates = r.pick({resampling_coordinates::half_pixel, resampling_coordinates::asymmetric,
                              resampling_coordinates::align_corners});
    const bool is_tflite = rule == rules::tflite_2step || rule == rules::tflite_single_rounding;
    if (is_tflite && alg == algorithm::resampling_nearest && r.chance(20))
        coordinates = resampling_coordinates::align_corners_half_pixel;
    const auto layout = [&](const memory::dims &dims) {
        return r.chance(75) ? channels_last(dims) : random_strides(r, dims);
    };
    const memory::desc src(src_dims, from, layout(src_dims));
    comparison p;
    p.srcs = {{OCTET_ARG_SRC, src}};
    p.dst = memory::desc(dst_dims, to, layout(dst_dims));
    random_attributes a;
    if (r.chance(40))
        add_post_ops(r, p, p.dst, a);
    a.attr.set_requantization(rule);
    p.make = [=, dst = p.dst]() -> primitive_desc_base {
        return resampling_forward::primitive_desc({prop_kind::forward_inference, alg, src, dst, coordinates},
                                                  a.attr, eng());
    };
    p.description = std::string(alg == algorithm::resampling_linear ? "linear " : "nearest ") +
                    to_string(rule) + " " + std::to_string(static_cast<int>(coordinates)) + " " +
                    src.to_string() + " " + text_of(src_dims) + " to " + p.dst.to_string() + " " +
                    text_of(dst_dims) + a.description;
    return p;
}

TEST(Resampling, EqualsReference) { compare_many(random_resampling, 6000000); }

/// TFLite rounds the step between positions, which may add up to more than the last element.
TEST(Resampling, PositionsBeyondTheLastElementAreTheLastElement) {
    const memory::desc src({1, 1, 1, 1}, data_type::s8, format_tag::nchw),
        dst({1, 1, 1, 1025}, data_type::s8, format_tag::nchw);
    const memory x(src, eng()), y(dst, eng());
    *static_cast<std::int8_t *>(x.get_data_handle()) = 77;
    primitive_attr attr;
    attr.set_requantization(rules::tflite_2step);
    const resampling_forward::desc d(prop_kind::forward_inference, algorithm::resampling_linear, src, dst,
                                     resampling_coordinates::asymmetric);
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        resampling_forward(resampling_forward::primitive_desc(d, attr, eng()))
            .execute(stream(eng()), {{OCTET_ARG_SRC, x}, {OCTET_ARG_DST, y}});
        for (int i = 0; i < 1025; i++)
            ASSERT_EQ(static_cast<const std::int8_t *>(y.get_data_handle())[i], 77) << i;
    }
    set_max_cpu_isa(cpu_isa::avx512_vnni);
}

} // namespace
} // namespace octet::test
