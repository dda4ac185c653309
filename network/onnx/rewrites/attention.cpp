// As `attention_fusion.cc` of ONNX Runtime 1.30, level 2: attentions of BERT and DistilBERT that files write
// in parts. It is older than most operator sets: it finds BERT's mask up to operator set 12, DistilBERT's up
// to 13.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/rewrites/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {

// ---- What the patterns have in common

attention_pattern::numbers attention_pattern::axes_of(node_id i) const {
    const tensor_id list = g_.input(i, 1);
    return list ? given_integers(list) : g_.attribute(i, "axes", numbers{});
}

attention_pattern::numbers attention_pattern::given_integers(tensor_id t) const {
    return g_.is_sized(t) ? numbers() : g_.integers(t).value_or(numbers());
}

std::vector<node_id> attention_pattern::readers_of_elements(tensor_id t) const {
    std::vector<node_id> readers;
    for (const node_id r : g_.consumers(t))
        if (!r || g_.at(r).op != "Shape")
            readers.push_back(r);
    return readers;
}

bool attention_pattern::has_shape_read(tensor_id t) const {
    return readers_of_elements(t).size() != g_.consumers(t).size();
}

void attention_pattern::drop_shapes_of(tensor_id t) {
    const std::vector<node_id> readers = g_.consumers(t);
    for (const node_id r : readers)
        if (g_.is(r, "Shape"))
            g_.remove(r);
}

tensor_id attention_pattern::as_integers(tensor_id mask, node_id before) {
    if (!g_.is_float(mask))
        return mask;
    constexpr std::int64_t as_s32 = 6;
    const tensor_id codes = g_.add_like(mask, data_type::s32);
    g_.insert_before(before, {"Cast", {mask}, {codes}, {{"to", as_s32}}});
    return codes;
}

// ---- BERT and DistilBERT

namespace {

/// The product, the bias and what moves one of q, k and v to its heads, from the source on.
struct projection {
    node_id product, sum, reshape, transpose;
};

class attention_of_bert : public attention_pattern {
public:
    attention_of_bert(ort_graph &g, node_id norm) : attention_pattern(g), x_(g.output(norm)) {
        const tensor_id shift = g.input(norm, 2);
        if (shift && g.rank(shift) == 1 && g.is_known(shift, 0))
            width_ = g.size(shift, 0);
    }

    void form() {
        const node_id residual = width_ < 1 ? node_id() : sum_of_readers();
        const node_id sum = writer(residual, 0, "Add"), product = writer(sum, 0, "MatMul"),
                      reshape = writer(product, 0, "Reshape"), transpose = writer(reshape, 0, "Transpose"),
                      values = writer(transpose, 0, "MatMul");
        const auto v = projection_behind(values, 1, {0, 2, 1, 3});
        if (!v || !is_inner(transpose) || !is_inner(values) || !is_inner(v->transpose) ||
            !is_inner(v->reshape) || !is_inner(v->sum) || !is_inner(v->product) ||
            !has_order(transpose, {0, 2, 1, 3}) || !find_heads(v->reshape) || !is_projected(product, sum) ||
            !(joins_heads(reshape) || joins_heads_by_sizes(reshape)))
            return;
        const node_id softmax = writer(values, 0, "Softmax");
        if (!is_inner(softmax) || g_.attribute<std::int64_t>(softmax, "axis", -1) != 3)
            return;
        if (!find_scores(softmax) && !find_scores_of_distilbert(softmax, reshape))
            return;
        const auto q = projection_behind(queries_, 0, {0, 2, 1, 3}),
                   k = projection_behind(scores_, 1, {0, 2, 3, 1});
        if (!q || !k || shape_of(q->reshape) != shape_of(v->reshape) ||
            shape_of(k->reshape) != shape_of(v->reshape) || g_.rank(mask_) != 2 ||
            !g_.is_value(g_.input(root_, 1), static_cast<double>(std::sqrt(static_cast<float>(head_)))))
            return;
        drop_shapes_of(g_.output(scores_));
        if (!joins_heads(reshape))
            drop_shapes_of(x_);
        write(reshape, *q, *k, *v);
    }

private:
    /// Three products and a sum read the norm, and up to two nodes that ask for its shape.
    node_id sum_of_readers() const {
        constexpr std::size_t most_readers = 6;
        node_id sum;
        std::size_t products = 0, others = 0;
        for (const node_id r : readers_of_elements(x_))
            if (g_.is(r, "MatMul"))
                products++;
            else if (g_.is(r, "Add") && !sum)
                sum = r;
            else
                others++;
        return products == 3 && others == 0 && g_.consumers(x_).size() <= most_readers ? sum : node_id();
    }

    bool is_projected(node_id product, node_id sum) const {
        const tensor_id w = g_.input(product, 1), b = g_.input(sum, 1);
        return g_.is_float_constant(w) && g_.dims(w) == memory::dims{width_, width_} &&
               g_.is_float_constant(b) && g_.dims(b) == memory::dims{width_};
    }

    std::optional<projection> projection_behind(node_id i, std::size_t input, const numbers &order) const {
        projection p{};
        p.transpose = writer(i, input, "Transpose");
        p.reshape = writer(p.transpose, 0, "Reshape");
        p.sum = writer(p.reshape, 0, "Add");
        p.product = writer(p.sum, 0, "MatMul");
        if (!p.product || g_.input(p.product, 0) != x_ || !has_order(p.transpose, order) ||
            !is_projected(p.product, p.sum))
            return {};
        return p;
    }

    bool find_heads(node_id reshape) {
        const numbers shape = shape_of(reshape);
        if (shape.size() != 4 || shape[0] != 0 || (shape[1] != 0 && shape[1] != -1) || shape[2] < 1 ||
            shape[2] > width_ || shape[3] != width_ / shape[2] || width_ % shape[2] != 0)
            return false;
        heads_ = shape[2];
        head_ = shape[3];
        return true;
    }

