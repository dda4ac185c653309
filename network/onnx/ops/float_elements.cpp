// Operators element by element that know more than floats (for functions of single floats see
// float_functions.cpp). Floats are one primitive with rule f32; integers and truths, of masks and indices, are plain
// loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "network/onnx/ops/float_functions.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

using namespace row_words;

// ---- Two operands

std::unique_ptr<step> float_binary(const lowering &l, algorithm alg) {
    l.input(1, {data_type::f32});
    l.output({data_type::f32});
    return binary_step(l, alg, {}, 1);
}

template <typename T, typename Y, typename F>
void binary_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *a = static_cast<const T *>(operands[0]), *b = static_cast<const T *>(operands[1]);
    for (dim_t i = 0; i < count; i++)
        static_cast<Y *>(y)[i] = static_cast<Y>(F()(a[i * strides[0]], b[i * strides[1]]));
}

/// Integers of 32 bits wrap around, as ONNX Runtime's do; of those of 64 bits that leave s32 none is written.
/// A function of one number has it as both.
template <typename F, bool of_wide>
void integer_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const std::size_t second = operands[1] ? 1 : 0;
    const auto *a = static_cast<const std::int32_t *>(operands[0]),
               *b = static_cast<const std::int32_t *>(operands[second]);
    const auto result = [&](dim_t i) {
        return F()(std::int64_t{a[i * strides[0]]}, std::int64_t{b[i * strides[second]]});
    };
    constexpr bool may_divide_by_0 = std::is_same_v<F, std::divides<>>;
    if constexpr (may_divide_by_0)
        for (dim_t i = 0; i < count; i++)
            if (b[i * strides[1]] == 0)
                throw error(status::invalid_arguments, std::to_string(a[i * strides[0]]) +
                                                           " is divided by 0, allowed are other divisors");
    if constexpr (of_wide)
        for (dim_t i = 0; i < count; i++)
            if (result(i) != static_cast<std::int32_t>(result(i)))
                throw error(status::unimplemented, "the result for " + std::to_string(a[i * strides[0]]) +
                                                       " and " + std::to_string(b[i * strides[second]]) +
                                                       " leaves 32 bits, which INT64 has here");
    for (dim_t i = 0; i < count; i++)
        static_cast<std::int32_t *>(y)[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(result(i)));
}
struct magnitude {
    std::int64_t operator()(std::int64_t x, std::int64_t) const { return x < 0 ? -x : x; }
};
struct opposite {
    std::int64_t operator()(std::int64_t x, std::int64_t) const { return -x; }
};
struct sign {
    std::int64_t operator()(std::int64_t x, std::int64_t) const { return (x > 0) - (x < 0); }
};
struct different {
    bool operator()(int a, int b) const { return (a != 0) != (b != 0); }
};
struct both {
    bool operator()(int a, int b) const { return a != 0 && b != 0; }
};
struct either {
    bool operator()(int a, int b) const { return a != 0 || b != 0; }
};

std::unique_ptr<step> loop(const lowering &l, row_function f) {
    const memory::dims &y = l.output().dims;
    const auto operand = [&](std::size_t i) {
        return walked_operand{l.input_buffer(i), broadcast_strides(l.input(i).dims, y)};
    };
    return broadcast_step(l, {operand(0), operand(1)}, f);
}

template <typename F> row_function integer_row_of(const lowering &l) {
    l.output({data_type::s32});
    return l.marks().is_wide ? integer_row<F, true> : integer_row<F, false>;
}

template <typename F> std::unique_ptr<step> integer_binary(const lowering &l) {
    l.input(1, {data_type::s32});
    return loop(l, integer_row_of<F>(l));
}

/// Compares two operands of one type, element by element; truths among them.
template <typename F> std::unique_ptr<step> comparison(const lowering &l) {
    const tensor &a = l.input(0, {data_type::f32, data_type::s32, data_type::u8});
    l.input(1, {a.type});
    l.output({data_type::u8});
    return loop(l, a.type == data_type::f32   ? binary_row<float, std::uint8_t, F>
                   : a.type == data_type::s32 ? binary_row<std::int32_t, std::uint8_t, F>
                                              : binary_row<std::uint8_t, std::uint8_t, F>);
}

template <typename F, algorithm alg> std::unique_ptr<step> arithmetic(const lowering &l) {
    return l.input(0, {data_type::f32, data_type::s32}).type == data_type::s32 ? integer_binary<F>(l)
                                                                               : float_binary(l, alg);
}

// ---- Conversions

constexpr std::int64_t int64 = 7, boolean = 9; ///< among ONNX's types

template <typename X, typename Y>
void convert_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        static_cast<Y *>(y)[i] = static_cast<Y>(static_cast<const X *>(operands[0])[i * strides[0]]);
}

