// Batch and layer normalization and reduction against their definitions (octet/batch_normalization.hpp and its
// neighbours), written over coordinates: lanes, then halves.
// SPDX-License-Identifier: Apache-2.0
#include "support/expect_error.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

using flags = normalization_flags;

float f32_at(const memory &m, const dims &at) {
    return static_cast<float>(element(m.get_desc(), m.get_data_handle(), at));
}

/// Floats between -2 and 2, or between 0 and 2.
memory random_floats(inputs &in, const memory::desc &md, bool is_positive = false) {
    memory m(md, cpu);
    auto *values = m.map_data<float>();
    for (std::size_t i = 0; i < md.get_size() / sizeof(float); i++)
        values[i] = static_cast<float>(in.between(is_positive ? 0 : -1000, 1000)) / 500;
    return m;
}

/// Element i in lane i mod 16, then halves.
template <typename Op> float in_lanes(const std::vector<float> &values, float start, const Op &op) {
    std::vector<float> lanes(16, start);
    for (std::size_t i = 0; i < values.size(); i++)
        lanes[i % 16] = op(lanes[i % 16], values[i]);
    for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; i++)
            lanes[i] = op(lanes[i], lanes[i + half]);
    return lanes[0];
}
float sum(float a, float b) { return a + b; }

/// The scale and shift tensors that flags ask for, and their values by channel.
struct operands {
    operands(inputs &in, flags f, dim_t channels) {
        const auto has = [&](flags flag) { return (f & flag) != flags::none; };
        const bool joined = has(flags::use_scale_shift);
        for (dim_t c = 0; c < channels; c++) {
            scale.push_back(has(flags::use_scale) || joined ? static_cast<float>(in.between(-9, 9)) / 4
                                                            : 1.f);
            shift.push_back(has(flags::use_shift) || joined ? static_cast<float>(in.between(-9, 9)) / 4
                                                            : 0.f);
        }
        const auto add = [&](int arg, const std::vector<float> &values, const dims &sizes) {
            memory m(memory::desc(sizes, data_type::f32, dims{}), cpu);
            std::copy(values.begin(), values.end(), m.map_data<float>());
            args[arg] = m;
        };
        std::vector<float> both = scale;
        both.insert(both.end(), shift.begin(), shift.end());
        if (joined)
            add(OCTET_ARG_SCALE_SHIFT, both, {2, channels});
        if (has(flags::use_scale))
            add(OCTET_ARG_SCALE, scale, {channels});
        if (has(flags::use_shift))
            add(OCTET_ARG_SHIFT, shift, {channels});
    }
    std::vector<float> scale, shift;
    std::unordered_map<int, memory> args;
};

flags random_flags(inputs &in) {
    constexpr flags sets[] = {flags::none, flags::use_scale, flags::use_shift,
                              flags::use_scale | flags::use_shift, flags::use_scale_shift};
    return sets[in.between(0, 4)];
}

void for_all_levels(const std::function<void()> &run) {
    for (const cpu_isa level : get_available_cpu_isas())
        for (const int threads : {1, 2, 3}) {
            set_max_cpu_isa(level);
            set_num_threads(threads);
            SCOPED_TRACE(std::string(to_string(level)) + ", " + std::to_string(threads) + " threads");
            run();
        }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

TEST(batch_normalization, is_a_folded_scale_and_shift) {
    inputs in(141);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        dims sizes{in.between(1, 3), in.one_in(2) ? in.between(15, 40) : in.between(1, 5)};
        for (std::int64_t d = in.between(0, 3); d > 0; d--)
            sizes.push_back(in.between(1, 6));
        const memory::desc src_md = random_layout(in, sizes, data_type::f32),
                           dst_md = random_layout(in, sizes, data_type::f32),
                           stats({sizes[1]}, data_type::f32, format_tag::a);
        const bool has_relu = in.one_in(2);
        const flags f =
            random_flags(in) | flags::use_global_stats | (has_relu ? flags::fuse_norm_relu : flags::none);
        const operands o(in, f, sizes[1]);
        const memory src = random_floats(in, src_md), mean = random_floats(in, stats),
                     variance = random_floats(in, stats, true);
        const float epsilon = 0.125f;
        const auto expected = [&](const dims &at) {
            const auto c = static_cast<std::size_t>(at[1]);
            const float a = o.scale[c] / std::sqrt(f32_at(variance, {at[1]}) + epsilon);
            const float b = std::fma(-f32_at(mean, {at[1]}), a, o.shift[c]);
            const float y = std::fma(f32_at(src, at), a, b);
            return static_cast<double>(has_relu && !(y > 0) ? 0.f : y);
        };
        std::unordered_map<int, memory> args = o.args;
        args.insert({{OCTET_ARG_SRC, src},
                     {OCTET_ARG_MEAN, mean},
                     {OCTET_ARG_VARIANCE, variance},
                     {OCTET_ARG_DST, random_memory(in, dst_md)}});
        const auto pd = [&] {
            return batch_normalization_forward::primitive_desc(
                batch_normalization_forward::desc(prop_kind::forward_inference, src_md, dst_md, epsilon, f),
                cpu);
        };
        expect_execution([&] { return batch_normalization_forward(pd()); }, args, expected,
                         pd().problem_str());
    }
}

