// Resampling in every arithmetic, 1D to 3D.
// SPDX-License-Identifier: Apache-2.0
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
        if (r.chance(30)) // weights with few bits
            dst_dims.back() = src_dims.back() * r.pick({1, 2, 4, 8});
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
    p.any_nan_will_do = true;
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
    set_max_cpu_isa(cpu_isa::all);
}

/// Equal images, so that the reference makes one; from another byte in, dst is not aligned to cache lines.
void expect_equal_images(algorithm alg, rules rule, data_type type, dim_t size, dim_t images,
                         std::size_t bytes_in) {
    const dim_t channels = 64, to = 64;
    const auto dims = [&](dim_t mb, dim_t hw) { return memory::dims{mb, channels, hw, hw}; };
    const auto tag = format_tag::nhwc;
    const auto make = [&](dim_t mb) {
        primitive_attr attr;
        attr.set_requantization(rule);
        return resampling_forward::primitive_desc({prop_kind::forward_inference, alg,
                                                   memory::desc(dims(mb, size), type, tag),
                                                   memory::desc(dims(mb, to), type, tag)},
                                                  attr, eng());
    };
    const std::size_t element = memory::data_type_size(type);
    bytes src(static_cast<std::size_t>(channels * size * size) * element), srcs;
    random_source r(7);
    for (std::size_t i = 0; i < src.size(); i++) // finite floats
        src[i] = static_cast<std::uint8_t>(type == data_type::f32 && i % 4 == 3 ? 63 : r.between(0, 255));
    for (dim_t i = 0; i < images; i++)
        srcs.insert(srcs.end(), src.begin(), src.end());
    const auto run = [&](dim_t mb, bytes &from, std::uint8_t *dst) {
        const auto pd = make(mb);
        resampling_forward(pd).execute(
            stream(eng()),
            {{OCTET_ARG_SRC, memory(memory::desc(dims(mb, size), type, tag), eng(), from.data())},
             {OCTET_ARG_DST, memory(memory::desc(dims(mb, to), type, tag), eng(), dst)}});
        return std::string(pd.impl_info_str());
    };
    const std::size_t image = static_cast<std::size_t>(channels * to * to) * element;
    set_max_cpu_isa(cpu_isa::ref);
    bytes expected(image);
    run(1, src, expected.data());
    for (const cpu_isa level : get_available_cpu_isas()) {
        if (level == cpu_isa::ref)
            continue;
        set_max_cpu_isa(level);
        bytes got(image * static_cast<std::size_t>(images) + 64 + bytes_in);
        auto *dst = got.data() + (64 - reinterpret_cast<std::uintptr_t>(got.data()) % 64) + bytes_in;
        const std::string implementation = run(images, srcs, dst);
        for (dim_t i = 0; i < images; i++)
            ASSERT_EQ(std::memcmp(dst + static_cast<std::size_t>(i) * image, expected.data(), image), 0)
                << implementation << ", image " << i << " of " << images << ", type "
                << static_cast<int>(type) << ", from " << size;
    }
    set_max_cpu_isa(cpu_isa::all);
}

/// Beyond the caches lines are prefetched, and stores go past these where dst is aligned.
TEST(Resampling, LargeDestinations) {
    const auto linear = algorithm::resampling_linear, nearest = algorithm::resampling_nearest;
    const dim_t images = 120; // images of 256 KiB
    for (const std::size_t bytes_in : {0, 4}) {
        expect_equal_images(nearest, rules::tflite_2step, data_type::u8, 32, images, bytes_in);
        expect_equal_images(linear, rules::tflite_2step, data_type::s8, 32, images, bytes_in);
        expect_equal_images(linear, rules::tflite_2step, data_type::u8, 45, images, bytes_in);
        expect_equal_images(linear, rules::f32, data_type::f32, 45, images / 4, bytes_in);
    }
}

} // namespace
} // namespace octet::test
