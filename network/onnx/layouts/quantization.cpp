// A tensor's parameters are those with which it is written, or else those with which the first node reads it;
// what only moves elements hands them on.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/layouts/quantization.hpp"

#include "network/dialect.hpp"

namespace octet::model {
namespace {

class quantization_notes {
public:
    explicit quantization_notes(graph &g) : g_(g) {}

    void run() {
        for (const node &n : g_.nodes)
            note_output(n);
        for (const node &n : g_.nodes)
            note_inputs(n);
        for (const node &n : g_.nodes) // moved codes, down and then up again
            if (moves(n))
                copy(input_of(n, 0), output_of(n));
        for (auto n = g_.nodes.rbegin(); n != g_.nodes.rend(); ++n)
            if (moves(*n))
                copy(output_of(*n), input_of(*n, 0));
    }

private:
    const operator_facts &facts_of_node(const node &n) const { return facts_of(g_, n); }
    tensor &at(tensor_id t) { return tensor_at(g_, t); }

    bool moves(const node &n) const {
        return facts_of_node(n).moves != code_move::none && input_of(n, 0) && n.outputs.size() == 1;
    }

    void note_output(const node &n) {
        const std::size_t scale = facts_of_node(n).scaled.dst_scale;
        if (scale != scaled_operands::none && !n.outputs.empty())
            note(output_of(n), input_of(n, scale), input_of(n, scale + 1));
    }

    void note_inputs(const node &n) {
        const scaled_operands &scaled = facts_of_node(n).scaled;
        for (std::size_t k = 0; k < scaled.count && scaled.first + 3 * k < n.inputs.size(); k++) {
            const std::size_t i = scaled.first + 3 * k;
            note(input_of(n, i), input_of(n, i + 1), input_of(n, i + 2));
        }
    }

    /// One constant scale, and a zero point or none.
    void note(tensor_id codes, tensor_id scale, tensor_id zero_point) {
        if (!codes || !scale || !is_code(at(codes).type) || at(codes).quant.is_set())
            return;
        const tensor &s = at(scale);
        if (!s.is_constant || s.type != data_type::f32 || s.data.size() != sizeof(float))
            return;
        std::int32_t offset = 0;
        if (zero_point) {
            const tensor &z = at(zero_point);
            if (!z.is_constant || z.type != at(codes).type || z.data.size() != 1)
                return;
            offset = z.type == data_type::u8 ? values_of<std::uint8_t>(z)[0] : values_of<std::int8_t>(z)[0];
        }
        at(codes).quant = {values_of<float>(s), {offset}, 0};
    }

    void copy(tensor_id from, tensor_id to) {
        if (at(from).quant.is_set() && !at(to).quant.is_set() && is_code(at(to).type))
            at(to).quant = at(from).quant;
    }

    graph &g_;
};

} // namespace

void note_quantization(graph &g) { quantization_notes(g).run(); }

} // namespace octet::model
