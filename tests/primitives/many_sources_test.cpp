// Concat, sum and PReLU from their formulas, in any layouts.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/elementwise.hpp"
#include "support/expect_error.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;
constexpr data_type any_type[] = {data_type::s8, data_type::u8, data_type::s32, data_type::f32};

// ---- concat

struct parts {
    int axis;
    std::vector<memory> srcs;
    std::vector<quantized> q;
    memory dst;
    quantized y;

    parts(inputs &in, bool codes) {
        dims whole = random_dims(in);
        axis = static_cast<int>(in.between(0, static_cast<std::int64_t>(whole.size()) - 1));
        const auto a = static_cast<std::size_t>(axis);
        whole[a] = 0;
        const auto type = [&] { return codes ? code_type(in) : any_type[in.between(0, 3)]; };
        const data_type to = type();
        y = random_quantization(in, codes ? to : data_type::s8);
        for (std::int64_t n = in.between(1, 4); n > 0; n--) {
            dims part = whole;
            part[a] = in.between(1, 4);
            whole[a] += part[a];
            srcs.push_back(random_memory(in, any_layout(in, part, in.one_in(2) ? to : type())));
            const bool equal = in.one_in(3) && srcs.back().get_desc().data_type() == to;
            q.push_back(equal || !codes ? y : random_quantization(in, srcs.back().get_desc().data_type()));
        }
        dst = random_memory(in, any_layout(in, whole, to));
    }

    std::vector<memory::desc> descs() const {
        std::vector<memory::desc> list;
        for (const memory &m : srcs)
            list.push_back(m.get_desc());
        return list;
    }
    /// The source that holds an element of dst, with its coordinates there.
    std::size_t source_of(dims &at) const {
        const auto a = static_cast<std::size_t>(axis);
        std::size_t i = 0;
        while (at[a] >= srcs[i].get_desc().dims()[a])
            at[a] -= srcs[i++].get_desc().dims()[a];
        return i;
    }
    void check(const primitive_attr &attr,
               const std::function<double(std::size_t source, const dims &at)> &value) const {
        const auto pd = [&] { return concat::primitive_desc(dst.get_desc(), axis, descs(), cpu, attr); };
        std::unordered_map<int, memory> args{{OCTET_ARG_DST, dst}};
        for (std::size_t i = 0; i < srcs.size(); i++)
            args[OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i)] = srcs[i];
        expect_execution([&] { return concat(pd()); }, args,
                         [&](dims at) {
                             const std::size_t i = source_of(at);
                             return value(i, at);
                         },
                         pd().problem_str());
    }
    data_type type() const { return dst.get_desc().data_type(); }
};

TEST(concat, copies_and_converts) {
    inputs in(201);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const parts p(in, false);
        const auto converted = [&](std::size_t s, const dims &at, float scale) {
            const double x = element(p.srcs[s].get_desc(), p.srcs[s].get_data_handle(), at);
            const data_type from = p.srcs[s].get_desc().data_type();
            if (scale == 1 && is_integer(from) && is_integer(p.type()))
                return saturated_code(x, p.type());
            const float scaled = scale == 1 ? f32(x) : multiply_f32(f32(x), scale);
            return is_integer(p.type()) ? saturate_and_round(scaled, p.type()) : static_cast<double>(scaled);
        };
        p.check({}, [&](std::size_t s, const dims &at) { return converted(s, at, 1); });
        primitive_attr attr; // oneDNN: a scale per source
        for (std::size_t s = 0; s < p.srcs.size(); s++)
            attr.set_scales(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(s), 0, {0.37f});
        p.check(attr, [&](std::size_t s, const dims &at) { return converted(s, at, 0.37f); });
    }
}

TEST(concat, requantizes_each_source_as_the_frameworks_do) {
    inputs in(202);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const parts p(in, true);
        const auto check = [&](rule r,
                               const std::function<double(std::int32_t code, const quantized &)> &value) {
            primitive_attr attr;
            attr.set_requantization(r);
            for (std::size_t s = 0; s < p.srcs.size(); s++)
                set_quantization(attr, OCTET_ARG_MULTIPLE_SRC + static_cast<int>(s), p.q[s]);
            set_quantization(attr, OCTET_ARG_DST, p.y);
            p.check(attr, [&](std::size_t s, const dims &at) {
                const std::int32_t code = code_at(p.srcs[s], at);
                const bool copies = p.q[s].scale == p.y.scale && p.q[s].zero_point == p.y.zero_point &&
                                    p.srcs[s].get_desc().data_type() == p.type();
                return copies ? static_cast<double>(code) : value(code, p.q[s]);
            });
        };
        const auto real = [](std::int32_t code, const quantized &q) {
            return multiply_f32(q.scale, f32(code - q.zero_point));
        };
        check(rule::ort_f32, [&](std::int32_t code, const quantized &q) {
            return quantize_linear(real(code, q), p.y, p.type());
        });
        check(rule::caffe_double_round, [&](std::int32_t code, const quantized &q) {
            return saturated_code(half_away(divide_f32(real(code, q), p.y.scale)) + p.y.zero_point, p.type());
        });
        check(rule::tflite_2step, [&](std::int32_t code, const quantized &q) {
            const float s = multiply_f32(q.scale, divide_f32(1.f, p.y.scale));
            const float k = multiply_f32(-f32(q.zero_point), s);
            return saturated_code(half_away(add_f32(multiply_f32(f32(code), s), k)) + p.y.zero_point,
                                  p.type());
        });
    }
}

