// Products of q, k and v at once, split to heads; scores, shares and what they choose.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/attention_parts.hpp"

#include <cmath>

#include "network/graph/node_parts.hpp"

namespace octet::model {
namespace {

class attention : public node_parts {
public:
    using node_parts::node_parts;

    /// Attention of floats: x, weights of q, k and v side by side, bias, mask.
    void of_floats() {
        refuse_inputs(4);
        const int sum = between("projections");
        add({"MatMulAdd", {input(0), input(1), input(2)}, {sum}, {}});
        attend(sum, input(3));
    }

    /// Attention of codes: x, weights, bias, scales of both, mask, zero points of both.
    void of_codes() {
        refuse_inputs(8);
        const int sum = between("projections");
        add({"MatMulIntegerToFloat",
             {input(0), input(1), input(3), input(4), input(6), input(7), input(2)},
             {sum},
             {}});
        attend(sum, input(5));
    }

private:
    void refuse_inputs(std::size_t from) const {
        for (std::size_t i = from; i < whole_.inputs.size(); i++)
            if (input(i) >= 0)
                refuse("input " + std::to_string(i));
        if (whole_.outputs.size() > 1)
            refuse("output 1");
        for (const char *const name : {"unidirectional", "do_rotary", "past_present_share_buffer"})
            if (attribute_or<std::int64_t>(whole_, name, 0) != 0)
                refuse(std::string("attribute '") + name + "'");
        if (whole_.attributes.count("qkv_hidden_sizes") != 0)
            refuse("attribute 'qkv_hidden_sizes'");
    }

    /// softmax(alpha q k + mask) v for each head.
    void attend(int projections, int mask) {
        if (input(1) < 0)
            refuse("no weights");
        const tensor &weights = g_.tensors[static_cast<std::size_t>(input(1))];
        const std::int64_t heads = attribute_or<std::int64_t>(whole_, "num_heads", 0),
                           width = weights.dims.size() == 2 ? weights.dims[1] / 3 : 0;
        if (heads < 1)
            refuse("attribute 'num_heads' is " + std::to_string(heads) + ", allowed: 1 or more");
        if (!weights.is_constant)
            refuse("input 1, the weights, is computed, allowed is a constant");
        if (width % heads != 0 || width == 0)
            refuse("input 1, the weights, is " + to_text(weights.dims) +
                   ", allowed are two dimensions, the second 3 times a multiple of 'num_heads', " +
                   std::to_string(heads));
        const float scale = attribute_or(whole_, "scale", 0.f);
        const float alpha = scale != 0.f ? scale : 1.f / std::sqrt(static_cast<float>(width / heads));

        const int q = between("q"), k = between("k"), v = between("v");
        add({"Split", {projections}, {q, k, v}, {{"axis", std::int64_t{-1}}}});
        const int q_heads = split_heads(q, heads, {0, 2, 1, 3}),
                  k_heads = split_heads(k, heads, {0, 2, 3, 1}),
                  v_heads = split_heads(v, heads, {0, 2, 1, 3});
        int scores = between("scores");
        add({"FusedMatMul", {q_heads, k_heads}, {scores}, {{"alpha", alpha}}});
        if (mask >= 0) {
            const int penalty = between("penalty"), masked = between("masked");
            add({"AttentionMask",
                 {mask, input(0)},
                 {penalty},
                 {{"mask_filter_value", attribute_or(whole_, "mask_filter_value", -10000.f)}}});
            add({"Add", {scores, penalty}, {masked}, {}});
            scores = masked;
        }
        const int shares = between("shares"), sums = between("sums"), joined = between("joined");
        add({"Softmax", {scores}, {shares}, {{"axis", std::int64_t{-1}}, {"opset", std::int64_t{13}}}});
        add({"MatMul", {shares, v_heads}, {sums}, {}});
        add({"Transpose", {sums}, {joined}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}});
        add({"Reshape", {joined, constant({0, 0, width})}, output(), {}});
    }

    int split_heads(int t, std::int64_t heads, std::vector<std::int64_t> permutation) {
        const int split = between("split"), moved = between("heads");
        add({"Reshape", {t, constant({0, 0, heads, -1})}, {split}, {}});
        add({"Transpose", {split}, {moved}, {{"perm", std::move(permutation)}}});
        return moved;
    }

    int constant(std::initializer_list<std::int64_t> numbers) {
        std::vector<std::uint8_t> bytes;
        for (const std::int64_t number : numbers)
            for (int shift = 0; shift < 32; shift += 8)
                bytes.push_back(static_cast<std::uint8_t>(number >> shift));
        const int t = between("shape");
        tensor &c = g_.tensors[static_cast<std::size_t>(t)];
        c.type = data_type::s32;
        c.foreign_type.clear();
        c.dims = {static_cast<dim_t>(numbers.size())};
        c.is_constant = true;
        c.data = std::move(bytes);
        return t;
    }
};

} // namespace

std::vector<node> attention_parts(graph &g, const node &whole) {
    attention a(g, whole);
    whole.op == "Attention" ? a.of_floats() : a.of_codes();
    return a.take_parts();
}

} // namespace octet::model
