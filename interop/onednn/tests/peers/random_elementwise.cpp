// Random problems of the operations without a reduction: eltwise, prelu, resampling, sum, concat.
// SPDX-License-Identifier: Apache-2.0
#include "random_problem.hpp"

namespace peers {

namespace {

// Without s32: beyond its range oneDNN gives the lowest code here (doc/onednn.md). For the same reason floats
// are typical ones: NaN, infinities and the sign of zero differ from one implementation to the next.
constexpr type types[] = {type::f32, type::s8, type::u8};

tensor codes_or_numbers(random_source &r, const dims &shape, type t, range data,
                        const std::string &layout = "") {
    return r.filled(shape, t, t == type::f32 ? range::typical : data, layout);
}

dims random_shape(random_source &r, std::int64_t ndims) {
    dims shape;
    for (; ndims > 0; ndims--)
        shape.push_back(r.pick({1, 2, 3, 5, 8, 17}));
    return shape;
}

problem eltwise(random_source &r, range data) {
    static const std::vector<std::string> vectorised{"tanh", "elu",       "soft_relu",  "logistic",
                                                     "exp",  "gelu_tanh", "swish",      "gelu_erf",
                                                     "mish", "hardswish", "logsigmoid", "linear"};
    static const std::vector<std::string> exact{"relu", "linear",       "abs",  "square",
                                                "clip", "bounded_relu", "round"};
    problem p;
    const type element = types[r.between(0, 2)];
    p.algorithm = element == type::f32 && r.chance(70) ? r.from(vectorised) : r.from(exact);
    p.alpha = p.algorithm == "clip" ? -5.5f : p.algorithm == "relu" ? r.pick({0.f, 0.3f}) : r.real(0.f, 2.f);
    p.beta = p.algorithm == "clip" ? 60.3f : r.real(-2.f, 2.f);
    const dims shape = random_shape(r, r.between(1, 5));
    p.src = codes_or_numbers(r, shape, element, data);
    p.dst = r.filled(shape, element, range::typical);
    return p;
}

problem prelu(random_source &r, range data) {
    problem p;
    const type element = types[r.between(0, 2)];
    const dims shape = random_shape(r, r.between(2, 5));
    dims weights = shape;
    if (r.chance(70))
        for (std::size_t d = 0; d < shape.size(); d++)
            weights[d] = d == 1 ? shape[d] : 1;
    p.src = codes_or_numbers(r, shape, element, data);
    p.weights = r.filled(weights, r.pick({type::f32, element}), range::typical);
    p.dst = r.filled(shape, element, range::typical);
    return p;
}

problem resampling(random_source &r, range data) {
    problem p;
    p.algorithm = r.pick({"resampling_nearest", "resampling_linear"});
    dims src{r.between(1, 2), r.pick({1, 3, 16, 17})}, dst = src;
    for (std::int64_t i = r.between(1, 3); i > 0; i--) {
        src.push_back(r.between(1, 7));
        dst.push_back(r.between(1, 9));
    }
    const std::string layout = r.pick({"", "channels_last"});
    p.src = codes_or_numbers(r, src, types[r.between(0, 2)], data, layout);
    p.dst = r.filled(dst, types[r.between(0, 2)], range::typical, layout);
    return p;
}

problem sum(random_source &r, range data) {
    problem p;
    const dims shape = random_shape(r, r.between(1, 5));
    for (std::int64_t i = r.between(1, 4); i > 0; i--) {
        p.srcs.push_back(codes_or_numbers(r, shape, types[r.between(0, 2)], data));
        p.scales.push_back(r.pick({1.f, 0.5f, r.real(-2.f, 2.f)}));
    }
    p.dst = r.filled(shape, types[r.between(0, 2)], range::typical);
    return p;
}

problem concat(random_source &r, range data) {
    problem p;
    dims shape = random_shape(r, r.between(1, 5));
    p.axis = static_cast<int>(r.between(0, static_cast<std::int64_t>(shape.size()) - 1));
    shape[p.axis] = 0;
    // Types are equal and scales absent, or oneDNN refuses.
    const type element = types[r.between(0, 2)];
    for (std::int64_t i = r.between(1, 4); i > 0; i--) {
        dims part = shape;
        part[p.axis] = r.between(1, 5);
        p.srcs.push_back(codes_or_numbers(r, part, element, data));
    }
    for (const tensor &t : p.srcs)
        shape[p.axis] += t.shape[p.axis];
    p.dst = r.filled(shape, element, range::typical);
    return p;
}

} // namespace

problem random_elementwise_problem(operation op, random_source &r, range data) {
    problem p = op == operation::eltwise      ? eltwise(r, data)
                : op == operation::prelu      ? prelu(r, data)
                : op == operation::resampling ? resampling(r, data)
                : op == operation::sum        ? sum(r, data)
                                              : concat(r, data);
    p.op = op;
    return p;
}

} // namespace peers