TEST(concat, derives_a_destination_and_refuses_shapes_that_do_not_join) {
    const memory::desc a({2, 3, 4, 5}, data_type::u8, format_tag::nhwc),
        b({2, 7, 4, 5}, data_type::u8, format_tag::nhwc);
    const concat::primitive_desc pd(1, {a, b}, cpu);
    EXPECT_EQ(pd.dst_desc(), memory::desc({2, 10, 4, 5}, data_type::u8, format_tag::nhwc));
    EXPECT_EQ(pd.src_desc(1), b);
    expect_invalid([&] { concat::primitive_desc(2, {a, b}, cpu); }, {"concat: src1 has dims {2, 7, 4, 5}"});
    expect_invalid([&] { concat::primitive_desc(4, {a, b}, cpu); }, {"concat: dimension is 4", "0 to 3"});
    expect_invalid([&] { concat::primitive_desc(1, {}, cpu); }, {"concat: no sources"});
    expect_invalid(
        [&] {
            concat::primitive_desc(b, 1, {a, b}, cpu);
        },
        {"the sources have 10 elements", "dst 7"});
    primitive_attr attr;
    attr.set_zero_points(OCTET_ARG_MULTIPLE_SRC + 2, 0, {1});
    expect_invalid([&] { concat::primitive_desc(1, {a, b}, cpu, attr); }, {"concat: zero points of src2"});
}

// ---- sum

TEST(sum, adds_scaled_tensors) {
    inputs in(211);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const dims sizes = random_dims(in);
        std::vector<memory> srcs;
        std::vector<memory::desc> descs;
        std::vector<float> scales;
        for (std::int64_t n = in.between(1, 4); n > 0; n--) {
            srcs.push_back(random_memory(in, any_layout(in, sizes, any_type[in.between(0, 3)])));
            descs.push_back(srcs.back().get_desc());
            scales.push_back(in.one_in(3) ? 1.f : static_cast<float>(in.between(-300, 300)) / 128);
        }
        const memory dst = random_memory(in, any_layout(in, sizes, any_type[in.between(0, 3)]));
        const data_type type = dst.get_desc().data_type();
        const auto pd = [&] { return sum::primitive_desc(dst.get_desc(), scales, descs, cpu); };
        std::unordered_map<int, memory> args{{OCTET_ARG_DST, dst}};
        for (std::size_t s = 0; s < srcs.size(); s++)
            args[OCTET_ARG_MULTIPLE_SRC + static_cast<int>(s)] = srcs[s];
        expect_execution([&] { return sum(pd()); }, args,
                         [&](const dims &at) {
                             float total = 0;
                             for (std::size_t s = 0; s < srcs.size(); s++) {
                                 const float x = f32(element(descs[s], srcs[s].get_data_handle(), at));
                                 const float term = multiply_f32(scales[s], x);
                                 total = s == 0 ? term : add_f32(total, term); // -0 is not added to +0
                             }
                             return is_integer(type) ? saturate_and_round(total, type)
                                                     : static_cast<double>(total);
                         },
                         pd().problem_str());
    }
}

TEST(sum, adds_two_tensors_as_snps_caffe_does) {
    inputs in(212);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        const dims sizes = random_dims(in);
        const memory a = random_memory(in, any_layout(in, sizes, code_type(in))),
                     b = random_memory(in, any_layout(in, sizes, code_type(in))),
                     dst = random_memory(in, any_layout(in, sizes, code_type(in)));
        const data_type type = dst.get_desc().data_type();
        const quantized qa = random_quantization(in, a.get_desc().data_type()),
                        qb = random_quantization(in, b.get_desc().data_type()),
                        q = random_quantization(in, type);
        float ra = divide_f32(qa.scale, q.scale), rb = divide_f32(qb.scale, q.scale);
        if (std::max(ra, rb) >= 256)
            continue;
        int shift = 0;
        for (; std::max(ra, rb) < 0x1p21f; shift++)
            ra *= 2, rb *= 2;
        const double ma = half_away(ra), mb = half_away(rb);

        primitive_attr attr;
        attr.set_requantization(rule::caffe_double_round);
        attr.set_zero_points(OCTET_ARG_MULTIPLE_SRC, 0, {qa.zero_point});
        attr.set_zero_points(OCTET_ARG_MULTIPLE_SRC + 1, 0, {qb.zero_point});
        set_quantization(attr, OCTET_ARG_DST, q);
        const auto pd = [&] {
            return sum::primitive_desc(cpu, dst.get_desc(), {qa.scale, qb.scale},
                                       {a.get_desc(), b.get_desc()}, attr);
        };
        expect_execution([&] { return sum(pd()); },
                         {{OCTET_ARG_MULTIPLE_SRC, a}, {OCTET_ARG_MULTIPLE_SRC + 1, b}, {OCTET_ARG_DST, dst}},
                         [&](const dims &at) {
                             const double acc = ma * (code_at(a, at) - qa.zero_point) +
                                                mb * (code_at(b, at) - qb.zero_point);
                             return saturated_code(half_away(std::ldexp(f32(acc), -shift)) + q.zero_point,
                                                   type);
                         },
                         pd().problem_str());
    }
}

