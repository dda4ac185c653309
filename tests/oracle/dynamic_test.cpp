// Products with a dynamic source have the specified bytes at every level, as matmul and as inner product. A failure
// prints seed:number, which OCTET_ORACLE_DYNAMIC asks for alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "oracle/dynamic.hpp"
#include "support/effort.hpp"

namespace octet::oracle::dynamic {

namespace {

using bytes = std::vector<std::uint8_t>;

const engine &engine_of_products() {
    static const engine cpu(engine::kind::cpu, 0);
    return cpu;
}

std::uint16_t upper_half(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16);
}
/// Of a number that f16 has.
std::uint16_t half(float x) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
    if (std::isnan(x))
        return 0x7e00;
    if (std::isinf(x))
        return static_cast<std::uint16_t>(sign | 0x7c00);
    int exponent;
    const float mantissa = std::frexp(std::fabs(x), &exponent); // 1/2 <= mantissa < 1
    if (x == 0 || exponent < -13)
        return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::ldexp(std::fabs(x), 24)));
    return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) |
                                      (static_cast<std::uint16_t>(std::ldexp(mantissa, 11)) & 0x3ff));
}

template <typename T> bytes as_type(const std::vector<T> &values, data_type type) {
    const dim_t count = static_cast<dim_t>(values.size());
    bytes to(memory::desc({count}, type, format_tag::a).get_size());
    const auto put = [&](std::size_t i, auto x) { std::memcpy(&to[i * sizeof x], &x, sizeof x); };
    for (std::size_t i = 0; i < values.size(); i++)
        switch (type) {
        case data_type::f32:
            put(i, static_cast<float>(values[i]));
            break;
        case data_type::f16:
            put(i, half(static_cast<float>(values[i])));
            break;
        case data_type::bf16:
            put(i, upper_half(static_cast<float>(values[i])));
            break;
        case data_type::s4:
        case data_type::u4:
            to[i / 2] |= static_cast<std::uint8_t>((static_cast<int>(values[i]) & 15) << 4 * (i % 2));
            break;
        case data_type::u2:
            to[i / 4] |= static_cast<std::uint8_t>(static_cast<int>(values[i]) << 2 * (i % 4));
            break;
        case data_type::s32:
            put(i, static_cast<std::int32_t>(values[i]));
            break;
        default:
            to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(values[i]));
        }
    return to;
}

template <typename T> std::vector<T> transposed(const std::vector<T> &values, dim_t rows, dim_t columns) {
    std::vector<T> result(values.size());
    for (dim_t r = 0; r < rows; r++)
        for (dim_t c = 0; c < columns; c++)
            result[static_cast<std::size_t>(c * rows + r)] =
                values[static_cast<std::size_t>(r * columns + c)];
    return result;
}

memory buffer(const memory::desc &md, const bytes &data) {
    return {md, engine_of_products(), const_cast<std::uint8_t *>(data.data())};
}

/// How a product is asked for.
struct form {
    bool is_inner_product, has_open_weights, has_spatial, has_padded_rows, has_values_at_creation;
};

/// A product as one of the two operations.
class run_of_product {
public:
    run_of_product(const product &p, const form &f) : p_(p), f_(f) {
        if (f_.is_inner_product && f_.has_spatial && p.weights != data_type::u2)
            positions_ = p.k % 6 == 0 ? 6 : p.k % 2 == 0 ? 2 : 1;
    }

    bytes operator()() {
        const memory::desc dst({p_.m, p_.n}, p_.dst, format_tag::ab), src = described_source();
        const memory::desc bias = p_.bias.empty() ? memory::desc()
                                  : f_.is_inner_product
                                      ? memory::desc({p_.n}, data_type::f32, format_tag::a)
                                      : memory::desc({1, p_.n}, data_type::f32, format_tag::ab);
        const memory::desc plain = described_weights(), open(plain.dims(), p_.weights, format_tag::any),
                           &asked = f_.has_open_weights ? open : plain;
        const primitive_attr attr = attributes();
        const auto with_pd = [&](const auto &pd) {
            text_ = pd.problem_str() + " on " + pd.impl_info_str();
            return execute(primitive(pd), pd.weights_desc(), plain, src, bias, dst);
        };
        if (f_.is_inner_product)
            return with_pd(inner_product_forward::primitive_desc(
                engine_of_products(), prop_kind::forward_inference, src, asked, bias, dst, attr));
        return with_pd(matmul::primitive_desc(engine_of_products(), src, asked, bias, dst, attr));
    }
    const std::string &text() const { return text_; }

private:
    bool has_values_at_creation() const {
        return f_.has_values_at_creation && p_.order < combination::ggml_q8_0 && !p_.has_groups() &&
               !f_.has_open_weights;
    }
    int mask(bool has_groups) const { return has_groups ? 3 : f_.is_inner_product ? 1 : 2; }
    memory::dims groups(bool has_groups) const {
        return !has_groups           ? memory::dims{}
               : f_.is_inner_product ? memory::dims{1, p_.group}
                                     : memory::dims{p_.group, 1};
    }
    data_type zero_point_type() const { return p_.weights == data_type::u2 ? data_type::u8 : p_.weights; }
    bool zero_points_have_groups() const {
        return p_.has_groups() && static_cast<dim_t>(p_.zero_points.size()) > p_.n;
    }

