// Reorder: every rule on full 32-bit values, conversions between all types, layouts, masks, and packed
// weights there and back.
// SPDX-License-Identifier: Apache-2.0
#include <cfenv>

#include "support/expect_error.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;

TEST(reorder, requantizes_random_tensors) {
    inputs in(131);
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); i++) {
        dims sizes;
        for (std::int64_t d = in.between(1, 4); d > 0; d--)
            sizes.push_back(in.between(1, 7));
        constexpr data_type types[] = {data_type::s32, data_type::s8, data_type::u8, data_type::s16};
        const memory::desc src_md = any_layout(in, sizes, types[in.between(0, 3)]),
                           dst_md = any_layout(in, sizes, types[in.between(0, 3)]);
        const output_stage out(in, {dst_md, static_cast<int>(sizes.size()) - 1, 0, false, 1});
        if (out.rule() == rule::f32 || out.rule() == rule::f32_v3 || out.rule() == rule::ort_f32)
            continue; // the float rules of reorder have formulas of their own: below
        primitive_attr attr = out.attr();
        const auto src_zp = random_zero_points(in, src_md, {0, 1, (1 << sizes.size()) - 1});
        set_zero_points(attr, OCTET_ARG_SRC, src_zp);
        const memory src = random_memory(in, src_md), dst = random_memory(in, dst_md);
        const auto expected = [&](const dims &at) {
            const auto code = static_cast<std::int64_t>(element(src_md, src.get_data_handle(), at));
            return out.stored(code - src_zp.at(sizes, at, 0), 0, at);
        };
        const auto pd = [&] { return reorder::primitive_desc(cpu, src_md, cpu, dst_md, attr); };
        expect_execution([&] { return reorder(pd()); }, {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}},
                         expected, pd().problem_str() + ", " + out.text());
    }
}

/// One of the float rules on random tensors and masks; `value` is the formula up to the store.
struct float_case {
    memory::desc src, dst;
    memory input;
    masked<float> output_scales, src_scales, dst_scales;
    masked<std::int32_t> src_zp, dst_zp;

    double source(const dims &at) const { return element(src, input.get_data_handle(), at); }
    float centred(const dims &at) const {
        return add_f32(f32(source(at)), -f32(src_zp.at(src.dims(), at, 0)));
    }
};

masked<float> random_scales(inputs &in, const memory::desc &md) {
    masked<float> s;
    s.mask = in.one_in(2) ? 0 : static_cast<int>(in.between(0, (1 << md.get_ndims()) - 1));
    for (std::size_t i = 0; i < masked_count(s.mask, md.dims()); i++)
        s.values.push_back(static_cast<float>(in.between(1, 4000)) / 1000);
    return s;
}

float_case random_float_case(inputs &in) {
    constexpr data_type types[] = {data_type::f32, data_type::s32, data_type::s8, data_type::u8,
                                   data_type::s16};
    dims sizes;
    for (std::int64_t d = in.between(1, 5); d > 0; d--)
        sizes.push_back(in.between(1, 5));
    float_case c;
    c.src = any_layout(in, sizes, types[in.between(0, 4)]);
    c.dst = any_layout(in, sizes, types[in.between(0, 4)]);
    c.input = random_memory(in, c.src);
    const memory::desc codes(sizes, data_type::s8, dims{});
    c.src_zp = random_zero_points(in, codes, {0, 1, (1 << sizes.size()) - 1});
    c.dst_zp = random_zero_points(in, codes, {0, 1, (1 << sizes.size()) - 1});
    return c;
}