/// Mean and variance of what a channel or a row holds: each element in its lane, squares fused, then halves.
std::pair<float, float> statistics_of(const std::vector<float> &values) {
    const auto n = static_cast<float>(values.size());
    const float mean = in_lanes(values, 0.f, sum) / n;
    std::vector<float> lanes(16, 0.f);
    for (std::size_t k = 0; k < values.size(); k++)
        lanes[k % 16] = std::fma(values[k] - mean, values[k] - mean, lanes[k % 16]);
    return {mean, in_lanes(lanes, 0.f, sum) / n};
}

/// By the statistics of the batch, which training gives as results.
TEST(batch_normalization, takes_statistics_of_the_batch) {
    inputs in(144);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        dims sizes{in.between(1, 3), in.one_in(2) ? in.between(15, 40) : in.between(1, 9)};
        for (std::int64_t d = in.between(0, 3); d > 0; d--)
            sizes.push_back(in.between(1, 6));
        const memory::desc src_md = random_layout(in, sizes, data_type::f32),
                           dst_md = random_layout(in, sizes, data_type::f32),
                           stats({sizes[1]}, data_type::f32, format_tag::a);
        const bool trains = in.one_in(2);
        const flags f = random_flags(in);
        const operands o(in, f, sizes[1]);
        const memory src = random_floats(in, src_md);
        std::vector<std::vector<float>> values(static_cast<std::size_t>(sizes[1]));
        for_each(sizes,
                 [&](const dims &at) { values[static_cast<std::size_t>(at[1])].push_back(f32_at(src, at)); });
        const float epsilon = 0.125f;
        const auto expected = [&](const dims &at) {
            const auto c = static_cast<std::size_t>(at[1]);
            const auto [mean, variance] = statistics_of(values[c]);
            const float a = o.scale[c] / std::sqrt(variance + epsilon);
            return static_cast<double>(std::fma(f32_at(src, at), a, std::fma(-mean, a, o.shift[c])));
        };
        const memory mean(stats, cpu), variance(stats, cpu);
        const auto pd = [&] {
            return batch_normalization_forward::primitive_desc(
                batch_normalization_forward::desc(trains ? prop_kind::forward_training
                                                         : prop_kind::forward_inference,
                                                  src_md, dst_md, epsilon, f),
                cpu);
        };
        std::unordered_map<int, memory> args = o.args;
        args.insert({{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, random_memory(in, dst_md)}});
        if (trains)
            args.insert({{OCTET_ARG_MEAN, mean}, {OCTET_ARG_VARIANCE, variance}});
        expect_execution([&] { return batch_normalization_forward(pd()); }, args, expected,
                         pd().problem_str());
        EXPECT_EQ(primitive_desc_from_string(pd().problem_str(), cpu).problem_str(), pd().problem_str());
        if (!trains)
            continue;
        for_all_levels([&] {
            batch_normalization_forward(pd()).execute(stream(cpu), args);
            for (dim_t c = 0; c < sizes[1]; c++) {
                const auto [m, v] = statistics_of(values[static_cast<std::size_t>(c)]);
                EXPECT_EQ(f32_at(mean, {c}), m) << pd().problem_str();
                EXPECT_EQ(f32_at(variance, {c}), v) << pd().problem_str();
            }
        });
    }
}

