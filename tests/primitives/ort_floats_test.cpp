// ONNX Runtime's float operators with sums, at every level: softmax and layer normalization under rule
// ort_f32 against the order of MLAS's kernels, written here for one row.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "common/eltwise_ort.hpp"
#include "support/expect_error.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

using rule = requantization_rule;

primitive_attr ort() {
    primitive_attr attr;
    attr.set_requantization(rule::ort_f32);
    return attr;
}

using row = std::vector<float>;

float exponential(float x) {
    const float c = x < -103.972084f ? -103.972084f : x;
    const auto m = static_cast<float>(std::nearbyint(static_cast<double>(c) * 1.44269502162933349609375));
    const float r = std::fma(m, -1.42860677e-6f, std::fma(m, -6.93145752e-1f, c));
    float p = 0x1.694p-10f;
    for (const float k : {0x1.125edcp-7f, 0x1.555b5ap-5f, 0x1.55545p-3f, 0x1.fffff6p-2f, 1.f, 1.f})
        p = std::fma(p, r, k);
    return std::ldexp(p, static_cast<int>(m));
}

/// 16 lanes in order; lanes 8 apart, then neighbours, pairs and fours.
row softmax_of(row x) {
    float highest = x[0], lanes[16] = {};
    for (const float v : x)
        highest = std::max(highest, v);
    for (std::size_t i = 0; i < x.size(); i++) {
        x[i] = exponential(x[i] - highest);
        lanes[i % 16] += x[i];
    }
    float eight[8];
    for (int i = 0; i < 8; i++)
        eight[i] = lanes[i] + lanes[i + 8];
    const float sum =
        ((eight[0] + eight[1]) + (eight[2] + eight[3])) + ((eight[4] + eight[5]) + (eight[6] + eight[7]));
    const float factor = 1.f / sum;
    for (float &v : x)
        v *= factor;
    return x;
}

row long_row_normalized(row x, const row &scale, const row &shift, float epsilon) {
    const std::size_t n = x.size(), fours = n / 4 * 4, eights = n / 8 * 8;
    double s[4] = {};
    for (std::size_t i = 0; i < fours; i++)
        s[i % 4] += static_cast<double>(x[i]);
    double sum = (s[0] + s[2]) + (s[1] + s[3]);
    for (std::size_t i = fours; i < n; i++)
        sum += static_cast<double>(x[i]);
    const auto mean = static_cast<float>(sum / static_cast<double>(n));
    float q[8] = {};
    for (std::size_t i = 0; i < eights; i++)
        q[i % 8] = std::fma(x[i] - mean, x[i] - mean, q[i % 8]);
    float squares = ((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7]));
    for (std::size_t i = eights; i < n; i++) {
        const float d = x[i] - mean;
        const bool is_fused = n - eights < 4 || i >= eights + 4;
        squares = is_fused ? std::fma(d, d, squares) : squares + d * d;
    }
    const float factor = 1.f / std::sqrt(squares / static_cast<float>(n) + epsilon);
    for (std::size_t i = 0; i < n; i++) {
        const float d = (x[i] - mean) * factor;
        x[i] = shift.empty() ? d * scale[i] : std::fma(d, scale[i], shift[i]);
    }
    return x;
}

row short_row_normalized(row x, const row &scale, const row &shift, float epsilon) {
    float mean = 0, squares = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
        const float before = x[i] - mean;
        mean += before / static_cast<float>(i + 1);
        squares += before * (x[i] - mean);
    }
    const float deviation = std::sqrt(squares / static_cast<float>(x.size()) + epsilon);
    for (std::size_t i = 0; i < x.size(); i++) {
        x[i] = (x[i] - mean) / deviation * scale[i];
        x[i] = shift.empty() ? x[i] : x[i] + shift[i];
    }
    return x;
}

memory tensor_of(const row &values, const dims &sizes) {
    memory m(memory::desc(sizes, data_type::f32, dims{}), cpu);
    std::copy(values.begin(), values.end(), m.map_data<float>());
    return m;
}

