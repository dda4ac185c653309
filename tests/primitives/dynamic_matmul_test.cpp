// Products whose source is quantized while they run, against the definitions of quantizers and orders; Octet's own
// orders over levels, threads, layouts and batches; refusals.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/layout/plain.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"
#include "support/inputs.hpp"

namespace octet::test {
namespace {

using impl::div_up;
using bytes = std::vector<std::uint8_t>;
using arguments = std::unordered_map<int, memory>;

const engine &cpu() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

/// A product with its operands.
struct product {
    dim_t m, n, k, group; ///< k: no groups
    data_type src = data_type::f32, weights = data_type::s8, scale = data_type::f32, dst = data_type::f32;
    source_quantization source{};
    combination order = combination::dynamic_row;
    bool has_zero_points = false, has_bias = false, has_relu = false;

    bytes x{}, w{}, scales{}, zero_points{}; ///< w {K, N}, column after column; scales {G, N}
    std::vector<float> bias{};

    dim_t groups() const { return div_up(k, group); }
    bool has_groups() const { return group != k; }
    int mask() const { return has_groups() ? 3 : 2; }
    memory::dims group_dims() const { return has_groups() ? memory::dims{group, 1} : memory::dims{}; }

    memory::desc src_md() const { return {{m, k}, src, format_tag::ab}; }
    memory::desc dst_md() const { return {{m, n}, dst, format_tag::ab}; }
    memory::desc weights_md(format_tag tag) const { return {{k, n}, weights, tag}; }
    memory::desc bias_md() const {
        return has_bias ? memory::desc({1, n}, data_type::f32, format_tag::ab) : memory::desc();
    }
    primitive_attr attr() const {
        primitive_attr a;
        a.set_source_quantization(source);
        a.set_combination(order);
        a.set_scales(OCTET_ARG_WEIGHTS, mask(), group_dims(), scale);
        if (has_zero_points)
            a.set_zero_points(OCTET_ARG_WEIGHTS, mask(), group_dims(), weights);
        if (has_relu) {
            post_ops ops;
            ops.append_eltwise(algorithm::eltwise_relu, 0.f, 0.f);
            a.set_post_ops(ops);
        }
        return a;
    }
    matmul::primitive_desc describe(format_tag weights_tag) const {
        return {cpu(), src_md(), weights_md(weights_tag), bias_md(), dst_md(), attr()};
    }
    memory::desc value_md(data_type type) const { return {{groups() * n}, type, format_tag::a}; }
    dim_t weight_at(dim_t column, dim_t i) const { return column * k + i; }
};

memory buffer(const memory::desc &md, const void *data) { return {md, cpu(), const_cast<void *>(data)}; }

/// Weights as the descriptor wants them, packed by a reorder if they are.
bytes weights_for(const product &p, const memory::desc &md) {
    bytes result(md.get_size() + 64);
    const memory::desc plain = p.weights_md(format_tag::ba);
    primitive_attr attr;
    arguments args{{OCTET_ARG_FROM, buffer(plain, p.w.data())}, {OCTET_ARG_TO, buffer(md, result.data())}};
    if (md.data.packed_kind == packed_kind::matmul_with_scales) {
        attr.set_scales(OCTET_ARG_SRC, p.mask(), p.group_dims(), p.scale);
        args[OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC] = buffer(p.value_md(p.scale), p.scales.data());
        if (p.has_zero_points) {
            attr.set_zero_points(OCTET_ARG_SRC, p.mask(), p.group_dims(), p.weights);
            args[OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC] =
                buffer(p.value_md(p.weights), p.zero_points.data());
        }
    }
    static_cast<const primitive &>(reorder(reorder::primitive_desc(cpu(), plain, cpu(), md, attr)))
        .execute(stream(cpu()), args);
    return result;
}

bytes run(const product &p, format_tag weights_tag) {
    const matmul::primitive_desc pd = p.describe(weights_tag);
    const memory::desc weights_md = pd.weights_desc();
    const memory aligned(weights_md, cpu());
    const bytes w = weights_for(p, weights_md);
    std::memcpy(aligned.get_data_handle(), w.data(), weights_md.get_size());
    bytes y(p.dst_md().get_size() + 1, 0xa5);
    arguments args{{OCTET_ARG_SRC, buffer(p.src_md(), p.x.data())},
                   {OCTET_ARG_WEIGHTS, aligned},
                   {OCTET_ARG_DST, buffer(p.dst_md(), y.data())},
                   {OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS, buffer(p.value_md(p.scale), p.scales.data())}};
    if (p.has_zero_points)
        args[OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_WEIGHTS] =
            buffer(p.value_md(p.weights), p.zero_points.data());
    if (p.has_bias)
        args[OCTET_ARG_BIAS] = buffer(p.bias_md(), p.bias.data());
    static_cast<const primitive &>(matmul(pd)).execute(stream(cpu()), args);
    EXPECT_EQ(y.back(), 0xa5);
    y.pop_back();
    return y;
}

bytes expected(const product &p) {
    const auto count = static_cast<std::size_t>(p.m * p.k);
    std::vector<float> x(count);
    for (std::size_t i = 0; i < count; i++)
        x[i] = impl::load_f32(p.x.data(), p.src, static_cast<dim_t>(i));
    const bool is_tensor = p.source.span == source_span::tensor,
               has_groups = p.source.span == source_span::group;
    bytes packed(count);
    std::vector<impl::source_parameters> parameters(
        static_cast<std::size_t>(is_tensor ? 1 : p.m * (has_groups ? p.groups() : 1)));
    impl::quantize_source(p.source, x.data(), is_tensor ? 1 : p.m, is_tensor ? p.m * p.k : p.k,
                          is_tensor    ? p.m * p.k
                          : has_groups ? p.group
                                       : p.k,
                          packed.data(), parameters.data());
    std::vector<std::int32_t> codes;
    for (std::size_t i = 0; i < count; i++)
        codes.push_back(impl::load_s32(packed.data(), p.source.code, static_cast<dim_t>(i)));
    bytes y(p.dst_md().get_size());
    for (dim_t m = 0; m < p.m; m++)
        for (dim_t n = 0; n < p.n; n++) {
            std::vector<std::int32_t> w;
            std::vector<float> scales;
            for (dim_t g = 0; g < p.groups(); g++)
                scales.push_back(impl::load_f32(p.scales.data(), p.scale, g * p.n + n));
            for (dim_t i = 0; i < p.k; i++)
                w.push_back(impl::load_s32(p.w.data(), p.weights, p.weight_at(n, i)) -
                            (p.has_zero_points
                                 ? impl::load_s32(p.zero_points.data(), p.weights, i / p.group * p.n + n)
                                 : 0));
            const dim_t set = is_tensor ? 0 : m * (has_groups ? p.groups() : 1);
            const float value =
                impl::combine(p.order, p.k, p.group, {&codes[m * p.k], &parameters[set], has_groups},
                              {w.data(), scales.data()}, p.has_bias ? &p.bias[n] : nullptr);
            impl::store_f32(y.data(), p.dst, m * p.n + n, p.has_relu && !(value > 0.f) ? 0.f : value);
        }
    return y;
}

float random_float(inputs &in) {
    return static_cast<float>(in.between(-1000, 1000)) *
           std::ldexp(1.f, static_cast<int>(in.between(-12, -6)));
}

void fill(inputs &in, product &p) {
    const auto type_bytes = [](dim_t count, data_type type) {
        return memory::desc({count}, type, format_tag::a).get_size();
    };
    p.x.resize(type_bytes(p.m * p.k, p.src));
    for (dim_t i = 0; i < p.m * p.k; i++)
        impl::store_f32(p.x.data(), p.src, i, in.one_in(8) ? 0.f : random_float(in));
    if (p.m > 2 && p.source.by == source_quantizer::dynamic && p.src == data_type::f32) { // special rows
        std::fill_n(reinterpret_cast<float *>(p.x.data()), p.k, 0.f);
        reinterpret_cast<float *>(p.x.data())[p.k + in.between(0, p.k - 1)] = INFINITY;
    }
    const impl::type_range codes = impl::range_of(p.weights);
    p.w.resize(type_bytes(p.k * p.n, p.weights));
    for (dim_t i = 0; i < p.k * p.n; i++)
        impl::store_s32(p.w.data(), p.weights, i,
                        static_cast<std::int32_t>(in.between(codes.low, codes.high)));
    p.scales.resize(type_bytes(p.groups() * p.n, p.scale));
    p.zero_points.resize(type_bytes(p.groups() * p.n, p.weights));
    for (dim_t i = 0; i < p.groups() * p.n; i++) {
        impl::store_f32(p.scales.data(), p.scale, i, std::fabs(random_float(in)) * 0x1p-6f);
        impl::store_s32(p.zero_points.data(), p.weights, i,
                        static_cast<std::int32_t>(in.between(codes.low, codes.high)));
    }
    p.bias.clear();
    for (dim_t i = 0; i < p.n; i++)
        p.bias.push_back(random_float(in));
}

template <typename T, std::size_t n> T one_of(inputs &in, const T (&values)[n]) {
    return values[in.between(0, static_cast<std::int64_t>(n) - 1)];
}

constexpr data_type floats[] = {data_type::f32, data_type::f16, data_type::bf16};
constexpr data_type weight_types[] = {data_type::s8, data_type::u8, data_type::s4, data_type::u4};

product own_product(inputs &in) {
    product p{in.between(1, 9), in.between(1, 70), 2 * in.between(1, 130), 0};
    p.order = in.one_in(3) ? combination::dynamic_row : combination::dynamic_group;
    p.group = p.order == combination::dynamic_row || in.one_in(4) ? p.k : in.between(1, p.k);
    constexpr dim_t usual[] = {16, 32, 64, 128};
    if (p.group != p.k && in.one_in(2))
        p.group = std::min(one_of(in, usual), p.k);
    p.src = in.one_in(2) ? data_type::f32 : one_of(in, floats);
    p.weights = one_of(in, weight_types);
    p.scale = one_of(in, floats);
    p.dst = in.one_in(2) ? data_type::f32 : one_of(in, floats);
    p.source.mode = in.one_in(2) ? source_mode::symmetric : source_mode::asymmetric;
    p.source.code = in.one_in(2) ? data_type::s8 : data_type::u8;
    constexpr source_span spans[] = {source_span::row, source_span::group, source_span::tensor};
    p.source.span = p.order == combination::dynamic_row ? source_span::row : one_of(in, spans);
    p.has_zero_points = in.one_in(3);
    p.has_bias = in.one_in(2);
    p.has_relu = in.one_in(4);
    fill(in, p);
    if (p.source.span == source_span::tensor && p.src == data_type::f32 && p.m > 2) // else all is poisoned
        reinterpret_cast<float *>(
            p.x.data())[p.k + in.between(0, p.k - 1)] = 1.f,
                                                  std::replace_if(
                                                      reinterpret_cast<float *>(p.x.data()),
                                                      reinterpret_cast<float *>(p.x.data()) + p.m * p.k,
                                                      [](float x) { return std::isinf(x); }, 2.f);
    return p;
}

/// NaN results have no specified sign and payload.
bool same(const product &p, const bytes &a, const bytes &b) {
    for (dim_t i = 0; i < p.m * p.n; i++) {
        const float x = impl::load_f32(a.data(), p.dst, i), y = impl::load_f32(b.data(), p.dst, i);
        if (std::memcmp(&x, &y, sizeof x) != 0 && !(std::isnan(x) && std::isnan(y)))
            return false;
    }
    return true;
}

std::string text_of(const product &p, format_tag tag) {
    const matmul::primitive_desc pd = p.describe(tag);
    return pd.problem_str() + " on " + pd.impl_info_str();
}

/// The levels of this machine; restores what was in use.
struct every_level {
    ~every_level() {
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
    const std::vector<cpu_isa> levels = get_available_cpu_isas();
};

TEST(DynamicMatmul, OwnOrdersEqualTheDefinitionAtEveryLevel) {
    inputs in(451);
    const every_level machine;
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
        const product p = own_product(in);
        const bytes y = expected(p);
        for (const cpu_isa level : machine.levels)
            for (const format_tag tag : {format_tag::any, format_tag::ba}) {
                set_max_cpu_isa(level);
                set_num_threads(static_cast<int>(in.between(1, 3)));
                EXPECT_TRUE(same(p, run(p, tag), y)) << i << ": " << text_of(p, tag);
            }
    }
}

TEST(DynamicMatmul, RowsDoNotDependOnTheBatch) {
    inputs in(452);
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); i++) {
        product p = own_product(in);
        if (p.source.span == source_span::tensor)
            p.source.span = source_span::row;
        const bytes all = run(p, format_tag::any);
        for (dim_t row = 0; row < p.m; row++) {
            product one = p;
            one.m = 1;
            const auto row_bytes = p.x.size() / static_cast<std::size_t>(p.m);
            one.x.assign(p.x.begin() + static_cast<std::ptrdiff_t>(row_bytes) * row,
                         p.x.begin() + static_cast<std::ptrdiff_t>(row_bytes) * (row + 1));
            const auto size = static_cast<std::ptrdiff_t>(one.dst_md().get_size());
            const bytes part(all.begin() + size * row, all.begin() + size * (row + 1));
            EXPECT_TRUE(same(one, run(one, format_tag::any), part))
                << "row " << row << ": " << text_of(p, format_tag::any);
        }
    }
}

