// Products with scales of groups against their definition: every level, every remainder of rows, columns, reduction and
// group, both widths of weights, zero points of either side; each buffer ends at an unmapped page.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "common/bits.hpp"
#include "common/text.hpp"
#include "cpu/group_products/group_products.hpp"
#include "primitives/guarded_memory.hpp"
#include "support/levels.hpp"

namespace octet::impl {
namespace {

/// Elements that end where reading ends.
template <typename T> class guarded {
public:
    explicit guarded(dim_t count)
        : memory_(memory::desc({std::max<dim_t>(count, 1) * static_cast<dim_t>(sizeof(T))}, data_type::u8,
                               format_tag::a),
                  engine(engine::kind::cpu, 0)),
          count_(static_cast<std::size_t>(count)) {}
    T *begin() const { return reinterpret_cast<T *>(memory_.bytes()); }
    T *end() const { return begin() + count_; }
    T &operator[](dim_t i) const { return begin()[i]; }

private:
    test::guarded_memory memory_;
    std::size_t count_;
};

std::string to_string(const group_problem &p) {
    return text("m", p.m, " n", p.n, " k", p.k, " group", p.group, p.weights_are_signed ? " s" : " u",
                p.weight_bits, p.has_weight_zero_points ? " with zero points" : "",
                p.source == data_type::s8 ? ", s8" : ", u8",
                p.has_source_zero_points ? " with zero points" : "", p.source_has_groups ? " of groups" : "",
                p.order == combination::dynamic_row ? ", row" : "", p.has_bias ? ", bias" : "");
}

/// Random operands, their results by definition.
class drawn_products {
public:
    drawn_products(const group_problem &p, std::uint32_t seed)
        : problem_(p), random_(seed), codes_(p.m * p.k),
          parameters_(p.m * (p.source_has_groups ? p.groups() : 1)),
          weights_(p.n * weight_stride() * p.weight_bits / 8), scales_(p.n * p.groups()),
          zero_points_(p.n * p.groups()), bias_(p.n) {
        for (std::uint8_t &code : codes_)
            code = extreme_or(random_() % 256, p.source == data_type::s8 ? 128 : 0, 255);
        for (source_parameters &x : parameters_)
            x = {scale(), 0.f, source_zero_point()};
        for (std::uint8_t &w : weights_)
            w = extreme_or(random_() % 256, p.weight_bits == 8 ? 128 : 0x88, 255);
        for (float &s : scales_)
            s = random_() % 2 ? scale() : -scale();
        for (std::int32_t &z : zero_points_)
            z = weight_zero_point();
        for (float &b : bias_)
            b = scale() - 1.f;
    }

    /// All codes of the source are `x`, all bytes of the weights `w`.
    void fill(std::uint8_t x, std::uint8_t w) {
        std::fill(codes_.begin(), codes_.end(), x);
        std::fill(weights_.begin(), weights_.end(), w);
    }

    float expected(dim_t m, dim_t n) const {
        std::vector<std::int32_t> x, w;
        for (dim_t k = 0; k < problem_.k; k++) {
            const std::uint8_t code = codes_[m * problem_.k + k];
            x.push_back(problem_.source == data_type::s8 ? std::int32_t{static_cast<std::int8_t>(code)}
                                                         : code);
            w.push_back(weight(n, k) - (problem_.has_weight_zero_points
                                            ? zero_points_[n * problem_.groups() + k / problem_.group]
                                            : 0));
        }
        const dim_t groups = problem_.source_has_groups ? problem_.groups() : 1;
        return combine(problem_.order, problem_.k, problem_.group,
                       {x.data(), &parameters_[m * groups], problem_.source_has_groups},
                       {w.data(), &scales_[n * problem_.groups()]}, problem_.has_bias ? &bias_[n] : nullptr);
    }

    /// False with a message about the first result that differs.
    testing::AssertionResult agrees(instruction_set isa) const {
        const group_products products(problem_, isa);
        const guarded<std::uint8_t> packed(static_cast<dim_t>(products.weights_bytes()));
        const guarded<float> dst(problem_.m * problem_.n);
        products.pack({weights_.begin(), problem_.weight_bits, weight_stride(), 1, scales_.begin(),
                       problem_.has_weight_zero_points ? zero_points_.begin() : nullptr, problem_.groups(),
                       1},
                      packed.begin());
        products.run({codes_.begin(), problem_.k, parameters_.begin(), packed.begin(), bias_.begin(),
                      dst.begin(), problem_.n});
        for (dim_t m = 0; m < problem_.m; m++)
            for (dim_t n = 0; n < problem_.n; n++) {
                const float y = dst[m * problem_.n + n], e = expected(m, n);
                if (bits(y) != bits(e))
                    return testing::AssertionFailure()
                           << isa.name() << ", " << to_string(problem_) << ": row " << m << ", column " << n
                           << " is " << y << ", expected " << e;
            }
        return testing::AssertionSuccess();
    }

