// Products without a dot-product instruction, at the codes where sums of two of them leave 16 bits and those
// of a filtered line leave the most of a word: against the formula, at every level that has no other way,
// with tails everywhere.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>

#include "cpu/machine/isa.hpp"
#include "octet/octet.hpp"
#include "primitives/comparison.hpp"

namespace octet::test {
namespace {

/// The code at (channel, position): patterns that make every sum an extreme.
using pattern = std::function<std::uint8_t(dim_t index, random_source &r)>;

struct named_pattern {
    const char *name;
    pattern code;
};

constexpr std::uint8_t highest = 127, lowest = 128; // extreme weights

const named_pattern weight_patterns[] = {
    {"all -128", [](dim_t, random_source &) { return lowest; }},
    {"all 127", [](dim_t, random_source &) { return highest; }},
    {"in turn", [](dim_t i, random_source &) { return i % 2 ? highest : lowest; }},
    {"in turn by line", [](dim_t i, random_source &) { return i / 3 % 2 ? highest : lowest; }},
    {"about half",
     [](dim_t, random_source &r) {
         return r.pick<std::uint8_t>({63, 64, 65, 191, 192, 193});
     }},
    {"any", [](dim_t, random_source &r) { return static_cast<std::uint8_t>(r.between(0, 255)); }},
};
const named_pattern source_patterns[] = {
    {"all bits", [](dim_t, random_source &) { return std::uint8_t{255}; }},
    {"the sign", [](dim_t, random_source &) { return std::uint8_t{128}; }},
    {"ends",
     [](dim_t, random_source &r) {
         return r.pick<std::uint8_t>({0, 127, 128, 255});
     }},
    {"any", [](dim_t, random_source &r) { return static_cast<std::uint8_t>(r.between(0, 255)); }},
};

struct layer {
    dim_t ic, oc, height, width, kernel_height, kernel_width, stride_height = 1;
    dim_t pad_left = 1, pad_right = 1, pad_height = 1;
    const char *way = "16-bit words by Winograd's F(4, 3)"; ///< in the plan

