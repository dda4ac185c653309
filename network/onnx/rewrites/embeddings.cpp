// As `embed_layer_norm_fusion.cc` of ONNX Runtime 1.30, level 2: sums of rows of tables, and their norm in
// front of an Attention.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

class embeddings {
public:
    embeddings(ort_graph &g, node_id norm) : g_(g), norm_(norm) {}

    void form() {
        const node_id sum = g_.writer(g_.input(norm_, 0), "Add");
        if (!sum || !g_.input(norm_, 2) || !feeds_attention())
            return;
        const node_id first = gather(sum, 0), second = gather(sum, 1);
        if (first && second) { // DistilBERT's
            if (const tensor_id positions = positions_of(second, g_.input(first, 1)); positions)
                write(first, positions, {});
            return;
        }
        const node_id inner = g_.writer(g_.input(sum, 0), "Add"), words = gather(inner, 0);
        if (!words || !second || !g_.only_consumer(g_.output(inner)))
            return;
        const tensor_id ids = g_.input(words, 1), segments = g_.input(second, 1), added = g_.input(inner, 1);
        if (!is_table(g_.input(second, 0), g_.last_size(g_.input(words, 0))) || !are_ids(segments) ||
            !have_equal_or_open_sizes(ids, segments))
            return;
        const node_id other = gather(inner, 1);
        const tensor_id positions = g_.is_constant(added) ? repeated_rows(added, ids)
                                    : other               ? positions_of(other, ids)
                                                          : tensor_id();
        if (positions)
            write(words, positions, second);
    }

private:
    bool feeds_attention() const {
        const std::vector<node_id> &readers = g_.consumers(g_.output(norm_));
        return any_of(readers, [&](node_id r) { return g_.is(r, "Attention"); });
    }

    /// The Gather of rows that alone is an input of a node.
    node_id gather(node_id i, std::size_t input) const {
        const tensor_id t = g_.input(i, input);
        const node_id rows = g_.writer(t, "Gather");
        return rows && g_.only_consumer(t) == i ? rows : node_id();
    }

    bool is_table(tensor_id t, dim_t width) const {
        return g_.is_float(t) && g_.rank(t) == 2 && width > 0 && g_.has_size(t, 1, width);
    }
    bool are_ids(tensor_id t) const { return g_.rank(t) == 2 && g_.type(t) == data_type::s32; }
    /// Whether each size is equal in the file, or open in both tensors.
    bool have_equal_or_open_sizes(tensor_id a, tensor_id b) const {
        for (std::size_t d = 0; d < 2; d++)
            if (g_.is_known(a, d) != g_.is_known(b, d) || g_.size(a, d) != g_.size(b, d))
                return false;
        return true;
    }

    /// The node that computed a constant, if it is of an operator and its readers are few enough; null.
    const node *counting(tensor_id t, std::string_view op, std::size_t most_readers = 1) const {
        const size_node *n = g_.sizes_of(t, op);
        return n && n->readers <= most_readers ? &n->computing : nullptr;
    }
    tensor_id behind_cast(tensor_id t) const {
        const node *cast = counting(t, "Cast");
        return cast ? input_of(*cast, 0) : t;
    }

