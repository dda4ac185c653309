#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of single floats, from which rows of operators are made. A function of the primitives is a
// `float_function` that a template takes: as an operator of its own, or behind a product. Others are loops.

#include "loops/functions.hpp"
#include "network/onnx/ops/operators.hpp"

namespace octet::model {

/// An operator as a function of the primitives.
struct float_function {
    algorithm alg;
    float alpha = 0.f, beta = 0.f;
};

/// The function of an operator without parameters.
template <algorithm alg> float_function plain(const lowering &) { return {alg}; }

/// Input 0 to the output; `behind` is applied to the results, with its arguments.
std::unique_ptr<step> make_function(const lowering &l, const float_function &f, const post_ops &behind = {},
                                    arguments args = {});
template <float_function (*function)(const lowering &)>
std::unique_ptr<step> lower_float_function(const lowering &l) {
    return make_function(l, function(l));
}

/// `alpha` is that of a node that names none.
std::unique_ptr<step> make_function_loop(const lowering &l, loops::function f, float alpha);
template <loops::function f, int alpha = 0> std::unique_ptr<step> lower_function_loop(const lowering &l) {
    return make_function_loop(l, f, alpha);
}

/// What is done to the results of a product before they are stored.
struct float_followers {
    post_ops ops;
    arguments &args; ///< of the product
    const memory::desc &dst;
};

// Followers: `operator_facts::follow`.

template <float_function (*function)(const lowering &)>
void follow(float_followers &behind, const lowering &follower) {
    const float_function f = function(follower);
    behind.ops.append_eltwise(1.f, f.alg, f.alpha, f.beta);
}

template <algorithm alg> void follow_with_operand(float_followers &behind, const lowering &follower) {
    const auto other = static_cast<std::size_t>(1 - follower.get_node().result_input);
    const memory::desc d = padded_desc(follower.input(other, {data_type::f32}), behind.dst.dims().size());
    behind.args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(behind.ops.len()) | OCTET_ARG_SRC_1] =
        follower.input_buffer(other, d);
    behind.ops.append_binary(alg, d);
}

} // namespace octet::model
