// Float operators, element by element: each is one primitive with rule f32. Integers and truths, of masks and indices,
// are plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "loops/parallel.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

std::unique_ptr<step> function(const lowering &l, const float_function &f, const post_ops &behind = {},
                               arguments args = {}) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    need_equal_dims(x, y);
    primitive_attr attr;
    attr.set_post_ops(behind);
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    const eltwise_forward::desc d(prop_kind::forward_inference, f.alg, src.get_desc(), dst.get_desc(),
                                  f.alpha, f.beta);
    args[OCTET_ARG_SRC] = src;
    args[OCTET_ARG_DST] = dst;
    return one_step(eltwise_forward::primitive_desc(d, attr, l.get_engine()), args);
}

/// min(1, max(0, alpha x + beta)): ONNX Runtime rounds the product, so it is no linear function.
float_function hard_sigmoid(post_ops &behind, float alpha, float beta) {
    behind.append_eltwise(1.f, algorithm::eltwise_linear, 1.f, beta);
    behind.append_eltwise(1.f, algorithm::eltwise_ort_clip, 0.f, 1.f);
    return {algorithm::eltwise_linear, alpha, 0.f};
}

/// The one value of a constant f32 input.
float constant_real(const lowering &l, std::size_t i) {
    const tensor &t = l.input(i, {data_type::f32});
    if (!t.is_constant || t.data.size() != sizeof(float))
        refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                "') is not one constant value");
    return values_of<float>(t)[0];
}

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
    const tensor &x = l.input(0, {data_type::f32, data_type::s32, data_type::s8, data_type::u8}),
                 &y = l.output({data_type::f32, data_type::s32, data_type::s8, data_type::u8});
    const bool to_truth = l.integer("to") == boolean;
    if (x.type == y.type && !to_truth)
        return make_view(l);
    if (y.type == data_type::f32) {
        const buffer src = l.input_buffer(0), dst = l.output_buffer();
        return one_step(reorder_desc(src, dst, primitive_attr()),
                        {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
    }
    return unary_loop(l, x.type == data_type::f32   ? conversion_of_floats(y.type, l.integer("to"))
                         : x.type == data_type::s32 ? conversion<std::int32_t>(y.type, to_truth)
                         : x.type == data_type::s8  ? conversion<std::int8_t>(y.type, to_truth)
                                                    : conversion<std::uint8_t>(y.type, to_truth));
}

} // namespace

float_function float_function_of(const lowering &l) {
    constexpr float largest = std::numeric_limits<float>::max(); // also of infinities, if there is no limit
    const std::string &op = l.get_node().op;
    if (op == "Relu")
        return {algorithm::eltwise_ort_relu};
    if (op == "LeakyRelu")
        return {algorithm::eltwise_ort_relu, l.real("alpha", 0.01f)};
    if (op == "Sigmoid")
        return {algorithm::eltwise_ort_logistic};
    if (op == "Tanh")
        return {algorithm::eltwise_ort_tanh};
    if (op == "Erf")
        return {algorithm::eltwise_ort_erf};
    if (op == "Exp")
        return {algorithm::eltwise_ort_exp};
    if (op == "Abs")
        return {algorithm::eltwise_abs};
    if (op == "Round")
        return {algorithm::eltwise_round};
    if (op == "Reciprocal")
        return {algorithm::eltwise_pow, 1.f, -1.f};
    if (op == "Sqrt")
        return {algorithm::eltwise_sqrt};
    if (op == "QuickGelu")
        return {algorithm::eltwise_ort_swish, l.real("alpha", 1.702f)};
    if (op == "Gelu") {
        const std::string approximation = l.text("approximate", "none");
        if (approximation != "none" && approximation != "tanh")
            refuse("attribute 'approximate' is '" + approximation + "', allowed: none, tanh");
        return {approximation == "tanh" ? algorithm::eltwise_ort_gelu_tanh : algorithm::eltwise_ort_gelu_erf};
    }
    if (op == "Clip") // limits are inputs, in older operator sets attributes
        return {algorithm::eltwise_ort_clip, l.has_input(1) ? constant_real(l, 1) : l.real("min", -largest),
                l.has_input(2) ? constant_real(l, 2) : l.real("max", largest)};
    refuse_as_unimplemented("is no function of single floats");
}

namespace {

std::unique_ptr<step> lower_float_function(const lowering &l) {
    std::unique_ptr<step> loop = make_function_loop(l);
    return loop ? std::move(loop) : function(l, float_function_of(l));
}
/// An operator that is a function of single integers as well.
template <typename F> std::unique_ptr<step> lower_function(const lowering &l) {
    if (l.input(0, {data_type::f32, data_type::s32}).type == data_type::f32)
        return lower_float_function(l);
    return unary_loop(l, integer_row_of<F>(l));
}

/// Limits are inputs, or missing.
template <typename T> class clip_step final : public loop_step {
public:
    explicit clip_step(const lowering &l)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), count_(element_count(l.output().dims)) {
        for (const std::size_t i : {low, high}) {
            if (!l.has_input(i))
                continue;
            if (const memory::dims &d = l.input(i, {l.output().type}).dims;
                d.size() > 1 || element_count(d) != 1)
                refuse("input " + std::to_string(i) + " has dimensions " + to_text(d) +
                       ", allowed is one number");
            limits_[i] = l.input_buffer(i);
        }
    }