    /// Whether a network counts positions up to the length of the ids as exporters write it: a Range, or the
    /// places of ones.
    bool are_counted(tensor_id indices, tensor_id ids) const {
        constexpr std::size_t most_of_shape = 4, most_of_length = 2;
        const node *expand = counting(indices, "Expand"),
                   *alone = expand ? counting(input_of(*expand, 0), "Unsqueeze") : nullptr;
        if (!alone)
            return false;
        tensor_id length;
        if (const node *range = counting(input_of(*alone, 0), "Range")) {
            if (!g_.is_integer(input_of(*range, 0), 0) || !g_.is_integer(input_of(*range, 2), 1))
                return false;
            length = behind_cast(input_of(*range, 1));
        } else {
            tensor_id t = behind_cast(input_of(*alone, 0));
            for (const char *const op : {"Squeeze", "Transpose", "NonZero", "ConstantOfShape", "Unsqueeze"}) {
                const node *n = counting(t, op);
                t = n ? input_of(*n, 0) : tensor_id();
            }
            length = t;
        }
        const node *gather = counting(length, "Gather", most_of_length),
                   *shape = gather ? counting(input_of(*gather, 0), "Shape", most_of_shape) : nullptr;
        if (!shape || input_of(*shape, 0) != ids || !g_.is_integer(input_of(*gather, 1), 1))
            return false;
        if (g_.sizes_of(length)->readers == 1) {
            const node *all = counting(input_of(*expand, 1), "Shape", most_of_shape);
            return all && input_of(*all, 0) == ids;
        }
        tensor_id sizes = input_of(*expand, 1);
        if (const node *where = counting(sizes, "Where")) { // of sizes that are -1, which none is
            const node *equal = counting(input_of(*where, 0), "Equal"),
                       *view = equal ? counting(input_of(*equal, 0), "Reshape", 2) : nullptr;
            if (!view || input_of(*where, 2) != input_of(*equal, 0))
                return false;
            sizes = input_of(*view, 0);
        }
        const size_node *list = g_.sizes_of(sizes, "Concat");
        return list && list->readers == 1 && list->entries.size() == 2 && list->entries[0].is_size(ids, 0) &&
               list->entries[1].is_size(ids, 1);
    }

    /// The table of positions, if its indices are 0, 1, 2 ... in each row of the batch.
    tensor_id positions_of(node_id rows, tensor_id ids) const {
        const tensor_id indices = g_.input(rows, 1);
        const auto values = are_ids(ids) ? g_.integers(indices) : std::nullopt;
        if (!values || !(g_.is_sized(indices) ? are_counted(indices, ids) : g_.is_known(ids)))
            return {};
        const dim_t length = g_.size(ids, 1);
        if (static_cast<dim_t>(values->size()) != element_count(g_.dims(ids)))
            return {};
        for (std::size_t i = 0; i < values->size(); i++)
            if ((*values)[i] != static_cast<dim_t>(i) % length)
                return {};
        return g_.input(rows, 0);
    }

    /// Constant rows that are equal for the whole batch: those of one.
    tensor_id repeated_rows(tensor_id t, tensor_id ids) {
        const memory::dims &dims = g_.dims(t);
        if (!g_.is_float(t) || !are_ids(ids) || !g_.is_known(ids) || dims.size() != 3 ||
            dims[0] != g_.size(ids, 0) || dims[1] != g_.size(ids, 1))
            return {};
        const std::vector<float> all = g_.values(t);
        const auto each = static_cast<std::size_t>(dims[1] * dims[2]);
        for (std::size_t i = each; i < all.size(); i++)
            if (!(all[i] == all[i % each]))
                return {};
        return g_.add_floats("positions", {dims[1], dims[2]},
                             {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(each)});
    }

    void write(node_id words, tensor_id positions, node_id segments) {
        const tensor_id table = g_.input(words, 0), ids = g_.input(words, 1), scale = g_.input(norm_, 1),
                        shift = g_.input(norm_, 2);
        const dim_t width = g_.last_size(table);
        if (!is_table(table, width) || !is_table(positions, width) || !are_ids(ids) ||
            g_.dims(scale) != memory::dims{width} || g_.dims(shift) != memory::dims{width})
            return;
        g_.become(norm_,
                  node{"EmbedLayerNormalization",
                       {ids, g_.input(segments, 1), table, positions, g_.input(segments, 0), scale, shift},
                       {},
                       {{"epsilon", g_.attribute(norm_, "epsilon", 1e-5f)}}});
    }

    ort_graph &g_;
    const node_id norm_;
};

} // namespace

void fuse_embed_layer_norm(ort_graph &g) {
    g.for_each("LayerNormalization", [&](node_id i) { embeddings(g, i).form(); });
}

} // namespace octet::model::ort