TEST(DynamicMatmul, TakesEmptySourcesAndWeights) {
    for (const auto &[m, n] : {std::pair<dim_t, dim_t>(0, 5), std::pair<dim_t, dim_t>(3, 0)}) {
        inputs in(457);
        product p{m, n, 32, 16};
        p.order = combination::dynamic_group;
        fill(in, p);
        EXPECT_TRUE(run(p, format_tag::any).empty());
    }
}

TEST(DynamicMatmul, RowsMayComeWithTheExecution) {
    inputs in(458);
    product p{5, 20, 96, 32};
    p.order = combination::dynamic_group;
    fill(in, p);
    const memory::desc open({OCTET_RUNTIME_DIM_VAL, p.k}, data_type::f32, format_tag::ab),
        open_dst({OCTET_RUNTIME_DIM_VAL, p.n}, data_type::f32, format_tag::ab);
    const matmul::primitive_desc pd(cpu(), open, p.weights_md(format_tag::any), open_dst, p.attr());
    const bytes w = weights_for(p, pd.weights_desc());
    bytes y(p.dst_md().get_size());
    static_cast<const primitive &>(matmul(pd))
        .execute(stream(cpu()), {{OCTET_ARG_SRC, buffer(p.src_md(), p.x.data())},
                                 {OCTET_ARG_WEIGHTS, buffer(pd.weights_desc(), w.data())},
                                 {OCTET_ARG_DST, buffer(p.dst_md(), y.data())}});
    EXPECT_TRUE(same(p, y, expected(p)));
}

