// Operators that are a function of single floats: a primitive with rule f32, or a loop where no primitive has the
// function (loops/functions.hpp). What the pass `fuse_floats` fused into a product does to its results.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/float_functions.hpp"

#include <array>
#include <limits>
#include <optional>

#include "loops/parallel.hpp"
#include "network/dialect.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/known_values.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {

std::unique_ptr<step> make_function(const lowering &l, const float_function &f, const post_ops &behind,
                                    arguments args) {
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

namespace {

class function_step final : public loop_step {
public:
    function_step(const lowering &l, loops::function f, float alpha)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), count_(element_count(l.output().dims)),
          loop_(f, alpha) {}

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), m.at<float>(dst_), count_);
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(count_) + " elements";
    }

private:
    buffer src_, dst_;
    dim_t count_;
    loops::function_loop loop_;
};

} // namespace

std::unique_ptr<step> make_function_loop(const lowering &l, loops::function f, float alpha) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    need_equal_dims(x, y);
    return std::make_unique<function_step>(l, f, l.real("alpha", alpha));
}

void append_float_followers(primitive_attr &attr, arguments &args, const lowering &l,
                            const memory::desc &dst) {
    float_followers behind{attr.get_post_ops(), args, dst};
    for (const node &f : l.get_node().fused) {
        const auto follow = facts_of(l.get_graph(), f).follow;
        if (!follow)
            refuse_as_unimplemented("fused " + f.op + " follows no product of floats");
        follow(behind, l.of(f));
    }
    attr.set_post_ops(behind.ops);
}

namespace {

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

float_function leaky_relu(const lowering &l) { return {algorithm::eltwise_ort_relu, l.real("alpha", 0.01f)}; }
float_function quick_gelu(const lowering &l) {
    return {algorithm::eltwise_ort_swish, l.real("alpha", 1.702f)};
}
float_function reciprocal(const lowering &) { return {algorithm::eltwise_pow, 1.f, -1.f}; }

float_function gelu(const lowering &l) {
    const std::string approximation = l.text("approximate", "none");
    if (approximation != "none" && approximation != "tanh")
        refuse("attribute 'approximate' is '" + approximation + "', allowed: none, tanh");
    return {approximation == "tanh" ? algorithm::eltwise_ort_gelu_tanh : algorithm::eltwise_ort_gelu_erf};
}

/// Limits are inputs, in older operator sets attributes. Without a limit infinities become the largest floats.
float_function clip(const lowering &l) {
    constexpr float largest = std::numeric_limits<float>::max();
    return {algorithm::eltwise_ort_clip, l.has_input(1) ? constant_real(l, 1) : l.real("min", -largest),
            l.has_input(2) ? constant_real(l, 2) : l.real("max", largest)};
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
    return lower_float_function<clip>(l);
}

std::unique_ptr<step> lower_float_hard_sigmoid(const lowering &l) {
    post_ops behind;
    const float_function f = hard_sigmoid(behind, l.real("alpha", 0.2f), l.real("beta", 0.5f));
    return make_function(l, f, behind);
}

/// x times its hard sigmoid.
std::unique_ptr<step> lower_float_hard_swish(const lowering &l) {
    post_ops behind;
    const float_function f = hard_sigmoid(behind, 1.f / 6.f, 0.5f);
    const buffer x = l.input_buffer(0);
    const arguments args = {{OCTET_ARG_ATTR_MULTIPLE_POST_OP(behind.len()) | OCTET_ARG_SRC_1, x}};
    behind.append_binary(algorithm::binary_mul, x.get_desc());
    return make_function(l, f, behind, args);
}

using namespace row_words;

/// A function of the primitives, also behind a product.
template <float_function (*function)(const lowering &)>
constexpr row function_row(const char *name, input_counts inputs = 1,
                           row::lowering_function lower = lower_float_function<function>) {
    return row(name, inputs, lower, shape::same, rows::first_input).part(pointwise).follows(follow<function>);
}
template <loops::function f, int alpha = 0>
constexpr row loop_row(const char *name, row::rows_question question = rows::first_input) {
    return row(name, 1, lower_function_loop<f, alpha>, shape::same, question)
        .transposed(passing_kind::elements);
}
using alg = algorithm;
constexpr std::int64_t no_opset = std::numeric_limits<std::int64_t>::max();
using fn = loops::function;

constexpr row onnx_float_functions_rows[] = {
    loop_row<fn::ceiling>("Ceil").known_numbers(numbers::ceil),
    loop_row<fn::celu, 1>("Celu", rows::first_input_in_groups),
    function_row<clip>("Clip", {1, 3}, lower_clip)
        .uses_integers(use::compares, use::compares)
        .transposed(passing_kind::elements, passed_inputs::first)
        .blocked(block_use::activate),
    loop_row<fn::cosine>("Cos", rows::first_input_in_groups),
    loop_row<fn::elu, 1>("Elu", rows::first_input_in_groups).assumes("alpha", 1.f),
    function_row<plain<alg::eltwise_ort_erf>>("Erf").transposed(passing_kind::elements),
    function_row<plain<alg::eltwise_ort_exp>>("Exp").transposed(passing_kind::elements),
    loop_row<fn::floor>("Floor").known_numbers(numbers::floor),
    function_row<gelu>("Gelu")
        .in(domains::both)
        .transposed(passing_kind::elements)
        .blocked(block_use::activate)
        .assumes("approximate", std::string_view("none"))
        .folded_from(20), // of earlier ones it is ONNX Runtime's own
    row("HardSigmoid", 1, lower_float_hard_sigmoid, shape::same, rows::first_input)
        .transposed(passing_kind::elements)
        .blocked(block_use::activate)
        .assumes("beta", 0.5f),
    row("HardSwish", 1, lower_float_hard_swish, shape::same, rows::first_input)
        .folded_from(no_opset) // a function of others there
        .transposed(passing_kind::elements)
        .blocked(block_use::activate),
    function_row<leaky_relu>("LeakyRelu")
        .becomes(form::unary, "QLinearLeakyRelu")
        .transposed(passing_kind::elements)
        .blocked(block_use::activate)
        .assumes("alpha", 0.01f),
    loop_row<fn::logarithm>("Log", rows::first_input_in_groups),
    function_row<quick_gelu>("QuickGelu").in(domains::microsoft).blocked(block_use::activate),
    function_row<reciprocal>("Reciprocal").transposed(passing_kind::elements),
    function_row<plain<alg::eltwise_ort_relu>>("Relu")
        .transposed(passing_kind::elements)
        .blocked(block_use::activate),
    function_row<plain<alg::eltwise_round>>("Round").transposed(passing_kind::elements),
    function_row<plain<alg::eltwise_ort_logistic>>("Sigmoid")
        .becomes(form::unary, "QLinearSigmoid")
        .transposed(passing_kind::elements)
        .blocked(block_use::activate),
    loop_row<fn::sine>("Sin", rows::first_input_in_groups),
    loop_row<fn::softplus>("Softplus", rows::first_input_in_groups),
    loop_row<fn::softsign>("Softsign"),
    function_row<plain<alg::eltwise_sqrt>>("Sqrt")
        .known_numbers(numbers::sqrt)
        .transposed(passing_kind::elements),
    function_row<plain<alg::eltwise_ort_tanh>>("Tanh")
        .transposed(passing_kind::elements)
        .blocked(block_use::activate),
    loop_row<fn::thresholded_relu, 1>("ThresholdedRelu").assumes("alpha", 1.f),
};

} // namespace

operator_rows onnx_float_functions_operators() { return onnx_float_functions_rows; }

} // namespace octet::model
