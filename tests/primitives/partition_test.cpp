// How the tensors of a reorder between two layouts are cut into blocks: a pure function, checked without
// running anything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cpu/stream/blocks.hpp"

using namespace octet;
using namespace octet::impl;
using namespace octet::impl::stream;

namespace {

constexpr dim_t most_bytes = 1 << 18;

partition images(const memory::dims &dims, format_tag from, format_tag to, int kept = -1) {
    return partition_of(memory::desc(dims, data_type::f32, from).data,
                        memory::desc(dims, data_type::u8, to).data, kept, most_bytes);
}

memory::dims block_of(const partition &p) { return memory::dims(p.block, p.block + p.ndims); }

TEST(partition, small_tensor_is_one_block) {
    const partition p = images({1, 64, 64, 64}, format_tag::nchw, format_tag::nhwc);
    EXPECT_TRUE(p.is_whole());
    EXPECT_EQ(p.count(), 1);
}

TEST(partition, channels_first_source_is_cut_into_lines_of_channels) {
    const partition p = images({2, 256, 56, 56}, format_tag::nchw, format_tag::nhwc);
    EXPECT_EQ(block_of(p), (memory::dims{1, 64, 56, 56}));
    EXPECT_EQ(p.count(), 8);
    EXPECT_EQ(p.rest(), 0);
}

TEST(partition, channels_last_source_is_cut_into_rows) {
    const partition p = images({2, 256, 56, 56}, format_tag::nhwc, format_tag::nchw);
    EXPECT_EQ(block_of(p), (memory::dims{1, 256, 8, 56})); // 448 bytes by 7 lines
    EXPECT_EQ(p.count(), 14);
}

TEST(partition, last_block_may_be_smaller) {
    const partition p = images({1, 224, 64, 64}, format_tag::nchw, format_tag::nhwc);
    EXPECT_EQ(block_of(p), (memory::dims{1, 64, 64, 64}));
    EXPECT_EQ(p.rest(), 32);
    const memory_desc md = memory::desc({1, 224, 64, 64}, data_type::u8, format_tag::nhwc).data;
    EXPECT_EQ(p.part_of(md, false).dims[1], 64);
    EXPECT_EQ(p.part_of(md, true).dims[1], 32);
}

TEST(partition, rest_of_channels_is_no_small_part_of_a_line) {
    const partition p = images({1, 200, 64, 64}, format_tag::nchw, format_tag::nhwc);
    EXPECT_EQ(block_of(p), (memory::dims{1, 128, 64, 64}));
    EXPECT_EQ(p.rest(), 72);
}

TEST(partition, dimension_of_varying_numbers_is_kept) {
    const partition short_rows = images({2, 256, 56, 56}, format_tag::nchw, format_tag::nhwc, 1);
    EXPECT_EQ(block_of(short_rows), (memory::dims{1, 256, 56, 56})) << "short runs of each channel";
    const partition long_rows = images({1, 3, 1024, 1024}, format_tag::nchw, format_tag::nhwc, 1);
    EXPECT_EQ(long_rows.block[1], 3);
    EXPECT_LT(long_rows.block[2], 1024);
    EXPECT_TRUE(images({2, 256, 56, 56}, format_tag::nchw, format_tag::nhwc, 0).block[0] == 2);
}

TEST(partition, contiguous_dimension_of_the_source_is_kept) {
    EXPECT_TRUE(images({1, 1, 1, 1 << 20}, format_tag::nchw, format_tag::nhwc).is_whole());
}

} // namespace