struct foreign_contract {
    source_quantizer by;
    source_mode mode;
    data_type code;
    source_span span;
    combination order;
    bool has_groups;
};
constexpr auto symmetric = source_mode::symmetric, asymmetric = source_mode::asymmetric;
constexpr foreign_contract foreign[] = {
    {source_quantizer::xnnpack, asymmetric, data_type::s8, source_span::row, combination::xnnpack, false},
    {source_quantizer::xnnpack, asymmetric, data_type::s8, source_span::row, combination::xnnpack_unfused,
     false},
    {source_quantizer::xnnpack, asymmetric, data_type::s8, source_span::row, combination::xnnpack_groups,
     true},
    {source_quantizer::xnnpack, asymmetric, data_type::s8, source_span::row, combination::xnnpack_groups_avx2,
     true},
    {source_quantizer::xnnpack, asymmetric, data_type::s8, source_span::row, combination::xnnpack_groups_sse,
     true},
    {source_quantizer::xnnpack, asymmetric, data_type::s8, source_span::row,
     combination::xnnpack_groups_scalar, true},
    {source_quantizer::kleidiai, asymmetric, data_type::s8, source_span::row, combination::kleidiai, false},
    {source_quantizer::kleidiai, asymmetric, data_type::s8, source_span::row, combination::kleidiai_groups,
     true},
    {source_quantizer::kleidiai, asymmetric, data_type::s8, source_span::row,
     combination::kleidiai_groups_of_4, true},
    {source_quantizer::litert, symmetric, data_type::s8, source_span::row, combination::litert, false},
    {source_quantizer::litert, asymmetric, data_type::s8, source_span::row, combination::litert, false},
    {source_quantizer::onnxruntime, asymmetric, data_type::u8, source_span::tensor, combination::onnxruntime,
     false},
    {source_quantizer::qnnpack, asymmetric, data_type::u8, source_span::tensor, combination::qnnpack, false},
};