TEST(layer_normalization, gives_statistics) {
    inputs in(145);
    for (int i = 0; i < 30 && !testing::Test::HasFailure(); i++) {
        const dims sizes{in.between(1, 5), in.between(1, 4), in.between(1, 60)},
            rows(sizes.begin(), sizes.end() - 1);
        const memory::desc md = in.one_in(2) ? memory::desc(sizes, data_type::f32, dims{})
                                             : random_layout(in, sizes, data_type::f32),
                           stats_md = random_layout(in, rows, data_type::f32);
        const memory src = random_floats(in, md), dst(md, cpu), mean(stats_md, cpu), variance(stats_md, cpu);
        for_all_levels([&] {
            const layer_normalization_forward::primitive_desc pd(
                layer_normalization_forward::desc(prop_kind::forward_training, md, md, stats_md, 1e-3f,
                                                  flags::none),
                cpu);
            layer_normalization_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src},
                                                                  {OCTET_ARG_DST, dst},
                                                                  {OCTET_ARG_MEAN, mean},
                                                                  {OCTET_ARG_VARIANCE, variance}});
            for_each(rows, [&](const dims &at) {
                std::vector<float> values;
                for (dim_t c = 0; c < sizes.back(); c++)
                    values.push_back(f32_at(src, {at[0], at[1], c}));
                const auto [m, v] = statistics_of(values);
                EXPECT_EQ(f32_at(mean, at), m) << pd.problem_str();
                EXPECT_EQ(f32_at(variance, at), v) << pd.problem_str();
                EXPECT_EQ(f32_at(dst, {at[0], at[1], 0}), (values[0] - m) * (1 / std::sqrt(v + 1e-3f)));
            });
        });
    }
}

TEST(layer_normalization, sums_in_lanes) {
    inputs in(142);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        dims sizes;
        for (std::int64_t d = in.between(1, 3); d > 0; d--)
            sizes.push_back(in.between(1, 5));
        sizes.push_back(in.one_in(2) ? in.between(30, 200) : in.between(1, 20));
        const bool has_stats = in.one_in(3);
        const flags f = random_flags(in) | (has_stats ? flags::use_global_stats : flags::none);
        const memory::desc src_md = in.one_in(2) ? memory::desc(sizes, data_type::f32, dims{})
                                                 : random_layout(in, sizes, data_type::f32),
                           dst_md = random_layout(in, sizes, data_type::f32),
                           stats_md = random_layout(in, dims(sizes.begin(), sizes.end() - 1), data_type::f32);
        const operands o(in, f, sizes.back());
        const memory src = random_floats(in, src_md), means = random_floats(in, stats_md),
                     variances = random_floats(in, stats_md, true);
        const float epsilon = 1e-3f;
        const auto n = static_cast<float>(sizes.back());
        const auto expected = [&](const dims &at) {
            const dims row(at.begin(), at.end() - 1);
            std::vector<float> values;
            for (dim_t c = 0; c < sizes.back(); c++) {
                dims from = row;
                from.push_back(c);
                values.push_back(f32_at(src, from));
            }
            const float mean = has_stats ? f32_at(means, row) : in_lanes(values, 0.f, sum) / n;
            std::vector<float> lanes(16, 0.f);
            for (std::size_t k = 0; k < values.size(); k++)
                lanes[k % 16] = std::fma(values[k] - mean, values[k] - mean, lanes[k % 16]);
            const float variance = has_stats ? f32_at(variances, row) : in_lanes(lanes, 0.f, sum) / n;
            const auto c = static_cast<std::size_t>(at.back());
            const float d = (values[c] - mean) * (1 / std::sqrt(variance + epsilon));
            const bool joined = (f & flags::use_scale_shift) != flags::none;
            const bool scales = joined || (f & flags::use_scale) != flags::none,
                       shifts = joined || (f & flags::use_shift) != flags::none;
            return static_cast<double>(scales && shifts ? std::fma(d, o.scale[c], o.shift[c])
                                       : scales         ? d * o.scale[c]
                                       : shifts         ? d + o.shift[c]
                                                        : d);
        };
        std::unordered_map<int, memory> args = o.args;
        args.insert({{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, random_memory(in, dst_md)}});
        if (has_stats)
            args.insert({{OCTET_ARG_MEAN, means}, {OCTET_ARG_VARIANCE, variances}});
        const auto pd = [&] {
            return layer_normalization_forward::primitive_desc(
                layer_normalization_forward::desc(prop_kind::forward_inference, src_md, dst_md,
                                                  has_stats ? stats_md : memory::desc(), epsilon, f),
                cpu);
        };
        expect_execution([&] { return layer_normalization_forward(pd()); }, args, expected,
                         pd().problem_str());
    }
}