    /// Values {N, G} in the order of the operation.
    template <typename T> std::vector<T> in_order(const std::vector<T> &values) const {
        return f_.is_inner_product ? values
                                   : transposed(values, p_.n, static_cast<dim_t>(values.size()) / p_.n);
    }
    void set_values(primitive_attr &attr, int arg) const {
        attr.set_scales(arg, mask(p_.has_groups()), groups(p_.has_groups()), p_.scale_type);
        if (!p_.zero_points.empty())
            attr.set_zero_points(arg, mask(zero_points_have_groups()), groups(zero_points_have_groups()),
                                 zero_point_type());
    }
    void add_values(std::unordered_map<int, memory> &args, int arg) {
        scales_ = as_type(in_order(p_.scales), p_.scale_type);
        args[OCTET_ARG_ATTR_SCALES | arg] =
            buffer({{static_cast<dim_t>(p_.scales.size())}, p_.scale_type, format_tag::a}, scales_);
        if (p_.zero_points.empty())
            return;
        zero_points_ = as_type(in_order(p_.zero_points), zero_point_type());
        args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = buffer(
            {{static_cast<dim_t>(p_.zero_points.size())}, zero_point_type(), format_tag::a}, zero_points_);
    }

    primitive_attr attributes() const {
        primitive_attr attr;
        attr.set_source_quantization(p_.source);
        attr.set_combination(p_.order);
        if (has_values_at_creation()) {
            attr.set_scales(OCTET_ARG_WEIGHTS, mask(false), p_.scales);
            if (!p_.zero_points.empty())
                attr.set_zero_points(OCTET_ARG_WEIGHTS, mask(false), p_.zero_points);
        } else {
            set_values(attr, OCTET_ARG_WEIGHTS);
        }
        if (p_.dst == data_type::s8 || p_.dst == data_type::u8) {
            attr.set_scales(OCTET_ARG_DST, 0, {p_.dst_scale});
            if (p_.dst_zero_point)
                attr.set_zero_points(OCTET_ARG_DST, 0, {*p_.dst_zero_point});
        }
        post_ops ops;
        if (p_.has_relu)
            ops.append_eltwise(algorithm::eltwise_relu, 0.f, 0.f);
        if (!p_.addend.empty())
            ops.append_binary(algorithm::binary_add, described_addend());
        attr.set_post_ops(ops);
        return attr;
    }
    memory::desc described_addend() const { return {{p_.m, p_.n}, data_type::f32, format_tag::ab}; }
    dim_t row_stride() const { return p_.k + (f_.has_padded_rows ? 3 : 0); }
    memory::desc described_source() const {
        if (!f_.is_inner_product || positions_ == 1)
            return {{p_.m, p_.k}, p_.src, memory::dims{row_stride(), 1}};
        return {{p_.m, p_.k / positions_, 1, positions_},
                p_.src,
                memory::dims{row_stride(), positions_, positions_, 1}};
    }
    memory::desc described_weights() const {
        if (!f_.is_inner_product)
            return {{p_.k, p_.n}, p_.weights, format_tag::ba};
        if (positions_ == 1)
            return {{p_.n, p_.k}, p_.weights, format_tag::ab};
        return {{p_.n, p_.k / positions_, 1, positions_}, p_.weights, format_tag::abcd};
    }
    bytes source() const {
        const auto size = static_cast<std::size_t>(p_.m * row_stride());
        std::vector<float> x(size, 7.f);
        for (dim_t m = 0; m < p_.m; m++)
            std::copy_n(&p_.x[static_cast<std::size_t>(m * p_.k)], p_.k,
                        &x[static_cast<std::size_t>(m * row_stride())]);
        return as_type(x, p_.src);
    }

    memory weights_as(const memory::desc &chosen, const memory::desc &plain, const bytes &codes) {
        const memory given = buffer(plain, codes);
        if (chosen == plain)
            return given;
        primitive_attr attr;
        memory packed(chosen, engine_of_products());
        std::unordered_map<int, memory> args{{OCTET_ARG_FROM, given}, {OCTET_ARG_TO, packed}};
        if (chosen.data.packed_kind == packed_kind::matmul_with_scales) {
            set_values(attr, OCTET_ARG_SRC);
            add_values(args, OCTET_ARG_SRC);
        }
        static_cast<const primitive &>(
            reorder(reorder::primitive_desc(engine_of_products(), plain, engine_of_products(), chosen, attr)))
            .execute(stream(engine_of_products()), args);
        return packed;
    }