TEST(DynamicMatmul, OrdersOfLibrariesEqualTheirDefinitions) {
    inputs in(453);
    const every_level machine;
    for (int i = 0; i < 130 && !testing::Test::HasFailure(); i++) {
        const foreign_contract &c = foreign[i % std::size(foreign)];
        product p{in.between(1, 6), in.between(1, 40), 64 * in.between(1, 3), 0};
        p.group = c.has_groups ? 32 : p.k;
        p.order = c.order;
        p.source = {c.by, c.mode, c.code, c.span};
        p.weights = one_of(in, weight_types);
        p.has_zero_points = in.one_in(2);
        p.has_bias = in.one_in(2);
        fill(in, p);
        const bytes y = expected(p);
        for (const cpu_isa level : machine.levels) {
            set_max_cpu_isa(level);
            EXPECT_TRUE(same(p, run(p, format_tag::any), y)) << i << ": " << text_of(p, format_tag::any);
        }
    }
}

TEST(DynamicMatmul, GroupsOfLibrariesRunOnGeneratedCode) {
    const every_level machine;
    for (const foreign_contract &c : foreign) {
        product p{4, 24, 64, 64};
        p.group = c.has_groups ? 32 : p.k;
        p.order = c.order;
        p.source = {c.by, c.mode, c.code, c.span};
        for (const cpu_isa level : machine.levels) {
            set_max_cpu_isa(level);
            const std::string name = p.describe(format_tag::any).impl_info_str();
            const std::string expected = c.has_groups ? "jit:groups/" : "jit:dot+columns/";
            EXPECT_EQ(name.substr(0, expected.size()) == expected, level != cpu_isa::ref)
                << octet::to_string(c.order) << " runs on " << name;
        }
    }
}

