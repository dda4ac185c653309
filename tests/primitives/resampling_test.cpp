// Resampling against the formulas of octet/resampling.hpp, one corner at a time.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/elementwise.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;
using coordinates = resampling_coordinates;

struct setting {
    dims in, out;
    memory src, dst;

    setting(inputs &r, std::int64_t spatial, bool codes) {
        dims from{r.between(1, 2), r.between(1, 5)}, to = from;
        for (; spatial > 0; spatial--) {
            in.push_back(r.between(1, 7));
            out.push_back(r.one_in(5) ? in.back() : r.between(1, 12));
        }
        from.insert(from.end(), in.begin(), in.end());
        to.insert(to.end(), out.begin(), out.end());
        constexpr data_type types[] = {data_type::s8, data_type::u8, data_type::f32, data_type::s32};
        const data_type type = codes ? code_type(r) : types[r.between(0, 3)];
        src = random_memory(r, any_layout(r, from, type));
        dst = random_memory(r, any_layout(r, to, codes ? type : types[r.between(0, 2)]));
    }
    data_type type() const { return dst.get_desc().data_type(); }
    double at(const dims &position) const { return element(src.get_desc(), src.get_data_handle(), position); }

    void check(algorithm alg, rule r, coordinates c,
               const std::function<double(const dims &)> &expected) const {
        primitive_attr attr;
        attr.set_requantization(r);
        const auto pd = [&] {
            const resampling_forward::desc d(prop_kind::forward_inference, alg, src.get_desc(),
                                             dst.get_desc(), c);
            return resampling_forward::primitive_desc(d, attr, cpu);
        };
        expect_execution([&] { return resampling_forward(pd()); },
                         {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}}, expected, pd().problem_str());
    }
};

float onednn_coordinate(dim_t i, dim_t in, dim_t out) {
    const float scaled =
        divide_f32(multiply_f32(f32(static_cast<double>(i) + 0.5), f32(static_cast<double>(in))),
                   f32(static_cast<double>(out)));
    return add_f32(scaled, -0.5f);
}

TEST(resampling, nearest_as_onednn_computes_it) {
    inputs in(191);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const setting s(in, in.between(1, 3), false);
        s.check(algorithm::resampling_nearest, rule::f32, coordinates::half_pixel, [&](const dims &at) {
            dims from{at[0], at[1]};
            for (std::size_t d = 0; d < s.in.size(); d++) {
                const double c = half_away(onednn_coordinate(at[d + 2], s.in[d], s.out[d]));
                from.push_back(std::clamp<dim_t>(static_cast<dim_t>(c), 0, s.in[d] - 1));
            }
            const double x = s.at(from);
            if (!is_integer(s.type()))
                return static_cast<double>(f32(x));
            return is_integer(s.src.get_desc().data_type()) ? saturated_code(x, s.type())
                                                            : saturate_and_round(f32(x), s.type());
        });
    }
}

TEST(resampling, linear_as_onednn_computes_it) {
    inputs in(192);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const setting s(in, in.between(1, 3), false);
        // Dimension by dimension from the innermost: near * (1 - weight) rounded, then far * weight fused.
        const std::function<float(const dims &, dims, std::size_t)> along = [&](const dims &at, dims from,
                                                                                std::size_t d) -> float {
            if (d == s.in.size())
                return f32(s.at(from));
            const float c = onednn_coordinate(at[d + 2], s.in[d], s.out[d]);
            const dim_t low = std::max<dim_t>(static_cast<dim_t>(c), 0);
            const dim_t high = std::min<dim_t>(static_cast<dim_t>(std::ceil(std::max(c, 0.f))), s.in[d] - 1);
            const float weight = std::fabs(add_f32(c, -f32(static_cast<double>(low))));
            dims near = from, far = from;
            near.push_back(low);
            far.push_back(high);
            return std::fma(along(at, far, d + 1), weight,
                            multiply_f32(along(at, near, d + 1), add_f32(1, -weight)));
        };
        s.check(algorithm::resampling_linear, rule::f32, coordinates::half_pixel, [&](const dims &at) {
            const float x = along(at, {at[0], at[1]}, 0);
            return is_integer(s.type()) ? saturate_and_round(x, s.type()) : static_cast<double>(x);
        });
    }
}

