// Channel shuffle against its formula, of every type, along every axis, in any layout.
// SPDX-License-Identifier: Apache-2.0
#include "support/naive.hpp"

namespace octet::test {
namespace {

TEST(shuffle, transposes_an_axis_seen_as_a_matrix) {
    constexpr data_type types[] = {data_type::s8, data_type::u8, data_type::s16, data_type::s32,
                                   data_type::f32};
    inputs in(172);
    for (int i = 0; i < 100 && !testing::Test::HasFailure(); i++) {
        dims sizes;
        for (std::int64_t d = in.between(1, 5); d > 0; d--)
            sizes.push_back(in.between(1, 6));
        const auto axis =
            static_cast<std::size_t>(in.between(0, static_cast<std::int64_t>(sizes.size()) - 1));
        const dim_t group = in.between(1, 4), others = in.between(1, 5);
        sizes[axis] = group * others;
        const data_type type = types[in.between(0, 4)];
        const memory::desc src_md = any_layout(in, sizes, type), dst_md = any_layout(in, sizes, type);
        const memory src = random_memory(in, src_md), dst = random_memory(in, dst_md);
        const shuffle_forward::primitive_desc pd(
            {prop_kind::forward_inference, src_md, dst_md, static_cast<int>(axis), static_cast<int>(group)},
            cpu);
        shuffle_forward(pd).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        for_each(sizes, [&](const dims &at) {
            dims from = at;
            from[axis] = at[axis] % others * group + at[axis] / others;
            ASSERT_EQ(element(dst_md, dst.get_data_handle(), at),
                      element(src_md, src.get_data_handle(), from))
                << pd.problem_str();
        });
    }
}

TEST(shuffle, groups_that_do_not_divide_are_refused) {
    const memory::desc md({1, 6, 2, 2}, data_type::s8, format_tag::nhwc);
    for (const auto &[axis, group] : {std::pair{1, 4}, {1, 0}, {1, -2}, {4, 1}, {-1, 1}})
        EXPECT_THROW(shuffle_forward::primitive_desc({prop_kind::forward_inference, md, axis, group}, cpu),
                     error)
            << axis << ' ' << group;
}

} // namespace
} // namespace octet::test
