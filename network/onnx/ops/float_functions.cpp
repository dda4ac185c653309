// Operators that are a function of single floats which no primitive has (loops/functions.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "loops/functions.hpp"
#include "network/onnx/ops/float_loops.hpp"

namespace octet::model {
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

struct named_function {
    std::string_view op;
    loops::function f;
    float alpha; ///< without the attribute
};
constexpr named_function functions[] = {
    {"Ceil", loops::function::ceiling, 0.f},      {"Celu", loops::function::celu, 1.f},
    {"Cos", loops::function::cosine, 0.f},        {"Elu", loops::function::elu, 1.f},
    {"Floor", loops::function::floor, 0.f},       {"Log", loops::function::logarithm, 0.f},
    {"Neg", loops::function::negative, 0.f},      {"Sign", loops::function::sign, 0.f},
    {"Sin", loops::function::sine, 0.f},          {"Softplus", loops::function::softplus, 0.f},
    {"Softsign", loops::function::softsign, 0.f}, {"ThresholdedRelu", loops::function::thresholded_relu, 1.f},
};

} // namespace

std::unique_ptr<step> make_function_loop(const lowering &l) {
    for (const named_function &f : functions) {
        if (f.op != l.get_node().op)
            continue;
        const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
        need_equal_dims(x, y);
        return std::make_unique<function_step>(l, f.f, l.real("alpha", f.alpha));
    }
    return nullptr;
}

} // namespace octet::model