    /// {0, 0, width}
    bool joins_heads(node_id reshape) const {
        const numbers shape = shape_of(reshape);
        return shape.size() == 3 && shape[0] == 0 && shape[1] == 0 && (shape[2] == width_ || shape[2] == -1);
    }
    /// {a size, -1, width}, computed
    bool joins_heads_by_sizes(node_id reshape) const {
        const size_node *list = g_.sizes_of(g_.input(reshape, 1));
        return list && list->entries.size() == 3 && list->entries[0].source && list->entries[1].is(-1) &&
               list->entries[2].is(width_);
    }

    /// q k / root + (1 - mask) * -10000, or any other number
    bool find_scores(node_id softmax) {
        constexpr std::int64_t first_opset_without = 13;
        const node_id sum = writer(softmax, 0, "Add"), product = writer(sum, 1, "Mul"),
                      difference = writer(product, 0, "Sub"), cast = writer(difference, 1, "Cast"),
                      outer = writer(!cast ? difference : cast, !cast ? 1 : 0, "Unsqueeze"),
                      inner = writer(outer, 0, "Unsqueeze");
        root_ = writer(sum, 0, "Div");
        scores_ = queries_ = writer(root_, 0, "MatMul");
        if (!inner || !scores_ || g_.get_graph().opset >= first_opset_without || !is_inner(sum) ||
            !is_inner(difference) || (cast && !is_inner(cast)) || !is_inner(outer) || !is_inner(inner) ||
            axes_of(inner) != numbers{1} || axes_of(outer) != numbers{2} ||
            !g_.is_value(g_.input(difference, 0), 1.) || !g_.scalar(g_.input(product, 1)))
            return false;
        masked_ = *g_.scalar(g_.input(product, 1));
        mask_ = g_.input(inner, 0);
        return true;
    }

    /// q / root k, and negative infinity where the mask is 0. The sizes of all that is computed are those of x.
    bool find_scores_of_distilbert(node_id softmax, node_id joining) {
        constexpr std::int64_t first_opset_without = 14;
        const node_id where = writer(softmax, 0, "Where"), expand = writer(where, 0, "Expand"),
                      view = writer(expand, 0, "Reshape"), equal = writer(view, 0, "Equal");
        if (!equal || g_.get_graph().opset >= first_opset_without || !is_inner(where) || !is_inner(expand) ||
            !is_inner(view) || !is_inner(equal) ||
            g_.scalar(g_.input(where, 1)) != -std::numeric_limits<float>::infinity() ||
            !g_.is_value(g_.input(equal, 1), 0.))
            return false;
        scores_ = writer(where, 2, "MatMul");
        root_ = queries_ = writer(scores_, 0, "Div");
        const size_node *view_sizes = g_.sizes_of(g_.input(view, 1)),
                        *joined_sizes = g_.sizes_of(g_.input(joining, 1));
        if (!root_ || !g_.is_sized(g_.input(expand, 1)) || !has_shape_read(g_.output(scores_)) ||
            !view_sizes || !joined_sizes || view_sizes->entries.size() != 4 ||
            !view_sizes->entries[0].is_size(x_, 0) || !view_sizes->entries[1].is(1) ||
            !view_sizes->entries[2].is(1) || !view_sizes->entries[3].is_size(x_, 1) ||
            !joined_sizes->entries[0].is_size(x_, 0))
            return false;
        mask_ = g_.input(equal, 0);
        return true;
    }

    /// Rows of three matrices, or three rows, side by side.
    tensor_id side_by_side(const char *name, tensor_id q, tensor_id k, tensor_id v,
                           const memory::dims &dims) {
        const std::vector<float> parts[] = {g_.values(q), g_.values(k), g_.values(v)};
        std::vector<float> all;
        const auto width = static_cast<std::size_t>(width_);
        for (std::size_t row = 0; row < parts[0].size(); row += width)
            for (const std::vector<float> &part : parts)
                all.insert(all.end(), part.begin() + static_cast<std::ptrdiff_t>(row),
                           part.begin() + static_cast<std::ptrdiff_t>(row + width));
        return g_.add_floats(name, dims, all);
    }

    void write(node_id reshape, const projection &q, const projection &k, const projection &v) {
        const tensor_id weights =
            side_by_side("weights of q, k and v", g_.input(q.product, 1), g_.input(k.product, 1),
                         g_.input(v.product, 1), {width_, 3 * width_});
        const tensor_id bias = side_by_side("bias of q, k and v", g_.input(q.sum, 1), g_.input(k.sum, 1),
                                            g_.input(v.sum, 1), {3 * width_});
        g_.become(reshape, node{"Attention",
                                {x_, weights, bias, as_integers(mask_, reshape)},
                                {},
                                {{"num_heads", heads_}, {"mask_filter_value", masked_}}});
    }

    const tensor_id x_;
    dim_t width_ = 0;
    std::int64_t heads_ = 0, head_ = 0;
    tensor_id mask_;
    node_id scores_, root_, queries_; ///< queries: the node whose first operand they are
    float masked_ = -10000;           ///< what is added where the mask is 0
};

} // namespace

void form_attention_of_bert(ort_graph &g, node_id norm) { attention_of_bert(g, norm).form(); }

void fuse_attention(ort_graph &g) {
    g.for_each([&](node_id i) {
        if (g.is(i, "MatMul"))
            return form_attention_of_mobileclip(g, i);
        if (!g.is(i, "LayerNormalization"))
            return;
        form_attention_of_bert(g, i);
        form_attention_of_gpt2(g, i);
    });
}

} // namespace octet::model::ort