    void run(const stream &, const run_memory &m) const override {
        const T from = limits_[low] ? *m.at<T>(*limits_[low]) : std::numeric_limits<T>::lowest(),
                to = limits_[high] ? *m.at<T>(*limits_[high]) : std::numeric_limits<T>::max();
        const T *x = m.at<T>(src_);
        T *y = m.at<T>(dst_);
        loops::parallel_for(count_, 1, [=](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const T raised = from > x[i] ? from : x[i]; // NaN stays
                y[i] = to < raised ? to : raised;
            }
        });
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(count_) + " elements";
    }

private:
    static constexpr std::size_t low = 1, high = 2;

    buffer src_, dst_;
    dim_t count_;
    std::array<std::optional<buffer>, 3> limits_; ///< by the place among the inputs
};

std::unique_ptr<step> lower_clip(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32, data_type::s32});
    need_equal_dims(x, l.output({x.type}));
    if (x.type == data_type::s32)
        return std::make_unique<clip_step<std::int32_t>>(l);
    const auto is_computed = [&](std::size_t i) { return l.has_input(i) && !l.input(i).is_constant; };
    if (is_computed(1) || is_computed(2))
        return std::make_unique<clip_step<float>>(l);
    return lower_float_function(l);
}

std::unique_ptr<step> lower_float_hard_sigmoid(const lowering &l) {
    post_ops behind;
    const float_function f = hard_sigmoid(behind, l.real("alpha", 0.2f), l.real("beta", 0.5f));
    return function(l, f, behind);
}

/// x times its hard sigmoid.
std::unique_ptr<step> lower_float_hard_swish(const lowering &l) {
    post_ops behind;
    const float_function f = hard_sigmoid(behind, 1.f / 6.f, 0.5f);
    const buffer x = l.input_buffer(0);
    const arguments args = {{OCTET_ARG_ATTR_MULTIPLE_POST_OP(behind.len()) | OCTET_ARG_SRC_1, x}};
    behind.append_binary(algorithm::binary_mul, x.get_desc());
    return function(l, f, behind, args);
}

} // namespace

std::unique_ptr<step> lower_float_add(const lowering &l) {
    return arithmetic<std::plus<>, algorithm::binary_add>(l);
}