    dim_t out_height() const { return (height + 2 * pad_height - kernel_height) / stride_height + 1; }
    dim_t out_width() const { return width + pad_left + pad_right - kernel_width + 1; }
    std::string text() const {
        return std::to_string(ic) + " to " + std::to_string(oc) + ", " + std::to_string(height) + " x " +
               std::to_string(width) + ", kernel " + std::to_string(kernel_height) + " x " +
               std::to_string(kernel_width) + ", pad " + std::to_string(pad_left) + ":" +
               std::to_string(pad_right);
    }
};

template <typename Code> std::vector<std::uint8_t> codes(dim_t count, const Code &code) {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(count));
    for (dim_t i = 0; i < count; i++)
        all[static_cast<std::size_t>(i)] = code(i);
    return all;
}

/// Sums of a convolution; padding holds the zero point.
std::vector<std::int32_t> sums(const layer &l, const std::vector<std::uint8_t> &src, bool is_signed,
                               std::int32_t zero_point, const std::vector<std::uint8_t> &weights) {
    const auto source = [&](dim_t h, dim_t w, dim_t c) -> std::int64_t {
        if (h < 0 || h >= l.height || w < 0 || w >= l.width)
            return 0;
        const std::uint8_t code = src[static_cast<std::size_t>((h * l.width + w) * l.ic + c)];
        return (is_signed ? static_cast<std::int8_t>(code) : code) - zero_point;
    };
    std::vector<std::int32_t> results;
    for (dim_t oh = 0; oh < l.out_height(); oh++)
        for (dim_t ow = 0; ow < l.out_width(); ow++)
            for (dim_t o = 0; o < l.oc; o++) {
                std::int64_t sum = 0;
                for (dim_t c = 0; c < l.ic; c++)
                    for (dim_t kh = 0; kh < l.kernel_height; kh++)
                        for (dim_t kw = 0; kw < l.kernel_width; kw++)
                            sum += source(oh * l.stride_height + kh - l.pad_height, ow + kw - l.pad_left, c) *
                                   static_cast<std::int8_t>(weights[static_cast<std::size_t>(
                                       ((o * l.ic + c) * l.kernel_height + kh) * l.kernel_width + kw)]);
                results.push_back(static_cast<std::int32_t>(sum));
            }
    return results;
}

/// Levels that have no other way.
std::vector<cpu_isa> levels_of_words() {
    std::vector<cpu_isa> levels;
    for (const cpu_isa level : get_available_cpu_isas())
        if (level != cpu_isa::ref && !impl::machine_at(level).isa.has_dot4())
            levels.push_back(level);
    return levels;
}

void check(const layer &l, const named_pattern &src_codes, const named_pattern &weight_codes, bool is_signed,
           std::int32_t zero_point) {
    random_source r(static_cast<std::uint32_t>(l.width * 1000 + l.oc));
    const std::vector<std::uint8_t> src = codes(l.height * l.width * l.ic,
                                                [&](dim_t i) { return src_codes.code(i, r); }),
                                    weights = codes(l.oc * l.ic * l.kernel_height * l.kernel_width,
                                                    [&](dim_t i) { return weight_codes.code(i, r); });
    const memory::desc src_md({1, l.ic, l.height, l.width}, is_signed ? data_type::s8 : data_type::u8,
                              format_tag::nhwc),
        plain_md({l.oc, l.ic, l.kernel_height, l.kernel_width}, data_type::s8, format_tag::oihw),
        any_md({l.oc, l.ic, l.kernel_height, l.kernel_width}, data_type::s8, format_tag::any),
        dst_md({1, l.oc, l.out_height(), l.out_width()}, data_type::s32, format_tag::nhwc);
    const std::vector<std::int32_t> expected = sums(l, src, is_signed, zero_point, weights);
    primitive_attr attr;
    if (zero_point != 0)
        attr.set_zero_points(OCTET_ARG_SRC, 0, {zero_point});
    for (const cpu_isa level : levels_of_words()) {
        set_max_cpu_isa(level);
        for (const int threads : {1, 3}) {
            set_num_threads(threads);
            const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                              src_md, any_md, dst_md, {l.stride_height, 1},
                                              {l.pad_height, l.pad_left}, {l.pad_height, l.pad_right});
            const convolution_forward::primitive_desc pd(d, attr, eng());
            const memory plain(plain_md, eng()), packed(pd.weights_desc(), eng()), dst(dst_md, eng());
            const guarded_memory source(src_md, eng(), guarded_memory::edge::end);
            std::memcpy(source.get().get_data_handle(), src.data(), src.size());
            std::memcpy(plain.get_data_handle(), weights.data(), weights.size());
            reorder(plain, packed).execute(stream(eng()), plain, packed);
            const convolution_forward convolution(pd);
            EXPECT_NE(convolution.plan_str().find(l.way), std::string::npos)
                << l.text() << ": " << convolution.plan_str();
            convolution.execute(
                stream(eng()),
                {{OCTET_ARG_SRC, source.get()}, {OCTET_ARG_WEIGHTS, packed}, {OCTET_ARG_DST, dst}});
            EXPECT_EQ(std::memcmp(dst.get_data_handle(), expected.data(), dst_md.get_size()), 0)
                << to_string(level) << " on " << threads << " threads: " << l.text() << ", source "
                << src_codes.name << ", weights " << weight_codes.name << ", "
                << (is_signed ? "signed" : "unsigned") << ", zero point " << zero_point;
        }
    }
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

void check_all_codes(const layer &l) {
    for (const named_pattern &src : source_patterns)
        for (const named_pattern &weights : weight_patterns)
            for (const bool is_signed : {false, true})
                check(l, src, weights, is_signed, is_signed ? -128 : 0);
}

TEST(Words, ExtremesOfFilteredLines) {
    // Lines of 3 to 31 results: whole fours and others, those of one tile and those with a tail; channels
    // with and without whole steps of 8 quads; columns of a block, of two and of a part.
    for (const layer &l : {layer{4, 16, 20, 3, 3, 3},
                           {8, 17, 28, 5, 3, 3},
                           {32, 33, 8, 7, 3, 3},
                           {36, 8, 5, 15, 3, 3},
                           {68, 40, 4, 31, 3, 3},
                           {4, 17, 9, 14, 5, 5, 1, 2, 2, 2}})
        check_all_codes(l);
}

TEST(Words, ExtremesOfWideWeights) {
    const char *way = "16-bit words,";
    for (const layer &l : {layer{3, 17, 14, 14, 3, 3, 1, 1, 1, 1, way},
                           {35, 40, 15, 13, 1, 1, 1, 0, 0, 0, way},
                           {8, 33, 12, 14, 3, 1, 1, 0, 0, 1, way}})
        check_all_codes(l);
}

TEST(Words, FilteredLinesOfAnyKernelAndPadding) {
    const named_pattern &src = source_patterns[3], &weights = weight_patterns[5];
    for (const dim_t width : {7, 9, 14, 29})
        for (const auto &[kernel_height, kernel_width] :
             {std::array<dim_t, 2>{1, 3}, {2, 3}, {3, 3}, {5, 3}, {2, 2}, {3, 4}, {1, 5}, {2, 6}, {2, 7}})
            for (const dim_t stride_height : {1, 2})
                for (const auto &[left, right] : {std::array<dim_t, 2>{0, 0}, {1, 1}, {2, 0}, {0, 2}, {2, 2}})
                    for (const bool is_signed : {false, true})
                        check({12, 24, 28, width, kernel_height, kernel_width, stride_height, left, right, 1,
                               "16-bit words"},
                              src, weights, is_signed, is_signed ? -3 : 200);
}

TEST(Words, FilteredLinesWithAZeroPointThatIsNoCode) {
    for (const std::int32_t zero_point : {-70000, 5000, 2000000})
        check({8, 16, 20, 9, 3, 3, 1, 0, 0, 0}, source_patterns[3], weight_patterns[5], false, zero_point);
}

TEST(Words, FilteredLinesOfVolumesAndBatches) {
    const memory::desc src_md({2, 8, 4, 7, 14}, data_type::u8, format_tag::ndhwc),
        weights_md({18, 8, 3, 2, 3}, data_type::s8, format_tag::oidhw),
        dst_md({2, 18, 4, 8, 14}, data_type::s32, format_tag::ndhwc);
    const memory src(src_md, eng()), weights(weights_md, eng()), dst(dst_md, eng());
    random_source r(5);
    r.fill(src);
    r.fill(weights);
    const auto result = [&](cpu_isa level, const char *way) {
        set_max_cpu_isa(level);
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src_md,
                                          weights_md, dst_md, {1, 1, 1}, {1, 1, 1}, {1, 1, 1});
        const convolution_forward convolution(convolution_forward::primitive_desc(d, eng()));
        EXPECT_NE(convolution.plan_str().find(way), std::string::npos) << convolution.plan_str();
        convolution.execute(stream(eng()),
                            {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, dst}});
        set_max_cpu_isa(cpu_isa::all);
        const auto *codes = static_cast<const std::uint8_t *>(dst.get_data_handle());
        return bytes(codes, codes + dst_md.get_size());
    };
    const bytes expected = result(cpu_isa::ref, "");
    for (const cpu_isa level : levels_of_words())
        EXPECT_EQ(difference(expected, result(level, "Winograd")), "") << to_string(level);
}

TEST(Words, LongestReductionOfFilteredLines) {
    for (const dim_t channels :
         {912, 916}) // 9 * 912 products of -128 * 255 are the most whose sum has 29 bits
        for (const std::size_t weights : {0, 1})
            check({channels, 9, 6, 8, 3, 3, 1, 1, 1, 1, channels == 912 ? "Winograd" : "16-bit words,"},
                  source_patterns[0], weight_patterns[weights], false, 0);
}

} // namespace
} // namespace octet::test
