#pragma once // SPDX-License-Identifier: Apache-2.0

// All that is known of an operator, in one row: how many inputs it has, how it is lowered, what it gives, and
// how passes may treat it. The row stands at the end of the file of its family, behind the functions that it
// names. A family's file is in onnx/ops or tflite/ops; onnx/dialect.cpp and tflite/dialect.cpp list the
// families. Besides rows, only passes that look for a pattern name operators.

#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "network/graph/graph.hpp"
#include "octet/onnx_graph.hpp"

namespace octet::model {

struct float_followers;
class known_node;
class lowering;
class node_rows;
class node_shapes;
class step;

/// An operator's part where accumulating operators take in what follows them (passes/fuse_followers.cpp).
enum class fusion_part {
    none,
    accumulates, ///< sums products and requantizes them to codes
    pointwise,   ///< each output code depends on one input code alone, the same way everywhere
    sum,         ///< adds two tensors of codes
    operand      ///< computes with a second tensor of floats
};

/// The way a node treats the buffer of its output.
enum class buffer_use {
    written,              ///< every element, in each run
    aliased_or_persistent ///< it is the input's own, or keeps contents that were written once
};

/// How an ONNX operator meets the two layouts of images (onnx/layouts/layouts.cpp).
enum class layout_support {
    row_major,     ///< knows no other
    follows,       ///< any layout, the same for all its images
    converts,      ///< any layout on either side
    chooses,       ///< the same, and its output takes the one that the readers want
    channels_last, ///< fast that way only
    gathers        ///< the same, but images of few channels are read in any layout
};

/// Past which a float operator of ONNX may be quantized, because it only moves elements: DequantizeLinear goes
/// down (onnx/layouts/octet_operators.cpp).
enum class code_move { none, down, both };

/// How a float operator of ONNX becomes a quantized one, between DequantizeLinear and QuantizeLinear
/// (onnx/rewrites/qdq_units.cpp).
enum class quantized_form {
    none,
    convolution,
    matrix_product,
    gemm,
    binary,
    concatenation,
    unary,
    moved,  ///< only moves elements, or chooses among them: itself, on codes of one scale
    choice, ///< between elements of two tensors, which are quantized anew
    index,  ///< gives places of elements, which are those of their codes
    parts   ///< as `moved`, with several outputs
};

/// How ONNX Runtime's TransposeOptimizer lets a Transpose in front of an operator pass it
/// (onnx/rewrites/transposes.cpp).
enum class passing_kind {
    unknown, ///< it does not know the operator
    none,    ///< it knows it, and lets none pass
    elements,
    broadcast,
    along_axis,
    softmax,
    index,
    gather,
    reduction,
    quantization,
    transpose,
    reshape,
    squeeze,
    unsqueeze,
    slice,
    tile,
    pad,
    sizes
};

/// The inputs that are transposed with the operator: those of its kind, or the first alone.
enum class passed_inputs { of_kind, first };

struct transpose_passing {
    passing_kind kind = passing_kind::unknown;
    passed_inputs inputs = passed_inputs::of_kind;
};

/// The use that an operator makes of images whose channels are in blocks (onnx/layouts/images_in_blocks.cpp).
enum class block_use { none, convolve, pool, pool_whole, normalize, activate, multiply, sum, join, enlarge };

/// An attribute value that ONNX Runtime takes for the same as no attribute when it looks for common
/// subexpressions. If an operator has several, it compares them in the order in which they are stored: first
/// the file's attributes, then those from a table of hashes. Of the latter only the first counts.
struct assumed_attribute {
    std::string_view name;
    std::variant<std::int64_t, float, std::string_view> value;
};

/// The inputs of an ONNX operator that are codes. There are `count` from `first` on, each followed by its
/// scale and its zero point. `dst_scale` is the input with the scale of the output, likewise followed by a
/// zero point.
struct scaled_operands {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t first = 0, count = 0, dst_scale = none;
};

/// The result of an ONNX operator for an INT64 at the ends of 32 bits, which may have been beyond them
/// (onnx/completion/wide_integers.cpp): a wrong result, one that may have been beyond them as well, or the right one.
enum class integer_use { computes, passes_on, compares };

/// How an ONNX operator treats integers, of which a network keeps 32 bits.
struct integer_facts {
    integer_use first = integer_use::computes, others = integer_use::computes; ///< its inputs
    bool is_arithmetic = false;           ///< its sums or products must not wrap at 32 bits
    bool gives_int64 = false;             ///< whatever it is given
    std::size_t elements = 0;             ///< the input whose type its integers have
    const char *type_attribute = nullptr; ///< the attribute that says their type instead
};

/// The inputs of an ONNX operator whose values decide the dimensions of its output. If such a value is
/// unknown, shape inference knows no dimension of the output, even if a Slice lists its axes.
struct dims_from_values {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t first = none; ///< the first of such inputs; those behind it have such values, too
};

/// How the sizes that a file leaves open go from the inputs of an ONNX operator to its output
/// (onnx/rewrites/open_sizes.cpp).
enum class size_flow {
    broadcast,       ///< those of all inputs, as they are broadcast
    first_broadcast, ///< the same, but the other inputs tell places, not elements
    first,           ///< those of the first input
    matrices,        ///< rows of the first matrix, columns of the second
    gemm,            ///< the same of exactly two dimensions
    windows,         ///< the batch alone
    rows,            ///< the batch and its rows
    transposed,
    reshaped,
    squeezed, ///< dimensions of 1 come or go
    gathered,
    indices,      ///< those of the indices, input 1
    named_blocks, ///< those of the indices but the last, then what they do not name of input 0
    expanded,
    concatenated,
    resized, ///< none: only sizes that the file has
    axis,    ///< those of the first input without dimension `axis`, or with 1 there
    sorted,  ///< those of the first input; none if dimension `axis` is open
    lost
};

/// The domains in which files may have an ONNX operator: the standard's, "ai.onnx", which is the default, and
/// ONNX Runtime's, "com.microsoft". With `both`, operators of the same name in either domain are one operator
/// here.
enum class domains { onnx, microsoft, both };

/// How many inputs a node has, with those that are absent but in their place.
struct input_counts {
    static constexpr std::size_t any_number = static_cast<std::size_t>(-1);
    std::size_t least, most;