namespace {

using namespace row_words;

/// An operator that is a function of single floats.
constexpr row function_row(const char *name, input_counts inputs = 1) {
    return row(name, inputs, lower_float_function, shape::same, rows::first_input);
}

template <typename F> constexpr row comparison_row(const char *name, row::known_function known) {
    return row(name, 2, comparison<F>, shape::comparison, rows::broadcast)
        .uses_integers(use::compares, use::compares)
        .known_numbers(known);
}

constexpr row onnx_float_elements_rows[] = {
    row("Abs", 1, lower_function<magnitude>, shape::same, rows::first_input)
        .part(pointwise)
        .arithmetic()
        .transposed(passing_kind::elements),
    row("Add", 2, lower_float_add, shape::binary, rows::broadcast)
        .part(fusion_part::operand)
        .commutative()
        .becomes(form::binary, "QLinearAdd")
        .uses_integers(use::passes_on, use::passes_on)
        .arithmetic()
        .known_numbers(numbers::add)
        .transposed(passing_kind::broadcast)
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
    function_row("Ceil").known_numbers(numbers::ceil).transposed(passing_kind::elements),
    row("Celu", 1, lower_float_function, shape::same, rows::first_input_in_groups)
        .transposed(passing_kind::elements),
    row("Clip", {1, 3}, lower_clip, shape::same, rows::first_input)
        .part(pointwise)
        .uses_integers(use::compares, use::compares)
        .transposed(passing_kind::elements, passed_inputs::first)
        .blocked(block_use::activate),
    row("Cos", 1, lower_float_function, shape::same, rows::first_input_in_groups)
        .transposed(passing_kind::elements),
    row("Div", 2, arithmetic<std::divides<>, algorithm::binary_div>, shape::binary, rows::broadcast)
        .part(fusion_part::operand)
        .arithmetic()
        .known_numbers(numbers::div)
        .transposed(passing_kind::broadcast),
    row("Elu", 1, lower_float_function, shape::same, rows::first_input_in_groups)
        .transposed(passing_kind::elements)
        .assumes("alpha", 1.f),
    comparison_row<std::equal_to<>>("Equal", numbers::equal).transposed(passing_kind::broadcast),
    function_row("Erf").part(pointwise).transposed(passing_kind::elements),
    function_row("Exp").part(pointwise).transposed(passing_kind::elements),
    function_row("Floor").known_numbers(numbers::floor).transposed(passing_kind::elements),
    function_row("Gelu")
        .in(domains::both)
        .part(pointwise)
        .transposed(passing_kind::elements)
        .blocked(block_use::activate)
        .assumes("approximate", std::string_view("none")),
    comparison_row<std::greater<>>("Greater", numbers::greater).transposed(passing_kind::broadcast),
    comparison_row<std::greater_equal<>>("GreaterOrEqual", numbers::greater_or_equal)
        .transposed(passing_kind::broadcast),
    row("HardSigmoid", 1, lower_float_hard_sigmoid, shape::same, rows::first_input)
        .transposed(passing_kind::elements)
        .blocked(block_use::activate)
        .assumes("beta", 0.5f),
    row("HardSwish", 1, lower_float_hard_swish, shape::same, rows::first_input)
        .transposed(passing_kind::elements)
        .blocked(block_use::activate),
    row("IsInf", 1, lower_is_inf, shape::truth, rows::first_input).transposed(passing_kind::elements),
    row("IsNaN", 1, lower_is_nan, shape::truth, rows::first_input).transposed(passing_kind::elements),
    function_row("LeakyRelu")
        .part(pointwise)
        .becomes(form::unary, "QLinearLeakyRelu")
        .transposed(passing_kind::elements)
        .blocked(block_use::activate)
        .assumes("alpha", 0.01f),
    comparison_row<std::less<>>("Less", numbers::less).transposed(passing_kind::broadcast),
    comparison_row<std::less_equal<>>("LessOrEqual", numbers::less_or_equal)
        .transposed(passing_kind::broadcast),
    row("Log", 1, lower_float_function, shape::same, rows::first_input_in_groups)
        .transposed(passing_kind::elements),
    row("Mul", 2, arithmetic<std::multiplies<>, algorithm::binary_mul>, shape::binary, rows::broadcast)
        .part(fusion_part::operand)
        .commutative()
        .becomes(form::binary, "QLinearMul")
        .arithmetic()
        .known_numbers(numbers::mul)
        .transposed(passing_kind::broadcast)
        .blocked(block_use::multiply),
    row("Neg", 1, lower_function<opposite>, shape::same, rows::first_input)
        .arithmetic()
        .known_numbers(numbers::neg)
        .transposed(passing_kind::elements),
    row("Not", 1, lower_not, shape::same, rows::first_input)
        .known_numbers(numbers::inverse)
        .transposed(passing_kind::elements),
    row("Or", 2, logic<either>, shape::comparison, rows::broadcast)
        .known_numbers(numbers::either)
        .transposed(passing_kind::broadcast),
    function_row("QuickGelu").in(domains::microsoft).part(pointwise).blocked(block_use::activate),
    function_row("Reciprocal").part(pointwise).transposed(passing_kind::elements),
    function_row("Relu").part(pointwise).transposed(passing_kind::elements).blocked(block_use::activate),
    function_row("Round").part(pointwise).transposed(passing_kind::elements),
    function_row("Sigmoid")
        .part(pointwise)
        .becomes(form::unary, "QLinearSigmoid")
        .transposed(passing_kind::elements)
        .blocked(block_use::activate),
    row("Sign", 1, lower_function<sign>, shape::same, rows::first_input).transposed(passing_kind::elements),
    row("Sin", 1, lower_float_function, shape::same, rows::first_input_in_groups)
        .transposed(passing_kind::elements),
    row("Softplus", 1, lower_float_function, shape::same, rows::first_input_in_groups)
        .transposed(passing_kind::elements),
    function_row("Softsign").transposed(passing_kind::elements),
    function_row("Sqrt").part(pointwise).known_numbers(numbers::sqrt).transposed(passing_kind::elements),
    row("Sub", 2, arithmetic<std::minus<>, algorithm::binary_sub>, shape::binary, rows::broadcast)
        .part(fusion_part::operand)
        .uses_integers(use::passes_on, use::passes_on)
        .arithmetic()
        .known_numbers(numbers::sub)
        .transposed(passing_kind::broadcast),
    function_row("Tanh").part(pointwise).transposed(passing_kind::elements).blocked(block_use::activate),
    function_row("ThresholdedRelu").transposed(passing_kind::elements).assumes("alpha", 1.f),
    row("Xor", 2, logic<different>, shape::comparison, rows::broadcast).transposed(passing_kind::broadcast),
};

} // namespace

operator_rows onnx_float_elements_operators() { return onnx_float_elements_rows; }

} // namespace octet::model
