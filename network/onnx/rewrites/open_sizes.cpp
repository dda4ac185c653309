// As `graph.cc` of ONNX Runtime 1.30, all levels: which dimensions are known while transformers run: those of
// the file. A size that the file leaves open is a name, which goes with the elements through operators; where
// their shape inference loses it, it is unknown.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "network/dialect.hpp"
#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model {

namespace {
constexpr int known = 0, unknown = -1, of_unknown_rank = -2;
using symbols = dim_symbols::of_tensor;

class open_sizes {
public:
    open_sizes(const graph &g, const sized_constants &sized) : g_(g), sized_(sized), all_(g.tensors) {
        values_.tensors = sized.tensors;
    }

    dim_symbols find() {
        std::map<std::string, int> names;
        const tensor_ids inputs = inputs_of(g_);
        for (std::size_t i = 0; i < g_.tensors.size(); i++) { // of what nodes write, the file says two things
            const std::vector<std::string> &open = g_.tensors[i].dim_names;
            if (open.empty())
                continue;
            const tensor_id t(i);
            const bool is_input = has(inputs, t);
            for (std::size_t d = 0; d < open.size() && d < all_[t].size(); d++)
                if (!open[d].empty())
                    all_[t][d] =
                        is_input ? names.emplace(open[d], static_cast<int>(names.size()) + 1).first->second
                                 : unknown;
        }
        for (const auto &[t, open] : sized_.open_dims)
            lose_dims(t, open);
        for (const node &n : g_.nodes) {
            const operator_facts &facts = facts_of(g_, n);
            const bool is_to_open_sizes =
                facts.flow == size_flow::reshaped && input_of(n, 1) && is_of_open_sizes(input_of(n, 1));
            if (is_to_open_sizes || any_of(inputs_of(n), [&](tensor_id t) { return is_open(t); }))
                for (const tensor_id t : outputs_of(n))
                    if (t)
                        follow(n, facts, t);
            if (facts.flow != size_flow::reshaped && output_of(n))
                lose_dims(output_of(n), open_dims(g_, n, facts, values_));
        }
        return std::move(all_);
    }

private:
    const memory::dims &dims(tensor_id t) const { return tensor_at(g_, t).dims; }
    bool is_open(tensor_id t) {
        return t && std::any_of(all_[t].begin(), all_[t].end(), [](int s) { return s != known; });
    }

    void follow(const node &n, const operator_facts &facts, tensor_id y) {
        if (!input_of(n, 0)) // only of operators that read others
            return lose(y);
        if (facts.flow != size_flow::reshaped &&
            any_of(inputs_of(n), [&](tensor_id t) { return !has_rank(t); }))
            return lose_rank(y);
        switch (facts.flow) {
        case size_flow::broadcast:
            return element_wise(n, n.inputs.size(), y);
        case size_flow::first_broadcast:
            return element_wise(n, 1, y);
        case size_flow::first:
            return same(n, y);
        case size_flow::matrices:
            return multiply(n, input_of(n, 0), second_matrix(n), y);
        case size_flow::gemm:
            return gemm(n, y);
        case size_flow::windows:
            return windows(n, y);
        case size_flow::rows:
            return rows(n, y);
        case size_flow::transposed:
            return transpose(n, y);
        case size_flow::reshaped:
            return reshape(n, y);
        case size_flow::squeezed:
            return squeeze(n, y);
        case size_flow::gathered:
            return gather(n, y);
        case size_flow::indices:
            return index(n, 0, y);
        case size_flow::named_blocks:
            return index(n, 1, y);
        case size_flow::expanded:
            return expand(n, y);
        case size_flow::concatenated:
            return concatenation(n, y);
        case size_flow::resized:
            return resize(n, y);
        case size_flow::axis:
            return reduce(n, {attribute_or<std::int64_t>(n, "axis", 0)}, y);
        case size_flow::sorted:
            return sort(n, y);
        case size_flow::lost:
            return lose(y);
        }
    }

