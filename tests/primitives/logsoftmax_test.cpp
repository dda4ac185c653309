// The logarithm of softmax against the real formula along every axis; the bytes are oneDNN's vectors', which
// `octet check` replays.
// SPDX-License-Identifier: Apache-2.0
#include "support/effort.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

TEST(logsoftmax, is_close_to_the_real_formula_along_every_axis) {
    inputs in(173);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        dims sizes;
        for (std::int64_t d = in.between(1, 4); d > 0; d--)
            sizes.push_back(in.between(1, 20));
        const auto axis =
            static_cast<std::size_t>(in.between(0, static_cast<std::int64_t>(sizes.size()) - 1));
        const memory::desc md = any_layout(in, sizes, data_type::f32);
        const memory src(md, cpu), dst(md, cpu);
        for_each(sizes, [&](const dims &at) {
            src.map_data<float>()[offset_of(md, at)] = static_cast<float>(in.between(-8000, 8000)) / 1000;
        });
        primitive_attr attr;
        const float scale = in.one_in(2) ? 1.f : 3.f;
        if (scale != 1.f)
            attr.set_output_scales(0, {scale});
        const logsoftmax_forward::primitive_desc pd(
            {prop_kind::forward_inference, md, static_cast<int>(axis)}, attr, cpu);
        logsoftmax_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        for_each(sizes, [&](const dims &at) {
            double sum = 0;
            dims other = at;
            for (other[axis] = 0; other[axis] < sizes[axis]; other[axis]++)
                sum += std::exp(element(md, src.get_data_handle(), other));
            const double expected =
                static_cast<double>(scale) * (element(md, src.get_data_handle(), at) - std::log(sum));
            ASSERT_NEAR(element(md, dst.get_data_handle(), at), expected, 3e-5) << pd.problem_str();
        });
    }
}

TEST(logsoftmax, has_the_bytes_of_the_definition_on_every_level) {
    inputs in(174);
    int on_ref = 0, in_vectors = 0; // of the runs; a few layouts are left to the definition
    for (std::int64_t i = 0; i < problem_count(150); i++) {
        dims sizes;
        for (std::int64_t d = in.between(1, 4); d > 0; d--)
            sizes.push_back(in.between(1, 20));
        const memory::desc md = any_layout(in, sizes, data_type::f32);
        const memory src(md, cpu), dst(md, cpu), expected(md, cpu);
        for_each(sizes, [&](const dims &at) {
            src.map_data<float>()[offset_of(md, at)] = static_cast<float>(in.between(-8000, 8000)) / 1000;
        });
        const int axis = static_cast<int>(in.between(0, static_cast<std::int64_t>(sizes.size()) - 1));
        const auto run = [&](const memory &to) {
            const logsoftmax_forward::primitive_desc pd({prop_kind::forward_inference, md, axis}, cpu);
            logsoftmax_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, to}});
            return std::string(pd.impl_info_str());
        };
        set_max_cpu_isa(cpu_isa::ref);
        EXPECT_EQ(run(expected), "ref");
        for (const cpu_isa level : get_available_cpu_isas())
            for (const int threads : {1, 3}) {
                set_max_cpu_isa(level);
                set_num_threads(threads);
                (run(dst) == "ref" ? on_ref : in_vectors)++;
                for_each(sizes, [&](const dims &at) {
                    ASSERT_EQ(element(md, dst.get_data_handle(), at),
                              element(md, expected.get_data_handle(), at))
                        << "axis " << axis << " of " << sizes.size() << ", " << to_string(level);
                });
            }
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
    const auto levels = static_cast<int>(get_available_cpu_isas().size());
    EXPECT_GE(in_vectors, (levels - 1) * on_ref * 9 / 10);
}

TEST(logsoftmax, an_axis_outside_the_tensor_is_refused) {
    const memory::desc md({2, 3}, data_type::f32, format_tag::nc);
    for (const int axis : {-1, 2})
        EXPECT_THROW(logsoftmax_forward::primitive_desc({prop_kind::forward_inference, md, axis}, cpu),
                     error);
}

} // namespace
} // namespace octet::test
