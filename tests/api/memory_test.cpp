// Descriptors (tags, strides, sub-tensors, views, sizes) and buffers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_error;
using octet::test::expect_invalid;
using dims = memory::dims;
using tag = format_tag;

namespace {

const engine cpu(engine::kind::cpu, 0);

// ---- tags

struct tag_case {
    format_tag id;
    const char *logical; ///< the tensor's dimensions in the order of `dims`
    const char *stored;  ///< from outermost to innermost in memory
};

#define LETTERS_1(stored)                                                                                    \
    { tag::stored, "a", #stored }
#define LETTERS_2(stored)                                                                                    \
    { tag::stored, "ab", #stored }
#define LETTERS_3(stored)                                                                                    \
    { tag::stored, "abc", #stored }
#define LETTERS_4(stored)                                                                                    \
    { tag::stored, "abcd", #stored }
#define LETTERS_5(stored)                                                                                    \
    { tag::stored, "abcde", #stored }
#define LETTERS_6(stored)                                                                                    \
    { tag::stored, "abcdef", #stored }
#define ROLES(logical, stored)                                                                               \
    { tag::stored, #logical, #stored }
const tag_case tag_cases[] = {
    LETTERS_1(a),          LETTERS_2(ab),         LETTERS_2(ba),         LETTERS_3(abc),
    LETTERS_3(acb),        LETTERS_3(bac),        LETTERS_3(bca),        LETTERS_3(cab),
    LETTERS_3(cba),        LETTERS_4(abcd),       LETTERS_4(abdc),       LETTERS_4(acbd),
    LETTERS_4(acdb),       LETTERS_4(adcb),       LETTERS_4(bacd),       LETTERS_4(bcda),
    LETTERS_4(cdab),       LETTERS_4(cdba),       LETTERS_4(dcab),       LETTERS_5(abcde),
    LETTERS_5(abdec),      LETTERS_5(acbde),      LETTERS_5(acdeb),      LETTERS_5(bacde),
    LETTERS_5(bcdea),      LETTERS_5(cdeab),      LETTERS_5(cdeba),      LETTERS_5(decab),
    LETTERS_6(abcdef),     LETTERS_6(abdefc),     LETTERS_6(acbdef),     LETTERS_6(acdefb),
    LETTERS_6(bacdef),     LETTERS_6(defcab),

    ROLES(x, x),           ROLES(nc, nc),         ROLES(nc, cn),         ROLES(tn, tn),
    ROLES(tn, nt),         ROLES(ncw, ncw),       ROLES(ncw, nwc),       ROLES(nchw, nchw),
    ROLES(nchw, nhwc),     ROLES(nchw, chwn),     ROLES(ncdhw, ncdhw),   ROLES(ncdhw, ndhwc),
    ROLES(oi, oi),         ROLES(oi, io),         ROLES(oiw, oiw),       ROLES(oiw, owi),
    ROLES(oiw, wio),       ROLES(oiw, iwo),       ROLES(oihw, oihw),     ROLES(oihw, hwio),
    ROLES(oihw, ohwi),     ROLES(oihw, ihwo),     ROLES(oihw, iohw),     ROLES(oihw, hwoi),
    ROLES(oidhw, oidhw),   ROLES(oidhw, dhwio),   ROLES(oidhw, odhwi),   ROLES(oidhw, iodhw),
    ROLES(oidhw, idhwo),   ROLES(oidhw, dhwoi),   ROLES(goiw, goiw),     ROLES(goiw, gowi),
    ROLES(goiw, giow),     ROLES(goiw, wigo),     ROLES(goihw, goihw),   ROLES(goihw, gohwi),
    ROLES(goihw, giohw),   ROLES(goihw, hwigo),   ROLES(goidhw, goidhw), ROLES(goidhw, godhwi),
    ROLES(goidhw, giodhw), ROLES(goidhw, dhwigo),
};

TEST(memory_desc, every_tag_orders_elements_as_its_letters_say) {
    for (const tag_case &c : tag_cases) {
        SCOPED_TRACE(c.stored);
        const std::string logical = c.logical, stored = c.stored;
        dims sizes;
        for (std::size_t d = 0; d < logical.size(); d++)
            sizes.push_back(static_cast<dim_t>(2 + d % 3));
        const memory::desc md(sizes, data_type::s8, c.id);
        const dims strides = md.get_strides();

        // Count through the elements in memory order, the last stored dimension fastest.
        dims at(logical.size(), 0);
        for (dim_t expected = 0; expected < static_cast<dim_t>(md.get_size()); expected++) {
            dim_t offset = 0;
            for (std::size_t d = 0; d < at.size(); d++)
                offset += at[d] * strides[d];
            ASSERT_EQ(offset, expected);
            for (auto letter = stored.rbegin(); letter != stored.rend(); ++letter) {
                const std::size_t d = logical.find(*letter);
                if (++at[d] < sizes[d])
                    break;
                at[d] = 0;
            }
        }
        EXPECT_EQ(at, dims(logical.size(), 0)) << "the walk covers the tensor exactly once";
    }
}

TEST(memory_desc, tags_of_another_rank_are_refused) {
    expect_invalid(
        [] {
            memory::desc({2, 3, 4}, data_type::s8, tag::nchw);
        },
        {"memory::desc", "abcd", "3 dimensions"});
    expect_invalid(
        [] {
            memory::desc({2, 3, 4}, data_type::s8, tag::nhwc);
        },
        {"format_tag 'acdb' (nhwc, ohwi) for 3 dimensions"});
    expect_invalid(
        [] {
            memory::desc({2, 3}, data_type::s8, tag::undef);
        },
        {"memory::desc", "undef", "2 dimensions"});
    expect_invalid(
        [] {
            memory::desc({2, 3}, data_type::s8, tag::a);
        },
        {"allowed: a tag with 2 letters or any"});
}

TEST(memory_desc, sizes_count_bytes) {
    EXPECT_EQ(memory::desc({2, 3, 5}, data_type::u8, tag::abc).get_size(), 30u);
    EXPECT_EQ(memory::desc({2, 3, 5}, data_type::s16, tag::abc).get_size(), 60u);
    EXPECT_EQ(memory::desc({2, 3, 5}, data_type::f32, tag::cab).get_size(), 120u);
    EXPECT_EQ(memory::desc({2, 3}, data_type::s8, dims{10, 1}).get_size(), 13u) << "up to the last element";
    EXPECT_EQ(memory::desc({2, 3}, data_type::s32, dims{0, 1}).get_size(), 12u) << "a broadcast dimension";
    EXPECT_EQ(memory::desc({2, 3}, data_type::s8, dims{}).get_strides(), (dims{3, 1}));
    EXPECT_EQ(memory::desc({2, 3}, data_type::s8, tag::any).get_size(), 0u);
    EXPECT_EQ(memory::desc().get_size(), 0u);
}

TEST(memory_desc, dimensions_may_be_zero) {
    const memory::desc md({4, 0, 3}, data_type::f32, tag::abc);
    EXPECT_EQ(md.get_size(), 0u);
    EXPECT_EQ(md.get_dims(), (dims{4, 0, 3}));
    EXPECT_TRUE(memory(md, cpu));
}

TEST(memory_desc, impossible_shapes_are_refused) {
    expect_invalid([] { memory::desc({}, data_type::s8, tag::a); }, {"0 dimensions", "allowed: 1 to 6"});
    expect_invalid(
        [] {
            memory::desc({1, 1, 1, 1, 1, 1, 1}, data_type::s8, tag::any);
        },
        {"7 dimensions", "allowed: 1 to 6"});
    expect_invalid(
        [] {
            memory::desc({3, -1}, data_type::s8, tag::ab);
        },
        {"dimension 1 is -1", "allowed: 0 and above"});
    expect_invalid(
        [] {
            memory::desc({3, 4}, data_type::undef, tag::ab);
        },
        {"data_type undef", "allowed: f16, bf16, f32, s32, s8, u8, s4, u4, s16, u2, s2"});
    expect_invalid([] { memory::desc({3, 4}, static_cast<data_type>(77), tag::ab); }, {"77", "allowed: f16"});
    expect_invalid([] { memory::desc({3, 4}, data_type::s8, dims{4}); }, {"1 strides for 2 dimensions"});
    expect_invalid(
        [] {
            memory::desc({3, 4}, data_type::s8, dims{4, -1});
        },
        {"stride 1 is -1", "allowed: 0 and above"});
}

TEST(memory_desc, sizes_that_overflow_are_refused) {
    constexpr dim_t huge = dim_t{1} << 40;
    expect_invalid([] { memory::desc({huge, huge}, data_type::s8, tag::ab); }, {"overflow", "1099511627776"});
    expect_invalid([] { memory::desc({huge, huge}, data_type::s8, tag::any); }, {"overflow"});
    expect_invalid([] { memory::desc({2, 2}, data_type::s8, dims{dim_t{1} << 62, 1}); }, {"overflow"});
    expect_invalid(
        [] {
            memory::desc({3, 3}, data_type::f32, dims{std::numeric_limits<dim_t>::max(), 1});
        },
        {"overflow"});
}

TEST(memory_desc, equality_ignores_strides_that_no_element_uses) {
    const memory::desc nchw({2, 3, 1, 1}, data_type::s8, tag::nchw),
        nhwc({2, 3, 1, 1}, data_type::s8, tag::nhwc);
    EXPECT_EQ(nchw, nhwc);
    EXPECT_NE(nchw, memory::desc({2, 3, 1, 1}, data_type::u8, tag::nchw));
    EXPECT_NE(nchw, memory::desc({2, 3, 1, 2}, data_type::s8, tag::nchw));
    EXPECT_NE(nchw, memory::desc({2, 3, 1}, data_type::s8, tag::ncw));
    EXPECT_NE(nchw, memory::desc({2, 3, 1, 1}, data_type::s8, dims{4, 1, 1, 1}));
    EXPECT_NE(nchw, memory::desc({2, 3, 1, 1}, data_type::s8, tag::any));
    EXPECT_NE(memory::desc({2, 4}, data_type::s8, tag::ab), memory::desc({2, 4}, data_type::s8, tag::ba));
    EXPECT_EQ(memory::desc(), memory::desc());
    EXPECT_TRUE(memory::desc().is_zero());
}

// ---- views of the same buffer

/// Offset of an element in elements.
dim_t offset_of(const memory::desc &md, const dims &at) {
    dim_t offset = md.data.offset0;
    for (std::size_t d = 0; d < at.size(); d++)
        offset += at[d] * md.data.strides[d];
    return offset;
}

TEST(memory_desc, a_submemory_is_the_same_elements) {
    const memory::desc whole({4, 5, 6}, data_type::s16, tag::cab);
    const memory::desc part = whole.submemory_desc({2, 3, 1}, {1, 2, 5});
    EXPECT_EQ(part.get_dims(), (dims{2, 3, 1}));
    for (dim_t i = 0; i < 2; i++)
        for (dim_t j = 0; j < 3; j++)
            EXPECT_EQ(offset_of(part, {i, j, 0}), offset_of(whole, {i + 1, j + 2, 5}));
    const memory::desc inner = part.submemory_desc({1, 1, 1}, {1, 2, 0});
    EXPECT_EQ(offset_of(inner, {0, 0, 0}), offset_of(whole, {2, 4, 5}));
    EXPECT_LE(part.get_size(), whole.get_size()) << "a part never needs more than the whole buffer";
    EXPECT_EQ(whole.submemory_desc({4, 5, 6}, {0, 0, 0}), whole);
    EXPECT_EQ(whole.submemory_desc({0, 5, 6}, {4, 0, 0}).get_size(), 0u);
}

TEST(memory_desc, a_submemory_outside_is_refused) {
    const memory::desc whole({4, 5}, data_type::s8, tag::ab);
    expect_invalid(
        [&] {
            whole.submemory_desc({2, 5}, {3, 0});
        },
        {"dimension 0 from 3 with length 2", "0 to 4"});
    expect_invalid([&] { whole.submemory_desc({2, 5}, {-1, 0}); }, {"dimension 0 from -1"});
    expect_invalid([&] { whole.submemory_desc({2, -5}, {0, 0}); }, {"dimension 1", "length -5"});
    constexpr dim_t max = std::numeric_limits<dim_t>::max();
    expect_invalid([&] { whole.submemory_desc({1, 1}, {max, 0}); }, {"dimension 0"});
    expect_invalid([&] { whole.submemory_desc({2}, {0}); }, {"1 dims", "2 dimensions"});
    expect_invalid(
        [&] {
            memory::desc({4, 5}, data_type::s8, tag::any).submemory_desc({1, 1}, {0, 0});
        },
        {"any", "plain"});
}

TEST(memory_desc, reshape_keeps_the_order_of_elements) {
    const memory::desc row_major({4, 6}, data_type::s8, tag::ab);
    EXPECT_EQ(row_major.reshape({2, 2, 6}), memory::desc({2, 2, 6}, data_type::s8, tag::abc));
    EXPECT_EQ(row_major.reshape({24}), memory::desc({24}, data_type::s8, tag::a));

    const memory::desc transposed({4, 6}, data_type::s8, tag::ba);
    const memory::desc padded = transposed.reshape({4, 1, 6, 1});
    for (dim_t i = 0; i < 4; i++)
        for (dim_t j = 0; j < 6; j++)
            EXPECT_EQ(offset_of(padded, {i, 0, j, 0}), offset_of(transposed, {i, j}));
    EXPECT_EQ(padded.reshape({4, 6}), transposed);

    const memory::desc part = row_major.submemory_desc({1, 6}, {2, 0});
    EXPECT_EQ(offset_of(part.reshape({2, 3}), {1, 2}), offset_of(part, {0, 5})) << "keeps the offset";

    expect_invalid([&] { row_major.reshape({5, 5}); }, {"{4, 6}", "{5, 5}", "equal number"});
    expect_invalid([&] { transposed.reshape({24}); }, {"{4, 6}", "ba", "row-major"});
    expect_invalid([&] { transposed.reshape({6, 4}); }, {"row-major"});
    expect_invalid([&] { row_major.reshape({-4, -6}); }, {"dimension 0 is -4"});
}

TEST(memory_desc, permute_axes_moves_dimensions_not_elements) {
    const memory::desc md({2, 3, 4}, data_type::s8, tag::abc);
    const memory::desc permuted = md.permute_axes({1, 2, 0});
    EXPECT_EQ(permuted.get_dims(), (dims{4, 2, 3}));
    for (dim_t i = 0; i < 2; i++)
        for (dim_t j = 0; j < 3; j++)
            for (dim_t k = 0; k < 4; k++)
                EXPECT_EQ(offset_of(permuted, {k, i, j}), offset_of(md, {i, j, k}));
    EXPECT_EQ(permuted, memory::desc({4, 2, 3}, data_type::s8, tag::bca));
    expect_invalid([&] { md.permute_axes({0, 1, 1}); }, {"permute_axes", "permutation of 0 to 2"});
    expect_invalid([&] { md.permute_axes({0, 1}); }, {"permutation of 0 to 2"});
    expect_invalid([&] { md.permute_axes({0, 1, 3}); }, {"permutation of 0 to 2"});
}

TEST(memory_desc, text_names_type_shape_and_layout) {
    EXPECT_EQ(memory::desc({1, 64, 56, 56}, data_type::u8, tag::nhwc).to_string(), "u8 1x64x56x56 nhwc");
    EXPECT_EQ(memory::desc({2, 3}, data_type::s8, dims{5, 1}).to_string(), "s8 2x3 strides_5x1");
    EXPECT_EQ(memory::desc({2, 3}, data_type::f32, tag::any).to_string(), "f32 2x3 any");
    EXPECT_EQ(memory::desc().to_string(), "none");
}

// ---- buffers

TEST(memory_object, owns_an_aligned_buffer_that_copies_share) {
    const memory::desc md({3, 5}, data_type::s32, tag::ab);
    memory copy;
    EXPECT_FALSE(copy);
    {
        const memory original(md, cpu);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(original.get_data_handle()) % 64, 0u);
        std::memset(original.get_data_handle(), 1, md.get_size());
        copy = original;
        EXPECT_EQ(copy.get_data_handle(), original.get_data_handle());
    }
    EXPECT_EQ(copy.map_data<std::int32_t>()[14], 0x01010101) << "the copy keeps the buffer";
    EXPECT_EQ(copy.get_desc(), md);
    EXPECT_EQ(copy.get_engine(), cpu);
}

TEST(memory_object, uses_the_callers_buffer) {
    const memory::desc md({4}, data_type::s8, tag::a);
    std::int8_t a[4] = {}, b[4] = {};
    const memory m(md, cpu, a);
    EXPECT_EQ(m.get_data_handle(), a);
    m.set_data_handle(b);
    EXPECT_EQ(m.get_data_handle(), b);
    const memory none(md, cpu, OCTET_MEMORY_NONE), allocated(md, cpu, OCTET_MEMORY_ALLOCATE);
    EXPECT_EQ(none.get_data_handle(), nullptr);
    EXPECT_NE(allocated.get_data_handle(), nullptr);
    allocated.set_data_handle(a); // releases its own
    EXPECT_EQ(allocated.get_data_handle(), a);
}

TEST(memory_object, null_handles_and_unknown_layouts_are_refused) {
    const memory::desc md({4}, data_type::s8, tag::a);
    expect_invalid([&] { memory(md, engine()); }, {"memory: engine is a null handle"});
    expect_invalid([&] { memory(memory::desc({4}, data_type::s8, tag::any), cpu); },
                   {"layout any", "concrete layout"});
    const memory null;
    expect_invalid([&] { null.get_desc(); }, {"get_desc: null handle"});
    expect_invalid([&] { null.get_engine(); }, {"get_engine: null handle"});
    expect_invalid([&] { null.get_data_handle(); }, {"get_data_handle: null handle"});
    expect_invalid([&] { null.set_data_handle(nullptr); }, {"set_data_handle: null handle"});
}

TEST(memory_object, an_impossible_buffer_is_out_of_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers' operator new aborts";
#endif
    const memory::desc large({dim_t{1} << 50}, data_type::s8, tag::a); // a fine description
    expect_error(status::out_of_memory, [&] { memory(large, cpu); }, {"memory", "1125899906842624 bytes"});
}

TEST(memory_object, element_sizes) {
    EXPECT_EQ(memory::data_type_size(data_type::f32), 4u);
    EXPECT_EQ(memory::data_type_size(data_type::s32), 4u);
    EXPECT_EQ(memory::data_type_size(data_type::s16), 2u);
    EXPECT_EQ(memory::data_type_size(data_type::s8), 1u);
    EXPECT_EQ(memory::data_type_size(data_type::u8), 1u);
    EXPECT_EQ(memory::data_type_size(data_type::undef), 0u);
}

// ---- engine and stream

TEST(engine, is_the_cpu_with_index_0) {
    EXPECT_TRUE(cpu);
    EXPECT_FALSE(engine());
    EXPECT_EQ(engine::get_count(engine::kind::cpu), 1u);
    EXPECT_EQ(engine::get_count(engine::kind::gpu), 0u);
    EXPECT_EQ(cpu.get_kind(), engine::kind::cpu);
    EXPECT_EQ(engine(engine::kind::any, 0), cpu);
    EXPECT_NE(engine(), cpu);
    expect_invalid([] { engine(engine::kind::gpu, 0); }, {"engine: kind gpu", "allowed: cpu"});
    expect_invalid([] { engine(engine::kind::cpu, 1); }, {"engine: index 1", "allowed: 0"});
}

TEST(stream, belongs_to_an_engine) {
    stream s(cpu);
    EXPECT_TRUE(s);
    EXPECT_EQ(&s.wait(), &s);
    EXPECT_EQ(s.get_engine(), cpu);
    EXPECT_FALSE(stream());
    expect_invalid([] { stream s_of_null{engine()}; }, {"stream: engine is a null handle"});
}

} // namespace