void check(inputs &in, const float_case &c, rule id, const std::function<double(const dims &)> &expected) {
    primitive_attr attr;
    attr.set_requantization(id);
    if (c.output_scales.is_set())
        attr.set_output_scales(c.output_scales.mask, c.output_scales.values);
    if (c.src_scales.is_set())
        attr.set_scales(OCTET_ARG_SRC, c.src_scales.mask, c.src_scales.values);
    if (c.dst_scales.is_set())
        attr.set_scales(OCTET_ARG_DST, c.dst_scales.mask, c.dst_scales.values);
    set_zero_points(attr, OCTET_ARG_SRC, c.src_zp);
    set_zero_points(attr, OCTET_ARG_DST, c.dst_zp);
    const auto pd = [&] { return reorder::primitive_desc(cpu, c.src, cpu, c.dst, attr); };
    expect_execution([&] { return reorder(pd()); },
                     {{OCTET_ARG_SRC, c.input}, {OCTET_ARG_DST, random_memory(in, c.dst)}}, expected,
                     pd().problem_str());
}

/// oneDNN's store: add the zero point, saturate, round.
double store_f32(const float_case &c, float x, const dims &at) {
    const float y = c.dst_zp.is_set() ? add_f32(x, f32(c.dst_zp.at(c.dst.dims(), at, 0))) : x;
    return is_integer(c.dst.data_type()) ? saturate_and_round(y, c.dst.data_type()) : y;
}

TEST(reorder, f32_scales_as_onednn_2_does) {
    inputs in(132);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        float_case c = random_float_case(in);
        if (in.one_in(2))
            c.output_scales = random_scales(in, c.dst);
        check(in, c, rule::f32, [&](const dims &at) {
            return store_f32(c, multiply_f32(c.centred(at), c.output_scales.at(c.dst.dims(), at, 1.f)), at);
        });
    }
}

TEST(reorder, f32_v3_scales_as_onednn_3_does) {
    inputs in(133);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        float_case c = random_float_case(in);
        c.src_scales = random_scales(in, c.src);
        if (in.one_in(2))
            c.dst_scales = random_scales(in, c.dst);
        check(in, c, rule::f32_v3, [&](const dims &at) {
            const float x = multiply_f32(c.centred(at), c.src_scales.at(c.src.dims(), at, 1.f));
            if (!c.dst_scales.is_set())
                return store_f32(c, x, at);
            return store_f32(
                c, multiply_f32(x, f32(1 / static_cast<double>(c.dst_scales.at(c.dst.dims(), at, 1.f)))), at);
        });
    }
}

TEST(reorder, ort_f32_quantizes_and_dequantizes_as_onnx_runtime_does) {
    inputs in(134);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        float_case c = random_float_case(in);
        const bool quantizes = c.src.data_type() == data_type::f32,
                   dequantizes = c.dst.data_type() == data_type::f32;
        if (quantizes == dequantizes || c.dst.data_type() == data_type::s32)
            continue;
        if (quantizes) {
            c.src_zp = {};
            c.dst_scales = random_scales(in, c.dst);
        } else {
            c.dst_zp = {};
            c.src_scales = random_scales(in, c.src);
        }
        check(in, c, rule::ort_f32, [&](const dims &at) -> double {
            if (dequantizes) {
                const float difference =
                    f32(wrapped(static_cast<wide>(c.source(at)) - c.src_zp.at(c.src.dims(), at, 0)));
                return multiply_f32(difference, c.src_scales.at(c.src.dims(), at, 1.f));
            }
            const std::int32_t zp = c.dst_zp.at(c.dst.dims(), at, 0);
            const float x = f32(c.source(at) / static_cast<double>(c.dst_scales.at(c.dst.dims(), at,
                                                                                   1.f))); // a true division
            const double low = static_cast<double>(lowest_code(c.dst.data_type()) - zp),
                         high = static_cast<double>(highest_code(c.dst.data_type()) - zp);
            return to_even(f32(std::clamp<double>(x, low, high))) + zp;
        });
    }
}

