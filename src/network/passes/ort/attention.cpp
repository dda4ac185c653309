// Attentions of BERT that files write in parts, and the embeddings in front of one. ONNX Runtime's rewrite is older than most
// operator sets: what it finds of a mask ends with operator set 12.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

constexpr std::int64_t sum_opset = 14, mask_opset = 13,
                       where_opset = 16; ///< from which on they are not matched
using numbers = std::vector<std::int64_t>;

bool has_order(const ort_graph &g, int transpose, const numbers &order) {
    return g.attribute(transpose, "perm", numbers{}) == order;
}

/// Integers of an attribute, or of the input that took its place.
numbers axes_of(const ort_graph &g, int i) { return g.attribute(i, "axes", numbers{}); }

/// What a Reshape asks for, 0 for a dimension that is the source's.
numbers shape_of(const ort_graph &g, int i) {
    const int shape = g.input(i, 1), x = g.input(i, 0), y = g.output(i);
    if (shape < 0 || !g.is_constant(shape) || g.type(shape) != data_type::s32)
        return {};
    const auto values = values_of<std::int32_t>(g.tensor_at(shape));
    numbers result(values.begin(), values.end());
    for (std::size_t d = 0; d < result.size(); d++)
        if (!g.is_known(y, d) && g.are_equal(x, d, y, d) && g.is_sized(shape))
            result[d] = 0;
    return result;
}

/// The product, the bias and what moves one of q, k and v to its heads, from the source on.
struct projection {
    int product, sum, reshape, transpose;
};

class attention {
public:
    attention(ort_graph &g, int norm) : g_(g), norm_(norm), x_(g.output(norm)) {
        const int shift = g.input(norm, 2);
        if (shift >= 0 && g.rank(shift) == 1 && g.is_known(shift, 0))
            width_ = g.size(shift, 0);
    }

    void form() {
        const int residual = width_ < 1 ? -1 : sum_of_readers();
        const int sum = residual < 0 ? -1 : writer(residual, 0, "Add"), product = writer(sum, 0, "MatMul"),
                  reshape = writer(product, 0, "Reshape"), transpose = writer(reshape, 0, "Transpose"),
                  values = writer(transpose, 0, "MatMul");
        const auto v = projection_behind(values, 1, {0, 2, 1, 3});
        if (!v || !is_inner(transpose) || !is_inner(values) || !is_inner(v->transpose) ||
            !is_inner(v->reshape) || !is_inner(v->sum) || !is_inner(v->product) ||
            !has_order(g_, transpose, {0, 2, 1, 3}) || !find_heads(v->reshape) ||
            !is_projected(product, sum) || !joins_heads(reshape))
            return;
        const int softmax = writer(values, 0, "Softmax");
        if (softmax < 0 || !is_inner(softmax) || g_.attribute<std::int64_t>(softmax, "axis", -1) != 3)
            return;
        if (!find_scores(softmax))
            return;
        const auto q = projection_behind(scores_, 0, {0, 2, 1, 3}),
                   k = projection_behind(scores_, 1, {0, 2, 3, 1});
        if (!q || !k || shape_of(g_, q->reshape) != shape_of(g_, v->reshape) ||
            shape_of(g_, k->reshape) != shape_of(g_, v->reshape) || g_.rank(mask_) != 2 ||
            !g_.is_value(g_.input(root_, 1), static_cast<double>(std::sqrt(static_cast<float>(head_)))))
            return;
        write(reshape, *q, *k, *v);
    }

private:
    /// The node that writes an input, if it is of an operator; -1. The input has its place.
    int writer(int i, std::size_t input, const char *op) const {
        return i < 0 || g_.input(i, input) < 0 ? -1 : g_.writer(g_.input(i, input), op);
    }
    bool is_inner(int i) const { return g_.only_consumer(g_.output(i)) >= 0; }

    /// Three products and a sum read the norm, and nodes that ask for its shape, which are gone here.
    int sum_of_readers() const {
        int sum = -1;
        std::size_t products = 0, others = 0;
        for (const int r : g_.consumers(x_))
            if (g_.is(r, "MatMul"))
                products++;
            else if (g_.is(r, "Add") && sum < 0)
                sum = r;
            else
                others += r >= 0;
        return products == 3 && others == 0 && g_.get_graph().opset < mask_opset ? sum : -1;
    }

    bool is_projected(int product, int sum) const {
        const int w = g_.input(product, 1), b = g_.input(sum, 1);
        return g_.is_float_constant(w) && g_.dims(w) == memory::dims{width_, width_} &&
               g_.is_float_constant(b) && g_.dims(b) == memory::dims{width_};
    }