TEST(resampling, nearest_as_tflite_computes_it) {
    inputs in(193);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const setting s(in, 2, true);
        for (const coordinates c : {coordinates::half_pixel, coordinates::asymmetric,
                                    coordinates::align_corners, coordinates::align_corners_half_pixel}) {
            const bool aligned =
                c == coordinates::align_corners || c == coordinates::align_corners_half_pixel;
            const bool half = c == coordinates::half_pixel || c == coordinates::align_corners_half_pixel;
            s.check(algorithm::resampling_nearest, rule::tflite_2step, c, [&](const dims &at) {
                dims from{at[0], at[1]};
                for (std::size_t d = 0; d < 2; d++) {
                    const bool corners = aligned && s.out[d] > 1;
                    const float scale = divide_f32(f32(static_cast<double>(s.in[d] - corners)),
                                                   f32(static_cast<double>(s.out[d] - corners)));
                    const float p =
                        multiply_f32(f32(static_cast<double>(at[d + 2]) + (half ? 0.5 : 0)), scale);
                    const double index = aligned ? half_away(p) : std::floor(static_cast<double>(p));
                    from.push_back(std::clamp<dim_t>(static_cast<dim_t>(index), 0, s.in[d] - 1));
                }
                return s.at(from);
            });
        }
    }
}

TEST(resampling, bilinear_as_tflite_computes_it) {
    inputs in(194);
    struct neighbours {
        dim_t low, high, weight;
    };
    const auto neighbours_of = [](coordinates c, dim_t i, dim_t size, dim_t out) {
        const bool aligned = c == coordinates::align_corners && out > 1;
        const dim_t step =
            aligned ? (1024 * (size - 1) + (out - 1) / 2) / (out - 1) : (1024 * size + out / 2) / out;
        const dim_t p = i * step + (c == coordinates::half_pixel ? step / 2 - 512 : 0);
        const dim_t low = std::max<dim_t>(p / 1024, 0);
        return neighbours{low, std::min((p + 1023) / 1024, size - 1), p - 1024 * low};
    };
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const setting s(in, 2, true);
        for (const coordinates c :
             {coordinates::half_pixel, coordinates::asymmetric, coordinates::align_corners})
            for (const rule r : {rule::tflite_2step, rule::tflite_single_rounding})
                s.check(algorithm::resampling_linear, r, c, [&](const dims &at) {
                    const neighbours h = neighbours_of(c, at[2], s.in[0], s.out[0]),
                                     w = neighbours_of(c, at[3], s.in[1], s.out[1]);
                    const auto code = [&](dim_t y, dim_t x) {
                        return static_cast<wide>(s.at({at[0], at[1], y, x}));
                    };
                    const wide sum = code(h.low, w.low) * (1024 - h.weight) * (1024 - w.weight) +
                                     code(h.high, w.low) * h.weight * (1024 - w.weight) +
                                     code(h.low, w.high) * (1024 - h.weight) * w.weight +
                                     code(h.high, w.high) * h.weight * w.weight;
                    return static_cast<double>(
                        nearest(sum, 20, r == rule::tflite_2step ? ties::away : ties::up));
                });
    }
}

TEST(resampling, bilinear_of_onnx_runtime_and_snps_caffe_by_hand) {
    // One row 10, 20, 41 to six, half-pixel: positions -0.25, 0.25, 0.75, 1.25, 1.75, 2.25.
    const memory::desc src_md({1, 1, 1, 3}, data_type::u8, format_tag::nchw),
        dst_md({1, 1, 1, 6}, data_type::u8, format_tag::nchw);
    const memory src(src_md, cpu), dst(dst_md, cpu);
    const std::uint8_t row[] = {10, 20, 41};
    std::memcpy(src.get_data_handle(), row, 3);
    const auto run = [&](rule r) {
        primitive_attr attr;
        attr.set_requantization(r);
        const resampling_forward::desc d(prop_kind::forward_inference, algorithm::resampling_linear, src_md,
                                         dst_md);
        resampling_forward(resampling_forward::primitive_desc(d, attr, cpu))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        const auto *codes = dst.map_data<std::uint8_t>();
        return std::vector<int>(codes, codes + 6);
    };
    EXPECT_EQ(run(rule::ort_f32), (std::vector<int>{10, 12, 17, 25, 35, 41})); // truncated
    EXPECT_EQ(run(rule::caffe_double_round),
              (std::vector<int>{10, 13, 18, 25, 36, 41})); // 12.5, 17.5, 25.25, 35.75
}

TEST(resampling, factors_give_the_size_of_the_destination) {
    const memory::desc src({2, 3, 4, 5}, data_type::s8, format_tag::nhwc);
    const auto prop = prop_kind::forward_inference;
    const resampling_forward::primitive_desc pd({prop, algorithm::resampling_linear, {1.5f, 2.1f}, src}, cpu);
    EXPECT_EQ(pd.dst_desc().dims(), (dims{2, 3, 6, 10}));
    const memory::desc wrong({2, 3, 6, 11}, data_type::s8, format_tag::nhwc);
    expect_invalid(
        [&] {
            resampling_forward::primitive_desc({prop, algorithm::resampling_linear, {1.5f, 2.1f}, src, wrong},
                                               cpu);
        },
        {"resampling: dst has dims {2, 3, 6, 11}", "{2, 3, 6, 10}"});
}

} // namespace
} // namespace octet::test
