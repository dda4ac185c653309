// The phases of a deconvolution are a pure function: checked without running anything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cpu/compose/deconvolution_plan.hpp"

using namespace octet;
using namespace octet::impl;

namespace {

struct axis_case {
    dim_t in, out, kernel, stride, dilation, pad;
    data_type type = data_type::u8;
};

/// A deconvolution along the width of one channel, with packed weights.
deconvolution_problem problem_of(const axis_case &c) {
    deconvolution_problem p;
    const data_type weights_type = c.type == data_type::f32 ? data_type::f32 : data_type::s8;
    p.src = memory::desc({1, 1, c.in}, c.type, format_tag::nwc).data;
    p.weights = memory::desc({1, 1, c.kernel}, weights_type, format_tag::oiw).data;
    p.dst = p.out_stage.dst = memory::desc({1, 1, c.out}, c.type, format_tag::nwc).data;
    p.in[2] = c.in;
    p.out[2] = c.out;
    p.kernel[2] = c.kernel;
    p.stride[2] = c.stride;
    p.dilation[2] = c.dilation;
    p.pad[2] = c.pad;
    p.spatial_ndims = 1;
    p.weights = packed_in_parts(p);
    return p;
}

/// Every output must meet the taps and sources that the definition names.
void expect_definition(const axis_case &c) {
    const deconvolution_problem p = problem_of(c);
    const std::vector<kernel_part> parts = kernel_parts(p.weights);
    dim_t outputs = 0;
    for (const deconvolution_phase &phase : phases_of(p)) {
        const convolution_problem &v = phase.problem;
        for (dim_t q = 0; q < v.out[2]; q++, outputs++) {
            const dim_t o = v.dst.offset0 + (v.out[2] > 1 ? q * v.dst.strides[2] : 0);
            dim_t products = 0;
            for (dim_t k = 0; k < c.kernel; k++) {
                const dim_t scattered = o + c.pad - k * c.dilation, i = scattered / c.stride;
                if (scattered < 0 || scattered % c.stride != 0 || i >= c.in)
                    continue;
                ASSERT_TRUE(phase.has_taps);
                const part_tap found = find_tap(p.weights, {0, 0, k});
                EXPECT_EQ(parts[found.part].offset, phase.weights_offset);
                const dim_t met = q - v.pad[2] + (found.tap - phase.first_tap[2]) * v.dilation[2];
                EXPECT_LT(met, v.in[2]);
                products++;
                EXPECT_EQ(v.src.offset0 + met, i) << "output " << o << ", tap " << k;
            }
            if (c.type == data_type::f32) { // padding would be a product
                EXPECT_EQ(phase.has_taps ? v.kernel[2] : 0, products) << "output " << o;
                EXPECT_EQ(v.pad[2], 0);
            }
        }
    }
    EXPECT_EQ(outputs, c.out);
}

TEST(deconvolution_phases, meet_what_the_definition_says) {
    for (dim_t kernel = 1; kernel <= 6; kernel++)
        for (dim_t stride = 1; stride <= 6; stride++)
            for (dim_t dilation = 1; dilation <= 6; dilation++)
                for (dim_t pad = 0; pad <= 9; pad++)
                    for (const dim_t out : {1, 3, 11}) {
                        SCOPED_TRACE(testing::Message()
                                     << "kernel " << kernel << " stride " << stride << " dilation "
                                     << dilation << " pad " << pad << " out " << out);
                        for (const data_type type : {data_type::u8, data_type::f32})
                            expect_definition({4, out, kernel, stride, dilation, pad, type});
                    }
}

TEST(deconvolution_phases, have_the_taps_that_their_outputs_share) {
    const auto phases = phases_of(problem_of({4, 9, 3, 2, 1, 0})); // out: even 5, odd 4
    ASSERT_EQ(phases.size(), 2u);
    EXPECT_EQ(phases[0].problem.kernel[2], 2); // taps 2 and 0 on sources q - 1 and q
    EXPECT_EQ(phases[0].problem.pad[2], 1);
    EXPECT_EQ(phases[0].problem.out[2], 5);
    EXPECT_EQ(phases[1].problem.kernel[2], 1);
    EXPECT_EQ(phases[1].problem.pad[2], 0);
    EXPECT_EQ(phases[1].problem.out[2], 4);
    EXPECT_EQ(phases[1].problem.dst.offset0, 1);
    EXPECT_EQ(phases[1].problem.dst.strides[2], 2);
}

TEST(deconvolution_phases, without_taps_read_zeros) {
    const auto phases = phases_of(problem_of({4, 10, 2, 3, 1, 0}));
    ASSERT_EQ(phases.size(), 3u);
    EXPECT_TRUE(phases[0].has_taps);
    EXPECT_TRUE(phases[1].has_taps);
    EXPECT_FALSE(phases[2].has_taps);
    EXPECT_EQ(phases[2].problem.src.strides[2], 0);
}

TEST(deconvolution_phases, with_a_dilation_that_shares_the_stride_keep_all_taps) {
    const auto phases = phases_of(problem_of({4, 11, 3, 2, 2, 0}));
    ASSERT_EQ(phases.size(), 2u);
    EXPECT_EQ(phases[0].problem.kernel[2], 3);
    EXPECT_EQ(phases[0].problem.dilation[2], 1);
    EXPECT_FALSE(phases[1].has_taps);
}

TEST(deconvolution_phases, start_inside_the_image_where_the_output_is_cropped) {
    const auto phases = phases_of(problem_of({4, 2, 2, 2, 1, 4}));
    ASSERT_EQ(phases.size(), 2u);
    EXPECT_EQ(phases[0].problem.pad[2], 0);
    EXPECT_EQ(phases[0].problem.src.offset0, 2);
    EXPECT_EQ(phases[0].problem.in[2], 2);
}

TEST(deconvolution_phases, of_floats_end_where_a_tap_leaves_the_image) {
    const auto phases = phases_of(problem_of({4, 6, 3, 1, 1, 0, data_type::f32}));
    ASSERT_EQ(phases.size(), 5u); // phases of taps 0; 0 and 1; all; 1 and 2; 2
    const dim_t taps[] = {1, 2, 3, 2, 1}, first[] = {2, 1, 0, 0, 0}, outputs[] = {1, 1, 2, 1, 1};
    for (std::size_t i = 0; i < phases.size(); i++) {
        EXPECT_EQ(phases[i].problem.kernel[2], taps[i]);
        EXPECT_EQ(phases[i].first_tap[2], first[i]);
        EXPECT_EQ(phases[i].problem.out[2], outputs[i]);
    }
}

TEST(deconvolution_phases, of_floats_are_refused_where_there_are_too_many_edges) {
    EXPECT_EQ(refuses_phases(problem_of({600, 1111, 512, 1, 1, 0, data_type::f32})), ""); // 511 + 1 + 511
    EXPECT_NE(refuses_phases(problem_of({600, 1112, 513, 1, 1, 0, data_type::f32}))
                  .find("strides and edges that divide the output"),
              std::string::npos);
    EXPECT_EQ(refuses_phases(problem_of({600, 1112, 513, 1, 1, 0})), "");
}

TEST(packed_deconvolution_weights, stay_one_kernel_if_there_were_too_many_parts) {
    EXPECT_EQ(problem_of({2, 5000, 2000, 2000, 1, 0}).weights.packed_steps[2], 1);
    EXPECT_EQ(problem_of({2, 3000, 1000, 1000, 1, 0}).weights.packed_steps[2], 1000);
}

} // namespace