TEST(DynamicMatmul, AZeroSourceGivesTheBiasOfHybridOperatorsUnchanged) {
    inputs in(454);
    product p{2, 3, 8, 8};
    p.source = {source_quantizer::litert, symmetric, data_type::s8, source_span::row};
    p.order = combination::litert;
    p.has_bias = true;
    fill(in, p);
    std::fill(p.x.begin(), p.x.end(), std::uint8_t{0});
    p.bias = {-0.f, 1.f, -2.f};
    const bytes y = run(p, format_tag::ba);
    for (dim_t m = 0; m < 2; m++)
        EXPECT_EQ(std::memcmp(y.data() + m * 12, p.bias.data(), 12), 0);
}

TEST(DynamicMatmul, TextsOfProblemsAreReadBack) {
    inputs in(455);
    for (int i = 0; i < 20; i++) {
        const product p = own_product(in);
        const std::string text = p.describe(format_tag::any).problem_str();
        EXPECT_EQ(primitive_desc_from_string(text, cpu()).problem_str(), text);
    }
}

// ---- refusals

product small() {
    product p{2, 4, 64, 32};
    p.order = combination::dynamic_group;
    return p;
}

TEST(DynamicMatmul, RefusesWhatDescriptorsContradict) {
    const auto with = [](const auto &change) {
        return [change] {
            product p = small();
            primitive_attr a = p.attr();
            change(p, a);
            matmul::primitive_desc(cpu(), p.src_md(), p.weights_md(format_tag::ba), p.dst_md(), a);
        };
    };
    const int of_weights = OCTET_ARG_WEIGHTS;
    expect_invalid(with([](product &, primitive_attr &a) {
                       a = {};
                       a.set_source_quantization({});
                   }),
                   {"no scales of weights", "set_scales(OCTET_ARG_WEIGHTS"});
    expect_invalid(with([=](product &, primitive_attr &a) {
                       a.set_scales(of_weights, 3, {65, 1}, data_type::f32);
                   }),
                   {"groups 65x1", "1 to 64"});
    expect_invalid(with([=](product &, primitive_attr &a) {
                       a.set_scales(of_weights, 3, {32, 2}, data_type::f32);
                   }),
                   {"groups 32x2", "1 of N"});
    expect_invalid(with([=](product &, primitive_attr &a) {
                       a.set_scales(of_weights, 2, {32, 1}, data_type::f32);
                   }),
                   {"groups 32x1 with mask 2", "mask 3"});
    expect_invalid(
        with([=](product &, primitive_attr &a) { a.set_scales(of_weights, 1, {}, data_type::f32); }),
        {"mask", "is 1", "allowed: 0, 2"});
    expect_invalid(with([=](product &, primitive_attr &a) {
                       a.set_scales(of_weights, 2, std::vector<float>{1.f, 2.f});
                   }),
                   {"2 scales of weights", "allowed: 4"});
    expect_invalid(with([=](product &, primitive_attr &a) {
                       a.set_zero_points(of_weights, 3, {16, 1}, data_type::s8);
                   }),
                   {"4 groups of zero points", "2 of scales"});
    expect_invalid(with([=](product &p, primitive_attr &a) {
                       p.weights = data_type::u4;
                       a.set_zero_points(of_weights, 0, {16});
                   }),
                   {"zero points of weights", "is 16", "0 to 15"});
    expect_invalid(with([](product &, primitive_attr &a) { a.set_combination(combination::dynamic_row); }),
                   {"groups of 32", "dynamic_row", "one for each column"});
    expect_invalid(with([=](product &, primitive_attr &a) {
                       a.set_combination(combination::xnnpack_groups);
                       a.set_scales(of_weights, 3, {24, 1}, data_type::f32);
                   }),
                   {"groups of 24", "multiples of 32"});
    expect_invalid(with([](product &, primitive_attr &a) { a.set_combination(combination::ggml_q8_0); }),
                   {"span row", "allowed: group"});
    expect_invalid(with([](product &, primitive_attr &a) { a.set_scales(OCTET_ARG_SRC, 0, {1.f}); }),
                   {"scales of src", "quantizer chooses"});
    expect_invalid(with([](product &, primitive_attr &a) {
                       a.set_zero_points(OCTET_ARG_SRC, 0, std::vector<std::int32_t>{1});
                   }),
                   {"zero points of src"});
    expect_unimplemented(with([](product &p, primitive_attr &) { p.dst = data_type::s32; }),
                         {"dst", "s32", "f32"});
    expect_unimplemented(with([](product &p, primitive_attr &) { p.src = data_type::u8; }),
                         {"src", "u8", "f32"});
    expect_unimplemented(with([](product &p, primitive_attr &) { p.weights = data_type::f32; }),
                         {"weights", "f32"});
    expect_invalid(
        [] {
            product p = small();
            p.source.by = source_quantizer::kleidiai;
            p.source.mode = source_mode::asymmetric;
            primitive_attr a;
            a.set_source_quantization(p.source);
            a.set_scales(OCTET_ARG_WEIGHTS, 2, {}, data_type::f32);
            matmul::primitive_desc(cpu(), p.src_md(), p.weights_md(format_tag::ba), p.dst_md(), a);
        },
        {"kleidiai", "set_combination"});
}

