// Pow of floats. ONNX Runtime multiplies where one exponent of 2 or 3 serves a span (spans.hpp); otherwise it
// calls the C library's function, in f64 for integers.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "loops/parallel.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/ops/spans.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

template <typename E> class power_step final : public loop_step {
public:
    power_step(const lowering &l, spans s)
        : src_(l.input_buffer(0)), exponent_(l.input_buffer(1)), dst_(l.output_buffer()),
          spans_(std::move(s)) {}

    void run(const stream &, const run_memory &m) const override {
        const float *const x = m.at<float>(src_);
        const E *const exponent = m.at<E>(exponent_);
        float *const y = m.at<float>(dst_);
        const dim_t x_stride = spans_.a_moves ? 1 : 0, e_stride = spans_.b_moves ? 1 : 0;
        constexpr dim_t work = 32;
        loops::parallel_for(spans_.count(), work, [&](dim_t begin, dim_t end) {
            spans_.for_each(begin, end, [&](dim_t span, dim_t x_at, dim_t e_at, dim_t first, dim_t last) {
                for (dim_t i = first; i < last; i++)
                    y[span + i] = power(x[x_at + i * x_stride], exponent[e_at + i * e_stride]);
            });
        });
    }
    std::string explain() const override {
        return "a plain loop over spans of " + std::to_string(spans_.size) + " elements";
    }

private:
    float power(float x, E e) const {
        if (spans_.shares_b() && (e == 2 || e == 3))
            return e == 2 ? x * x : x * x * x;
        return static_cast<float>(std::pow(x, e));
    }

    buffer src_, exponent_, dst_;
    spans spans_;
};

/// x^2, or x^3 that is rounded twice.
std::unique_ptr<step> products_of_factors(const lowering &l, bool is_cube) {
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    arguments args{{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}};
    post_ops behind;
    if (is_cube) {
        behind.append_binary(algorithm::binary_mul, src.get_desc());
        args[OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1] = src;
    }
    primitive_attr attr;
    attr.set_post_ops(behind);
    const eltwise_forward::desc square(inference, algorithm::eltwise_square, src.get_desc(), dst.get_desc(),
                                       0.f);
    return one_step(eltwise_forward::primitive_desc(square, attr, l.get_engine()), args);
}

std::unique_ptr<step> lower_float_pow(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &e = l.input(1, {data_type::f32, data_type::s32});
    const bool is_real = e.type == data_type::f32;
    const memory::dims &y = l.output({data_type::f32}).dims;
    if (y != broadcast(x.dims, e.dims))
        refuse("inputs " + to_text(x.dims) + " and " + to_text(e.dims) + " do not give " + to_text(y));
    spans s(x.dims, e.dims);
    const bool is_one = s.shares_b() && e.is_constant && element_count(e.dims) == 1 && x.dims == y;
    for (const int exponent : {2, 3})
        if (is_one && (is_real ? values_of<float>(e)[0] == static_cast<float>(exponent)
                               : l.constant_integers(1)[0] == exponent))
            return products_of_factors(l, exponent == 3);
    if (is_real)
        return std::make_unique<power_step<float>>(l, std::move(s));
    return std::make_unique<power_step<std::int32_t>>(l, std::move(s));
}

/// Rows of one element may share an exponent in a batch that one alone does not share.
bool powers_keep_rows(const node_rows &o) {
    const auto shares = [&](dim_t batch) { return spans(o.dims(0, batch), o.dims(1, batch)).shares_b(); };
    return rows::broadcast(o) && (o.result_count() != 1 || shares(1) == shares(2));
}

using namespace row_words;

constexpr row onnx_float_powers_rows[] = {
    row("Pow", 2, lower_float_pow, shape::power, powers_keep_rows).transposed(passing_kind::broadcast),
};

} // namespace

operator_rows onnx_float_powers_operators() { return onnx_float_powers_rows; }

} // namespace octet::model
