// Shapes of what computes one number, or new ones, of a whole row.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/shapes/shapes.hpp"

namespace octet::model::shape {
namespace {

using dims = memory::dims;

/// Without the reduced dimensions, or with 1 in their place.
dims reduced(const dims &x, const std::vector<bool> &is_reduced, bool keeps) {
    dims result;
    for (std::size_t i = 0; i < x.size(); i++)
        if (!is_reduced[i])
            result.push_back(x[i]);
        else if (keeps)
            result.push_back(1);
    return result;
}

/// ONNX Runtime takes 1 alone for yes.
bool keeps_dims(const node_shapes &n) { return n.integer("keepdims", 1) == 1; }

} // namespace

/// Marks `reduced`: x's dimensions with 1 where they are reduced.
void reduce(node_shapes &n) {
    const dims x = n.dims(0);
    const std::vector<std::int64_t> axes = n.has_input(1) ? n.constant(1) : n.integers("axes", {});
    const bool is_noop = axes.empty() && n.integer("noop_with_empty_axes", 0) != 0;
    std::vector<bool> is_reduced(x.size(), axes.empty() && !is_noop);
    for (const std::int64_t given : axes)
        is_reduced[n.axis(given, x.size())] = true;
    n.set_mark(&node_marks::reduced, reduced(x, is_reduced, true));
    n.set_output(n.input(0).type, reduced(x, is_reduced, keeps_dims(n)));
}

void arg_max(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1);
    std::vector<bool> is_reduced(x.size());
    is_reduced[n.axis(n.integer("axis", 0), x.size())] = true;
    n.set_output(data_type::s32, reduced(x, is_reduced, keeps_dims(n)));
}

/// Y, and where they are asked for mean and inverse deviation of each row.
void layer_normalization(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", -1), x.size());
    dims rows = x;
    std::fill(rows.begin() + static_cast<std::ptrdiff_t>(axis), rows.end(), 1);
    n.set_output(n.input(0).type, x);
    n.set_output(data_type::f32, rows, 1);
    n.set_output(data_type::f32, rows, 2);
}

/// Y, mean, inverse deviation, and the sum that was normalized.
void skip_layer_normalization(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 2);
    dims rows = x;
    rows.back() = 1;
    n.set_output(n.input(0).type, x);
    n.set_output(data_type::f32, rows, 1);
    n.set_output(data_type::f32, rows, 2);
    n.set_output(n.input(0).type, x, 3);
}

/// Embeddings of batch x length words, how many elements of each mask are set, and the sums that were normalized.
void embed_layer_normalization(node_shapes &n) {
    dims y = n.dims_of_rank(0, 2);
    n.set_output(data_type::s32, {y[0]}, 1);
    y.push_back(n.dims_of_rank(2, 2)[1]);
    n.set_output(data_type::f32, y);
    n.set_output(data_type::f32, y, 2);
}

namespace {

void need(bool is_right, const char *what, const dims &given) {
    if (!is_right)
        refuse(std::string(what) + " is " + to_text(given) + ", which does not fit the other inputs");
}

std::int64_t heads_of(const node_shapes &n) {
    const std::int64_t heads = n.integer("num_heads", 0);
    if (heads < 1)
        refuse("attribute 'num_heads' is " + std::to_string(heads) + ", allowed: 1 or more");
    return heads;
}

/// Input i is added to scores {batch, heads, rows, columns}; it has one matrix for all of a batch, or for all
/// heads, or one for each.
void need_summand(const node_shapes &n, std::size_t i, const dims &scores) {
    if (!n.has_input(i))
        return;
    const dims given = n.dims(i);
    need(given.size() == 4 && (given[0] == scores[0] || given[0] == 1) &&
             (given[1] == scores[1] || given[1] == 1) && given[2] == scores[2] && given[3] == scores[3],
         "the bias of scores", given);
}

} // namespace

