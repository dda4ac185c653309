#pragma once // SPDX-License-Identifier: Apache-2.0

// Marks hold facts that one part of the library finds out about a node and a later part uses. They are fields
// and not attributes, because attributes are the file's own words: no file can set a mark. A saved plan has
// the marks that steps read (saved/plan.fbs).

#include <optional>
#include <tuple>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Whether a node stays although nobody reads its results: to ONNX Runtime it is a reader like others while
/// patterns are looked for. `for_sizes`: it goes with the nodes that read its results' sizes.
enum class kept_unread { no, yes, for_sizes };

/// The first element and the distance of elements that a slice takes, for each dimension of its input.
struct slice_places {
    memory::dims begin, stride;
};

/// An operator that was fused behind a product, with its own attributes.
struct fused_activation {
    std::string op;
    std::map<std::string, attribute> attributes;
};

inline bool operator==(const slice_places &a, const slice_places &b) {
    return a.begin == b.begin && a.stride == b.stride;
}
inline bool operator==(const fused_activation &a, const fused_activation &b) {
    return a.op == b.op && a.attributes == b.attributes;
}

struct node_marks {
    // ---- From readers, for passes

    /// Absent inputs that the file lists at the end, by empty names. ONNX Runtime counts them where it asks
    /// for the number of inputs.
    int absent_inputs = 0;
    /// Sums and products of INT64, which is s32 here: results must not leave 32 bits. For steps, too.
    bool is_wide = false;

    // ---- From the caller, for shape inference

    std::optional<memory::dims> declared; ///< shape of an output whose size a run's numbers decide

    // ---- From shape inference, for steps and passes

    std::optional<std::string> padding_word; ///< a window's `auto_pad` in the file; `pads` has its numbers
    bool names_no_order = false;             ///< a Transpose whose file has no `perm`
    std::optional<memory::dims> reduced;     ///< a reduction's input dimensions, 1 where they are reduced
    std::optional<slice_places> slice;       ///< by a Slice
    std::optional<float> aspect_factor;      ///< the one factor of a Resize whose sizes keep the aspect ratio

    // ---- From passes, for other passes

    kept_unread unread = kept_unread::no; ///< see above
    int not_folded = 0;                   ///< ONNX Runtime folds the node after so many changes of the graph
    std::optional<fused_activation> activation; ///< of a FusedConv or FusedGemm, until it is split again
    bool is_own_activation = false;             ///< it was fused behind the product before it
    bool was_fast_gelu = false;                 ///< a Gelu, of which there is no form in blocks

    // ---- From passes, for steps

    bool has_dequantized = false;    ///< a product's matrix is dequantized with each run, or may be given
    bool sums_rows_alone = false;    ///< a product or attention has an order of sums for a single row
    bool has_scaled_summand = false; ///< a Gemm's C was multiplied by beta before
    bool is_of_blocks = false;       ///< a convolution in blocks of channels has written the images it reads
    bool pools_by_vectors = false;   ///< ONNX Runtime's kernels for vectors compute the average
    bool sums_blocks_in_order = false; ///< a product of blocks sums up as `nbits` = "ordered"
};

/// All fields, to compare them: a new one does not compile until it is listed here.
inline auto fields_of(const node_marks &m) {
    const auto &[absent, wide, declared, word, order, reduced, slice, factor, unread, folded, activation, own,
                 gelu, matrix, alone, summand, blocks, vectors, in_order] = m;
    return std::tie(absent, wide, declared, word, order, reduced, slice, factor, unread, folded, activation,
                    own, gelu, matrix, alone, summand, blocks, vectors, in_order);
}
inline bool operator==(const node_marks &a, const node_marks &b) { return fields_of(a) == fields_of(b); }

inline const node_marks &marks_of(const node &n) {
    static const node_marks none;
    return n.marks ? *n.marks : none;
}

inline bool has_marks(const node &n) { return n.marks && !(*n.marks == node_marks()); }

template <typename T, typename Value> void set_mark(node &n, T node_marks::*mark, Value &&value) {
    auto changed = std::make_shared<node_marks>(marks_of(n));
    (*changed).*mark = std::forward<Value>(value);
    n.marks = std::move(changed);
}

/// A node of another operator with the attributes and marks of `n`, without tensors.
inline node with_options_of(const node &n, std::string op) {
    node result{std::move(op), {}, {}, n.attributes};
    result.marks = n.marks;
    return result;
}

} // namespace octet::model
