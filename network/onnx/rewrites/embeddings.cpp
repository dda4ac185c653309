// Sums of rows of tables, and their norm in front of an Attention.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
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

    /// The node that computed a constant, if it is of an operator and its readers are few enough; null.
    const node *counting(int t, std::string_view op, std::size_t most_readers = 1) const {
        const size_node *n = g_.sizes_of(t, op);
        return n && n->readers <= most_readers ? &n->computing : nullptr;
    }
    int behind_cast(int t) const {
        const node *cast = counting(t, "Cast");
        return cast ? cast->inputs[0] : t;
    }
    bool is_number(int t, std::int32_t value) const {
        return t >= 0 && g_.is_constant(t) && g_.type(t) == data_type::s32 &&
               values_of<std::int32_t>(g_.tensor_at(t)) == std::vector<std::int32_t>{value};
    }

    /// Whether a network counts positions up to the length of the ids as exporters write it: a Range, or the places of ones.
    bool are_counted(int indices, int ids) const {
        constexpr std::size_t most_of_shape = 4, most_of_length = 2;
        const node *expand = counting(indices, "Expand"),
                   *alone = expand ? counting(expand->inputs[0], "Unsqueeze") : nullptr;
        if (!alone)
            return false;
        int length = -1;
        if (const node *range = counting(alone->inputs[0], "Range")) {
            if (!is_number(range->inputs[0], 0) || !is_number(range->inputs[2], 1))
                return false;
            length = behind_cast(range->inputs[1]);
        } else {
            int t = behind_cast(alone->inputs[0]);
            for (const char *const op : {"Squeeze", "Transpose", "NonZero", "ConstantOfShape", "Unsqueeze"}) {
                const node *n = counting(t, op);
                t = n ? n->inputs[0] : -1;
            }
            length = t;
        }
        const node *gather = counting(length, "Gather", most_of_length),
                   *shape = gather ? counting(gather->inputs[0], "Shape", most_of_shape) : nullptr;
        if (!shape || shape->inputs[0] != ids || !is_number(gather->inputs[1], 1))
            return false;
        if (g_.sizes_of(length)->readers == 1) {
            const node *all = counting(expand->inputs[1], "Shape", most_of_shape);
            return all && all->inputs[0] == ids;
        }
        int sizes = expand->inputs[1];
        if (const node *where = counting(sizes, "Where")) { // of sizes that are -1, which none is
            const node *equal = counting(where->inputs[0], "Equal"),
                       *view = equal ? counting(equal->inputs[0], "Reshape", 2) : nullptr;
            if (!view || where->inputs[2] != equal->inputs[0])
                return false;
            sizes = view->inputs[0];
        }
        const size_node *list = g_.sizes_of(sizes, "Concat");
        return list && list->readers == 1 && list->entries.size() == 2 && list->entries[0].is_size(ids, 0) &&
               list->entries[1].is_size(ids, 1);
    }

    /// The table of positions, if its indices are 0, 1, 2 ... in each row of the batch.
    int positions_of(int rows, int ids) const {
        const int indices = g_.input(rows, 1);
        if (!are_ids(ids) || !g_.is_constant(indices) || g_.type(indices) != data_type::s32 ||
            (!g_.is_known(ids) && !g_.is_sized(indices)))
            return -1;
        if (g_.is_sized(indices) && !are_counted(indices, ids))
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