TEST(DynamicMatmul, RefusesAnOddKOfCodesThatShareBytes) {
    expect_invalid(
        [] {
            primitive_attr a;
            a.set_source_quantization({});
            a.set_scales(OCTET_ARG_WEIGHTS, 2, {}, data_type::f32);
            matmul::primitive_desc(cpu(), {{2, 7}, data_type::f32, format_tag::ab},
                                   {{7, 4}, data_type::s4, format_tag::any},
                                   {{2, 4}, data_type::f32, format_tag::ab}, a);
        },
        {"K is 7", "s4", "even"});
}

TEST(DynamicMatmul, SettersRefuseWhatNoProductHas) {
    primitive_attr a;
    expect_invalid(
        [&] {
            a.set_scales(OCTET_ARG_WEIGHTS, 3, {32, 1}, data_type::s8);
        },
        {"type", "s8", "f32, f16, bf16"});
    expect_invalid([&] { a.set_scales(OCTET_ARG_WEIGHTS, 3, {32}, data_type::f32); },
                   {"groups", "32", "two numbers"});
    expect_invalid([&] { a.set_scales(OCTET_ARG_WEIGHTS, 3, {0, 1}, data_type::f32); }, {"groups", "0x1"});
    expect_invalid(
        [&] {
            a.set_zero_points(OCTET_ARG_WEIGHTS, 3, {32, 1}, data_type::f32);
        },
        {"type", "f32", "s8"});
    expect_invalid(
        [&] {
            a.set_source_quantization({source_quantizer::xnnpack, symmetric, data_type::s8});
        },
        {"xnnpack", "symmetric", "asymmetric"});
    expect_invalid(
        [&] {
            a.set_source_quantization({source_quantizer::dynamic, symmetric, data_type::s4});
        },
        {"s4", "s8, u8"});
    expect_invalid([&] { a.set_combination(static_cast<combination>(99)); }, {"99", "combination"});
}