    constexpr input_counts(std::size_t count) : least(count), most(count) {}
    constexpr input_counts(std::size_t fewest, std::size_t highest) : least(fewest), most(highest) {}
    constexpr bool have(std::size_t count) const { return count >= least && count <= most; }
    std::string text() const { ///< "2", "2 to 4", "1 or more"
        if (least == most)
            return std::to_string(least);
        return std::to_string(least) + (most == any_number ? " or more" : " to " + std::to_string(most));
    }
};

/// Elements that a node appends before and after each dimension of an image, and the dimension of its
/// channels.
struct image_padding {
    memory::dims before, after;
    std::size_t channels;
};

/// A row of the table. Facts that are not said have the values here.
struct operator_facts {
    using lowering_function = std::unique_ptr<step> (*)(const lowering &);
    using shape_function = void (*)(node_shapes &);
    using node_question = bool (*)(const graph &, const node &);
    using rows_question = bool (*)(const node_rows &);
    using padding_function = std::optional<image_padding> (*)(const graph &, const node &padding,
                                                              const node &reader);
    using padded_function = bool (*)(node &, const image_padding &);
    using follower_function = void (*)(float_followers &, const lowering &follower);
    using known_function = std::optional<std::vector<double>> (*)(const known_node &);

    const char *name;
    input_counts inputs;
    lowering_function lower;         ///< null: gone when the network runs, replaced by others or by constants
    shape_function infer = nullptr;  ///< dimensions of the outputs; ONNX: types, too
    bool is_internal = false;        ///< a pass's or reader's own, which no file has
    domains domain = domains::onnx;  ///< of its name in files
    rows_question rows = nullptr;    ///< whether it keeps rows of a batch apart (shapes/node_rows.hpp)
    known_function known = nullptr;  ///< what it gives for known numbers (shapes/known_values.hpp)
    bool is_known_from_dims = false; ///< for known dimensions, whatever the numbers are
    bool depends_on_opset = false;   ///< its form `on_codes` keeps the operator set as attribute "opset"
    node_question couples = nullptr; ///< whether images are a dimension like others to it (batch.cpp)

    fusion_part fusion = fusion_part::none;
    std::size_t operand_a = 0, operand_b = 0; ///< of a sum, among its inputs
    follower_function follow = nullptr;       ///< behind a product of floats (onnx/ops/float_functions.hpp)
    buffer_use buffers = buffer_use::written;
    bool commutes = false; ///< an `operand` whose tensors may change places
    padding_function pads =
        nullptr; ///< appends zeros, as `reader` has them, around an image; nothing: others
    padded_function takes_padding = nullptr; ///< makes a convolution do so itself; false where it cannot
    layout_support layout = layout_support::row_major;
    code_move moves = code_move::none;
    quantized_form form = quantized_form::none;
    const char *on_codes = nullptr; ///< the operator that it becomes; null: itself
    bool moves_pairs =
        false; ///< QuantizeLinear and DequantizeLinear may pass it (onnx/rewrites/qdq_pairs.cpp)
    transpose_passing passing = {};
    block_use blocks = block_use::none;
    assumed_attribute assumed = {}; ///< without a name: none
    scaled_operands scaled = {};
    integer_facts integers = {};
    dims_from_values dims = {};
    size_flow flow = size_flow::broadcast;
    bool sums_single_rows = false; ///< ONNX Runtime sums up a single row in an order of its own
    std::int64_t folded_since = 0; ///< the first operator set for which ONNX Runtime computes it of constants
    summed_products products = summed_products::none;