/// A float as x86 converts it to an integer of as many bits: what does not fit, and NaN, is the lowest.
template <int integer_bits> std::int64_t converted(float x) {
    constexpr float limit = integer_bits == 64 ? 0x1p63f : 0x1p31f;
    constexpr std::int64_t lowest = integer_bits == 64 ? std::numeric_limits<std::int64_t>::min()
                                                       : std::numeric_limits<std::int32_t>::min();
    return x >= -limit && x < limit ? static_cast<std::int64_t>(x) : lowest;
}

/// INT32, and of it the low bits.
template <typename Y>
void convert_float_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        static_cast<Y *>(y)[i] =
            static_cast<Y>(converted<32>(static_cast<const float *>(operands[0])[i * strides[0]]));
}

/// INT64, of which s32 has what it can.
void convert_float_row_to_int64(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min(),
                           highest = std::numeric_limits<std::int32_t>::max();
    for (dim_t i = 0; i < count; i++)
        static_cast<std::int32_t *>(y)[i] = static_cast<std::int32_t>(std::clamp(
            converted<64>(static_cast<const float *>(operands[0])[i * strides[0]]), lowest, highest));
}

template <typename X>
void truth_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        static_cast<std::uint8_t *>(y)[i] = static_cast<const X *>(operands[0])[i * strides[0]] != 0;
}

template <typename X> row_function conversion(data_type to, bool to_truth) {
    return to_truth               ? truth_row<X>
           : to == data_type::s32 ? convert_row<X, std::int32_t>
           : to == data_type::s8  ? convert_row<X, std::int8_t>
                                  : convert_row<X, std::uint8_t>;
}

row_function conversion_of_floats(data_type type, std::int64_t to) {
    return to == boolean            ? truth_row<float>
           : to == int64            ? convert_float_row_to_int64
           : type == data_type::s32 ? convert_float_row<std::int32_t>
           : type == data_type::s8  ? convert_float_row<std::int8_t>
                                    : convert_float_row<std::uint8_t>;
}

std::unique_ptr<step> unary_loop(const lowering &l, row_function f) {
    return broadcast_step(l, {{l.input_buffer(0), broadcast_strides(l.input(0).dims, l.output().dims)}}, f);
}

void nan_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        static_cast<std::uint8_t *>(y)[i] =
            std::isnan(static_cast<const float *>(operands[0])[i * strides[0]]);
}

template <bool of_positive, bool of_negative>
void infinity_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (dim_t i = 0; i < count; i++) {
        const float x = static_cast<const float *>(operands[0])[i * strides[0]];
        static_cast<std::uint8_t *>(y)[i] = (of_positive && x == infinity) || (of_negative && x == -infinity);
    }
}

void not_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        static_cast<std::uint8_t *>(y)[i] =
            static_cast<const std::uint8_t *>(operands[0])[i * strides[0]] == 0;
}

template <typename F> std::unique_ptr<step> logic(const lowering &l) {
    l.input(0, {data_type::u8});
    return comparison<F>(l);
}
std::unique_ptr<step> lower_is_nan(const lowering &l) {
    l.input(0, {data_type::f32});
    l.output({data_type::u8});
    return unary_loop(l, nan_row);
}
std::unique_ptr<step> lower_is_inf(const lowering &l) {
    l.input(0, {data_type::f32});
    l.output({data_type::u8});
    const bool of_positive = l.integer("detect_positive", 1) != 0,
               of_negative = l.integer("detect_negative", 1) != 0;
    return unary_loop(l, of_positive
                             ? (of_negative ? infinity_row<true, true> : infinity_row<true, false>)
                             : (of_negative ? infinity_row<false, true> : infinity_row<false, false>));
}
std::unique_ptr<step> lower_not(const lowering &l) {
    l.input(0, {data_type::u8});
    l.output({data_type::u8});
    return unary_loop(l, not_row);
}