TEST(DynamicMatmul, OtherOperationsRefuseItsAttributes) {
    primitive_attr a;
    a.set_source_quantization({});
    expect_unimplemented(
        [&] {
            eltwise_forward::primitive_desc({prop_kind::forward_inference, algorithm::eltwise_relu,
                                             memory::desc({1, 8}, data_type::f32, format_tag::ab), 0.f, 0.f},
                                            a, cpu());
        },
        {"eltwise", "set_source_quantization", "matmul and inner_product"});
    primitive_attr groups;
    groups.set_scales(OCTET_ARG_WEIGHTS, 3, {32, 1}, data_type::f16);
    expect_unimplemented(
        [&] {
            matmul::primitive_desc(cpu(), {{2, 64}, data_type::s8, format_tag::ab},
                                   {{64, 4}, data_type::s8, format_tag::ab},
                                   {{2, 4}, data_type::f32, format_tag::ab}, groups);
        },
        {"scales of weights", "groups", "set_source_quantization"});
}

TEST(DynamicMatmul, RefusesScalesOfTheExecutionBeforeItWrites) {
    inputs in(456);
    for (const float wrong : {-1.f, std::nanf(""), INFINITY}) {
        product p = small();
        fill(in, p);
        impl::store_f32(p.scales.data(), data_type::f32, 5, wrong);
        expect_invalid([&] { run(p, format_tag::ba); },
                       {"matmul: execute", "scales of weights", "value 5", "finite"});
        expect_invalid([&] { run(p, format_tag::any); },
                       {"reorder: execute", "scales of weights", "value 5"});
    }
}

} // namespace
} // namespace octet::test