/// y, and keys and values with those that are past: {2, batch, heads, length, width of a head}.
void attention(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 3), weights = n.dims_of_rank(1, 2);
    const std::int64_t heads = heads_of(n);
    const dims widths = n.integers("qkv_hidden_sizes", {});
    const dim_t width = widths.size() == 3 ? widths[2] : weights[1] / 3;
    need(x.size() == 3 && weights.size() == 2 && weights[0] == x[2] && width >= 0, "input 1, the weights,",
         weights);
    dim_t length = x[1];
    if (n.has_input(4)) {
        const dims past = n.dims_of_rank(4, 5);
        need(past == dims{2, x[0], heads, past[3], width / heads}, "input 4, what is past,", past);
        length += past[3];
    }
    need_summand(n, 5, {x[0], heads, x[1], length});
    n.set_output(n.input(0).type, {x[0], x[1], width});
    n.set_output(n.input(0).type, {2, x[0], heads, length, width / heads}, 1);
}

/// y, keys and values with those that are past: {batch, heads, length, width of a head}.
void multi_head_attention(node_shapes &n) {
    if (!n.has_input(1) || !n.has_input(2))
        refuse_as_unimplemented("keys and values are packed into another input, allowed are q, k and v");
    const dims q = n.dims_of_rank(0, 3), k = n.dims_of_rank(1, 3), v = n.dims_of_rank(2, 3);
    const std::int64_t heads = heads_of(n);
    const bool are_heads = k.size() == 4;
    need(q.size() == 3 && q[2] % heads == 0, "input 0, the queries,", q);
    need(are_heads ? k == dims{q[0], heads, k[2], q[2] / heads} : k == dims{q[0], k[1], q[2]},
         "input 1, the keys,", k);
    need(are_heads ? v == k : v.size() == 3 && v[0] == q[0] && v[1] == k[1] && v[2] % heads == 0,
         "input 2, the values,", v);
    const dim_t width = are_heads ? q[2] : v[2];
    dim_t length = k[are_heads ? 2 : 1];
    if (n.has_input(6)) {
        const dims past = n.dims_of_rank(6, 4);
        need(past == dims{q[0], heads, past[2], q[2] / heads}, "input 6, past keys,", past);
        need(n.has_input(7) && n.dims(7) == dims{q[0], heads, past[2], width / heads},
             "input 7, past values,", past);
        length += past[2];
    }
    need_summand(n, 5, {q[0], heads, q[1], length});
    n.set_output(n.input(0).type, {q[0], q[1], width});
    n.set_output(n.input(0).type, {q[0], heads, length, q[2] / heads}, 1);
    n.set_output(n.input(0).type, {q[0], heads, length, width / heads}, 2);
}

/// A penalty for each column of scores {batch, heads, rows, columns}, where each row has its own also for
/// each row. Of a mask {batch, columns} or {batch, rows, columns}, of ends {batch}, of ends and starts {2
/// batch}; of one column where there are others, none.
void attention_mask(node_shapes &n) {
    const dims scores = n.dims_of_rank(1, 4);
    const dim_t batch = scores[0], rows = scores[2], columns = scores[3];
    bool has_rows = rows > 1 && n.integer("unidirectional", 0) != 0;
    if (n.has_input(0)) {
        const dims mask = n.dims_of_rank(0, 1);
        const bool is_list = mask.size() == 1 &&
                             (mask[0] == batch || mask[0] == 2 * batch || mask[0] == 3 * batch + 2),
                   is_row = mask == dims{batch, columns} || mask == dims{batch, 1} || mask == dims{1, 1};
        if (!is_list && !is_row && mask != dims{batch, rows, columns})
            refuse_as_unimplemented("a mask " + to_text(mask) + " for scores " + to_text(scores) +
                                    ", allowed are " + to_text({batch, columns}) + ", " +
                                    to_text({batch, rows, columns}) + " and " + to_text({batch}));
        has_rows = has_rows || mask.size() == 3;
    }
    n.set_output(data_type::f32, {batch, 1, has_rows ? rows : 1, columns});
}

} // namespace octet::model::shape