const algorithm reductions[] = {algorithm::reduction_max,
                                algorithm::reduction_min,
                                algorithm::reduction_sum,
                                algorithm::reduction_mul,
                                algorithm::reduction_mean,
                                algorithm::reduction_norm_lp_max,
                                algorithm::reduction_norm_lp_sum,
                                algorithm::reduction_norm_lp_power_p_max,
                                algorithm::reduction_norm_lp_power_p_sum};

TEST(reduction, takes_elements_in_lanes) {
    inputs in(143);
    for (int i = 0; i < 250 && !testing::Test::HasFailure(); i++) {
        const algorithm alg = reductions[i % std::size(reductions)];
        dims src_dims, dst_dims, inner;
        for (std::int64_t d = in.between(1, 4); d > 0; d--) {
            src_dims.push_back(in.one_in(4) ? in.between(15, 40) : in.between(1, 5));
            const bool is_reduced = in.one_in(2);
            dst_dims.push_back(is_reduced ? 1 : src_dims.back());
            inner.push_back(is_reduced ? src_dims.back() : 1);
        }
        constexpr data_type types[] = {data_type::f32, data_type::f32, data_type::u8, data_type::s8,
                                       data_type::s32};
        const bool multiplies = alg == algorithm::reduction_mul; // codes: beyond f32, and 0 times that
        const memory::desc src_md = random_layout(in, src_dims, types[multiplies ? 0 : in.between(0, 4)]),
                           dst_md = random_layout(in, dst_dims, types[in.between(0, 4)]);
        const memory src =
            src_md.data_type() == data_type::f32 ? random_floats(in, src_md) : random_memory(in, src_md);
        const float p = in.one_in(2) ? 1.f : 2.f, epsilon = 0.5f;
        const auto expected = [&](const dims &at) {
            std::vector<float> values;
            for_each(inner, [&](const dims &offset) {
                dims from = at;
                for (std::size_t d = 0; d < at.size(); d++)
                    from[d] += offset[d];
                const float x = f32_at(src, from);
                values.push_back(alg < algorithm::reduction_norm_lp_max ? x : p == 1 ? std::fabs(x) : x * x);
            });
            const auto root = [&](float x) { return p == 1 ? x : std::sqrt(x); };
            constexpr float inf = std::numeric_limits<float>::infinity();
            const auto result = [&] {
                switch (alg) {
                case algorithm::reduction_max:
                    return in_lanes(values, -inf, [](float a, float b) { return std::max(a, b); });
                case algorithm::reduction_min:
                    return in_lanes(values, inf, [](float a, float b) { return std::min(a, b); });
                case algorithm::reduction_mul:
                    return in_lanes(values, 1.f, [](float a, float b) { return a * b; });
                case algorithm::reduction_mean:
                    return in_lanes(values, 0.f, sum) / static_cast<float>(values.size());
                case algorithm::reduction_norm_lp_max:
                    return root(std::max(in_lanes(values, 0.f, sum), epsilon));
                case algorithm::reduction_norm_lp_sum:
                    return root(in_lanes(values, 0.f, sum) + epsilon);
                case algorithm::reduction_norm_lp_power_p_max:
                    return std::max(in_lanes(values, 0.f, sum), epsilon);
                case algorithm::reduction_norm_lp_power_p_sum:
                    return in_lanes(values, 0.f, sum) + epsilon;
                default:
                    return in_lanes(values, 0.f, sum);
                }
            }();
            return is_integer(dst_md.data_type()) ? saturate_and_round(result, dst_md.data_type())
                                                  : static_cast<double>(result);
        };
        const std::unordered_map<int, memory> args{{OCTET_ARG_SRC, src},
                                                   {OCTET_ARG_DST, random_memory(in, dst_md)}};
        const auto pd = [&] {
            return reduction::primitive_desc(reduction::desc(alg, src_md, dst_md, p, epsilon), cpu);
        };
        expect_execution([&] { return reduction(pd()); }, args, expected, pd().problem_str());
    }
}

