// Makes post-ops of the nodes that `fuse_floats` fused into a product: each does to a result what its
// operator would do to it in memory.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "network/onnx/ops/operators.hpp"

namespace octet::model {

void append_float_followers(primitive_attr &attr, arguments &args, const lowering &l,
                            const memory::desc &dst) {
    static const std::map<std::string, algorithm> binaries = {{"Add", algorithm::binary_add},
                                                              {"Sub", algorithm::binary_sub},
                                                              {"Mul", algorithm::binary_mul},
                                                              {"Div", algorithm::binary_div}};
    post_ops ops = attr.get_post_ops();
    for (const node &f : l.get_node().fused) {
        const lowering follower = l.of(f);
        const auto binary = binaries.find(f.op);
        if (binary == binaries.end()) {
            const float_function function = float_function_of(follower);
            ops.append_eltwise(1.f, function.alg, function.alpha, function.beta);
            continue;
        }
        const auto other = static_cast<std::size_t>(1 - f.result_input);
        const memory::desc d = padded_desc(follower.input(other, {data_type::f32}), dst.dims().size());
        args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | OCTET_ARG_SRC_1] = follower.input_buffer(other, d);
        ops.append_binary(binary->second, d);
    }
    attr.set_post_ops(ops);
}

} // namespace octet::model