TEST(reorder, tflite_quantizes_half_away_from_zero) {
    inputs in(135);
    for (int i = 0; i < 100 && !testing::Test::HasFailure(); i++) {
        float_case c = random_float_case(in);
        if (c.src.data_type() != data_type::f32 || !is_integer(c.dst.data_type()))
            continue;
        c.src_zp = {};
        c.dst_scales = {0, {in.one_in(2) ? 0.25f : 0.3f}}; // eighths / 0.25: half of them are ties
        check(in, c, rule::tflite_2step, [&](const dims &at) {
            const double x =
                static_cast<double>(f32(c.source(at) / static_cast<double>(c.dst_scales.values[0])));
            const double away = x < 0 ? std::ceil(x - 0.5) : std::floor(x + 0.5);
            return std::clamp(away + c.dst_zp.at(c.dst.dims(), at, 0),
                              static_cast<double>(lowest_code(c.dst.data_type())),
                              static_cast<double>(highest_code(c.dst.data_type())));
        });
    }
}

struct published {
    std::int32_t acc;
    float scale;
    std::int32_t zero_point;
    data_type type;
    std::int32_t code;
};

/// One value through a rule with an output scale.
std::int32_t converted(rule id, const published &v) {
    const memory src(memory::desc({1}, data_type::s32, format_tag::a), cpu),
        dst(memory::desc({1}, v.type, format_tag::a), cpu);
    *src.map_data<std::int32_t>() = v.acc;
    primitive_attr attr;
    attr.set_requantization(id);
    attr.set_output_scales(0, {v.scale});
    if (v.zero_point != 0)
        attr.set_zero_points(OCTET_ARG_DST, 0, {v.zero_point});
    reorder(src, dst, attr).execute(stream(cpu), src, dst);
    return static_cast<std::int32_t>(element(dst.get_desc(), dst.get_data_handle(), {0}));
}

TEST(reorder, published_values_of_f32) {
    for (const published &v : {published{1, 0.5f, 0, data_type::s8, 0},
                               {3, 0.5f, 0, data_type::s8, 2},
                               {1, 0.5f, 1, data_type::s8, 2},
                               {-10, 0.25f, 1, data_type::s8, -2},
                               {12345, 0x1.daf7a8p-8f, -5, data_type::s8, 84},
                               {17248, 0x1.8da168p-12f, 7, data_type::s8, 14},
                               {16777217, 0x1p-18f, 0, data_type::s8, 64},
                               {16777219, 0x1p-18f, 1, data_type::s8, 65},
                               {int32_max, 1.f, 0, data_type::s8, 127},
                               {431, 0x1.555556p-2f, -128, data_type::s8, 16},
                               {10, 0.25f, 1, data_type::u8, 4},
                               {-12345, 0x1.daf7a8p-8f, 7, data_type::u8, 0},
                               {16777217, 1.f, 3, data_type::s32, 16777220},
                               {int32_max, 1.f, 0, data_type::s32, 2147483520}})
        EXPECT_EQ(converted(rule::f32, v), v.code) << v.acc << " * " << v.scale << " + " << v.zero_point;
}

TEST(reorder, published_values_of_ort_f32) {
    for (const published &v : {published{1, 0.5f, 0, data_type::s8, 0},
                               {3, 0.5f, 1, data_type::s8, 3},
                               {1, 0.5f, 1, data_type::u8, 1},
                               {-10, 0.25f, 1, data_type::s8, -1},
                               {10, 0.25f, 1, data_type::u8, 3},
                               {12345, 0x1.daf7a8p-8f, -5, data_type::s8, 84},
                               {5, 0.5f, 5, data_type::u8, 7},
                               {7, 0.5f, 5, data_type::u8, 9},
                               {-1, 0.5f, 1, data_type::u8, 1},
                               {16777219, 0x1p-18f, 1, data_type::u8, 65},
                               {int32_max, 0x1.12e0bep-30f, 0, data_type::u8, 2},
                               {-25, 0x1.99999ap-4f, 1, data_type::s8, -1},
                               {35, 0x1.99999ap-4f, 2, data_type::u8, 6}})
        EXPECT_EQ(converted(rule::ort_f32, v), v.code) << v.acc << " * " << v.scale << " + " << v.zero_point;
}

