// Strips of rows transposed: every level, element size and number of parts, whole lines of columns and the
// steps after them; nothing beside the strip is written.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "jit/kernels/transpose.hpp"
#include "support/levels.hpp"

namespace octet::impl::jit {
namespace {

void expect_transposed(const transpose_spec &spec, std::size_t steps) {
    const auto bytes = static_cast<std::size_t>(spec.element_bytes);
    const auto part = static_cast<std::size_t>(elements_per_part(spec.element_bytes));
    const std::size_t rows = static_cast<std::size_t>(spec.parts) * part, columns = steps * part;
    const std::size_t src_stride = columns * bytes + 24,
                      dst_stride = 128; // the last row ends with its columns
    std::mt19937 random(1);
    std::vector<std::uint8_t> src((rows - 1) * src_stride + columns * bytes);
    for (std::uint8_t &x : src)
        x = static_cast<std::uint8_t>(random());
    std::vector<std::uint8_t> buffer(columns * dst_stride + 64, 7);
    std::uint8_t *dst = buffer.data() + (64 - reinterpret_cast<std::uintptr_t>(buffer.data()) % 64) % 64;
    std::vector<std::uint8_t> expected(columns * dst_stride, 7);
    for (std::size_t i = 0; i < rows; i++)
        for (std::size_t j = 0; j < columns; j++)
            std::copy_n(&src[i * src_stride + j * bytes], bytes, &expected[j * dst_stride + i * bytes]);
    const transpose_args args{
        src.data(), dst, static_cast<std::int64_t>(src_stride), dst_stride, static_cast<std::int64_t>(steps),
        128};
    transpose_code(spec)->function()(&args);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), dst))
        << spec.isa.name() << ", elements of " << bytes << ", " << spec.parts << " parts, " << steps
        << " steps";
}

TEST(Transpose, EveryStripOfEveryLevel) {
    for (const instruction_set isa : usable_instruction_sets())
        for (const int element_bytes : {1, 2, 4})
            for (int parts = 1; parts <= max_transpose_parts(isa); parts++)
                for (const std::size_t steps : {1, 3, 4, 5, 8, 11})
                    for (const bool is_nontemporal : {false, true})
                        expect_transposed({isa, element_bytes, parts, is_nontemporal}, steps);
}

} // namespace
} // namespace octet::impl::jit