    /// Behind scale and zero point of the first one, if it has those.
    tensor_id second_matrix(const node &n) const {
        const scaled_operands &scaled = facts_of(g_, n).scaled;
        return input_of(n, scaled.count > 1 ? scaled.first + 3 : 1);
    }

    /// The symbol of dimensions that are broadcast to each other; 1 is one that the file has.
    static int joined(int a_symbol, dim_t a_size, int b_symbol, dim_t b_size) {
        if (a_symbol == known && a_size == 1)
            return b_symbol;
        if (b_symbol == known && b_size == 1)
            return a_symbol;
        if (a_symbol == known || b_symbol == known)
            return known; // the other one must be that or 1
        return a_symbol == b_symbol ? a_symbol : unknown;
    }

    /// Sizes that are not given are multiplied by factors, which ONNX Runtime does with numbers alone.
    void resize(const node &n, tensor_id y) {
        constexpr std::size_t sizes = 3;
        const symbols x = all_[input_of(n, 0)];
        for (std::size_t d = 0; d < all_[y].size(); d++)
            all_[y][d] = input_of(n, sizes) || (d < x.size() && x[d] == known) ? known : unknown;
    }

    /// The first so many inputs are broadcast.
    void element_wise(const node &n, std::size_t operands, tensor_id y) {
        const symbols result = all_[y];
        memory::dims sizes(result.size(), 1);
        std::fill(result.begin(), result.end(), known);
        for (std::size_t k = 0; k < operands; k++) {
            const tensor_id x = input_of(n, k);
            if (!x || dims(x).size() > result.size())
                continue;
            const std::size_t offset = result.size() - dims(x).size();
            for (std::size_t d = 0; d < dims(x).size(); d++) {
                int &s = result[d + offset];
                s = joined(s, sizes[d + offset], all_[x][d], dims(x)[d]);
                sizes[d + offset] = std::max(sizes[d + offset], dims(x)[d]);
            }
        }
        for (std::size_t d = 0; d < result.size(); d++) // no broadcast: a part, a window, a reduction
            if (sizes[d] != dims(y)[d] || dims(input_of(n, 0)).size() > result.size())
                result[d] = result[d] == known ? known : unknown;
        if (dims(input_of(n, 0)).size() > result.size())
            lose(y);
        if (marks_of(n).reduced)
            reduce(n, attribute_or<std::vector<std::int64_t>>(n, "axes", {}), y);
    }

    void reduce(const node &n, std::vector<std::int64_t> axes, tensor_id y) {
        const symbols x = all_[input_of(n, 0)];
        const auto rank = static_cast<std::int64_t>(x.size());
        if (const tensor_id given = input_of(n, 1); given) {
            const auto integers = fixed_integers(given);
            if (!integers)
                return lose(y);
            axes = *integers;
        }
        std::vector<bool> is_reduced(x.size(), axes.empty());
        for (const std::int64_t axis : axes) {
            if (axis < -rank || axis >= rank)
                return lose(y);
            is_reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
        }
        const symbols result = all_[y];
        std::vector<int> kept;
        for (std::size_t d = 0; d < x.size(); d++)
            if (!is_reduced[d])
                kept.push_back(x[d]);
            else if (result.size() == x.size())
                kept.push_back(known);
        kept.resize(result.size(), unknown);
        result.assign(kept);
    }

    /// The first elements along `axis`: ONNX infers no dimension if it does not know how many there are to sort.
    void sort(const node &n, tensor_id y) {
        const symbols x = all_[input_of(n, 0)];
        const auto rank = static_cast<std::int64_t>(x.size());
        const std::int64_t given = attribute_or<std::int64_t>(n, "axis", -1),
                           axis = given < 0 ? given + rank : given;
        const bool is_open = axis < 0 || axis >= rank || x[static_cast<std::size_t>(axis)] != known;
        is_open ? lose(y) : element_wise(n, 1, y);
    }