TEST(reorder, special_values_saturate) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    const float values[] = {inf, -inf, nan, 1e30f, -1e30f, 0.5f, 1.5f, 2.5f, -0.5f, 127.5f, -128.5f, 255.5f};
    const dim_t n = std::size(values);
    const memory::desc f32_md({n}, data_type::f32, format_tag::a);
    const memory src(f32_md, cpu);
    std::memcpy(src.get_data_handle(), values, sizeof values);
    const auto converted_to = [&](data_type type, rule id) {
        const memory dst(memory::desc({n}, type, format_tag::a), cpu);
        primitive_attr attr;
        if (id == rule::ort_f32) {
            attr.set_requantization(id);
            attr.set_scales(OCTET_ARG_DST, 0, {1.f});
        }
        reorder(src, dst, attr).execute(stream(cpu), src, dst);
        std::vector<std::int64_t> codes;
        for (dim_t i = 0; i < n; i++)
            codes.push_back(static_cast<std::int64_t>(element(dst.get_desc(), dst.get_data_handle(), {i})));
        return codes;
    };
    using codes = std::vector<std::int64_t>;
    EXPECT_EQ(converted_to(data_type::u8, rule::f32), (codes{255, 0, 0, 255, 0, 0, 2, 2, 0, 128, 0, 255}));
    EXPECT_EQ(converted_to(data_type::s8, rule::f32),
              (codes{127, -128, 127, 127, -128, 0, 2, 2, 0, 127, -128, 127}));
    constexpr std::int64_t top = 2147483520;
    EXPECT_EQ(converted_to(data_type::s32, rule::f32),
              (codes{top, int32_min, top, top, int32_min, 0, 2, 2, 0, 128, -128, 256}));
    EXPECT_EQ(converted_to(data_type::u8, rule::ort_f32), (codes{255, 0, 0, 255, 0, 0, 2, 2, 0, 128, 0, 255}))
        << "NaN: the lowest code";
    EXPECT_EQ(converted_to(data_type::s8, rule::ort_f32),
              (codes{127, -128, -128, 127, -128, 0, 2, 2, 0, 127, -128, 127}));
}

TEST(reorder, integers_stay_exact_without_attributes) {
    const memory src(memory::desc({3}, data_type::s32, format_tag::a), cpu), dst(src.get_desc(), cpu);
    const std::int32_t values[] = {int32_max, int32_min, 16777217};
    std::memcpy(src.get_data_handle(), values, sizeof values);
    reorder(src, dst).execute(stream(cpu), src, dst);
    EXPECT_EQ(std::memcmp(dst.get_data_handle(), values, sizeof values), 0);
}

// ---- packed weights

