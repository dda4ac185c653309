// Element-wise primitives on tensors that leave the caches: their results are stored past them.
// SPDX-License-Identifier: Apache-2.0
#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

/// Bytes of an execution at the level that is capped, on two threads; the destination starts at a page.
bytes large_result(const primitive_desc_base &pd, std::unordered_map<int, memory> args,
                   const memory::desc &dst) {
    const guarded_memory to(dst, eng(), guarded_memory::edge::start);
    std::memset(to.bytes(), 7, to.size());
    args[OCTET_ARG_DST] = to.get();
    set_num_threads(2);
    primitive(pd).execute(stream(eng()), args);
    set_num_threads(0);
    return bytes(to.bytes(), to.bytes() + to.size());
}

memory large_source(const memory::desc &md) {
    const memory m(md, eng());
    auto *to = static_cast<std::uint8_t *>(m.get_data_handle());
    for (std::size_t i = 0; i < md.get_size(); i++)
        to[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
    return m;
}

std::uint8_t byte_of(const memory &m, dim_t i) {
    return static_cast<const std::uint8_t *>(m.get_data_handle())[i];
}

/// Images of whole lines of channels or positions, and of neither.
TEST(Streams, LargeTransposes) {
    for (const memory::dims &dims :
         {memory::dims{3, 192, 150, 200}, memory::dims{3, 180, 160, 200}, memory::dims{3, 181, 151, 207}}) {
        const dim_t c = dims[1], area = dims[2] * dims[3];
        const memory::desc nchw(dims, data_type::u8, format_tag::nchw),
            nhwc(dims, data_type::u8, format_tag::nhwc);
        for (const bool to_last : {true, false}) {
            const memory::desc &from = to_last ? nchw : nhwc, &to = to_last ? nhwc : nchw;
            const dim_t columns = to_last ? area : c, rows = to_last ? c : area;
            const memory src = large_source(from);
            bytes expected(to.get_size());
            for (dim_t n = 0, i = 0; n < dims[0]; n++)
                for (dim_t row = 0; row < rows; row++)
                    for (dim_t column = 0; column < columns; column++)
                        expected[static_cast<std::size_t>(n * c * area + column * rows + row)] =
                            byte_of(src, i++);
            for (const cpu_isa level : get_available_cpu_isas()) {
                if (level == cpu_isa::ref)
                    continue;
                set_max_cpu_isa(level);
                EXPECT_EQ(difference(expected, large_result(reorder::primitive_desc(eng(), from, eng(), to),
                                                            {{OCTET_ARG_SRC, src}}, to)),
                          "")
                    << to_string(level) << " " << text_of(dims) << (to_last ? " to nhwc" : " to nchw");
            }
            set_max_cpu_isa(cpu_isa::all);
        }
    }
}

/// Rows of whole lines, of parts of lines, and of many lines.
TEST(Streams, LargeConcatenations) {
    for (const dim_t first : {128, 100, 1088}) {
        const dim_t rows = (dim_t{33} << 20) / (first + 128), width = first + 128;
        const memory::desc parts[] = {{{rows, first}, data_type::u8, format_tag::ab},
                                      {{rows, 128}, data_type::u8, format_tag::ab}};
        const memory::desc dst({rows, width}, data_type::u8, format_tag::ab);
        const memory srcs[] = {large_source(parts[0]), large_source(parts[1])};
        bytes expected(dst.get_size());
        for (dim_t row = 0; row < rows; row++)
            for (dim_t c = 0; c < width; c++)
                expected[static_cast<std::size_t>(row * width + c)] =
                    c < first ? byte_of(srcs[0], row * first + c) : byte_of(srcs[1], row * 128 + c - first);
        for (const cpu_isa level : get_available_cpu_isas()) {
            if (level == cpu_isa::ref)
                continue;
            set_max_cpu_isa(level);
            const concat::primitive_desc pd(dst, 1, {parts[0], parts[1]}, eng());
            EXPECT_EQ(difference(expected, large_result(pd,
                                                        {{OCTET_ARG_MULTIPLE_SRC, srcs[0]},
                                                         {OCTET_ARG_MULTIPLE_SRC + 1, srcs[1]}},
                                                        dst)),
                      "")
                << to_string(level) << ", rows of " << first << " bytes";
        }
        set_max_cpu_isa(cpu_isa::all);
    }
}

/// One long row, rows of whole lines, rows that begin anywhere; sums of codes and of f32.
TEST(Streams, LargeSums) {
    const dim_t rows = 6007;
    for (const dim_t step : {2048, 2176, 2049})
        for (const data_type type : {data_type::u8, data_type::f32}) {
            const dim_t n = type == data_type::f32 ? rows / 3 : rows;
            const memory::desc md({n, 2048}, type, memory::dims{step, 1});
            const memory a = large_source(md), b = large_source(md);
            primitive_attr attr;
            if (type == data_type::u8) {
                attr.set_requantization(requantization_rule::ort_f32);
                for (const int arg : {OCTET_ARG_SRC_0, OCTET_ARG_SRC_1, OCTET_ARG_DST})
                    attr.set_scales(arg, 0, {0.01f * static_cast<float>(arg)});
            }
            const auto result = [&](cpu_isa level) {
                set_max_cpu_isa(level);
                const binary::primitive_desc pd({algorithm::binary_add, md, md, md}, attr, eng());
                return large_result(pd, {{OCTET_ARG_SRC_0, a}, {OCTET_ARG_SRC_1, b}}, md);
            };
            const bytes expected = result(cpu_isa::ref);
            for (const cpu_isa level : get_available_cpu_isas())
                EXPECT_EQ(difference(expected, result(level)), "")
                    << to_string(level) << " " << md.to_string() << " rows of " << step;
            set_max_cpu_isa(cpu_isa::all);
        }
}

} // namespace
} // namespace octet::test