    /// Input 0 alone gives the output its dimensions: the other inputs are rows of the last dimension or of
    /// channels.
    void same(const node &n, tensor_id y) {
        const symbols x = all_[input_of(n, 0)];
        x.size() == all_[y].size() ? all_[y].assign(x) : lose(y);
    }

    /// The dimensions of the indices, without `last` ones, then the innermost of the first input.
    void index(const node &n, std::size_t last, tensor_id y) {
        const symbols x = all_[input_of(n, 0)], indices = all_[input_of(n, 1)], result = all_[y];
        if (indices.size() < last || indices.size() - last > result.size() ||
            result.size() - (indices.size() - last) > x.size())
            return lose(y);
        for (std::size_t d = 0; d < result.size(); d++)
            result[d] = d < indices.size() - last ? indices[d] : x[x.size() - result.size() + d];
    }

    void multiply(const node &n, tensor_id a, tensor_id b, tensor_id y) {
        const symbols result = all_[y];
        const std::size_t rank = result.size();
        if (n.attributes.count("transBatchA") + n.attributes.count("transBatchB") != 0)
            return lose(y);
        if (!a || !b || dims(a).empty() || dims(b).empty())
            return lose(y);
        if (n.attributes.count("N") != 0) { // an attribute tells the columns (MatMulNBits)
            same(n, y);
            if (rank > 0)
                result[rank - 1] = known;
            return;
        }
        if (dims(a).size() == 1 || dims(b).size() == 1)
            return multiply_vector(n, a, b, y);
        if (std::max(dims(a).size(), dims(b).size()) != rank)
            return lose(y);
        const auto of = [&](tensor_id t, std::size_t from_end) {
            return from_end <= dims(t).size() ? all_[t][dims(t).size() - from_end] : known;
        };
        const auto size = [&](tensor_id t, std::size_t from_end) {
            return from_end <= dims(t).size() ? dims(t)[dims(t).size() - from_end] : 1;
        };
        result[rank - 2] = of(a, attribute_or<std::int64_t>(n, "transA", 0) != 0 ? 1 : 2);
        result[rank - 1] = of(b, attribute_or<std::int64_t>(n, "transB", 0) != 0 ? 2 : 1);
        for (std::size_t from_end = 3; from_end <= rank; from_end++)
            result[rank - from_end] =
                joined(of(a, from_end), size(a, from_end), of(b, from_end), size(b, from_end));
    }

    /// The dimension over which sums go is not in the result.
    void multiply_vector(const node &n, tensor_id a, tensor_id b, tensor_id y) {
        const bool is_row = dims(a).size() == 1;
        std::vector<int> other = all_[is_row ? b : a].list();
        if (other.size() > 1) {
            const bool is_transposed = attribute_or<std::int64_t>(n, is_row ? "transB" : "transA", 0) != 0;
            const bool is_last = is_row == is_transposed;
            other.erase(other.end() - (is_last ? 1 : 2));
        } else
            other.clear();
        other.size() == all_[y].size() ? all_[y].assign(other) : lose(y);
    }

    void gemm(const node &n, tensor_id y) {
        const tensor_id a = input_of(n, 0), b = second_matrix(n);
        if (all_[y].size() != 2 || !a || !b || dims(a).size() != 2 || dims(b).size() != 2)
            return lose(y);
        all_[y][0] = all_[a][attribute_or<std::int64_t>(n, "transA", 0) != 0 ? 1 : 0];
        all_[y][1] = all_[b][attribute_or<std::int64_t>(n, "transB", 0) != 0 ? 0 : 1];
    }

    void transpose(const node &n, tensor_id y) {
        const symbols x = all_[input_of(n, 0)];
        const auto order = attribute_or<std::vector<std::int64_t>>(n, "perm", {});
        for (std::size_t d = 0; d < x.size() && d < all_[y].size(); d++) {
            const std::size_t from =
                order.size() == x.size() ? static_cast<std::size_t>(order[d]) : x.size() - 1 - d;
            all_[y][d] = from < x.size() ? x[from] : unknown;
        }
    }

