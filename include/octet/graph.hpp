#pragma once // SPDX-License-Identifier: Apache-2.0

// A quantized network as a value: tensors, nodes in execution order, nothing that runs. `octet::network`
// makes something that runs out of it. Files are read into graphs; whoever has a network in a form of their
// own fills one by hand. Operator and attribute names are the framework's own, so that its documentation is
// the documentation of a node.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "octet/export.hpp"
#include "octet/memory.hpp"
#include "octet/shared_bytes.hpp"
#include "octet/types.hpp"

namespace octet {
inline namespace v0 {
namespace model {

/// real = scale * (code - zero point); one value per tensor, or one per index of dimension `axis`.
struct quantization {
    std::vector<float> scales;                      ///< none: the numbers have no scale
    std::vector<std::int32_t> zero_points;          ///< as many as scales
    int axis = 0;                                   ///< counts where there are several scales
    bool is_set() const { return !scales.empty(); } ///< false: see `scales`
};

/// A tensor's description, and its elements if it is a constant.
struct tensor {
    std::string name;                  ///< the file's, for messages; need not be unique
    data_type type = data_type::undef; ///< the type of the elements
    /// The framework's name of a type that Octet lacks; `type` is then its stand-in, or undef.
    std::string foreign_type;
    memory::dims dims; ///< the framework's order (TFLite: NHWC); empty for a scalar
    /// Names of dimensions of an input whose size the file leaves open, "" for the others; empty: all are
    /// fixed. Such a size is 1 if it is the first, the batch, and operators can have that, else -1 until it
    /// is set; see `infer_shapes`.
    std::vector<std::string> dim_names;
    bool is_channels_last = false; ///< in memory batch, pixels, channels, although `dims` is {N, C, …}
    quantization quant;            ///< .onnx files have it among the inputs of the nodes instead
    bool is_constant = false;      ///< `data` holds the elements
    bool is_variable = false; ///< state that survives a run; a constant: ONNX Runtime may be given another
    shared_bytes data;        ///< constants: little-endian, row-major
};

/// An operator's option: a number, a word or a list.
using attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;

struct node_marks;

/// One operator with its tensors.
struct node {
    std::string op;                              ///< e.g. "CONV_2D"
    std::vector<int> inputs;                     ///< tensor indices, -1 for an absent optional input
    std::vector<int> outputs;                    ///< tensor indices
    std::map<std::string, attribute> attributes; ///< by the framework's names; absent: its default

    /// Number of the node in its file, by which messages name it; -1: its place in `graph::nodes`. What is
    /// inserted while a network is made has the number of the node that it serves.
    int number = -1;

    /// Operators applied in turn to every result before it is stored; `network` puts them here. The last
    /// one's output is the node's, and what they read from elsewhere is among `inputs`.
    std::vector<node> fused = {};
    /// For a fused operator: the index in `inputs` of the result so far, which no buffer holds; and the index
    /// of the input that lies in the output's buffer (-1: none, the operator is a function of single codes).
    ///@{
    int result_input = 0, stored_input = -1;
    ///@}
    /// Facts that the library found about the node while it read or changed the graph; null: none. Copies
    /// keep them.
    std::shared_ptr<const node_marks> marks = {};
};

struct saved_plan;

/// Tensors, and nodes in the order in which they run.
struct graph {
    std::string framework;       ///< "tflite" or "onnx": decides the arithmetic of the nodes
    std::vector<tensor> tensors; ///< by index
    std::vector<node> nodes;     ///< each reads what is constant, an input or written before
    /// Tensor indices, in the order in which a caller counts them.
    ///@{
    std::vector<int> inputs, outputs;
    ///@}
    /// Packed weights of a graph that `network::save` stored; null for other graphs. Such a graph runs
    /// without passes; elements of its packed constants read as zeros.
    std::shared_ptr<const saved_plan> saved;
    /// ONNX: the operator set; the arithmetic that ONNX Runtime gives to some operators depends on it.
    std::int64_t opset = 17;
};

// ---- Reading. All throw octet::error with a sentence that names the file and the defect, and read nothing
// outside the bytes, whatever they are.
//
// A file that is read from a path is mapped, and large constants stay in it: it must not be changed or
// truncated while a graph or network from it lives. To replace a file, write another and rename it.

/// Reads and checks a .tflite file: FlatBuffers' verifier, every index, every size, `check_graph`.
OCTET_API graph read_tflite(const std::string &path);
/// Reads a .tflite file from bytes in memory; messages call them `name`.
OCTET_API graph read_tflite(const std::uint8_t *bytes, std::size_t size, const std::string &name);

/// Reads and checks an .onnx file: protobuf's parser, every name, type and size, the shapes of all tensors,
/// `check_graph`. A first dimension without a fixed size is 1 if the operators can have that. Where they
/// cannot, or where an input has other dimensions without a size, shapes stay unknown; set the sizes and call
/// `infer_shapes`. INT64 becomes s32, since sizes and indices are smaller than that, and BOOL becomes u8.
/// External data is mapped, too, from the directory of `path`. Throws `unimplemented` where the library was
/// built without ONNX.
OCTET_API graph read_onnx(const std::string &path);
/// Reads an .onnx file from bytes in memory, which cannot have external data.
OCTET_API graph read_onnx(const std::uint8_t *bytes, std::size_t size, const std::string &name);
/// Reads an .onnx file as it is, with any operators, to be looked at: infers nothing. Tensors that nodes
/// compute have the type and dimensions that the file declares, or none. Checks what `read_onnx` checks, but
/// not `check_graph`.
OCTET_API graph read_onnx_structure(const std::string &path);

/// Reads a .tflite or an .onnx file, told apart by the end of the name and, failing that, by the content; or
/// what `network::save` wrote, told by the content: lengths, checksums, version, instruction set, every index
/// and size, `check_graph`.
OCTET_API graph read_network(const std::string &path);
/// Reads a network from bytes in memory; the format is told by the content.
OCTET_API graph read_network(const std::uint8_t *bytes, std::size_t size, const std::string &name);

/// The network that a saved plan was made of, in the plan's sizes: operators before passes joined them.
/// Elements of constants that the plan has only packed read as zeros. Any other graph is its own source.
OCTET_API graph source_of(const graph &g);

/// Infers the dimensions of every computed tensor (ONNX: its type, too) from those of the inputs, which may
/// have been changed. The graph must be as it was read. Throws octet::error for an input with an unknown size
/// (-1), with its name and that of the dimension, and for nodes whose inputs do not fit together;
/// `unimplemented` with all operators that Octet does not know.
OCTET_API void infer_shapes(graph &g);

// ---- What holds for every graph.

/// Throws octet::error with a sentence that names the tensor or node and the defect: sizes that overflow,
/// constants of another size than their dimensions say, scales that are not positive and finite or not as
/// many as channels, indices outside the tensors, tensors read before they are written or written twice.
OCTET_API void check_graph(const graph &g);

/// Changes the batch, the first dimension of the inputs and of all that is computed from them. Throws
/// octet::error where a tensor on the way does not begin with the batch.
OCTET_API void set_batch(graph &g, dim_t batch);

/// Returns why the rows of a batch are not known to be independent: a sentence about the first node that may
/// mix them. Returns an empty string where row n of every output depends on row n of the inputs alone, so
/// that the bytes of a row are the same in any batch. `g` is a graph as it was read with a batch of 1, or a
/// saved plan's, whose source and profile are asked. An operator mixes rows, for example, if it quantizes by
/// the range of a whole tensor, has state, or is computed by a profile in groups of elements across rows.
OCTET_API std::string why_not_batched(const graph &g, const std::string &profile = "");

/// Product of checked dimensions; 1 for a scalar.
OCTET_API std::int64_t element_count(const memory::dims &dims);

// ---- Texts of messages.

OCTET_API std::string to_text(const memory::dims &dims); ///< "1x96x96x3", "scalar"
OCTET_API std::string to_text(data_type type);           ///< "s8"
OCTET_API std::string type_text(const tensor &t);        ///< "s8", or the foreign type's name
OCTET_API std::string operator_text(const node &n);      ///< "CONV_2D", with fused ones "CONV_2D + LOGISTIC"
/// The number by which messages name a node: that of its file.
OCTET_API int node_number(const graph &g, std::size_t index);
OCTET_API std::string node_text(const graph &g, std::size_t index); ///< "node 3 (CONV_2D)"

} // namespace model
} // namespace v0
} // namespace octet