    bytes execute(const primitive &product, const memory::desc &weights_md, const memory::desc &plain,
                  const memory::desc &src, const memory::desc &bias, const memory::desc &dst) {
        const bytes x = source(), w = as_type(p_.w, p_.weights), b = as_type(p_.bias, data_type::f32),
                    addend = as_type(p_.addend, data_type::f32);
        bytes y(dst.get_size() + 1, 0xa5);
        const memory weights = weights_as(weights_md, plain, w);
        std::unordered_map<int, memory> args{
            {OCTET_ARG_SRC, buffer(src, x)}, {OCTET_ARG_WEIGHTS, weights}, {OCTET_ARG_DST, buffer(dst, y)}};
        if (!has_values_at_creation() && weights_md.data.packed_kind != packed_kind::matmul_with_scales)
            add_values(args, OCTET_ARG_WEIGHTS);
        if (!p_.bias.empty())
            args[OCTET_ARG_BIAS] = buffer(bias, b);
        if (!p_.addend.empty())
            args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(p_.has_relu ? 1 : 0) | OCTET_ARG_SRC_1] =
                buffer(described_addend(), addend);
        product.execute(stream(engine_of_products()), args);
        EXPECT_EQ(y.back(), 0xa5);
        y.pop_back();
        return y;
    }

    const product &p_;
    const form f_;
    dim_t positions_ = 1;
    bytes scales_, zero_points_;
    std::string text_;
};

/// NaN results have no specified sign and payload.
std::string difference(const product &p, const bytes &y, const bytes &right,
                       const std::vector<float> &values) {
    const std::size_t size = y.size() / values.size();
    for (std::size_t i = 0; i < values.size(); i++) {
        if (std::isnan(values[i])) {
            bool is_nan = p.dst != data_type::f32;
            if (!is_nan) {
                float got;
                std::memcpy(&got, &y[i * size], sizeof got);
                is_nan = std::isnan(got);
            } else {
                const int upper = y[i * size + 1] & 0x7f;
                is_nan = p.dst == data_type::f16 ? upper > 0x7c || (upper == 0x7c && y[i * size] != 0)
                                                 : upper == 0x7f && y[i * size] > 0x80;
            }
            if (is_nan)
                continue;
        }
        if (std::memcmp(&y[i * size], &right[i * size], size) != 0)
            return "result " + std::to_string(i) + " is not " + std::to_string(values[i]);
    }
    return "";
}

/// Empty, or what is wrong.
std::string check(std::uint64_t seed, std::uint64_t number) {
    const product p = draw(seed, number);
    const std::vector<float> values = result(p);
    const bytes right = as_type(values, p.dst);
    std::uint64_t choice = seed * 31 + number;
    for (const cpu_isa level : get_available_cpu_isas())
        for (const bool is_inner_product : {false, true}) {
            set_max_cpu_isa(level);
            set_num_threads(static_cast<int>(1 + choice % 3));
            const form f{is_inner_product, choice % 2 == 0, choice % 5 == 0 && !p.has_groups(),
                         choice % 7 == 0, choice % 3 == 0};
            choice = (choice * 6364136223846793005u + 1442695040888963407u) >> 3;
            run_of_product run(p, f);
            try {
                const std::string wrong = difference(p, run(), right, values);
                if (!wrong.empty())
                    return std::string("level ") + to_string(level) + ": " + wrong + ": " + run.text();
            } catch (const std::exception &e) {
                return std::string("level ") + to_string(level) + ": " + e.what();
            }
        }
    return "";
}

TEST(DynamicOracle, products_have_the_specified_bytes_at_every_level) {
    std::uint64_t seed = 1, first = 0;
    auto count = static_cast<std::uint64_t>(test::problem_count(1500));
    if (const char *other = std::getenv("OCTET_ORACLE_SEED"))
        seed = std::strtoull(other, nullptr, 10);
    if (const char *one = std::getenv("OCTET_ORACLE_DYNAMIC")) {
        char *end;
        seed = std::strtoull(one, &end, 10);
        ASSERT_EQ(*end, ':') << "OCTET_ORACLE_DYNAMIC is seed:number";
        first = std::strtoull(end + 1, nullptr, 10);
        count = 1;
    }
    int failures = 0;
    for (std::uint64_t i = first; i < first + count; i++) {
        const std::string wrong = check(seed, i);
        if (!wrong.empty() && ++failures <= 20)
            ADD_FAILURE() << "OCTET_ORACLE_DYNAMIC=" << seed << ':' << i << " oracle_tests: " << wrong;
    }
    EXPECT_LE(failures, 20) << failures << " of " << count << " are wrong";
    set_max_cpu_isa(cpu_isa::all);
    set_num_threads(0);
}

} // namespace

} // namespace octet::oracle::dynamic
