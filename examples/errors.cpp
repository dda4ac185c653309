// Shows what an error looks like: every function that can fail throws octet::error, whose status tells the
// kind and whose sentence names the argument, what was given and what is allowed. A program catches it where
// it can do something about it: here it asks for another rule.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "octet/octet.hpp"

using namespace octet;

namespace {

/// A fully connected layer of 8-bit values; throws octet::error.
inner_product_forward::primitive_desc make_layer(requantization_rule rule, const engine &cpu) {
    const memory::desc src({1, 4}, data_type::s8, format_tag::nc), dst({1, 2}, data_type::s8, format_tag::nc);
    const memory::desc weights({2, 4}, data_type::s8, format_tag::any);
    primitive_attr attr;
    attr.set_requantization(rule);
    if (rule == requantization_rule::ort_f32)
        attr.set_output_scales(0, {0.1f});
    return {{prop_kind::forward_inference, src, weights, dst}, attr, cpu};
}

} // namespace

int main() {
    const engine cpu(engine::kind::cpu, 0);

    // A contradiction: the rule needs multipliers, and none are given.
    try {
        make_layer(requantization_rule::tflite_2step, cpu);
        return 1;
    } catch (const error &e) {
        std::printf("%s: %s\n",
                    e.status == status::invalid_arguments ? "invalid arguments" : "another status", e.what());
        if (e.status != status::invalid_arguments)
            return 1;
    }

    // The same layer under another rule. What can fail has failed by now: execute checks its arguments before
    // it writes.
    const auto layer = make_layer(requantization_rule::ort_f32, cpu);
    const memory src(layer.src_desc(), cpu), weights(layer.weights_desc(), cpu), dst(layer.dst_desc(), cpu);
    try {
        inner_product_forward(layer).execute(stream(cpu), {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
        return 1;
    } catch (const error &e) {
        std::printf("%s\n", e.what());
        return std::string(e.what()).find("OCTET_ARG_WEIGHTS") == std::string::npos; // names what is missing
    }
}
