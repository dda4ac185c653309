#pragma once

// A quantized network as a value: tensors, nodes in execution order, nothing that runs. Readers (.tflite,
// .onnx, operator vectors) produce it, `network` executes it. Operator and attribute names are the
// framework's own.

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "octet/octet.hpp"

namespace octet::model {

/// real = scale * (code - zero point); one value per tensor, or one per index of dimension `axis`.
struct quantization {
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;
    int axis = 0;
    bool is_set() const { return !scales.empty(); }
};

struct tensor {
    std::string name;
    data_type type = data_type::undef;
    std::string foreign_type;      ///< the framework's name of a type that Octet lacks (then `type` is undef)
    memory::dims dims;             ///< the framework's order (TFLite: NHWC); empty for a scalar
    bool is_channels_last = false; ///< in memory batch, pixels, channels, although `dims` is {N, C, …}
    quantization quant;
    bool is_constant = false;
    bool is_variable = false;       ///< state that survives a run
    std::vector<std::uint8_t> data; ///< constants: little-endian, row-major
};

/// Whether elements are 8-bit codes.
inline bool is_code(data_type type) { return type == data_type::u8 || type == data_type::s8; }

/// Elements of a constant.
template <typename T> std::vector<T> values_of(const tensor &t) {
    std::vector<T> values(t.data.size() / sizeof(T));
    if (!values.empty())
        std::memcpy(values.data(), t.data.data(), values.size() * sizeof(T));
    return values;
}

using attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;

struct node {
    std::string op;           ///< e.g. "CONV_2D"
    std::vector<int> inputs;  ///< tensor indices, -1 for an absent optional input
    std::vector<int> outputs; ///< tensor indices
    std::map<std::string, attribute> attributes;
    /// Operators applied in turn to every result before it is stored (see fusion.hpp): the last one's output
    /// is the node's, and what they read from elsewhere is among `inputs`.
    std::vector<node> fused = {};
};

/// "CONV_2D", with fused operators "CONV_2D + LOGISTIC"
std::string operator_text(const node &n);

/// Value of an attribute, `fallback` if there is none. Throws octet::error for one of another kind.
template <typename T> T attribute_or(const node &n, const std::string &name, const T &fallback) {
    const auto found = n.attributes.find(name);
    if (found == n.attributes.end())
        return fallback;
    if (const T *value = std::get_if<T>(&found->second))
        return *value;
    throw error(status::invalid_arguments,
                n.op + ": attribute '" + name + "' is of another kind than documented");
}

struct graph {
    std::string framework; ///< "tflite" or "onnx": decides the arithmetic of the nodes
    std::vector<tensor> tensors;
    std::vector<node> nodes; ///< in execution order
    std::vector<int> inputs, outputs;
};

/// Throws octet::error if one tensor contradicts itself: dimensions, size of its data, scales and zero
/// points. Afterwards `element_count` of its dimensions cannot overflow.
void check_tensor(const graph &g, int index);

/// Throws octet::error with a sentence that names the tensor or node and the defect: sizes that overflow,
/// constants of another size than their dimensions say, scales that are not positive and finite or not as
/// many as channels, indices outside the tensors, tensors read before they are written or written twice.
void check_graph(const graph &g);

/// Reads and checks a .tflite file (FlatBuffers verifier, every index, every size, `check_graph`). Throws
/// octet::error with a sentence that names the file and the defect; never reads outside the bytes.
graph read_tflite(const std::string &path);
graph read_tflite(const std::uint8_t *bytes, std::size_t size, const std::string &name);

/// Reads and checks an .onnx file (protobuf parser, every name, type and size, `infer_onnx_shapes`,
/// `check_graph`). A first dimension without a fixed size is 1. Throws octet::error with a sentence that
/// names the file and the defect; `unimplemented` where this program was built without ONNX. Data in files of
/// their own ("external") is read from the directory of `path`; bytes in memory cannot have any.
graph read_onnx(const std::string &path);
graph read_onnx(const std::uint8_t *bytes, std::size_t size, const std::string &name);

/// Reads a .tflite or an .onnx file, told apart by the end of the name and, failing that, by the content.
graph read_network(const std::string &path);

/// Gives every computed tensor of an ONNX graph its type and dimensions, in the order of the nodes, and puts
/// the padding that `auto_pad` stands for into `pads`. Throws octet::error for nodes whose inputs do not fit
/// together, `unimplemented` with all operators that it does not know.
void infer_onnx_shapes(graph &g);

/// Changes the batch, the first dimension of the inputs and of all that is computed from them. Throws
/// octet::error where a tensor on the way does not begin with the batch.
void set_batch(graph &g, dim_t batch);

/// Product of checked dimensions; 1 for a scalar.
std::int64_t element_count(const memory::dims &dims);

std::string to_text(const memory::dims &dims);            ///< "1x96x96x3", "scalar"
std::string to_text(data_type type);                      ///< "s8"
std::string type_text(const tensor &t);                   ///< "s8", or the foreign type's name
std::string node_text(const graph &g, std::size_t index); ///< "node 3 (CONV_2D)"

} // namespace octet::model