    /// Weights whose columns lie side by side are packed as those whose columns are dense. 8 bits.
    testing::AssertionResult packs_both_layouts_alike(instruction_set isa) const {
        const group_products products(problem_, isa);
        std::vector<std::uint8_t> rows(static_cast<std::size_t>(problem_.n * problem_.k));
        for (dim_t n = 0; n < problem_.n; n++)
            for (dim_t k = 0; k < problem_.k; k++)
                rows[k * problem_.n + n] = weights_[n * problem_.k + k];
        group_weights w{weights_.begin(), 8, problem_.k, 1, scales_.begin(), nullptr, problem_.groups(), 1};
        std::vector<std::uint8_t> packed(products.weights_bytes()), other(products.weights_bytes());
        products.pack(w, packed.data());
        w.codes = rows.data();
        w.column_stride = 1;
        w.k_stride = problem_.n;
        products.pack(w, other.data());
        return packed == other ? testing::AssertionSuccess()
                               : testing::AssertionFailure() << isa.name() << ", " << to_string(problem_);
    }

private:
    /// Columns of 4 bits begin with a byte.
    dim_t weight_stride() const { return problem_.weight_bits == 8 ? problem_.k : (problem_.k + 1) / 2 * 2; }
    std::int32_t weight(dim_t n, dim_t k) const {
        const dim_t at = n * weight_stride() + k;
        const int half = 1 << (problem_.weight_bits - 1);
        const int code = problem_.weight_bits == 8 ? weights_[at] : weights_[at / 2] >> at % 2 * 4 & 15;
        return problem_.weights_are_signed && code >= half ? code - 2 * half : code;
    }
    std::uint8_t extreme_or(std::uint32_t code, int low, int high) {
        const std::uint32_t kind = random_() % 8;
        return static_cast<std::uint8_t>(kind == 0 ? low : kind == 1 ? high : code);
    }
    float scale() {
        return std::ldexp(1.f + static_cast<float>(random_() % 65536) / 65536,
                          -static_cast<int>(random_() % 8));
    }
    std::int32_t source_zero_point() {
        const int middle = problem_.source == data_type::s8 ? 0 : 128;
        return middle + (problem_.has_source_zero_points ? static_cast<int>(random_() % 256) - 128 : 0);
    }
    std::int32_t weight_zero_point() {
        const auto z = static_cast<std::int32_t>(random_() % (1u << problem_.weight_bits));
        return problem_.weights_are_signed ? z - (1 << (problem_.weight_bits - 1)) : z;
    }