/// Every level and number of threads gives the reference's bytes, post-ops included.
template <typename Make>
void expect_equal_bytes(const Make &make, std::unordered_map<int, memory> args, const memory::desc &dst_md) {
    std::vector<std::uint8_t> expected;
    for_all_levels([&] {
        const memory dst(dst_md, cpu);
        std::memset(dst.get_data_handle(), 1, dst_md.get_size());
        args[OCTET_ARG_DST] = dst;
        const auto pd = make();
        primitive(pd).execute(stream(cpu), args);
        const auto *got = dst.map_data<std::uint8_t>();
        const std::vector<std::uint8_t> bytes(got, got + dst_md.get_size());
        if (expected.empty())
            expected = bytes;
        EXPECT_EQ(bytes, expected) << pd.impl_info_str();
    });
}

TEST(normalizations, give_the_same_bytes_on_every_level) {
    inputs in(144);
    const memory::desc image({2, 37, 5, 7}, data_type::f32, format_tag::nhwc),
        stats({37}, data_type::f32, format_tag::a), rows({11, 5, 333}, data_type::f32, format_tag::abc),
        bias({1, 1, 333}, data_type::f32, format_tag::abc);
    post_ops ops;
    ops.append_sum(0.5f);
    ops.append_eltwise(1.f, algorithm::eltwise_tanh, 0.f, 0.f);
    primitive_attr attr;
    attr.set_post_ops(ops);
    const operands o(in, flags::use_scale | flags::use_shift, 37);
    std::unordered_map<int, memory> args = o.args;
    args.insert({{OCTET_ARG_SRC, random_floats(in, image)},
                 {OCTET_ARG_MEAN, random_floats(in, stats)},
                 {OCTET_ARG_VARIANCE, random_floats(in, stats, true)}});
    expect_equal_bytes(
        [&] {
            return batch_normalization_forward::primitive_desc(
                batch_normalization_forward::desc(prop_kind::forward_inference, image, 1e-5f,
                                                  flags::use_global_stats | flags::use_scale |
                                                      flags::use_shift),
                attr, cpu);
        },
        args, image);
    const operands of_rows(in, flags::use_scale_shift, 333);
    args = of_rows.args;
    args[OCTET_ARG_SRC] = random_floats(in, rows);
    expect_equal_bytes(
        [&] {
            return layer_normalization_forward::primitive_desc(
                layer_normalization_forward::desc(prop_kind::forward_inference, rows, 1e-5f,
                                                  flags::use_scale_shift),
                attr, cpu);
        },
        args, rows);
    for (const algorithm alg : reductions)
        for (const memory::dims &sizes : {dims{11, 5, 1}, dims{1, 5, 333}, dims{1, 1, 1}}) {
            const memory::desc dst(sizes, data_type::f32, dims{});
            expect_equal_bytes(
                [&] {
                    return reduction::primitive_desc(reduction::desc(alg, rows, dst, 3.f, 1e-3f), attr, cpu);
                },
                {{OCTET_ARG_SRC, args[OCTET_ARG_SRC]}}, dst);
        }
}

/// Rows and columns of all kinds in vectors, with and without a rest.
TEST(normalizations, run_in_vectors_where_elements_or_results_are_neighbours) {
    inputs in(145);
    for (const dim_t channels : {1, 8, 15, 16, 31, 32, 333}) {
        const memory::desc rows({7, 3, channels}, data_type::f32, format_tag::abc);
        for (const flags f : {flags::none, flags::use_scale, flags::use_shift, flags::use_scale_shift}) {
            const operands o(in, f, channels);
            std::unordered_map<int, memory> args = o.args;
            args[OCTET_ARG_SRC] = random_floats(in, rows);
            const auto make = [&] {
                return layer_normalization_forward::primitive_desc(
                    layer_normalization_forward::desc(prop_kind::forward_inference, rows, 1e-5f, f), cpu);
            };
            expect_equal_bytes(make, args, rows);
            EXPECT_EQ(std::string(make().impl_info_str()) == "lanes", get_machine_cpu_isa() != cpu_isa::ref);
        }
        for (const data_type type : {data_type::f32, data_type::s32, data_type::s8, data_type::u8}) {
            const memory::desc image({2, channels, 5, 7}, type, format_tag::nhwc);
            const memory src = type == data_type::f32 ? random_floats(in, image) : random_memory(in, image);
            for (const algorithm alg : reductions)
                for (const dims &sizes :
                     {dims{2, channels, 1, 1}, dims{1, channels, 5, 7}, dims{2, 1, 5, 7}}) {
                    const memory::desc dst(sizes, data_type::f32, format_tag::nhwc);
                    expect_equal_bytes(
                        [&] {
                            return reduction::primitive_desc(reduction::desc(alg, image, dst, 2.f, 1.f), cpu);
                        },
                        {{OCTET_ARG_SRC, src}}, dst);
                }
        }
    }
}

