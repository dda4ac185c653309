// As `attention_fusion.cc` of ONNX Runtime 1.30, level 2: attentions of MobileCLIP that files write in parts,
// over a sequence of pixels, with q, k and v from one product. They become MultiHeadAttention, and the
// product behind becomes a Gemm between two Reshapes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/onnx/rewrites/attention.hpp"

namespace octet::model::ort {
namespace {

class attention_of_mobileclip : public attention_pattern {
public:
    attention_of_mobileclip(ort_graph &g, node_id product) : attention_pattern(g), product_(product) {}

    void form() {
        constexpr std::int64_t first_opset = 13;
        const node_id sequence = writer(product_, 0, "Transpose"), before = writer(sequence, 0, "Reshape");
        if (!is_inner(product_) || !is_inner(sequence) || !is_inner(before) ||
            !has_order(sequence, {0, 2, 1}) || g_.get_graph().opset < first_opset || !find_heads() ||
            !find_parts() || !find_scores() || !find_output())
            return;
        write();
    }

private:
    node_id reader(node_id i, std::string_view op, std::size_t output = 0) const {
        return g_.reader(g_.output(i, output), op);
    }

    bool find_heads() {
        const node_id view = reader(product_, "Reshape");
        const tensor_id w = g_.input(product_, 1);
        split_ = reader(view, "Split");
        if (!split_ || g_.at(split_).outputs.size() != 3 ||
            g_.attribute<std::int64_t>(split_, "axis", 0) != 2)
            return false;
        const numbers shape = shape_of(view);
        if (shape.size() != 5 || shape[2] != 3 || shape[3] < 1 || shape[4] < 1)
            return false;
        heads_ = shape[3];
        const dim_t limit = g_.rank(w) == 2 ? g_.size(w, 0) : 0;
        if (heads_ > limit || shape[4] > limit)
            return false;
        width_ = heads_ * shape[4];
        return g_.is_float_constant(w) && g_.dims(w) == memory::dims{width_, 3 * width_};
    }

    bool find_parts() {
        const node_id q = reader(split_, "Transpose"), k = reader(split_, "Squeeze", 1),
                      v = reader(split_, "Transpose", 2);
        if (!q || !k || !v || !has_order(q, {2, 0, 3, 1, 4}) || !has_order(v, {2, 0, 3, 1, 4}) ||
            axes_of(k) != numbers{2})
            return false;
        queries_ = reader(q, "Squeeze");
        values_ = reader(v, "Squeeze");
        keys_ = reader(k, "Transpose");
        return queries_ && values_ && keys_ && axes_of(queries_) == numbers{0} &&
               axes_of(values_) == numbers{0} && has_order(keys_, {0, 2, 3, 1});
    }

    bool find_scores() {
        const node_id scaled = reader(queries_, "Mul");
        const tensor_id factor = g_.other(scaled, g_.output(queries_));
        const node_id scores = reader(scaled, "MatMul");
        if (!scores || !g_.scalar(factor) || g_.input(scores, 1) != g_.output(keys_))
            return false;
        scale_ = *g_.scalar(factor);
        const node_id softmax = reader(scores, "Softmax"), sums = reader(softmax, "MatMul"),
                      joined = reader(sums, "Transpose");
        if (!joined || g_.attribute<std::int64_t>(softmax, "axis", 0) != -1 ||
            g_.input(sums, 1) != g_.output(values_) || !has_order(joined, {0, 2, 1, 3}))
            return false;
        joining_ = reader(joined, "Reshape");
        return is_inner(joining_);
    }

    /// A product and a row, or what level 1 has made of them.
    bool find_output() {
        sum_ = {};
        output_ = reader(joining_, "MatMul");
        if (output_) {
            sum_ = reader(output_, "Add");
            return is_inner(sum_) && is_matrix(g_.input(output_, 1)) && is_row(other_of_sum()) &&
                   g_.is_known(g_.output(joining_)) && g_.rank(g_.output(joining_)) >= 2;
        }
        output_ = reader(joining_, "Gemm");
        if (!output_) { // between Reshapes already
            output_ = reader(reader(joining_, "Reshape"), "Gemm");
            const node_id behind = reader(output_, "Reshape");
            is_between_views_ = true;
            return is_inner(output_) && is_inner(behind) && adds_row_to_square_product();
        }
        return is_inner(output_) && adds_row_to_square_product() && g_.is_known(g_.output(joining_)) &&
               g_.rank(g_.output(joining_)) >= 2;
    }
    tensor_id other_of_sum() const { return g_.other(sum_, g_.output(output_)); }
    bool is_matrix(tensor_id t) const {
        return g_.is_float_constant(t) && g_.dims(t) == memory::dims{width_, width_};
    }
    bool is_row(tensor_id t) const { return g_.is_float_constant(t) && g_.dims(t) == memory::dims{width_}; }
    bool adds_row_to_square_product() const {
        constexpr float tolerance = 1e-6f;
        return std::abs(g_.attribute(output_, "alpha", 1.f) - 1.f) <= tolerance &&
               std::abs(g_.attribute(output_, "beta", 1.f) - 1.f) <= tolerance &&
               g_.attribute<std::int64_t>(output_, "transA", 0) == 0 &&
               g_.attribute<std::int64_t>(output_, "transB", 0) == 0 && is_matrix(g_.input(output_, 1)) &&
               is_row(g_.input(output_, 2));
    }

    tensor_id shape(const memory::dims &dims) { return g_.add_integers("shape", dims); }

    void write() {
        const tensor_id projections = g_.output(product_), joined = g_.output(joining_);
        memory::dims each = g_.dims(projections);
        each.back() = width_;
        const tensor_id q = g_.add_like(projections, each), k = g_.add_like(projections, each),
                        v = g_.add_like(projections, each);
        g_.insert_before(joining_, {"Split",
                                    {projections, shape({width_, width_, width_})},
                                    {q, k, v},
                                    {{"axis", std::int64_t{2}}}});
        const tensor_id y = g_.add_like(projections, each);
        g_.insert_before(joining_,
                         {"MultiHeadAttention", {q, k, v}, {y}, {{"num_heads", heads_}, {"scale", scale_}}});
        if (is_between_views_) {
            g_.set_input(g_.reader(joined, "Reshape"), 0, y);
            return;
        }
        const memory::dims source = g_.dims(joined);
        memory::dims result = source;
        result.back() = width_;
        const dim_t rows = element_count(source) / std::max<dim_t>(source.back(), 1);
        const node_id last = sum_ ? sum_ : output_;
        const tensor_id flat = g_.add_like(joined, {rows, width_}),
                        product = g_.add_like(joined, {rows, width_});
        g_.insert_before(last, {"Reshape", {y, shape({rows, width_})}, {flat}, {}});
        g_.insert_before(last, {"Gemm",
                                {flat, g_.input(output_, 1), sum_ ? other_of_sum() : g_.input(output_, 2)},
                                {product},
                                {}});
        g_.become(last, "Reshape", {product, shape(result)});
    }

    const node_id product_;
    node_id split_, queries_, keys_, values_, joining_, output_, sum_;
    bool is_between_views_ = false;
    std::int64_t heads_ = 0;
    dim_t width_ = 0;
    float scale_ = 0;
};

} // namespace

void form_attention_of_mobileclip(ort_graph &g, node_id product) {
    attention_of_mobileclip(g, product).form();
}

} // namespace octet::model::ort
