// Local response normalization against the real formula, in the layouts that decide the order of operations; the bytes
// of each order are oneDNN's vectors', which `octet check` replays.
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "common/element.hpp"
#include "support/effort.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

struct lrn_case {
    algorithm alg;
    dims sizes;
    format_tag tag;
    dim_t size;
    float beta;
};

double real_value(const memory &src, const dims &at, const lrn_case &c, double alpha, double k) {
    const memory::desc md = src.get_desc();
    const bool is_across = c.alg == algorithm::lrn_across_channels;
    const dim_t reach = (c.size - 1) / 2;
    double sum = 0, count = 1;
    for (std::size_t d = is_across ? 1 : 2; d < (is_across ? 2 : at.size()); d++)
        count *= static_cast<double>(c.size);
    for_each(c.sizes, [&](const dims &other) {
        for (std::size_t d = 0; d < at.size(); d++) {
            const bool is_in_window = is_across ? d == 1 : d >= 2;
            if (std::abs(other[d] - at[d]) > (is_in_window ? reach : 0))
                return;
        }
        const double x = element(md, src.get_data_handle(), other);
        sum += x * x;
    });
    return element(md, src.get_data_handle(), at) /
           std::pow(k + alpha * sum / count, static_cast<double>(c.beta));
}

TEST(lrn, is_close_to_the_real_formula_in_every_order) {
    constexpr auto across = algorithm::lrn_across_channels, within = algorithm::lrn_within_channel;
    const lrn_case cases[] = {{across, {2, 16, 3, 4}, format_tag::nhwc, 5, 0.75f},
                              {across, {2, 16, 3, 4}, format_tag::nchw, 5, 0.75f},
                              {across, {1, 7, 3, 4}, format_tag::nchw, 3, 1.f},
                              {across, {2, 19, 2, 2}, format_tag::nhwc, 9, 1.f},
                              {across, {3, 11, 5}, format_tag::ncw, 5, 0.6f},
                              {within, {1, 32, 6, 7}, format_tag::nhwc, 3, 0.75f},
                              {within, {1, 3, 5, 5}, format_tag::nchw, 5, 0.75f},
                              {within, {1, 2, 3, 4, 3}, format_tag::ncdhw, 3, 1.f},
                              {across, {1, 4, 2, 2}, format_tag::nchw, 65535, 0.75f}};
    inputs in(171);
    for (const lrn_case &c : cases) {
        const memory::desc md(c.sizes, data_type::f32, c.tag);
        const memory src(md, cpu), dst(md, cpu);
        for_each(c.sizes, [&](const dims &at) {
            src.map_data<float>()[offset_of(md, at)] = static_cast<float>(in.between(-4000, 4000)) / 1000;
        });
        const lrn_forward::primitive_desc pd(
            {prop_kind::forward_inference, c.alg, md, c.size, 0.5f, c.beta, 2.f}, cpu);
        lrn_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        for_each(c.sizes, [&](const dims &at) {
            const double expected = real_value(src, at, c, 0.5, 2.);
            ASSERT_NEAR(element(md, dst.get_data_handle(), at), expected, 1e-5) << pd.problem_str();
        });
    }
}

/// A random problem of any order, small or with lines longer than one piece of work.
lrn_forward::desc random_lrn(inputs &in) {
    const auto pick = [&](auto... choices) {
        const std::array list{choices...};
        return list[static_cast<std::size_t>(in.between(0, sizeof...(choices) - 1))];
    };
    const auto ndims = static_cast<std::size_t>(in.between(2, 5));
    dims sizes{in.between(1, 2), pick(1, 3, 8, 16, 24, 32, 40, 530)};
    while (sizes.size() < ndims)
        sizes.push_back(ndims == 3 && in.one_in(4) ? 517 : in.between(1, ndims == 5 ? 5 : 9));
    dims strides(ndims, 1);
    const bool has_channels_last = in.one_in(2);
    dim_t next = has_channels_last ? sizes[1] : 1;
    for (std::size_t d = ndims; d-- > 0;)
        if (d != 1 || !has_channels_last) {
            strides[d] = next;
            next *= sizes[d];
        }
    const memory::desc md(sizes, pick(data_type::f32, data_type::f32, data_type::bf16, data_type::f16),
                          strides);
    return {prop_kind::forward_inference,
            ndims > 2 && in.one_in(2) ? algorithm::lrn_within_channel : algorithm::lrn_across_channels,
            md,
            pick(1, 2, 3, 4, 5, 5, 7, 9, 40),
            0.5f,
            pick(0.75f, 0.75f, 1.f, 0.6f),
            2.f};
}

TEST(lrn, has_the_bytes_of_the_definition_on_every_level) {
    inputs in(172);
    for (std::int64_t i = 0; i < problem_count(400); i++) {
        const lrn_forward::desc d = random_lrn(in);
        const memory src(d.src, cpu), dst(d.src, cpu), expected(d.src, cpu);
        for_each(d.src.dims(), [&](const dims &at) {
            impl::store_f32(src.get_data_handle(), d.src.get_data_type(), offset_of(d.src, at),
                            static_cast<float>(in.between(-4000, 4000)) / 1000);
        });
        const auto run = [&](const memory &to) {
            const lrn_forward::primitive_desc pd(d, cpu);
            std::memset(to.get_data_handle(), 0x5a, d.src.get_size());
            lrn_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, to}});
            return pd;
        };
        set_max_cpu_isa(cpu_isa::ref);
        EXPECT_STREQ(run(expected).impl_info_str(), "ref");
        for (const cpu_isa level : get_available_cpu_isas())
            for (const int threads : {1, 3}) {
                set_max_cpu_isa(level);
                set_num_threads(threads);
                const lrn_forward::primitive_desc pd = run(dst);
                EXPECT_STREQ(pd.impl_info_str(), level == cpu_isa::ref ? "ref" : "lanes");
                ASSERT_EQ(std::memcmp(dst.get_data_handle(), expected.get_data_handle(), d.src.get_size()), 0)
                    << pd.problem_str();
            }
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
}

TEST(lrn, wrong_windows_are_refused) {
    const memory::desc md({1, 8}, data_type::f32, format_tag::nc);
    const auto refusal = [&](algorithm alg, dim_t size) {
        try {
            lrn_forward::primitive_desc({prop_kind::forward_inference, alg, md, size, 1.f, 0.75f, 1.f}, cpu);
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_NE(refusal(algorithm::lrn_across_channels, 0).find("local_size is 0, allowed: 1 to 65536"),
              std::string::npos);
    EXPECT_NE(refusal(algorithm::lrn_across_channels, 65537).find("allowed: 1 to 65536"), std::string::npos);
    EXPECT_NE(refusal(algorithm::lrn_within_channel, 3), "");
    EXPECT_NE(refusal(algorithm::eltwise_relu, 3), "");
}

} // namespace
} // namespace octet::test
