// TFLite's integer softmax. Three checks that need none of its fixed-point code: real softmax within a code
// or two, exact sums where all codes are equal, and independence of layout and axis.
// SPDX-License-Identifier: Apache-2.0
#include "support/naive.hpp"

namespace octet::test {
namespace {

/// beta * scale * 2^26 as TFLite derives it.
fixed_point_multiplier input_multiplier(double scale) {
    return from_double(requantization_rule::tflite_2step, std::min(scale * (1 << 26), 2147483647.));
}

softmax_forward::primitive_desc make(const memory::desc &src, const memory::desc &dst, int axis,
                                     double scale) {
    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step);
    attr.set_input_multiplier(OCTET_ARG_SRC, input_multiplier(scale));
    return {softmax_forward::desc(prop_kind::forward_inference, src, dst, axis), attr, cpu};
}

/// Real softmax of the row through `at`, as a code of dst.
double real_code(const memory &src, const dims &at, int axis, double scale, data_type dst) {
    const memory::desc md = src.get_desc();
    const auto code = [&](dim_t i) {
        dims position = at;
        position[static_cast<std::size_t>(axis)] = i;
        return element(md, src.get_data_handle(), position);
    };
    double highest = -1e9, total = 0;
    const dim_t n = md.dims()[static_cast<std::size_t>(axis)];
    for (dim_t i = 0; i < n; i++)
        highest = std::max(highest, code(i));
    for (dim_t i = 0; i < n; i++)
        total += std::exp(scale * (code(i) - highest));
    const double p = std::exp(scale * (code(at[static_cast<std::size_t>(axis)]) - highest)) / total;
    const double steps = dst == data_type::s16 ? 65536 : 256;
    return std::min(p * steps + static_cast<double>(lowest_code(dst)),
                    static_cast<double>(highest_code(dst)));
}

TEST(softmax, is_close_to_the_real_one_in_every_layout_and_along_every_axis) {
    inputs in(161);
    constexpr data_type dst_types[] = {data_type::s8, data_type::u8, data_type::s16};
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); i++) {
        dims sizes;
        for (std::int64_t d = in.between(1, 4); d > 0; d--)
            sizes.push_back(in.between(1, 12));
        const int axis = static_cast<int>(in.between(0, static_cast<std::int64_t>(sizes.size()) - 1));
        const memory::desc src_md = any_layout(in, sizes, in.one_in(2) ? data_type::s8 : data_type::u8);
        const memory::desc dst_md = any_layout(in, sizes, dst_types[in.between(0, 2)]);
        const double scale = static_cast<double>(in.between(1, 300)) / 1000;
        const memory src = random_memory(in, src_md), dst = random_memory(in, dst_md);
        const softmax_forward::primitive_desc pd = make(src_md, dst_md, axis, scale);

        const memory before = dst;
        const guarded_memory guarded_src(src_md, cpu), guarded_dst(dst_md, cpu);
        guarded_src.copy_from(src);
        guarded_dst.copy_from(dst);
        softmax_forward(pd).execute(stream(cpu),
                                    {{OCTET_ARG_SRC, guarded_src.get()}, {OCTET_ARG_DST, guarded_dst.get()}});
        // One code for the rounding; with 16 bits the 19 fraction bits of the sum show too.
        const double tolerance = dst_md.data_type() == data_type::s16 ? 4 : 1;
        for_each(sizes, [&](const dims &at) {
            const double got = element(dst_md, guarded_dst.bytes(), at),
                         wanted = real_code(src, at, axis, scale, dst_md.data_type());
            EXPECT_LE(std::abs(got - wanted), tolerance) << pd.problem_str();
        });
    }
}

TEST(softmax, equal_codes_share_equally) {
    for (const dim_t n : {1, 2, 4, 8, 16, 64}) {
        const memory::desc md({1, n}, data_type::s8, format_tag::ab);
        const memory src(md, cpu), dst(md, cpu);
        for (const int code : {-128, 0, 127}) {
            std::memset(src.get_data_handle(), code, static_cast<std::size_t>(n));
            softmax_forward(make(md, md, 1, 0.1))
                .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
            for (dim_t i = 0; i < n; i++)
                EXPECT_EQ(dst.map_data<std::int8_t>()[i], std::min<dim_t>(256 / n - 128, 127))
                    << n << " codes " << code;
        }
    }
}

TEST(softmax, does_not_depend_on_the_codes_of_other_rows_or_on_an_offset) {
    inputs in(162);
    const memory::desc md({3, 7}, data_type::u8, format_tag::ab),
        row_md({1, 7}, data_type::u8, format_tag::ab);
    const memory src(md, cpu), dst(md, cpu), row(row_md, cpu), alone(row_md, cpu);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 21; k++)
            src.map_data<std::uint8_t>()[k] = static_cast<std::uint8_t>(in.between(0, 200));
        softmax_forward(make(md, md, 1, 0.05))
            .execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        const auto offset = static_cast<std::uint8_t>(in.between(0, 55));
        for (int r = 0; r < 3; r++) {
            for (int k = 0; k < 7; k++)
                row.map_data<std::uint8_t>()[k] =
                    static_cast<std::uint8_t>(src.map_data<std::uint8_t>()[7 * r + k] + offset);
            softmax_forward(make(row_md, row_md, 1, 0.05))
                .execute(stream(cpu), {{OCTET_ARG_SRC, row}, {OCTET_ARG_DST, alone}});
            EXPECT_EQ(std::memcmp(alone.get_data_handle(), dst.map_data<std::uint8_t>() + 7 * r, 7), 0);
        }
    }
}

} // namespace
} // namespace octet::test