    constexpr operator_facts(const char *op, input_counts counts, lowering_function f = nullptr,
                             shape_function s = nullptr, rows_question q = nullptr)
        : name(op), inputs(counts), lower(f), infer(s), rows(q) {}

private: // ahead of their callers: Clang evaluates no call of a template whose body it has not read
    template <typename T> constexpr operator_facts with(T operator_facts::*fact, T value) const {
        operator_facts changed = *this;
        changed.*fact = value;
        return changed;
    }
    template <typename T> constexpr operator_facts with_integers(T integer_facts::*fact, T value) const {
        operator_facts changed = *this;
        changed.integers.*fact = value;
        return changed;
    }

public:
    // Each of these functions adds one fact to a row.
    constexpr operator_facts known_numbers(known_function f) const { return with(&operator_facts::known, f); }
    constexpr operator_facts known_from_dims(known_function f) const {
        return known_numbers(f).with(&operator_facts::is_known_from_dims, true);
    }
    constexpr operator_facts by_opset() const { return with(&operator_facts::depends_on_opset, true); }
    constexpr operator_facts internal() const { return with(&operator_facts::is_internal, true); }
    constexpr operator_facts in(domains d) const { return with(&operator_facts::domain, d); }
    constexpr operator_facts couples_batch(node_question q) const {
        return with(&operator_facts::couples, q);
    }
    constexpr operator_facts part(fusion_part p) const { return with(&operator_facts::fusion, p); }
    constexpr operator_facts sum_of(std::size_t a, std::size_t b) const {
        return part(fusion_part::sum).with(&operator_facts::operand_a, a).with(&operator_facts::operand_b, b);
    }
    constexpr operator_facts follows(follower_function f) const { return with(&operator_facts::follow, f); }
    constexpr operator_facts commutative() const { return with(&operator_facts::commutes, true); }
    constexpr operator_facts use(buffer_use u) const { return with(&operator_facts::buffers, u); }
    constexpr operator_facts padding(padding_function f) const { return with(&operator_facts::pads, f); }
    constexpr operator_facts padded(padded_function f) const {
        return with(&operator_facts::takes_padding, f);
    }
    constexpr operator_facts layouts(layout_support h) const { return with(&operator_facts::layout, h); }
    constexpr operator_facts moved(code_move m) const { return with(&operator_facts::moves, m); }
    constexpr operator_facts transposed(passing_kind k, passed_inputs i = passed_inputs::of_kind) const {
        return with(&operator_facts::passing, transpose_passing{k, i});
    }
    constexpr operator_facts blocked(block_use b) const { return with(&operator_facts::blocks, b); }
    constexpr operator_facts passes_pairs() const { return with(&operator_facts::moves_pairs, true); }
    template <typename Value> constexpr operator_facts assumes(std::string_view name, Value value) const {
        return with(&operator_facts::assumed, assumed_attribute{name, value});
    }
    constexpr operator_facts becomes(quantized_form f, const char *op = nullptr) const {
        return with(&operator_facts::form, f).with(&operator_facts::on_codes, op);
    }
    /// `count` inputs from `first` on, every third one.
    constexpr operator_facts scales(std::size_t first, std::size_t count,
                                    std::size_t dst_scale = scaled_operands::none) const {
        return with(&operator_facts::scaled, scaled_operands{first, count, dst_scale});
    }
    constexpr operator_facts uses_integers(integer_use first, integer_use others) const {
        return with_integers(&integer_facts::first, first).with_integers(&integer_facts::others, others);
    }
    constexpr operator_facts arithmetic() const { return with_integers(&integer_facts::is_arithmetic, true); }
    constexpr operator_facts int64() const { return with_integers(&integer_facts::gives_int64, true); }
    constexpr operator_facts elements_of(std::size_t input) const {
        return with_integers(&integer_facts::elements, input);
    }
    constexpr operator_facts typed_by(const char *attribute) const {
        return with_integers(&integer_facts::type_attribute, attribute);
    }
    constexpr operator_facts dims_from(std::size_t first) const {
        return with(&operator_facts::dims, dims_from_values{first});
    }
    constexpr operator_facts sums(summed_products p) const { return with(&operator_facts::products, p); }
    constexpr operator_facts single_rows() const { return with(&operator_facts::sums_single_rows, true); }
    constexpr operator_facts folded_from(std::int64_t opset) const {
        return with(&operator_facts::folded_since, opset);
    }
    constexpr operator_facts sizes(size_flow f) const { return with(&operator_facts::flow, f); }
};

/// The rows of a family of operators.
struct operator_rows {
    const operator_facts *first;
    std::size_t count;

    template <std::size_t n>
    constexpr operator_rows(const operator_facts (&rows)[n]) : first(rows), count(n) {}
    const operator_facts *begin() const { return first; }
    const operator_facts *end() const { return first + count; }
};

/// Short names for what many rows say.
namespace row_words {

using row = operator_facts;
using form = quantized_form;
using use = integer_use;
using flow = size_flow;
using products = summed_products;
constexpr std::size_t any = input_counts::any_number;
constexpr auto accumulates = fusion_part::accumulates, pointwise = fusion_part::pointwise;
constexpr auto aliased_or_persistent = buffer_use::aliased_or_persistent;
constexpr auto follows = layout_support::follows, converts = layout_support::converts,
               channels_last = layout_support::channels_last;

} // namespace row_words

} // namespace octet::model
