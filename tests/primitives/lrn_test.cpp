// Local response normalization against the real formula, in the layouts that decide the order of operations; the bytes
// of each order are oneDNN's vectors', which `octet check` replays.
// SPDX-License-Identifier: Apache-2.0
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
