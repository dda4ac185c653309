// As `attention_fusion.cc` of ONNX Runtime 1.30, level 2: attentions of GPT-2 that files of open sizes write
// in parts, also with keys and values of the past. ONNX Runtime finds them up to operator set 12, among the
// nodes that compute sizes, which are constants here: their values tell what those nodes were.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/attention.hpp"

namespace octet::model::ort {
namespace {

/// A Gemm of rows between two Reshapes.
struct rows_product {
    tensor_id x;
    node_id gemm, behind;
};

class attention_of_gpt2 : public attention_pattern {
public:
    attention_of_gpt2(ort_graph &g, node_id norm) : attention_pattern(g), norm_(norm), x_(g.output(norm)) {
        const tensor_id shift = g.input(norm, 2);
        if (shift && g.rank(shift) == 1 && g.is_known(shift, 0))
            width_ = g.size(shift, 0);
    }

    void form() {
        const auto output = width_ < 1 || !is_read_for_product() ? std::nullopt : product_of_output();
        joining_ = output ? g_.writer(output->x, "Reshape") : node_id();
        const node_id transpose = writer(joining_, 0, "Transpose");
        sums_ = writer(transpose, 0, "MatMul");
        if (!is_inner(transpose) || !is_inner(sums_) || !has_order(transpose, {0, 2, 1, 3}) ||
            shape_of(joining_) != numbers{0, 0, -1} || !find_values() || !find_mask() || !find_queries() ||
            !find_keys())
            return;
        write();
    }

private:
    /// True if x is read by one Reshape, and by a Shape.
    bool is_read_for_product() const {
        const std::vector<node_id> readers = readers_of_elements(x_);
        constexpr std::int64_t first_opset_without = 13;
        return readers.size() == 1 && g_.is(readers[0], "Reshape") && has_shape_read(x_) &&
               g_.get_graph().opset < first_opset_without;
    }

    /// The sum behind the attention is the first one that reads what the norm reads.
    std::optional<rows_product> product_of_output() const {
        const node_id before = writer(norm_, 0, "Add");
        node_id sum;
        if (before)
            for (const node_id r : g_.consumers(g_.output(before)))
                if (g_.is(r, "Add") && (!sum || r < sum))
                    sum = r;
        return product_behind(sum, 1, width_);
    }

    std::optional<rows_product> product_behind(node_id i, std::size_t input, dim_t columns) const {
        rows_product p{};
        p.behind = writer(i, input, "Reshape");
        p.gemm = writer(p.behind, 0, "Gemm");
        const node_id before = writer(p.gemm, 0, "Reshape");
        if (!before || !is_inner(p.behind) || !is_inner(p.gemm) || !is_inner(before))
            return {};
        p.x = g_.input(before, 0);
        const tensor_id w = g_.input(p.gemm, 1), bias = g_.input(p.gemm, 2);
        if (!g_.is_float_constant(w) || g_.dims(w) != memory::dims{width_, columns} ||
            !g_.is_float_constant(bias) || g_.dims(bias) != memory::dims{columns} || !has_shape_read(p.x) ||
            !is_list(g_.input(before, 1), {-1, -2}) || !is_list(g_.input(p.behind, 1), {-2, -2, columns}))
            return {};
        return p;
    }
    /// A computed list of sizes, of which -2 stands for any.
    bool is_list(tensor_id t, const numbers &expected) const {
        const auto values = g_.is_sized(t) ? g_.integers(t) : std::nullopt;
        return values && std::equal(values->begin(), values->end(), expected.begin(), expected.end(),
                                    [](std::int64_t v, std::int64_t e) { return e == -2 ? v >= 0 : v == e; });
    }

    /// Returns the output of a Split that is q, k or v, behind the nodes that move it to its heads; -1 if
    /// there is none.
    node_id part_behind(node_id i, std::size_t input, std::size_t part, const numbers &order) const {
        const node_id transpose = writer(i, input, "Transpose"), reshape = writer(transpose, 0, "Reshape");
        if (!is_inner(transpose) || !is_inner(reshape) || !has_order(transpose, order))
            return {};
        const numbers shape = shape_of(reshape);
        const tensor_id t = g_.input(reshape, 0);
        const node_id split = g_.producer(t);
        const bool is_split = g_.is(split, "Split") && g_.at(split).outputs.size() == 3 &&
                              g_.output(split, part) == t && g_.only_consumer(t);
        return is_split && shape.size() == 4 && shape[0] == 0 && (shape[1] == 0 || shape[1] == -1) &&
                       shape[2] >= 1 && shape[2] <= width_ && shape[3] == -1 &&
                       (heads_ == 0 || shape[2] == heads_)
                   ? split
                   : node_id();
    }
    std::int64_t heads_behind(node_id i, std::size_t input) const {
        return shape_of(writer(writer(i, input, "Transpose"), 0, "Reshape"))[2];
    }

