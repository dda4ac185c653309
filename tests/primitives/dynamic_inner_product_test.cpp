// Inner products whose source is quantized while they run: the bytes of matmul with the same numbers, codes as dst,
// refusals. And Octet's own order in every way to divide the work.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "octet/octet.hpp"
#include "support/effort.hpp"
#include "support/expect_error.hpp"
#include "support/inputs.hpp"

namespace octet::test {
namespace {

using codes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

const engine &engine_in_use() {
    static const engine cpu(engine::kind::cpu, 0);
    return cpu;
}

template <typename T> memory over(const memory::desc &md, const std::vector<T> &values) {
    return {md, engine_in_use(), const_cast<T *>(values.data())};
}

/// Weights {N, K} of s8 in groups, and a source.
struct layer_of_floats {
    dim_t m, n, k, group;
    floats x{}, scales{}, bias{}; ///< scales {N, G}
    std::vector<std::int8_t> w{};
    source_quantization source{};

    dim_t groups() const { return (k + group - 1) / group; }
    void fill(inputs &in) {
        const auto real = [&] { return static_cast<float>(in.between(-1000, 1000)) / 256; };
        for (dim_t i = 0; i < m * k; i++)
            x.push_back(real());
        for (dim_t i = 0; i < n * k; i++)
            w.push_back(static_cast<std::int8_t>(in.between(-128, 127)));
        for (dim_t i = 0; i < n * groups(); i++)
            scales.push_back(std::fabs(real()) / 64);
        for (dim_t i = 0; i < n; i++)
            bias.push_back(real());
    }
    primitive_attr attr(int arg) const {
        primitive_attr a;
        if (arg == OCTET_ARG_WEIGHTS)
            a.set_source_quantization(source);
        if (group == k)
            a.set_scales(arg, 1, {}, data_type::f32);
        else
            a.set_scales(arg, 3, {1, group}, data_type::f32);
        return a;
    }
    memory value_memory() const { return over({{n * groups()}, data_type::f32, format_tag::a}, scales); }