TEST(normalizations, refuse_wrong_requests) {
    const memory::desc x({2, 3, 4}, data_type::f32, format_tag::abc),
        codes({2, 3, 4}, data_type::s8, format_tag::abc), row({2, 3}, data_type::f32, format_tag::ab);
    const auto batch = [&](const memory::desc &md, float epsilon, flags f, const primitive_attr &attr = {}) {
        return [=] {
            return batch_normalization_forward::primitive_desc(
                batch_normalization_forward::desc(prop_kind::forward_inference, md, epsilon, f), attr, cpu);
        };
    };
    expect_unimplemented(
        [&] {
            return batch_normalization_forward::primitive_desc(
                batch_normalization_forward::desc(prop_kind::forward_training, x, 0.1f,
                                                  flags::fuse_norm_relu),
                cpu);
        },
        {"fuse_norm_relu with forward_training", "workspace"});
    expect_unimplemented(batch(codes, 0.1f, flags::use_global_stats),
                         {"src has type s8", "implemented: f32"});
    expect_invalid(batch(x, -1.f, flags::use_global_stats), {"epsilon is -1", "allowed: 0 and above"});
    expect_invalid(batch(x, 0.1f, flags::use_scale_shift | flags::use_scale),
                   {"flags are use_scale_shift+use_scale", "use_scale_shift, or use_scale and use_shift"});
    expect_invalid(batch(x, 0.1f, static_cast<flags>(64)), {"flags are 64"});
    primitive_attr scaled;
    scaled.set_output_scales(0, {2.f});
    expect_unimplemented(batch(x, 0.1f, flags::use_global_stats, scaled), {"attributes other than post-ops"});

    const auto layer = [&](prop_kind prop, const memory::desc &stats, flags f) {
        return [=] {
            return layer_normalization_forward::primitive_desc(
                layer_normalization_forward::desc(prop, x, stats, 0.1f, f), cpu);
        };
    };
    expect_invalid(layer(prop_kind::forward_training, x, flags::none), {"stats has 3 dimensions"});
    expect_invalid(layer(prop_kind::forward_inference, x, flags::use_global_stats),
                   {"stats has 3 dimensions"});
    expect_invalid(layer(prop_kind::forward_inference, row, flags::fuse_norm_relu),
                   {"flags are", "fuse_norm_relu"});

    const auto reduce = [&](algorithm alg, const memory::desc &dst, float p, float epsilon) {
        return [=] { return reduction::primitive_desc(reduction::desc(alg, x, dst, p, epsilon), cpu); };
    };
    expect_invalid(reduce(algorithm::softmax_log, row, 1, 0), {"reduction: algorithm is softmax_log"});
    expect_invalid(reduce(algorithm::reduction_sum, row, 1, 0), {"dst has 2 dimensions"});
    const memory::desc two({2, 2, 1}, data_type::f32, format_tag::abc),
        one({2, 1, 1}, data_type::f32, format_tag::abc);
    expect_invalid(reduce(algorithm::reduction_sum, two, 1, 0), {"dst has dims {2, 2, 1}", "or 1 in any"});
    expect_invalid(reduce(algorithm::reduction_norm_lp_sum, one, 0.5f, 0), {"p is 0.5", "1 and above"});
    expect_invalid(reduce(algorithm::reduction_norm_lp_max, one, 1, -1), {"epsilon is -1"});
    EXPECT_TRUE(reduce(algorithm::reduction_sum, one, 0, -1)()) << "only norms read p and epsilon";
}

} // namespace
} // namespace octet::test