    bool find_values() {
        v_past_ = writer(sums_, 1, "Concat");
        const node_id from = v_past_ ? v_past_ : sums_;
        split_ = part_behind(from, 1, 2, {0, 2, 1, 3});
        const auto product = split_ ? product_behind(split_, 0, 3 * width_) : std::nullopt;
        if (!product || product->x != x_)
            return false;
        gemm_ = product->gemm;
        heads_ = heads_behind(from, 1);
        return width_ % heads_ == 0;
    }

    /// Where(which columns count, scores / anything, a number), and a sum with a penalty if there is a mask.
    bool find_mask() {
        softmax_ = writer(sums_, 0, "Softmax");
        if (!is_inner(softmax_))
            return false;
        node_id where = writer(softmax_, 0, "Where");
        if (!where) {
            const node_id sum = writer(softmax_, 0, "Add"), product = writer(sum, 1, "Mul"),
                          difference = writer(product, 0, "Sub"), cast = writer(difference, 1, "Cast"),
                          outer = writer(!cast ? difference : cast, !cast ? 1 : 0, "Unsqueeze"),
                          inner = writer(outer, 0, "Unsqueeze");
            if (!inner || !is_inner(sum) || !is_inner(difference) || (cast && !is_inner(cast)) ||
                !is_inner(outer) || !is_inner(inner) || axes_of(inner) != numbers{1} ||
                axes_of(outer) != numbers{2} || !g_.is_value(g_.input(difference, 0), 1.) ||
                g_.attribute<std::int64_t>(softmax_, "axis", -1) != 3 || !g_.scalar(g_.input(product, 1)) ||
                g_.rank(g_.input(inner, 0)) != 2)
                return false;
            where = writer(sum, 0, "Where");
            masked_ = *g_.scalar(g_.input(product, 1));
            mask_ = g_.input(inner, 0);
        }
        root_ = writer(where, 1, "Div");
        const auto number = !where ? std::nullopt : g_.scalar(g_.input(where, 2));
        if (!root_ || !number || !is_inner(where) || !find_direction(g_.input(where, 0)))
            return false;
        const std::vector<node_id> readers = readers_of_elements(g_.output(root_));
        if (readers.size() != 1 || !has_shape_read(g_.output(root_)) || !g_.scalar(g_.input(root_, 1)))
            return false;
        constexpr float usual = -10000.f;
        masked_ = masked_ != usual ? masked_ : *number;
        return true;
    }
    /// The node that writes what one other node alone reads, here or among those that computed sizes; null.
    const node *inner_writer(tensor_id t, std::string_view op) const {
        if (const size_node *n = g_.sizes_of(t, op))
            return n->readers == 1 ? &n->computing : nullptr;
        const node_id i = g_.writer(t, op);
        return i && is_inner(i) ? &g_.at(i) : nullptr;
    }
    bool is_number(const node &n, std::size_t input, std::int64_t value) const {
        return given_integers(input_of(n, input)) == numbers{value};
    }

    /// Rows, then columns up to a computed end, of a square that is a triangle of ones, or has nothing else.
    bool find_direction(tensor_id counting) {
        const node *cast = inner_writer(counting, "Cast"),
                   *columns = cast ? inner_writer(input_of(*cast, 0), "Slice") : nullptr,
                   *rows = columns ? inner_writer(input_of(*columns, 0), "Slice") : nullptr;
        return rows && is_number(*columns, 1, 0) && g_.is_sized(input_of(*columns, 2)) &&
               is_number(*columns, 3, 3) && is_number(*columns, 4, 1) && g_.is_sized(input_of(*rows, 1)) &&
               g_.is_sized(input_of(*rows, 2)) && is_number(*rows, 3, 2) && is_number(*rows, 4, 1) &&
               is_square_mask(input_of(*rows, 0));
    }
    bool is_square_mask(tensor_id t) {
        const memory::dims &dims = g_.dims(t);
        if (!g_.is_constant(t) || dims.size() != 4 || dims != memory::dims{1, 1, dims[2], dims[2]})
            return false;
        if (g_.type(t) == data_type::f32)
            return is_mask(g_.values(t), dims[2]);
        return g_.type(t) == data_type::u8 && is_mask(values_of<std::uint8_t>(g_.tensor_at(t)), dims[2]);
    }
    template <typename T> bool is_mask(const std::vector<T> &values, dim_t size) {
        bool are_ones = true, is_triangle = true;
        for (dim_t r = 0; r < size; r++)
            for (dim_t c = 0; c < size; c++) {
                const T v = values[static_cast<std::size_t>(r * size + c)];
                are_ones = are_ones && v == T{1};
                is_triangle = is_triangle && v == (c <= r ? T{1} : T{0});
            }
        is_causal_ = is_triangle;
        return is_triangle || are_ones;
    }

