// Products of q, k and v at once, split to heads; scores, shares and what they choose.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/parts/attention_parts.hpp"

#include <cmath>

#include "network/onnx/parts/node_parts.hpp"

namespace octet::model {
namespace {

using numbers = std::vector<std::int64_t>;

class attention : public node_parts {
public:
    attention(graph &g, const node &whole)
        : node_parts(g, whole), heads_(attribute_or<std::int64_t>(whole, "num_heads", 0)) {
        if (heads_ < 1)
            refuse("attribute 'num_heads' is " + std::to_string(heads_) + ", allowed: 1 or more");
        for (const char *const name : {"do_rotary", "past_present_share_buffer"})
            if (attribute_or<std::int64_t>(whole_, name, 0) != 0)
                refuse(std::string("attribute '") + name + "'");
    }

    /// Attention of floats: x, weights of q, k and v side by side, bias, mask, past, what is added to scores.
    void of_floats() {
        refuse_beyond(6, 2);
        if (!input(2))
            refuse("no bias");
        const tensor_id sum = between("projections");
        add({"MatMulAdd", {input(0), input(1), input(2)}, {sum}, {}});
        attend_to_projections(sum, {input(3), input(5)}, input(4));
    }

    /// Attention of codes: x, weights, bias, scales of both, mask, zero points of both, past.
    void of_codes() {
        refuse_beyond(9, 2);
        const tensor_id sum = between("projections");
        add({"MatMulIntegerToFloat",
             {input(0), input(1), input(3), input(4), input(6), input(7), input(2)},
             {sum},
             {}});
        attend_to_projections(sum, {input(5), {}}, input(8));
    }

private:
    struct scores_operands {
        tensor_id mask, summand;
    };

    void refuse_beyond(std::size_t inputs, std::size_t outputs) const {
        for (std::size_t i = inputs; i < whole_.inputs.size(); i++)
            if (input(i))
                refuse("input " + std::to_string(i));
        for (std::size_t i = outputs; i < whole_.outputs.size(); i++)
            if (output(i))
                refuse("output " + std::to_string(i));
    }
    bool is_causal() const { return attribute_or<std::int64_t>(whole_, "unidirectional", 0) == 1; }
    float alpha_of(std::int64_t width_of_head) const {
        const float scale = attribute_or(whole_, "scale", 0.f);
        return scale != 0.f ? scale : 1.f / std::sqrt(static_cast<float>(width_of_head));
    }

    void attend_to_projections(tensor_id projections, const scores_operands &others, tensor_id past) {
        const numbers widths = widths_of_projections();
        const bool has_present = output(1).has_value();
        if (past && (!has_present || widths[2] != widths[0]))
            refuse("input 'past' without output 1, or with values of another width than keys");
        tensor_id q = between("q"), k = between("k"), v = between("v");
        add({"Split", {projections}, {q, k, v}, {{"axis", std::int64_t{-1}}, {"split", widths}}});
        q = split_heads(q, {0, 2, 1, 3});
        k = split_heads(k, has_present ? numbers{0, 2, 1, 3} : numbers{0, 2, 3, 1});
        v = split_heads(v, {0, 2, 1, 3});
        if (past) {
            k = joined({part(past, 0), k}, 2);
            v = joined({part(past, 1), v}, 2);
        }
        if (has_present)
            joined({alone(k), alone(v)}, 0, output(1));
        attend(q, k, has_present, v, alpha_of(widths[0] / heads_), others);
    }

    /// Returns the widths of q, k and v.
    numbers widths_of_projections() const {
        if (!input(1))
            refuse("no weights");
        const tensor &weights = tensor_at(g_, input(1));
        if (!weights.is_constant)
            refuse("input 1, the weights, is computed, allowed is a constant");
        const std::int64_t all = weights.dims.size() == 2 ? weights.dims[1] : 0;
        const numbers widths = attribute_or(whole_, "qkv_hidden_sizes", numbers(3, all / 3));
        bool is_right = widths.size() == 3 && widths[0] == widths[1];
        std::int64_t sum = 0;
        for (const std::int64_t width : widths) {
            is_right = is_right && width > 0 && width <= all && width % heads_ == 0;
            sum += is_right ? width : 0;
        }
        if (!is_right || sum != all)
            refuse("input 1, the weights, is " + to_text(weights.dims) +
                   ", allowed are two dimensions, the second 3 times a multiple of 'num_heads', " +
                   std::to_string(heads_) + ", or the sum of 'qkv_hidden_sizes'");
        return widths;
    }