    /// The integers of a constant to which whoever runs the network can give no other value.
    std::optional<memory::dims> fixed_integers(tensor_id t) const {
        return t && !tensor_at(g_, t).is_variable ? constant_integers(g_, t) : std::nullopt;
    }

    /// Sizes that a constant names are known, but for 1, which is the source's dimension.
    void expand(const node &n, tensor_id y) {
        const tensor_id x = input_of(n, 0), shape = input_of(n, 1);
        const symbols result = all_[y];
        const auto sizes = fixed_integers(shape);
        if (!sizes || sized_.tensors.count(shape) != 0)
            return element_wise(n, n.inputs.size(), y);
        for (std::size_t from_end = 1; from_end <= result.size(); from_end++) {
            const bool is_kept = from_end > sizes->size() || (*sizes)[sizes->size() - from_end] == 1;
            const symbols source = all_[x];
            result[result.size() - from_end] =
                is_kept && from_end <= source.size() ? source[source.size() - from_end] : known;
        }
    }

    /// Whether a list that a network computes follows from a size that is not known.
    bool is_of_open_sizes(tensor_id t) {
        if (sized_.open)
            return sized_.open->count(t) != 0;
        const auto found = sized_.nodes.find(t);
        if (found == sized_.nodes.end())
            return false;
        const node &n = found->second.computing;
        const bool is_dims = facts_of(g_, n).is_known_from_dims;
        return any_of(inputs_of(n),
                      [&](tensor_id x) { return x && (is_dims ? is_open(x) : is_of_open_sizes(x)); });
    }

    /// Sizes that a constant names are known, 0 is the source's dimension. Those that a network computes are
    /// not, before ReshapeFusion has made a constant of them.
    void reshape(const node &n, tensor_id y) {
        const tensor_id x = input_of(n, 0), shape = input_of(n, 1);
        const symbols result = all_[y];
        const auto integers = fixed_integers(shape);
        if (!integers || is_open(shape))
            return lose(y);
        constexpr std::int64_t first_opset_with_values = 14;
        if (is_of_open_sizes(shape))
            return g_.opset < first_opset_with_values ? lose_rank(y) : lose(y);
        const memory::dims &sizes = *integers;
        if (sizes.size() != result.size())
            return lose(y);
        std::vector<int> kept_sources = all_[x].list();
        for (std::size_t d = 0; d < sizes.size() && d < all_[x].size(); d++)
            if (sizes[d] == 0) {
                result[d] = has_rank(x) ? all_[x][d] : unknown;
                kept_sources[d] = known;
            }
        const bool is_rest_known =
            std::all_of(kept_sources.begin(), kept_sources.end(), [](int s) { return s == known; });
        for (std::size_t d = 0; d < sizes.size(); d++)
            if (sizes[d] == -1)
                result[d] = is_rest_known ? known : unknown;
    }

    void windows(const node &n, tensor_id y) {
        const symbols x = all_[input_of(n, 0)];
        const symbols result = all_[y];
        for (std::size_t d = 0; d < result.size(); d++)
            result[d] = d == 0 && !x.empty()                       ? x[0]
                        : d == 1 || d >= x.size() || x[d] == known ? known
                                                                   : unknown;
    }

    /// A row for each of a batch of sequences.
    void rows(const node &n, tensor_id y) {
        const symbols x = all_[input_of(n, 0)];
        if (y != output_of(n))
            return lose(y);
        for (std::size_t d = 0; d < all_[y].size(); d++)
            all_[y][d] = d < 2 && d < x.size() ? x[d] : known;
    }