    /// Weights packed once.
    memory packed(const inner_product_forward::primitive_desc &pd) const {
        const memory plain = over({{n, k}, data_type::s8, format_tag::ab}, w);
        const memory result(pd.weights_desc(), engine_in_use());
        static_cast<const primitive &>(reorder(reorder::primitive_desc(plain, result, attr(OCTET_ARG_SRC))))
            .execute(stream(engine_in_use()), {{OCTET_ARG_FROM, plain},
                                               {OCTET_ARG_TO, result},
                                               {OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC, value_memory()}});
        return result;
    }
    inner_product_forward::primitive_desc describe(dim_t rows, format_tag tag) const {
        return {engine_in_use(),
                prop_kind::forward_inference,
                {{rows, k}, data_type::f32, format_tag::ab},
                {{n, k}, data_type::s8, tag},
                {{n}, data_type::f32, format_tag::a},
                {{rows, n}, data_type::f32, format_tag::ab},
                attr(OCTET_ARG_WEIGHTS)};
    }
    /// Rows `first` and up to `end`.
    void run(dim_t first, dim_t end, floats &y) const {
        const auto pd = describe(end - first, format_tag::any);
        static_cast<const primitive &>(inner_product_forward(pd))
            .execute(stream(engine_in_use()),
                     {{OCTET_ARG_SRC, {pd.src_desc(), engine_in_use(), const_cast<float *>(&x[first * k])}},
                      {OCTET_ARG_WEIGHTS, packed(pd)},
                      {OCTET_ARG_BIAS, over(pd.bias_desc(), bias)},
                      {OCTET_ARG_DST, {pd.dst_desc(), engine_in_use(), &y[first * n]}}});
    }
    /// Columns `first` and up to `end` alone.
    layer_of_floats columns(dim_t first, dim_t end) const {
        layer_of_floats part = *this;
        part.n = end - first;
        part.w.assign(w.begin() + first * k, w.begin() + end * k);
        part.scales.assign(scales.begin() + first * groups(), scales.begin() + end * groups());
        part.bias.assign(bias.begin() + first, bias.begin() + end);
        return part;
    }
};

bool same_bytes(const floats &a, const floats &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct settings_restored {
    ~settings_restored() {
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
    const std::vector<cpu_isa> levels = get_available_cpu_isas();
};

// Levels, threads, parts of the batch and parts of the columns: none of them is seen in the bytes.
TEST(DynamicInnerProduct, OwnOrdersDoNotDependOnHowTheWorkIsDivided) {
    inputs in(471);
    const settings_restored restore;
    const int problems = static_cast<int>(problem_count(5));
    std::int64_t compared = 0;
    for (int i = 0; i < problems && !testing::Test::HasFailure(); i++) {
        const dim_t k = in.between(1, 300);
        layer_of_floats l{in.between(1, 24), in.between(1, 80), k, in.one_in(3) ? k : in.between(1, k)};
        l.source.mode = in.one_in(2) ? source_mode::symmetric : source_mode::asymmetric;
        l.source.code = in.one_in(2) ? data_type::s8 : data_type::u8;
        l.source.span = in.one_in(3) && l.group != k ? source_span::group : source_span::row;
        l.fill(in);
        const auto size = static_cast<std::size_t>(l.m * l.n);
        floats right(size);
        set_max_cpu_isa(cpu_isa::ref);
        l.run(0, l.m, right);
        for (const cpu_isa level : restore.levels)
            for (const int threads : {1, 2, 3, 5})
                for (const dim_t rows : {dim_t{1}, dim_t{3}, dim_t{7}, l.m})
                    for (const dim_t columns : {dim_t{5}, dim_t{16}, l.n}) {
                        set_max_cpu_isa(level);
                        set_num_threads(threads);
                        floats y(size);
                        for (dim_t c = 0; c < l.n; c += columns) {
                            const layer_of_floats part = l.columns(c, std::min(c + columns, l.n));
                            floats of_part(static_cast<std::size_t>(l.m * part.n));
                            for (dim_t r = 0; r < l.m; r += rows)
                                part.run(r, std::min(r + rows, l.m), of_part);
                            for (dim_t r = 0; r < l.m; r++)
                                std::copy_n(&of_part[r * part.n], part.n, &y[r * l.n + c]);
                        }
                        compared++;
                        EXPECT_TRUE(same_bytes(y, right))
                            << i << ": level " << to_string(level) << ", " << threads << " threads, " << rows
                            << " rows, " << columns
                            << " columns: " << l.describe(l.m, format_tag::any).problem_str();
                    }
    }
    RecordProperty("combinations", static_cast<int>(compared));
    EXPECT_GE(compared, problems * 4 * 12);
}

TEST(DynamicInnerProduct, PackedWeightsAreThoseOfMatmul) {
    inputs in(472);
    layer_of_floats l{3, 20, 96, 32};
    l.fill(in);
    const auto pd = l.describe(3, format_tag::any);
    EXPECT_EQ(pd.weights_desc().data.packed_kind, packed_kind::matmul_with_scales);
    const std::string text = pd.problem_str();
    EXPECT_EQ(primitive_desc_from_string(text, engine_in_use()).problem_str(), text);
    primitive_attr attr;
    attr.set_source_quantization(l.source);
    attr.set_scales(OCTET_ARG_WEIGHTS, 3, {32, 1}, data_type::f32);
    const matmul::primitive_desc twin(engine_in_use(), {{3, 96}, data_type::f32, format_tag::ab},
                                      {{96, 20}, data_type::s8, format_tag::any},
                                      {{1, 20}, data_type::f32, format_tag::ab},
                                      {{3, 20}, data_type::f32, format_tag::ab}, attr);
    floats y(60), as_matmul(60);
    l.run(0, 3, y);
    const memory packed = l.packed(pd);
    ASSERT_EQ(twin.weights_desc().get_size(), pd.weights_desc().get_size());
    static_cast<const primitive &>(matmul(twin))
        .execute(stream(engine_in_use()),
                 {{OCTET_ARG_SRC, over(twin.src_desc(), l.x)},
                  {OCTET_ARG_WEIGHTS, {twin.weights_desc(), engine_in_use(), packed.get_data_handle()}},
                  {OCTET_ARG_BIAS, over(twin.bias_desc(), l.bias)},
                  {OCTET_ARG_DST, {twin.dst_desc(), engine_in_use(), as_matmul.data()}}});
    EXPECT_TRUE(same_bytes(y, as_matmul));
}

inner_product_forward::primitive_desc with_attributes(const primitive_attr &attr, const memory::desc &src,
                                                      const memory::desc &weights,
                                                      data_type dst = data_type::f32) {
    return {engine_in_use(),
            prop_kind::forward_inference,
            src,
            weights,
            {{src.get_dims()[0], weights.get_dims()[0]}, dst, format_tag::ab},
            attr};
}

TEST(DynamicInnerProduct, RefusesWhatItsWeightsDoNotHave) {
    const memory::desc rows({2, 64}, data_type::f32, format_tag::ab),
        weights({4, 64}, data_type::s8, format_tag::ab),
        images({2, 8, 2, 4}, data_type::f32, format_tag::nchw),
        kernels({4, 8, 2, 4}, data_type::s8, format_tag::oihw);
    const auto with = [&](const memory::desc &src, const memory::desc &w, const auto &change,
                          data_type dst = data_type::f32) {
        return [=] {
            primitive_attr attr;
            attr.set_source_quantization({});
            change(attr);
            with_attributes(attr, src, w, dst);
        };
    };
    const int w = OCTET_ARG_WEIGHTS;
    expect_invalid(with(rows, weights, [](primitive_attr &) {}),
                   {"inner_product: no scales of weights", "set_scales(OCTET_ARG_WEIGHTS"});
    expect_invalid(with(rows, weights, [=](primitive_attr &a) { a.set_scales(w, 2, {}, data_type::f32); }),
                   {"inner_product: mask", "is 2", "allowed: 0, 1 (columns), 3"});
    expect_invalid(with(rows, weights,
                        [=](primitive_attr &a) {
                            a.set_scales(w, 3, {32, 1}, data_type::f32);
                        }),
                   {"groups 32x1", "1 to 64 of K, 1 of N"});
    expect_invalid(with(images, kernels,
                        [=](primitive_attr &a) {
                            a.set_scales(w, 3, {1, 8}, data_type::f32);
                        }),
                   {"mask", "is 3", "allowed: 0, 1 (columns)"});
    expect_unimplemented(with({{2, 8, 2, 4}, data_type::f32, format_tag::nhwc}, kernels,
                              [=](primitive_attr &a) { a.set_scales(w, 1, {}, data_type::f32); }),
                         {"inner_product: src is", "row-major order"});
    expect_invalid(with(rows, weights,
                        [=](primitive_attr &a) {
                            a.set_scales(w, 1, {}, data_type::f32);
                            a.set_scales(OCTET_ARG_DST, 0, {2.f});
                        }),
                   {"scales of dst", "dst s8 or u8", "f32"});
    expect_invalid(with(
                       rows, weights,
                       [=](primitive_attr &a) {
                           a.set_scales(w, 1, {}, data_type::f32);
                           a.set_scales(OCTET_ARG_SRC, 0, {2.f});
                       },
                       data_type::u8),
                   {"scales of src", "quantizer chooses"});
}

TEST(DynamicInnerProduct, CodesOfTheResultHaveAScaleAndAZeroPoint) {
    primitive_attr attr;
    attr.set_source_quantization({});
    attr.set_scales(OCTET_ARG_WEIGHTS, 1, {1.f, .5f});
    attr.set_scales(OCTET_ARG_DST, 0, {2.f});
    attr.set_zero_points(OCTET_ARG_DST, 0, {3});
    const auto pd = with_attributes(attr, {{1, 2}, data_type::f32, format_tag::ab},
                                    {{2, 2}, data_type::s8, format_tag::ab}, data_type::s8);
    const floats x{127.f, -3.f};
    const std::vector<std::int8_t> w{1, 0, 0, 6};
    std::vector<std::int8_t> y(2);
    static_cast<const primitive &>(inner_product_forward(pd))
        .execute(stream(engine_in_use()), {{OCTET_ARG_SRC, over(pd.src_desc(), x)},
                                           {OCTET_ARG_WEIGHTS, over(pd.weights_desc(), w)},
                                           {OCTET_ARG_DST, over(pd.dst_desc(), y)}});
    EXPECT_EQ(y[0], 66); // 127 / 2 + 3 = 66.5, to even
    EXPECT_EQ(y[1], -2); // -9 / 2 + 3 = -1.5, to even
}

} // namespace
} // namespace octet::test