std::unique_ptr<step> lower_cast(const lowering &l) {
    const tensor &x =
        l.input(0, {data_type::f32, data_type::f16, data_type::s32, data_type::s8, data_type::u8});
    const bool is_narrow = x.type == data_type::f16; // between floats alone
    const tensor &y =
        is_narrow ? l.output({data_type::f32, data_type::f16})
                  : l.output({data_type::f32, data_type::f16, data_type::s32, data_type::s8, data_type::u8});
    if (y.type == data_type::f16)
        l.input(0, {data_type::f32, data_type::f16});
    const bool to_truth = l.integer("to") == boolean;
    if (x.type == y.type && !to_truth)
        return make_view(l);
    if (y.type == data_type::f32 || y.type == data_type::f16) {
        const buffer src = l.input_buffer(0), dst = l.output_buffer();
        return one_step(reorder_desc(src, dst, primitive_attr()),
                        {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
    }
    return unary_loop(l, x.type == data_type::f32   ? conversion_of_floats(y.type, l.integer("to"))
                         : x.type == data_type::s32 ? conversion<std::int32_t>(y.type, to_truth)
                         : x.type == data_type::s8  ? conversion<std::int8_t>(y.type, to_truth)
                                                    : conversion<std::uint8_t>(y.type, to_truth));
}

/// An operator that is a function of single integers as well.
template <typename F, row::lowering_function of_floats>
std::unique_ptr<step> lower_function(const lowering &l) {
    return l.input(0, {data_type::f32, data_type::s32}).type == data_type::f32
               ? of_floats(l)
               : unary_loop(l, integer_row_of<F>(l));
}

} // namespace

std::unique_ptr<step> lower_float_add(const lowering &l) {
    return arithmetic<std::plus<>, algorithm::binary_add>(l);
}

namespace {

/// Arithmetic of two operands, which floats may get behind a product as well.
template <typename F, algorithm alg> constexpr row arithmetic_row(const char *name) {
    return row(name, 2, arithmetic<F, alg>, shape::binary, rows::broadcast)
        .part(fusion_part::operand)
        .follows(follow_with_operand<alg>)
        .arithmetic()
        .transposed(passing_kind::broadcast);
}

template <typename F> constexpr row comparison_row(const char *name, row::known_function known) {
    return row(name, 2, comparison<F>, shape::comparison, rows::broadcast)
        .uses_integers(use::compares, use::compares)
        .known_numbers(known);
}

constexpr row onnx_float_elements_rows[] = {
    row("Abs", 1, lower_function<magnitude, lower_float_function<plain<algorithm::eltwise_abs>>>, shape::same,
        rows::first_input)
        .part(pointwise)
        .follows(follow<plain<algorithm::eltwise_abs>>)
        .arithmetic()
        .transposed(passing_kind::elements),
    arithmetic_row<std::plus<>, algorithm::binary_add>("Add")
        .commutative()
        .becomes(form::binary, "QLinearAdd")
        .uses_integers(use::passes_on, use::passes_on)
        .known_numbers(numbers::add)
        .blocked(block_use::sum),
    row("And", 2, logic<both>, shape::comparison, rows::broadcast)
        .known_numbers(numbers::both)
        .transposed(passing_kind::broadcast),
    row("Cast", 1, lower_cast, shape::cast, rows::first_input)
        .use(aliased_or_persistent)
        .typed_by("to")
        .known_numbers(numbers::cast)
        .transposed(passing_kind::elements)
        .assumes("saturate", std::int64_t{1}),
    arithmetic_row<std::divides<>, algorithm::binary_div>("Div").known_numbers(numbers::div),
    comparison_row<std::equal_to<>>("Equal", numbers::equal).transposed(passing_kind::broadcast),
    comparison_row<std::greater<>>("Greater", numbers::greater).transposed(passing_kind::broadcast),
    comparison_row<std::greater_equal<>>("GreaterOrEqual", numbers::greater_or_equal)
        .transposed(passing_kind::broadcast),
    row("IsInf", 1, lower_is_inf, shape::truth, rows::first_input).transposed(passing_kind::elements),
    row("IsNaN", 1, lower_is_nan, shape::truth, rows::first_input).transposed(passing_kind::elements),
    comparison_row<std::less<>>("Less", numbers::less).transposed(passing_kind::broadcast),
    comparison_row<std::less_equal<>>("LessOrEqual", numbers::less_or_equal)
        .transposed(passing_kind::broadcast),
    arithmetic_row<std::multiplies<>, algorithm::binary_mul>("Mul")
        .commutative()
        .becomes(form::binary, "QLinearMul")
        .known_numbers(numbers::mul)
        .blocked(block_use::multiply),
    row("Neg", 1, lower_function<opposite, lower_function_loop<loops::function::negative>>, shape::same,
        rows::first_input)
        .arithmetic()
        .known_numbers(numbers::neg)
        .transposed(passing_kind::elements),
    row("Not", 1, lower_not, shape::same, rows::first_input)
        .known_numbers(numbers::inverse)
        .transposed(passing_kind::elements),
    row("Or", 2, logic<either>, shape::comparison, rows::broadcast)
        .known_numbers(numbers::either)
        .transposed(passing_kind::broadcast),
    row("Sign", 1, lower_function<sign, lower_function_loop<loops::function::sign>>, shape::same,
        rows::first_input)
        .transposed(passing_kind::elements),
    arithmetic_row<std::minus<>, algorithm::binary_sub>("Sub")
        .uses_integers(use::passes_on, use::passes_on)
        .known_numbers(numbers::sub),
    row("Xor", 2, logic<different>, shape::comparison, rows::broadcast).transposed(passing_kind::broadcast),
};

} // namespace

operator_rows onnx_float_elements_operators() { return onnx_float_elements_rows; }

} // namespace octet::model