    /// A size that one part has in the file is that of all, but for the dimension along which they lie.
    void concatenation(const node &n, tensor_id y) {
        if (n.inputs.size() == 1)
            return same(n, y);
        const symbols result = all_[y];
        const auto rank = static_cast<std::int64_t>(result.size());
        std::int64_t axis = attribute_or<std::int64_t>(n, "axis", 0);
        axis += axis < 0 ? rank : 0;
        for (std::int64_t d = 0; d < rank; d++) {
            std::vector<int> parts;
            for (const tensor_id t : inputs_of(n))
                if (t && static_cast<std::int64_t>(dims(t).size()) == rank)
                    parts.push_back(all_[t][static_cast<std::size_t>(d)]);
            const bool is_known_once = std::count(parts.begin(), parts.end(), known) != 0,
                       is_known_always = std::count(parts.begin(), parts.end(), known) ==
                                         static_cast<std::ptrdiff_t>(parts.size());
            int &s = result[static_cast<std::size_t>(d)];
            const auto named =
                std::find_if(parts.begin(), parts.end(), [](int part) { return part > known; });
            if (d == axis ? is_known_always : is_known_once)
                s = known;
            else
                s = d == axis || named == parts.end() ? unknown : *named;
        }
    }

    /// Dimensions of 1 come and go.
    void squeeze(const node &n, tensor_id y) {
        const tensor_id x = input_of(n, 0);
        const symbols result = all_[y];
        std::size_t from = 0;
        for (std::size_t d = 0; d < result.size(); d++) {
            while (from < dims(x).size() && dims(x)[from] == 1 && all_[x][from] == known)
                from++;
            if (dims(y)[d] == 1 && (from >= dims(x).size() || dims(x)[from] != 1))
                result[d] = known;
            else
                result[d] = from < dims(x).size() ? all_[x][from++] : known;
        }
    }

    void gather(const node &n, tensor_id y) {
        const tensor_id data = input_of(n, 0), indices = input_of(n, 1);
        const symbols result = all_[y];
        const auto rank = static_cast<std::int64_t>(dims(data).size());
        std::int64_t axis = attribute_or<std::int64_t>(n, "axis", 0);
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank || !indices ||
            result.size() + 1 != dims(data).size() + dims(indices).size())
            return lose(y);
        std::vector<int> all = all_[data].list();
        const symbols of_indices = all_[indices];
        const auto place = all.erase(all.begin() + axis);
        all.insert(place, of_indices.begin(), of_indices.end());
        result.assign(all);
    }

    void lose_dims(tensor_id t, const std::vector<bool> &dims) {
        for (std::size_t d = 0; d < dims.size() && d < all_[t].size(); d++)
            if (dims[d])
                all_[t][d] = unknown;
    }
    bool has_rank(tensor_id t) { return !t || all_[t].empty() || all_[t][0] != of_unknown_rank; }
    void lose_rank(tensor_id y) { std::fill(all_[y].begin(), all_[y].end(), of_unknown_rank); }
    void lose(tensor_id y) { std::fill(all_[y].begin(), all_[y].end(), unknown); }

    const graph &g_;
    const sized_constants &sized_;
    sized_constants values_; ///< the same without open dimensions, which symbols have
    dim_symbols all_;
};

} // namespace

void ort_graph::find_symbols() {
    static const sized_constants none;
    const std::vector<tensor> &all = get_graph().tensors;
    if (any_of(all, [](const tensor &t) { return !t.dim_names.empty(); }))
        symbols_ = open_sizes(get_graph(), from_sizes_ ? *from_sizes_ : none).find();
}

std::set<tensor_id> ort_graph::constants_of_open_sizes() const {
    std::set<tensor_id> open;
    if (!from_sizes_)
        return open;
    for (const tensor_id t : from_sizes_->in_order) {
        const size_node *const n = sizes_of(t);
        if (!n)
            continue;
        const bool is_dims = facts_of(get_graph(), n->computing).is_known_from_dims;
        if (any_of(inputs_of(n->computing),
                   [&](tensor_id x) { return x && (is_dims ? !is_known(x) : open.count(x) != 0); }))
            open.insert(t);
    }
    return open;
}

bool ort_graph::has_rank(tensor_id t) const { return rank(t) == 0 || symbol(t, 0) != of_unknown_rank; }

int ort_graph::symbol(tensor_id t, std::size_t dim) const {
    return dim < rank(t) ? symbols_.at(t, dim) : unknown;
}

} // namespace octet::model