TEST(reorder, few_channels_change_their_place) {
    for (const dim_t channels : {1, 2, 3, 4, 5, 8, 12, 15, 16, 17})
        for (const memory::dims &size : {memory::dims{1, 1, 15}, {2, 5, 16}, {1, 37, 113}}) {
            const memory::dims dims{size[0], channels, size[1], size[2]};
            const memory::desc first(dims, data_type::u8, format_tag::nchw),
                last(dims, data_type::u8, format_tag::nhwc);
            const memory images(first, cpu), moved(last, cpu), back(first, cpu);
            auto *values = images.map_data<std::uint8_t>();
            for (std::size_t i = 0; i < first.get_size(); i++)
                values[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
            octet::reorder(images, moved).execute(stream(cpu), images, moved);
            octet::reorder(moved, back).execute(stream(cpu), moved, back);
            const dim_t pixels = size[1] * size[2];
            for (dim_t i = 0; i < static_cast<dim_t>(first.get_size()); i++) {
                const dim_t n = i / (channels * pixels), c = i / pixels % channels, at = i % pixels;
                ASSERT_EQ(moved.map_data<std::uint8_t>()[(n * pixels + at) * channels + c], values[i])
                    << channels << " channels of " << size[1] << " x " << size[2] << ", byte " << i;
                ASSERT_EQ(back.map_data<std::uint8_t>()[i], values[i]) << channels << " channels, byte " << i;
            }
        }
}

TEST(reorder, packed_weights_come_back_unchanged) {
    inputs in(136);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const data_type type = in.one_in(3) ? data_type::u8 : data_type::s8;
        const bool grouped = in.one_in(2), is_matmul = in.one_in(3);
        const dim_t g = grouped ? in.between(1, 40) : 1, o = in.between(1, 40), n = in.between(1, 20),
                    k = in.between(1, 3);
        dims sizes = is_matmul ? dims{n, o} : dims{o, n, k, k};
        if (grouped)
            sizes.insert(sizes.begin(), g);
        const memory::desc any(sizes, type, format_tag::any);
        const memory::desc packed_md = [&] {
            if (is_matmul) {
                dims src = sizes, dst = sizes;
                src[src.size() - 1] = n;
                src[src.size() - 2] = dst[dst.size() - 2] = 1;
                return matmul::primitive_desc(cpu, memory::desc(src, data_type::u8, dims{}), any,
                                              memory::desc(dst, data_type::s32, dims{}))
                    .weights_desc();
            }
            const memory::desc src({1, g * n, k, k}, data_type::u8, format_tag::nhwc),
                dst({1, g * o, 1, 1}, data_type::s32, format_tag::nhwc);
            return convolution_forward::primitive_desc(cpu, prop_kind::forward_inference,
                                                       algorithm::convolution_direct, src, any, dst, {1, 1},
                                                       {0, 0}, {0, 0})
                .weights_desc();
        }();
        ASSERT_EQ(packed_md.get_format_kind(), format_kind::packed);
        const memory::desc from_md = random_layout(in, sizes, type), to_md = random_layout(in, sizes, type);
        const memory from = random_memory(in, from_md), to = random_memory(in, to_md);
        const guarded_memory packed(packed_md, cpu);
        reorder(from, packed.get()).execute(stream(cpu), from, packed.get());
        const auto expected = [&](const dims &at) { return element(from_md, from.get_data_handle(), at); };
        expect_execution([&] { return reorder(packed.get(), to); },
                         {{OCTET_ARG_SRC, packed.get()}, {OCTET_ARG_DST, to}}, expected,
                         "unpacked " + from_md.to_string() + " to " + to_md.to_string());
    }
}

TEST(reorder,
     packs_with_scales_over_group_and_channel) { // oneDNN's example: f32 weights in hwigo, scales per (g, o)
    inputs in(137);
    const dims sizes{3, 5, 4, 2, 2};
    const memory::desc from_md(sizes, data_type::f32, format_tag::hwigo),
        to_md(sizes, data_type::s8, format_tag::goihw);
    const memory::desc src({1, 12, 2, 2}, data_type::u8, format_tag::nhwc),
        dst({1, 15, 1, 1}, data_type::s32, format_tag::nhwc);
    const memory::desc packed_md =
        convolution_forward::primitive_desc(cpu, prop_kind::forward_inference, algorithm::convolution_direct,
                                            src, memory::desc(sizes, data_type::s8, format_tag::any), dst,
                                            {1, 1}, {0, 0}, {0, 0})
            .weights_desc();
    const memory from = random_memory(in, from_md), packed(packed_md, cpu), to(to_md, cpu);
    masked<float> scales{3, {}};
    for (int i = 0; i < 15; i++)
        scales.values.push_back(0.05f * static_cast<float>(i + 1));
    primitive_attr attr;
    attr.set_output_scales(scales.mask, scales.values);
    reorder(from, packed, attr).execute(stream(cpu), from, packed);
    reorder(packed, to).execute(stream(cpu), packed, to);
    for_each(sizes, [&](const dims &at) {
        const float x =
            multiply_f32(f32(element(from_md, from.get_data_handle(), at)), scales.at(sizes, at, 1.f));
        expect_same(element(to_md, to.get_data_handle(), at), saturate_and_round(x, data_type::s8), "weight");
    });
}

} // namespace
} // namespace octet::test