    std::optional<projection> projection_behind(int i, std::size_t input, const numbers &order) const {
        projection p{};
        p.transpose = writer(i, input, "Transpose");
        p.reshape = writer(p.transpose, 0, "Reshape");
        p.sum = writer(p.reshape, 0, "Add");
        p.product = writer(p.sum, 0, "MatMul");
        if (p.product < 0 || g_.input(p.product, 0) != x_ || !has_order(g_, p.transpose, order) ||
            !is_projected(p.product, p.sum))
            return {};
        return p;
    }

    bool find_heads(int reshape) {
        const numbers shape = shape_of(g_, reshape);
        if (shape.size() != 4 || shape[0] != 0 || (shape[1] != 0 && shape[1] != -1) || shape[2] < 1 ||
            shape[2] > width_ || shape[3] != width_ / shape[2] || width_ % shape[2] != 0)
            return false;
        heads_ = shape[2];
        head_ = shape[3];
        return true;
    }

    /// {0, 0, width}
    bool joins_heads(int reshape) const {
        const numbers shape = shape_of(g_, reshape);
        return shape.size() == 3 && shape[0] == 0 && shape[1] == 0 && (shape[2] == width_ || shape[2] == -1);
    }

    /// q k / root + (1 - mask) * -10000, or any other number
    bool find_scores(int softmax) {
        const int sum = writer(softmax, 0, "Add"), product = writer(sum, 1, "Mul"),
                  difference = writer(product, 0, "Sub"), cast = writer(difference, 1, "Cast"),
                  outer = writer(cast < 0 ? difference : cast, cast < 0 ? 1 : 0, "Unsqueeze"),
                  inner = writer(outer, 0, "Unsqueeze");
        root_ = writer(sum, 0, "Div");
        scores_ = writer(root_, 0, "MatMul");
        if (inner < 0 || scores_ < 0 || !is_inner(sum) || !is_inner(difference) ||
            (cast >= 0 && !is_inner(cast)) || !is_inner(outer) || !is_inner(inner) ||
            axes_of(g_, inner) != numbers{1} || axes_of(g_, outer) != numbers{2} ||
            !g_.is_value(g_.input(difference, 0), 1.) || !g_.scalar(g_.input(product, 1)))
            return false;
        masked_ = *g_.scalar(g_.input(product, 1));
        mask_ = g_.input(inner, 0);
        return true;
    }

    /// Rows of three matrices, or three rows, side by side.
    int side_by_side(const char *name, int q, int k, int v, const memory::dims &dims) {
        const std::vector<float> parts[] = {g_.values(q), g_.values(k), g_.values(v)};
        std::vector<float> all;
        const auto width = static_cast<std::size_t>(width_);
        for (std::size_t row = 0; row < parts[0].size(); row += width)
            for (const std::vector<float> &part : parts)
                all.insert(all.end(), part.begin() + static_cast<std::ptrdiff_t>(row),
                           part.begin() + static_cast<std::ptrdiff_t>(row + width));
        return g_.add_floats(name, dims, all);
    }

    void write(int reshape, const projection &q, const projection &k, const projection &v) {
        const int weights =
            side_by_side("weights of q, k and v", g_.input(q.product, 1), g_.input(k.product, 1),
                         g_.input(v.product, 1), {width_, 3 * width_});
        const int bias = side_by_side("bias of q, k and v", g_.input(q.sum, 1), g_.input(k.sum, 1),
                                      g_.input(v.sum, 1), {3 * width_});
        int mask = mask_;
        if (g_.is_float(mask)) {
            constexpr std::int64_t as_s32 = 6;
            tensor codes = g_.tensor_at(mask);
            codes.type = data_type::s32;
            codes.is_constant = false;
            codes.data = {};
            mask = g_.add_tensor(std::move(codes));
            g_.insert_before(reshape, {"Cast", {mask_}, {mask}, {{"to", as_s32}}});
        }
        g_.become(reshape, node{"Attention",
                                {x_, weights, bias, mask},
                                {},
                                {{"num_heads", heads_}, {"mask_filter_value", masked_}}});
    }

    ort_graph &g_;
    const int norm_, x_;
    dim_t width_ = 0;
    std::int64_t heads_ = 0, head_ = 0;
    int scores_ = -1, root_ = -1, mask_ = -1;
    float masked_ = 0; ///< what is added where the mask is 0
};

} // namespace

void fuse_attention(ort_graph &g) {
    g.for_each("LayerNormalization", [&](int i) { attention(g, i).form(); });
}

// ---- Embeddings

namespace {

class embeddings {
public:
    embeddings(ort_graph &g, int norm) : g_(g), norm_(norm) {}