    /// softmax(alpha q k + summand + mask) v for each head. Keys are rows, or columns.
    void attend(tensor_id q, tensor_id k, bool are_rows, tensor_id v, float alpha,
                const scores_operands &others) {
        tensor_id scores = between("scores");
        node product{"FusedMatMul", {q, k}, {scores}, {{"alpha", alpha}}};
        if (are_rows)
            product.attributes["transB"] = std::int64_t{1};
        add(std::move(product));
        if (others.summand)
            scores = sum(scores, others.summand);
        if (others.mask || is_causal()) {
            const tensor_id penalty = between("penalty");
            add({"AttentionMask",
                 {others.mask, scores},
                 {penalty},
                 {{"mask_filter_value", attribute_or(whole_, "mask_filter_value", -10000.f)},
                  {"unidirectional", std::int64_t{is_causal()}}}});
            scores = sum(scores, penalty);
        }
        const tensor_id shares = between("shares"), sums = between("sums"), heads = between("joined");
        add({"Softmax", {scores}, {shares}, {{"axis", std::int64_t{-1}}}});
        add({"MatMul", {shares, v}, {sums}, {}});
        add({"Transpose", {sums}, {heads}, {{"perm", numbers{0, 2, 1, 3}}}});
        add({"Reshape", {heads, constant({0, 0, -1})}, {output()}, {}});
    }

    tensor_id sum(tensor_id a, tensor_id b) {
        const tensor_id y = between("masked");
        add({"Add", {a, b}, {y}, {}});
        return y;
    }
    tensor_id split_heads(tensor_id t, numbers permutation) {
        const tensor_id split = between("split"), moved = between("heads");
        add({"Reshape", {t, constant({0, 0, heads_, -1})}, {split}, {}});
        add({"Transpose", {split}, {moved}, {{"perm", std::move(permutation)}}});
        return moved;
    }
    /// One after the other, into a tensor of the whole if there is one.
    tensor_id joined(tensor_numbers parts, std::int64_t axis, tensor_id y = {}) {
        if (!y)
            y = between("with past");
        add({"Concat", std::move(parts), {y}, {{"axis", axis}}});
        return y;
    }
    /// Keys, or values, of both.
    tensor_id part(tensor_id t, std::int64_t index) {
        const tensor_id rows = between("rows"), y = between("past");
        add({"Slice", {t, constant({index}), constant({index + 1}), constant({0})}, {rows}, {}});
        add({"Squeeze", {rows}, {y}, {{"axes", numbers{0}}}});
        return y;
    }
    tensor_id alone(tensor_id t) {
        const tensor_id y = between("present");
        add({"Unsqueeze", {t}, {y}, {{"axes", numbers{0}}}});
        return y;
    }

    tensor_id constant(const numbers &values) {
        std::vector<std::uint8_t> bytes;
        for (const std::int64_t value : values)
            for (int shift = 0; shift < 32; shift += 8)
                bytes.push_back(static_cast<std::uint8_t>(value >> shift));
        const tensor_id t = between("shape");
        tensor &c = tensor_at(g_, t);
        c.type = data_type::s32;
        c.foreign_type.clear();
        c.dims = {static_cast<dim_t>(values.size())};
        c.is_constant = true;
        c.data = std::move(bytes);
        return t;
    }

    const std::int64_t heads_;
};

} // namespace

bool is_attention(const std::string &op) { return op == "Attention"; }

std::vector<node> attention_parts(graph &g, const node &whole) {
    attention a(g, whole);
    if (whole.op == "Attention")
        a.of_floats();
    else
        a.of_codes();
    return a.take_parts();
}

} // namespace octet::model
