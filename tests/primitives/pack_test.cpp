// Packing against the order that common/layout/packed.hpp defines, byte by byte: weights, padding, sums.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "common/layout/layout.hpp"
#include "cpu/machine/isa.hpp"
#include "cpu/weights/pack.hpp"
#include "primitives/guarded_memory.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

using namespace impl;

/// The definition for one kernel: every weight into each of its places, then the sums per line.
void pack_by_definition(const memory_desc &plain, const std::uint8_t *src, const memory_desc &packed,
                        std::int8_t *dst) {
    const packed_geometry p = packed_geometry_of(packed);
    std::memset(dst, 0, packed_bytes(packed));
    auto *sums = reinterpret_cast<std::int32_t *>(dst + p.sums_offset());
    const bool is_matmul = packed.packed_kind == packed_kind::matmul;
    const int first = packed.packed_kind == packed_kind::grouped_convolution ? 1 : 0;
    for (dim_t index = 0; index < element_count(plain); index++) {
        const coordinates at = coordinates_of(index, plain);
        dim_t group = 0, tap = 0, line = 0;
        for (int d = 0; d < (is_matmul ? plain.ndims - 2 : first); d++)
            group = group * plain.dims[d] + at[d];
        for (int d = first + 2; !is_matmul && d < plain.ndims; d++) {
            tap = tap * plain.dims[d] + at[d];
            line = d < plain.ndims - 1 ? line * plain.dims[d] + at[d] : line;
        }
        const dim_t o = is_matmul ? at[plain.ndims - 1] : at[first],
                    i = is_matmul ? at[plain.ndims - 2] : at[first + 1];
        const int code = packed.data_type == data_type::u8
                             ? src[plain_offset(plain, at)] - 128
                             : static_cast<std::int8_t>(src[plain_offset(plain, at)]);
        for (dim_t copy = 0; copy < p.copies(); copy++)
            dst[p.offset(group, o, i, tap, copy)] = static_cast<std::int8_t>(code);
        sums[(group / p.merged * p.lines + line) * p.line_sums() + group % p.merged * p.o_per_member + o] +=
            code;
    }
}

class packing : public testing::Test {
protected:
    void expect_definition(const dims &sizes, data_type type, const memory_desc &packed,
                           const std::string &what) {
        const memory::desc plain = any_layout(in_, sizes, type);
        const guarded_memory src(plain, cpu);
        src.copy_from(random_memory(in_, plain));
        const std::uint8_t *codes = src.bytes();
        std::vector<std::int8_t> expected(size_in_bytes(packed));
        if (has_parts(packed.packed_kind))
            for (std::size_t i = 0; i < kernel_parts(packed).size(); i++) {
                const kernel_part part = kernel_parts(packed)[i];
                pack_by_definition(plain_part(plain.data, packed, i), codes, part.weights,
                                   expected.data() + part.offset);
            }
        else
            pack_by_definition(plain.data, codes, packed, expected.data());
        for (const int threads : {1, 3})
            for (const cpu_isa level : {cpu_isa::ref, cpu_isa::avx2, cpu_isa::all}) {
                set_num_threads(threads);
                set_max_cpu_isa(level);
                const guarded_memory dst(memory::desc(packed), cpu);
                std::memset(dst.get().get_data_handle(), 0x5a, expected.size());
                pack_weights(plain.data, codes, packed, dst.get().get_data_handle(), machine_in_use().isa);
                set_max_cpu_isa(cpu_isa::all);
                set_num_threads(0);
                ASSERT_EQ(std::memcmp(dst.get().get_data_handle(), expected.data(), expected.size()), 0)
                    << what << " from " << plain.to_string() << ", " << threads << " threads, at most "
                    << to_string(level);
            }
    }
    inputs in_{271};
};

TEST_F(packing, is_the_documented_order) {
    for (int i = 0; i < 300 && !HasFailure(); i++) {
        const data_type type = in_.one_in(3) ? data_type::u8 : data_type::s8;
        const dim_t g = in_.one_in(2) ? in_.between(1, 9) : 1, o = in_.between(1, 150),
                    n = in_.between(1, 40);
        dims sizes;
        memory_desc packed;
        const int kind = static_cast<int>(in_.between(0, 4));
        if (kind == 0)
            sizes = {g, n, o};
        else {
            sizes = {o, n};
            if (kind >= 3)
                sizes.insert(sizes.begin(), g);
            for (dim_t spatial = in_.between(kind == 1 ? 0 : 1, 3); spatial > 0; spatial--)
                sizes.push_back(in_.between(1, 4));
        }
        packed = memory::desc(sizes, type, dims{}).data;
        if (kind == 0)
            set_packed(packed, packed_kind::matmul, false);
        else if (kind % 2 == 1)
            set_packed(packed, kind >= 3 ? packed_kind::grouped_convolution : packed_kind::convolution, true);
        else
            set_packed_in_parts(packed,
                                kind >= 3 ? packed_kind::grouped_deconvolution : packed_kind::deconvolution,
                                {1, in_.between(1, 3), in_.between(1, 3)}, in_.one_in(2));
        expect_definition(sizes, type, packed, memory::desc(packed).to_string());
    }
}

/// Lines of the source, halves of them, what is transposed at once, and what is left, in each order of the dimensions.
TEST_F(packing, of_many_channels_is_the_documented_order) {
    for (const dim_t kernel : {1, 3, 5})
        for (const dim_t n : {3, 16, 48, 64, 100, 150})
            for (const dim_t o : {16, 40, 64, 80, 112})
                for (int layout = 0; layout < 3 && !HasFailure(); layout++) {
                    const data_type type = layout == 1 ? data_type::u8 : data_type::s8;
                    const dims sizes{o, n, kernel, kernel};
                    memory_desc packed = memory::desc(sizes, type, dims{}).data;
                    set_packed(packed, packed_kind::convolution, true);
                    expect_definition(sizes, type, packed, memory::desc(packed).to_string());
                }
}

TEST_F(packing, of_depthwise_weights_is_the_documented_order) {
    for (int i = 0; i < 60 && !HasFailure(); i++) {
        const dim_t height = in_.between(1, 7), width = in_.between(1, 7), stride = in_.between(1, 3);
        const dims sizes{in_.between(1, 90), 1, 1, height, width};
        memory_desc packed = memory::desc(sizes, data_type::s8, dims{}).data;
        set_packed_by_patches(packed, choose_patches({height, stride, 1}, {width, stride, 1}));
        expect_definition(sizes, data_type::s8, packed, memory::desc(packed).to_string());
    }
}

} // namespace
} // namespace octet::test