    bool find_queries() {
        scores_ = writer(root_, 0, "MatMul");
        return is_inner(scores_) && part_behind(scores_, 0, 0, {0, 2, 1, 3}) == split_;
    }

    bool find_keys() {
        if (!v_past_)
            return part_behind(scores_, 1, 1, {0, 2, 3, 1}) == split_;
        // keys before a Transpose that TransposeOptimizer has moved, or behind one
        const node_id moved = writer(scores_, 1, "Transpose"),
                      k_past = !moved ? writer(scores_, 1, "Concat") : writer(moved, 0, "Concat");
        if (!k_past || (moved && !has_order(moved, {0, 1, 3, 2})))
            return false;
        const bool are_rows = moved.has_value();
        if (part_behind(k_past, 1, 1, are_rows ? numbers{0, 2, 1, 3} : numbers{0, 2, 3, 1}) != split_)
            return false;
        return find_past(k_past, are_rows);
    }

    /// Both halves of what is past, and of what is present.
    bool find_past(node_id k_past, bool are_rows) {
        const node_id turned = are_rows ? node_id() : writer(k_past, 0, "Transpose"),
                      first = writer(are_rows ? k_past : turned, 0, "Gather"),
                      second = writer(v_past_, 0, "Gather");
        if (!is_inner(first) || !is_inner(second) ||
            (!are_rows && (!is_inner(turned) || !has_order(turned, {0, 1, 3, 2}))) ||
            g_.input(first, 0) != g_.input(second, 0) || !is_number(g_.at(first), 1, 0) ||
            !is_number(g_.at(second), 1, 1))
            return false;
        past_ = g_.input(first, 0);
        tensor_id of_keys = g_.output(k_past);
        if (g_.consumers(of_keys).size() != 2 || g_.consumers(g_.output(v_past_)).size() != 2)
            return false;
        if (!are_rows) {
            const node_id back = any_reader(of_keys, "Transpose");
            if (!is_inner(back) || !has_order(back, {0, 1, 3, 2}))
                return false;
            of_keys = g_.output(back);
        }
        const node_id k_alone = any_reader(of_keys, "Unsqueeze"),
                      v_alone = any_reader(g_.output(v_past_), "Unsqueeze");
        if (!is_inner(k_alone) || !is_inner(v_alone) || axes_of(k_alone) != numbers{0} ||
            axes_of(v_alone) != numbers{0})
            return false;
        present_ = g_.only_consumer(g_.output(k_alone));
        return g_.is(present_, "Concat") && g_.input(present_, 1) == g_.output(v_alone) &&
               !g_.is_read(g_.output(present_));
    }
    node_id any_reader(tensor_id t, std::string_view op) const {
        for (const node_id r : g_.consumers(t))
            if (g_.is(r, op))
                return r;
        return {};
    }

    void write() {
        node n{"Attention",
               {x_, g_.input(gemm_, 1), g_.input(gemm_, 2), tensor_id()},
               {g_.output(joining_)},
               {}};
        if (mask_)
            n.inputs[3] = as_integers(mask_, joining_);
        n.attributes = {{"num_heads", heads_},
                        {"unidirectional", std::int64_t{is_causal_}},
                        {"mask_filter_value", masked_}};
        n.number = g_.at(joining_).number;
        drop_shapes_of(x_);
        drop_shapes_of(g_.output(root_));
        if (past_) {
            n.inputs.push_back(past_);
            n.outputs.push_back(g_.output(present_));
            g_.remove(present_);
        }
        model::drop_absent_at_end(n.inputs);
        g_.replace(joining_, std::move(n));
    }

    const node_id norm_;
    const tensor_id x_;
    dim_t width_ = 0;
    std::int64_t heads_ = 0;
    node_id joining_, sums_, softmax_, v_past_, split_, gemm_, root_, scores_, present_;
    tensor_id mask_, past_;
    bool is_causal_ = false;
    float masked_ = -10000.f;
};

} // namespace

void form_attention_of_gpt2(ort_graph &g, node_id norm) {
    if (g.is(norm, "LayerNormalization"))
        attention_of_gpt2(g, norm).form();
}

} // namespace octet::model::ort