    void form() {
        const int sum = g_.writer(g_.input(norm_, 0), "Add");
        if (sum < 0 || g_.input(norm_, 2) < 0 || !feeds_attention())
            return;
        const int first = gather(sum, 0), second = gather(sum, 1);
        if (first >= 0 && second >= 0) { // DistilBERT's
            if (const int positions = positions_of(second, g_.input(first, 1)); positions >= 0)
                write(first, positions, -1);
            return;
        }
        const int inner = g_.writer(g_.input(sum, 0), "Add"), words = inner < 0 ? -1 : gather(inner, 0);
        if (words < 0 || second < 0 || g_.only_consumer(g_.output(inner)) < 0)
            return;
        const int ids = g_.input(words, 1), segments = g_.input(second, 1), added = g_.input(inner, 1);
        if (!is_table(g_.input(second, 0), g_.last_size(g_.input(words, 0))) || !are_ids(segments) ||
            !are_alike(ids, segments))
            return;
        const int other = gather(inner, 1);
        const int positions = g_.is_constant(added) ? repeated_rows(added, ids)
                              : other >= 0          ? positions_of(other, ids)
                                                    : -1;
        if (positions >= 0)
            write(words, positions, second);
    }

private:
    bool feeds_attention() const {
        const std::vector<int> &readers = g_.consumers(g_.output(norm_));
        return std::any_of(readers.begin(), readers.end(), [&](int r) { return g_.is(r, "Attention"); });
    }

    /// The Gather of rows that alone is an input of a node.
    int gather(int i, std::size_t input) const {
        const int t = g_.input(i, input), rows = g_.writer(t, "Gather");
        return rows >= 0 && g_.only_consumer(t) == i ? rows : -1;
    }

    bool is_table(int t, dim_t width) const {
        return g_.is_float(t) && g_.rank(t) == 2 && width > 0 && g_.has_size(t, 1, width);
    }
    bool are_ids(int t) const { return g_.rank(t) == 2 && g_.type(t) == data_type::s32; }
    bool are_alike(int a, int b) const {
        for (std::size_t d = 0; d < 2; d++)
            if (g_.is_known(a, d) != g_.is_known(b, d) || g_.size(a, d) != g_.size(b, d))
                return false;
        return true;
    }

    /// The table of positions, if its indices are 0, 1, 2 ... in each row of the batch.
    int positions_of(int rows, int ids) const {
        const int indices = g_.input(rows, 1);
        if (!are_ids(ids) || !g_.is_constant(indices) || g_.type(indices) != data_type::s32 ||
            (!g_.is_known(ids) && !g_.is_sized(indices)))
            return -1;
        const auto values = values_of<std::int32_t>(g_.tensor_at(indices));
        const dim_t length = g_.size(ids, 1);
        if (static_cast<dim_t>(values.size()) != element_count(g_.dims(ids)))
            return -1;
        for (std::size_t i = 0; i < values.size(); i++)
            if (values[i] != static_cast<dim_t>(i) % length)
                return -1;
        return g_.input(rows, 0);
    }

    /// Constant rows that are equal for the whole batch: those of one.
    int repeated_rows(int t, int ids) {
        const memory::dims &dims = g_.dims(t);
        if (!g_.is_float(t) || !are_ids(ids) || !g_.is_known(ids) || dims.size() != 3 ||
            dims[0] != g_.size(ids, 0) || dims[1] != g_.size(ids, 1))
            return -1;
        const std::vector<float> all = g_.values(t);
        const auto each = static_cast<std::size_t>(dims[1] * dims[2]);
        for (std::size_t i = each; i < all.size(); i++)
            if (!(all[i] == all[i % each]))
                return -1;
        return g_.add_floats("positions", {dims[1], dims[2]},
                             {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(each)});
    }

    void write(int words, int positions, int segments) {
        const int table = g_.input(words, 0), ids = g_.input(words, 1), scale = g_.input(norm_, 1),
                  shift = g_.input(norm_, 2);
        const dim_t width = g_.last_size(table);
        if (!is_table(table, width) || !is_table(positions, width) || !are_ids(ids) ||
            g_.dims(scale) != memory::dims{width} || g_.dims(shift) != memory::dims{width})
            return;
        g_.become(norm_, node{"EmbedLayerNormalization",
                              {ids, segments < 0 ? -1 : g_.input(segments, 1), table, positions,
                               segments < 0 ? -1 : g_.input(segments, 0), scale, shift},
                              {},
                              {{"epsilon", g_.attribute(norm_, "epsilon", 1e-5f)}}});
    }

    ort_graph &g_;
    const int norm_;
};

} // namespace

void fuse_embed_layer_norm(ort_graph &g) {
    g.for_each("LayerNormalization", [&](int i) { embeddings(g, i).form(); });
}

} // namespace octet::model::ort
