// Batched matrix products, with broadcast batches, against Σ_k in 64 bits.
// SPDX-License-Identifier: Apache-2.0
#include "support/naive.hpp"

namespace octet::test {
namespace {

/// `at` in a tensor whose dimensions of size 1 are broadcast.
dims broadcast(dims at, const dims &sizes) {
    for (std::size_t d = 0; d < at.size(); d++)
        at[d] = sizes[d] == 1 ? 0 : at[d];
    return at;
}

struct matmul_case {
    dims src, weights, dst;
};

matmul_case random_case(inputs &in) {
    matmul_case c;
    for (std::int64_t batches = in.between(0, 4); batches > 0; batches--) {
        const dim_t size = in.between(1, 3);
        const int one = static_cast<int>(in.between(0, 3)); // 0: src, 1: weights
        c.src.push_back(one == 0 ? 1 : size);
        c.weights.push_back(one == 1 ? 1 : size);
        c.dst.push_back(size);
    }
    const dim_t m = in.between(1, 5), n = in.one_in(3) ? in.between(15, 40) : in.between(1, 6);
    const dim_t k = in.one_in(3) ? in.between(30, 70) : in.between(1, 9);
    c.src.insert(c.src.end(), {m, k});
    c.weights.insert(c.weights.end(), {k, n});
    c.dst.insert(c.dst.end(), {m, n});
    return c;
}

/// dst's dimensions, some of them 1.
dims random_bias_dims(inputs &in, dims sizes) {
    for (dim_t &size : sizes)
        size = in.one_in(2) ? 1 : size;
    return sizes;
}

TEST(matmul, equals_the_formula_on_random_problems) {
    inputs in(121);
    for (int i = 0; i < 250 && !testing::Test::HasFailure(); i++) {
        const matmul_case c = random_case(in);
        const int last = static_cast<int>(c.dst.size()) - 1, all = (1 << (last + 1)) - 1;
        constexpr data_type dst_types[] = {data_type::u8, data_type::s8, data_type::s32, data_type::f32};
        const auto layout = [&](const dims &sizes, data_type type) {
            return in.one_in(2) ? memory::desc(sizes, type, dims{}) : random_layout(in, sizes, type);
        };
        const memory::desc src_md = layout(c.src, in.one_in(2) ? data_type::u8 : data_type::s8);
        const memory::desc weights_md = layout(c.weights, in.one_in(4) ? data_type::u8 : data_type::s8);
        const memory::desc dst_md = layout(c.dst, dst_types[in.between(0, 3)]);
        const output_stage out(in, {dst_md, last, 1 << last, true, c.src.back()});
        const bool has_bias = in.one_in(2);
        const memory::desc bias_md =
            has_bias ? layout(random_bias_dims(in, c.dst), out.random_bias_type(in)) : memory::desc();

        const memory src = random_memory(in, src_md), weights = random_memory(in, weights_md);
        const memory bias = has_bias ? random_memory(in, bias_md) : memory();
        const auto src_zp = random_zero_points(in, src_md, {0, 0, 1 << (last - 1), 1 << last, all});
        const auto weights_zp = random_zero_points(in, weights_md, {0, 0, 1 << last, 1 << (last - 1), all});
        primitive_attr attr = out.attr();
        set_zero_points(attr, OCTET_ARG_SRC, src_zp);
        set_zero_points(attr, OCTET_ARG_WEIGHTS, weights_zp);

        const auto expected = [&](const dims &at) {
            std::int64_t acc = 0;
            for (dim_t k = c.src.back() - 1; k >= 0; k--) {
                dims s_at = broadcast(at, c.src), w_at = broadcast(at, c.weights);
                s_at[s_at.size() - 2] = at[at.size() - 2];
                s_at.back() = k;
                w_at[w_at.size() - 2] = k;
                w_at.back() = at.back();
                const auto s = static_cast<std::int64_t>(element(src_md, src.get_data_handle(), s_at)) -
                               src_zp.at(c.src, s_at, 0);
                const auto w =
                    static_cast<std::int64_t>(element(weights_md, weights.get_data_handle(), w_at)) -
                    weights_zp.at(c.weights, w_at, 0);
                acc += s * w;
            }
            const double b =
                has_bias ? element(bias_md, bias.get_data_handle(), broadcast(at, bias_md.dims())) : 0;
            return out.stored(acc, b, at);
        };
        std::unordered_map<int, memory> args{{OCTET_ARG_SRC, src},
                                             {OCTET_ARG_DST, random_memory(in, dst_md)}};
        if (has_bias)
            args[OCTET_ARG_BIAS] = bias;
        for (const memory::desc &w :
             {weights_md, memory::desc(c.weights, weights_md.data_type(), format_tag::any)}) {
            const auto pd = [&] {
                return matmul::primitive_desc(matmul::desc(src_md, w, bias_md, dst_md), attr, cpu);
            };
            const memory stored(pd().weights_desc(), cpu);
            reorder(weights, stored).execute(stream(cpu), weights, stored);
            args[OCTET_ARG_WEIGHTS] = stored;
            expect_execution([&] { return matmul(pd()); }, args, expected,
                             pd().problem_str() + ", " + out.text());
        }
    }
}

TEST(matmul, extreme_zero_points_wrap) {
    // (255 - zp) * (127 - zp) leaves 32 bits; what counts is the value modulo 2^32.
    const memory::desc a({1, 2}, data_type::u8, format_tag::ab), b({2, 1}, data_type::s8, format_tag::ab),
        c({1, 1}, data_type::s32, format_tag::ab);
    const memory src(a, cpu), weights(b, cpu), dst(c, cpu);
    std::memset(src.get_data_handle(), 255, 2);
    std::memset(weights.get_data_handle(), 127, 2);
    for (const std::int32_t src_zp : {int32_min + 1, int32_max})
        for (const std::int32_t weights_zp : {int32_min + 1, int32_max, 3}) {
            primitive_attr attr;
            attr.set_zero_points(OCTET_ARG_SRC, 0, {src_zp});
            attr.set_zero_points(OCTET_ARG_WEIGHTS, 0, {weights_zp});
            matmul(matmul::primitive_desc(matmul::desc(a, b, c), attr, cpu))
                .execute(stream(cpu),
                         {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
            EXPECT_EQ(dst.map_data<std::int32_t>()[0],
                      wrapped(2 * (wide{255} - src_zp) * (wide{127} - weights_zp)));
        }
}

/// Weights of a panel's last columns are gigabytes from the first ones' then.
TEST(matmul, has_kernels_for_the_longest_reductions) {
    for (const cpu_isa level : get_available_cpu_isas())
        for (const data_type type : {data_type::u8, data_type::f32})
            for (const dim_t m : {1, 3, 1024})
                for (const dim_t k : {dim_t{10'000'000}, dim_t{30'000'000}, dim_t{1} << 25, dim_t{1} << 26})
                    for (const dim_t n : {33, 256}) {
                        set_max_cpu_isa(level);
                        const memory::desc a({m, k}, type, format_tag::ab),
                            b({k, n}, type == data_type::u8 ? data_type::s8 : type, format_tag::any),
                            c({m, n}, type == data_type::u8 ? data_type::s32 : type, format_tag::ab);
                        const matmul::primitive_desc pd(cpu, a, b, c);
                        EXPECT_NO_THROW(primitive{pd}) << pd.problem_str() << " as " << pd.impl_info_str();
                    }
    set_max_cpu_isa(cpu_isa::all);
}

TEST(matmul, sums_wrap_at_32_bits) {
    const dim_t k = 70'000; // 255 * 127 * 70,000 is above 2^31
    const memory::desc a({1, k}, data_type::u8, format_tag::ab), b({k, 1}, data_type::s8, format_tag::ab),
        c({1, 1}, data_type::s32, format_tag::ab);
    const memory src(a, cpu), weights(b, cpu), dst(c, cpu);
    std::memset(src.get_data_handle(), 255, static_cast<std::size_t>(k));
    std::memset(weights.get_data_handle(), 127, static_cast<std::size_t>(k));
    for (const cpu_isa cap : {cpu_isa::ref, cpu_isa::all}) {
        set_max_cpu_isa(cap);
        matmul(matmul::primitive_desc(cpu, a, b, c))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
        EXPECT_EQ(dst.map_data<std::int32_t>()[0], wrapped(wide{255} * 127 * k));
    }
    set_max_cpu_isa(cpu_isa::all);
}

} // namespace
} // namespace octet::test