    const group_problem problem_;
    std::mt19937 random_;
    guarded<std::uint8_t> codes_;
    guarded<source_parameters> parameters_;
    guarded<std::uint8_t> weights_;
    guarded<float> scales_;
    guarded<std::int32_t> zero_points_;
    guarded<float> bias_;
};

std::vector<instruction_set> all_usable() {
    std::vector<instruction_set> sets = usable_instruction_sets();
    sets.push_back({cpu_isa::ref});
    return sets;
}

class GroupDot : public testing::TestWithParam<int> {
protected:
    /// Options of the problem by the bits of a number.
    static group_problem with_options(group_problem p, unsigned options) {
        p.weights_are_signed = options & 1;
        p.has_weight_zero_points = options & 2;
        p.source = options & 4 ? data_type::u8 : data_type::s8;
        p.has_source_zero_points = options & 8;
        p.source_has_groups = options & 16;
        p.has_bias = options & 32;
        return p;
    }
    static constexpr unsigned options_count = 64;
};

TEST_P(GroupDot, EveryOption) {
    for (const instruction_set isa : all_usable())
        for (unsigned options = 0; options < options_count; options++)
            for (const dim_t k : {96, 200})
                ASSERT_TRUE(
                    drawn_products(with_options({5, 21, k, 32, GetParam()}, options), options).agrees(isa));
}

TEST_P(GroupDot, EveryRemainderOfRowsAndColumns) {
    for (const instruction_set isa : all_usable())
        for (dim_t m = 1; m <= 15; m++)
            for (dim_t n = 1; n <= 70; n += m % 4 == 1 ? 1 : 9) {
                const auto seed = static_cast<std::uint32_t>(m * 100 + n);
                ASSERT_TRUE(drawn_products(with_options({m, n, 64, 32, GetParam()}, seed), seed).agrees(isa));
            }
}

TEST_P(GroupDot, EveryGroupAndLastGroup) {
    for (const instruction_set isa : all_usable())
        for (const dim_t group : {16, 20, 32, 64, 96, 128, 256, 1024})
            for (const dim_t rest : {1, 2, 3, 7, 15, 16})
                for (const dim_t m : {1, 7}) {
                    const auto seed = static_cast<std::uint32_t>(group * 16 + rest);
                    const dim_t k = (group < 256 ? 2 : 1) * group + rest % group;
                    ASSERT_TRUE(
                        drawn_products(with_options({m, 17, k, group, GetParam()}, seed), seed).agrees(isa));
                    ASSERT_TRUE(drawn_products(with_options({m, 17, rest, group, GetParam()}, seed), seed)
                                    .agrees(isa));
                }
}

TEST_P(GroupDot, RowsWithoutGroups) {
    for (const instruction_set isa : all_usable())
        for (unsigned options = 0; options < options_count; options++)
            for (const dim_t k : {1, 100, 517}) {
                group_problem p = with_options({3, 33, k, k, GetParam()}, options);
                p.order = combination::dynamic_row;
                ASSERT_TRUE(drawn_products(p, options).agrees(isa));
            }
}

/// ggml's orders, whose groups have 32 elements and scales on both sides.
TEST_P(GroupDot, ProductsAreAddedInBlocks) {
    for (const instruction_set isa : all_usable())
        for (const combination order : {combination::ggml_q8_0, combination::ggml_q4_0})
            for (unsigned options = 0; options < options_count; options++) {
                group_problem p = with_options({5, 35, 160, 32, GetParam()}, options);
                p.source_has_groups = true;
                p.order = order;
                ASSERT_TRUE(drawn_products(p, options).agrees(isa)) << octet::to_string(order);
            }
}

/// Orders of XNNPACK and KleidiAI, whose zero points of the source are a term in f32.
TEST_P(GroupDot, ZeroPointsAreATermInFloats) {
    for (const instruction_set isa : all_usable())
        for (const combination order : {combination::xnnpack_groups, combination::xnnpack_groups_avx2,
                                        combination::xnnpack_groups_sse, combination::xnnpack_groups_scalar,
                                        combination::kleidiai_groups, combination::kleidiai_groups_of_4})
            for (unsigned options = 0; options < options_count; options++) {
                group_problem p = with_options({options % 8 + 1, 35, 192, 64, GetParam()}, options);
                p.source_has_groups = false;
                if (order == combination::xnnpack_groups)
                    p.source = data_type::s8;
                if (options & 16)
                    p.group = 32;
                p.order = order;
                ASSERT_TRUE(drawn_products(p, options).agrees(isa)) << octet::to_string(order);
            }
}

TEST_P(GroupDot, LongGroupsOfFloatTermsAreExact) {
    for (const instruction_set isa : all_usable())
        for (const combination order :
             {combination::xnnpack_groups, combination::xnnpack_groups_avx2, combination::kleidiai_groups})
            for (const unsigned options : {8u, 9u, 11u, 42u}) {
                group_problem p = with_options({2, 17, 4096, 4096, GetParam()}, options);
                p.order = order;
                drawn_products products(p, options);
                ASSERT_TRUE(products.agrees(isa)) << octet::to_string(order);
                products.fill(0x80, 0xff);
                ASSERT_TRUE(products.agrees(isa)) << octet::to_string(order);
            }
}

TEST(GroupDotPacking, LayoutsOfWeightsArePackedAlike) {
    for (const instruction_set isa : all_usable())
        for (const combination order : {combination::dynamic_group, combination::xnnpack_groups_avx2})
            for (const dim_t n : {1, 16, 37}) {
                group_problem p{2, n, 192, 64};
                p.order = order;
                EXPECT_TRUE(drawn_products(p, 1).packs_both_layouts_alike(isa));
                p.group = p.k = order == combination::dynamic_group ? 75 : 96;
                EXPECT_TRUE(drawn_products(p, 2).packs_both_layouts_alike(isa));
            }
}

/// Also levels that this machine lacks: registers suffice.
TEST_P(GroupDot, EveryLevelHasCode) {
    for (const instruction_set isa : all_instruction_sets())
        for (const combination order : {combination::dynamic_group, combination::ggml_q4_0,
                                        combination::xnnpack_groups_avx2, combination::kleidiai_groups})
            for (dim_t m = 1; m <= 16; m++) {
                group_problem p = with_options({m, 69, 192, 32, GetParam()}, 42);
                p.source_has_groups = order == combination::ggml_q4_0;
                p.order = order;
                EXPECT_GT(group_products(p, isa).weights_bytes(), 0u);
            }
}

TEST_P(GroupDot, ManyRowsAndColumnsAreTheSameRows) {
    for (const instruction_set isa : all_usable())
        for (const dim_t m : {70, 131})
            ASSERT_TRUE(drawn_products(with_options({m, 130, 160, 32, GetParam()}, 57), 1).agrees(isa));
}

TEST_P(GroupDot, SumsOfExtremesAreExact) {
    for (const instruction_set isa : all_usable())
        for (const unsigned options : {0u, 1u, 17u})
            for (const std::uint8_t x : {0x80, 0x7f})
                for (const std::uint8_t w : {0x00, 0x77, 0x7f, 0x80, 0x88, 0xff}) {
                    drawn_products products(with_options({7, 17, 512, 256, GetParam()}, options), 1);
                    products.fill(x, w);
                    ASSERT_TRUE(products.agrees(isa)) << int{x} << " times " << int{w};
                }
}

INSTANTIATE_TEST_SUITE_P(Bits, GroupDot, testing::Values(4, 8), testing::PrintToStringParamName());

} // namespace
} // namespace octet::impl