TEST(sum, refuses_what_it_does_not_have) {
    const memory::desc a({2, 3}, data_type::u8, format_tag::ab), b({2, 4}, data_type::u8, format_tag::ab);
    expect_invalid([&] { sum::primitive_desc({1.f}, {a, a}, cpu); }, {"sum: 1 scales for 2 sources"});
    expect_invalid(
        [&] {
            sum::primitive_desc({1.f, 1.f}, {a, b}, cpu);
        },
        {"sum: src has dims {2, 4}, dst {2, 3}"});
    expect_invalid([&] { sum::primitive_desc({}, {}, cpu); }, {"sum: 0 sources", "1 to 1024"});
    expect_invalid([&] { sum::primitive_desc({1.f, INFINITY}, {a, a}, cpu); }, {"sum: scale 1 is inf"});
    primitive_attr attr;
    attr.set_zero_points(OCTET_ARG_MULTIPLE_SRC, 0, {3});
    expect_invalid(
        [&] {
            sum::primitive_desc({1.f, 1.f}, {a, a}, cpu, attr);
        },
        {"zero points of sources with rule f32"});
    attr.set_requantization(rule::caffe_double_round);
    attr.set_scales(OCTET_ARG_DST, 0, {1.f});
    expect_unimplemented(
        [&] {
            sum::primitive_desc({1.f, 1.f, 1.f}, {a, a, a}, cpu, attr);
        },
        {"3 sources", "implemented: 2"});
}

// ---- prelu

TEST(prelu, scales_negative_values_by_a_tensor) {
    inputs in(221);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); i++) {
        const dims sizes = random_dims(in);
        dims shared = sizes;
        for (dim_t &d : shared)
            d = in.one_in(2) ? 1 : d;
        const auto at_weights = [&](dims at) {
            for (std::size_t d = 0; d < at.size(); d++)
                at[d] = shared[d] == 1 ? 0 : at[d];
            return at;
        };
        const bool codes = in.one_in(2);
        const auto type = [&] { return codes ? code_type(in) : any_type[in.between(0, 3)]; };
        const memory src = random_memory(in, any_layout(in, sizes, type())),
                     weights = random_memory(in, any_layout(in, shared, type())),
                     dst = random_memory(in, any_layout(in, sizes, type()));
        const data_type to = dst.get_desc().data_type();
        primitive_attr attr;
        std::function<double(const dims &)> expected = [&](const dims &at) {
            const float x = f32(element(src.get_desc(), src.get_data_handle(), at));
            const float w = f32(element(weights.get_desc(), weights.get_data_handle(), at_weights(at)));
            const float y = x > 0 ? x : multiply_f32(x, w);
            return is_integer(to) ? saturate_and_round(y, to) : static_cast<double>(y);
        };
        const quantized x = random_quantization(in, codes ? src.get_desc().data_type() : data_type::s8),
                        w = random_quantization(in, codes ? weights.get_desc().data_type() : data_type::s8),
                        y = random_quantization(in, codes ? to : data_type::s8);
        constexpr rule r = rule::tflite_2step;
        const double sx = x.scale, sw = w.scale, sy = y.scale;
        const fixed_point_multiplier identity = from_double(r, sx / sy), alpha = from_double(r, sx * sw / sy);
        if (codes && in.one_in(2)) { // TFLite
            attr.set_requantization(r);
            set_quantization(attr, OCTET_ARG_SRC, x);
            set_quantization(attr, OCTET_ARG_WEIGHTS, w);
            set_quantization(attr, OCTET_ARG_DST, y);
            expected = [&](const dims &at) {
                const std::int32_t d = code_at(src, at) - x.zero_point;
                const std::int32_t t =
                    d >= 0
                        ? exact::requantize(r, d, identity)
                        : exact::requantize(r, d * (code_at(weights, at_weights(at)) - w.zero_point), alpha);
                return saturated_code(double{0} + t + y.zero_point, to);
            };
        }
        const auto pd = [&] {
            return prelu_forward::primitive_desc(cpu, prop_kind::forward_inference, src.get_desc(),
                                                 weights.get_desc(), dst.get_desc(), attr);
        };
        expect_execution([&] { return prelu_forward(pd()); },
                         {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}}, expected,
                         pd().problem_str());
    }
}

} // namespace
} // namespace octet::test