row numbers(inputs &in, dim_t n, float largest) {
    row x;
    for (dim_t i = 0; i < n; i++)
        x.push_back(static_cast<float>(in.between(-100000, 100000)) * largest / 100000);
    return x;
}

void for_every_level(const std::function<void()> &run) {
    std::vector<cpu_isa> levels = get_available_cpu_isas();
    levels.push_back(cpu_isa::ref);
    for (const cpu_isa level : levels)
        for (const int threads : {1, 2}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            SCOPED_TRACE(std::string(to_string(level)) + ", " + std::to_string(threads) + " threads");
            run();
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

/// function(row) of each of the rows in x.
row of_rows(const row &x, std::size_t n, const std::function<row(const row &)> &function) {
    row y;
    for (auto first = x.begin(); first != x.end(); first += static_cast<std::ptrdiff_t>(n)) {
        const row one = function(row(first, first + static_cast<std::ptrdiff_t>(n)));
        y.insert(y.end(), one.begin(), one.end());
    }
    return y;
}

void expect_result(primitive p, std::unordered_map<int, memory> args, const row &expected, dim_t n) {
    const memory dst = tensor_of(row(expected.size()), {static_cast<dim_t>(expected.size()) / n, n});
    args[OCTET_ARG_DST] = dst;
    p.execute(stream(cpu), args);
    const auto *y = dst.map_data<const float>();
    for (std::size_t i = 0; i < expected.size(); i++)
        ASSERT_EQ(y[i], expected[i]) << "element " << i << " in rows of " << n;
}

TEST(ort_floats, softmax_is_that_of_mlas) {
    inputs in(231);
    for (const dim_t n : {1, 3, 15, 16, 17, 31, 48, 70, 128, 200}) {
        const row x = numbers(in, 5 * n, n == 70 ? 120.f : 9.f); // the exponentials' whole range, too
        const memory src = tensor_of(x, {5, n});
        const row expected = of_rows(x, static_cast<std::size_t>(n), softmax_of);
        for_every_level([&] {
            const softmax_forward::desc d(prop_kind::forward_inference, src.get_desc(), 1);
            expect_result(softmax_forward(softmax_forward::primitive_desc(d, ort(), cpu)),
                          {{OCTET_ARG_SRC, src}}, expected, n);
        });
    }
}

TEST(ort_floats, softmax_along_another_axis_is_the_same) {
    inputs in(232);
    const row x = numbers(in, 37 * 6, 9.f);
    const memory::desc strided({6, 37}, data_type::f32, dims{1, 6});
    memory src(strided, cpu);
    for (std::size_t i = 0; i < 6; i++)
        for (std::size_t j = 0; j < 37; j++)
            src.map_data<float>()[j * 6 + i] = x[i * 37 + j];
    const row expected = of_rows(x, 37, softmax_of);
    for_every_level([&] {
        const softmax_forward::desc d(prop_kind::forward_inference, strided,
                                      memory::desc({6, 37}, data_type::f32, dims{}), 1);
        expect_result(softmax_forward(softmax_forward::primitive_desc(d, ort(), cpu)), {{OCTET_ARG_SRC, src}},
                      expected, 37);
    });
}

TEST(ort_floats, layer_normalization_is_that_of_mlas) {
    inputs in(233);
    using flags = normalization_flags;
    for (const bool has_shift : {true, false})
        for (const dim_t n : {1, 2, 5, 7, 8, 9, 12, 13, 15, 16, 23, 64, 100, 101, 385}) {
            const float epsilon = has_shift ? 1e-5f : 1e-12f;
            row x = numbers(in, 4 * n, 3.f);
            x[0] += 1e4f; // so that sums round
            const row scale = numbers(in, n, 2.f), shift = has_shift ? numbers(in, n, 1.f) : row();
            std::unordered_map<int, memory> args{{OCTET_ARG_SRC, tensor_of(x, {4, n})},
                                                 {OCTET_ARG_SCALE, tensor_of(scale, {n})}};
            if (has_shift)
                args[OCTET_ARG_SHIFT] = tensor_of(shift, {n});
            const row expected = of_rows(x, static_cast<std::size_t>(n), [&](const row &one) {
                return (n < 8 ? short_row_normalized : long_row_normalized)(one, scale, shift, epsilon);
            });
            for_every_level([&] {
                const layer_normalization_forward::desc d(
                    prop_kind::forward_inference, args.at(OCTET_ARG_SRC).get_desc(), epsilon,
                    has_shift ? flags::use_scale | flags::use_shift : flags::use_scale);
                expect_result(
                    layer_normalization_forward(layer_normalization_forward::primitive_desc(d, ort(), cpu)),
                    args, expected, n);
            });
        }
}

/// Several vectors of a tile go through Gelu side by side: tiles of all sizes, columns that fill no vector,
/// all exponents.
TEST(ort_floats, gelu_behind_a_product_is_that_of_one_element) {
    inputs in(234);
    constexpr dim_t depth = 8;
    for (const dim_t rows : {1, 2, 5, 13, 40})
        for (const dim_t columns : {3, 16, 40, 96}) {
            memory src(memory::desc({rows, depth}, data_type::f32, dims{}), cpu),
                weights(memory::desc({depth, columns}, data_type::f32, dims{}), cpu);
            for (const memory &m : {src, weights})
                for (std::size_t i = 0; i < m.get_desc().get_size() / sizeof(float); i++)
                    m.map_data<float>()[i] =
                        std::ldexp(static_cast<float>(in.between(-100, 100)) / 100, in.between(-12, 3));
            const memory::desc dst_md({rows, columns}, data_type::f32, dims{});
            const auto result = [&](bool has_gelu) {
                primitive_attr attr = ort();
                post_ops ops;
                if (has_gelu)
                    ops.append_eltwise(algorithm::eltwise_ort_gelu_erf, 0.f, 0.f);
                attr.set_post_ops(ops);
                const memory dst(dst_md, cpu);
                const matmul::primitive_desc pd({src.get_desc(), weights.get_desc(), dst_md}, attr, cpu);
                matmul(pd).execute(
                    stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
                const auto *y = dst.map_data<const float>();
                return row(y, y + rows * columns);
            };
            row expected = result(false);
            for (float &y : expected)
                y = impl::eltwise_ort_gelu_erf(y);
            for_every_level([&] { EXPECT_EQ(result(true), expected) << rows << " x " << columns; });
        }
}

TEST(ort_floats, what_there_is_not_is_refused) {
    const memory::desc md({4, 9}, data_type::f32, dims{}), codes({4, 9}, data_type::u8, dims{});
    const auto softmax = [&](const memory::desc &dst, const primitive_attr &attr, algorithm alg) {
        return [=] {
            softmax_forward::primitive_desc(
                softmax_forward::desc(prop_kind::forward_inference, alg, md, dst, 1), attr, cpu);
        };
    };
    primitive_attr with_post_op = ort();
    post_ops ops;
    ops.append_eltwise(algorithm::eltwise_relu, 0.f, 0.f);
    with_post_op.set_post_ops(ops);
    expect_unimplemented(softmax(codes, ort(), algorithm::softmax_accurate), {"src has type f32"});
    expect_unimplemented(softmax(md, ort(), algorithm::softmax_log), {"softmax_log"});
    expect_unimplemented(softmax(md, with_post_op, algorithm::softmax_accurate), {"post-ops"});
    expect_unimplemented(
        [&] {
            layer_normalization_forward::primitive_desc(
                layer_normalization_forward::desc(prop_kind::forward_inference, md, 1e-5f,
                                                  normalization_flags::none),
                with_post_op, cpu);
        },
        {"post-ops"});
}

} // namespace
} // namespace octet::test
