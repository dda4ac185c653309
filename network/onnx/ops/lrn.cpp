// Local response normalization of floats, a loop with ONNX Runtime's bytes.
// SPDX-License-Identifier: Apache-2.0
#include "loops/lrn.hpp"

#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

class lrn_step final : public loop_step {
public:
    lrn_step(const lowering &l, const loops::lrn_loop::parameters &p)
        : loop_(p), channels_(p.channels), src_(l.input_buffer(0)), dst_(l.output_buffer()) {}

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), m.at<float>(dst_));
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(channels_) + " channels of each pixel";
    }

private:
    loops::lrn_loop loop_;
    dim_t channels_;
    buffer src_, dst_;
};

/// Attribute `name`, a number above 0.
float positive(const lowering &l, const char *name, float absent) {
    const float value = l.real(name, absent);
    if (!(value > 0.f))
        refuse("attribute '" + std::string(name) + "' is " + std::to_string(value) +
               ", allowed are numbers above 0");
    return value;
}

std::unique_ptr<step> lower_lrn(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    need_equal_dims(x, y);
    if (x.dims.size() != 4)
        refuse("the input has dimensions " + to_text(x.dims) + ", allowed are four, as in ONNX Runtime");
    const std::int64_t size = l.integer("size");
    if (size < 1 || size % 2 == 0)
        refuse("attribute 'size' is " + std::to_string(size) + ", allowed are odd numbers from 1 on");
    return std::make_unique<lrn_step>(
        l, loops::lrn_loop::parameters{x.dims[0], x.dims[1], x.dims[2] * x.dims[3], size,
                                       positive(l, "alpha", 0.0001f), positive(l, "beta", 0.75f),
                                       l.real("bias", 1.f)});
}

using namespace row_words;

constexpr row onnx_lrn_rows[] = {
    row("LRN", 1, lower_lrn, shape::same, rows::first_input_in_groups).sizes(flow::first),
};

} // namespace

operator_rows onnx_lrn_operators() { return onnx_lrn_rows; }

} // namespace octet::model
