#pragma once // SPDX-License-Identifier: Apache-2.0

// Networks: a .tflite or .onnx file, or a graph of one's own, as something that runs.
//
//     octet::network net("model.onnx");
//     net.input(0).copy_from(pixels);
//     net.run();
//     const std::vector<float> scores = net.output(0).as<float>();
//
// Everything that can fail fails when the network is made: an operator that Octet lacks, shapes that do not
// fit, memory. All primitives and buffers are made then, too; `run` only executes and allocates nothing.
// (Where an .onnx file leaves sizes open, this happens in the first run after an input got its sizes:
// net.input("ids").resize({1, 128}).) A server makes one network and from it a context per thread
// (`new_context`); contexts share graph and packed weights. Installed as the CMake target octet::network, a
// library of its own next to the primitives.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octet/error.hpp"
#include "octet/export.hpp"
#include "octet/graph.hpp"
#include "octet/memory.hpp"
#include "octet/requantization.hpp"
#include "octet/settings.hpp"
#include "octet/types.hpp"

namespace octet {
inline namespace v0 {

/// \cond What a network consists of.
namespace model {
class session;
}
/// \endcond

/// Sizes of a network's inputs; a size that is not set here is as in the file. A dimension to which the file
/// gives a name but no size is 1 where it is an input's first and the operators can have that. Elsewhere it
/// is open, and must get a size before the network runs: here, by `network::resize`, or by `resize` of the
/// input.
struct network_sizes {
    /// The first dimension of every input; 0: as `shapes` or the file say. Works also where constants of the
    /// network (a Reshape's) contain the old batch, or this one.
    dim_t batch = 0;
    /// Dimensions of inputs by their names, in the framework's order (TFLite: NHWC).
    std::map<std::string, memory::dims> shapes = {};
    /// Sizes of dimensions that an .onnx file names ("sequence"), wherever they occur.
    std::map<std::string, dim_t> dimensions = {};
};

namespace model {
/// Sets the sizes of a graph as it was read, as `network` does with those of its options. Throws octet::error
/// where an operator cannot have them.
OCTET_API void set_sizes(graph &g, const network_sizes &sizes);

/// Elements of a constant that stay in the caller's memory until the network is made, and are not needed
/// afterwards. The network copies those that runs read and that no primitive packs; in its graph they read as
/// zeros. `save` throws octet::error, and so does `resize` to other sizes. If the graph has names for open
/// sizes (`tensor::dim_names`), the elements must stay until `network::forget_borrowed`, and other sizes are
/// possible.
OCTET_API shared_bytes borrowed(const void *bytes, std::size_t size);

/// Reads a file that `network::save` wrote, and no other format: a program that calls this and no other
/// reader is linked without the libraries of the other formats. The file is mapped. Throws octet::error,
/// which begins with the path, for a file that is damaged, or was written by another version of the library
/// or for another instruction set.
OCTET_API graph read_saved(const std::string &path);
/// Reads the bytes that `network::save` returned, and copies them; messages call them `name`.
OCTET_API graph read_saved(const void *bytes, std::size_t size, const std::string &name);
} // namespace model

/// Options of making a network.
struct network_options {
    /// Contract of the accumulating operators (convolution, depthwise, fully connected, batch matmul).
    /// `automatic`: the framework's own; any other rule derives its multipliers or scales from the model's
    /// scales.
    requantization_rule rule = requantization_rule::automatic;
    /// Joins operators where that keeps every byte of the network's outputs; tensors between joined operators
    /// vanish.
    bool fusion = true;
    dim_t batch = 0; ///< as in `network_sizes`
    /// Number of threads for creation and runs of this network: 0: as `set_num_threads` says for the process;
    /// 1: the calling thread alone.
    int threads = 0;
    std::map<std::string, memory::dims> shapes = {}; ///< as in `network_sizes`
    std::map<std::string, dim_t> dimensions = {};    ///< as in `network_sizes`
    /// Called while the network is made, also in other sizes, from the thread that makes it, with the
    /// fraction that is done, 0 to 1, and the name of the next step. It must not use the network or its
    /// contexts, which wait for it.
    std::function<void(double done, const std::string &next)> progress = {};
    /// Bytes that weights and buffers may take; a network that needs more throws `out_of_memory` and tells
    /// how many. 0: no limit.
    std::size_t memory_limit = 0;
    /// Name of the runtime whose bytes a .tflite network gives, one of `all_profiles` (octet/profile.hpp);
    /// empty: the framework's default, TensorFlow Lite Micro or ONNX Runtime. With a profile `rule` must be
    /// `automatic`.
    std::string profile = {};
    /// ONNX: whether a row gives the same bits alone as among other rows, in attention and in products whose
    /// other matrix is computed, dequantized or of weights in blocks: neither the batch nor cuts into runs
    /// change a sequence's results. Otherwise a single row is summed up in another order, as ONNX Runtime does
    /// it. A saved plan keeps its choice.
    bool rows_alike = false;
    /// ONNX: whether operators between QuantizeLinear and DequantizeLinear on s8 are computed on s8, as ONNX
    /// Runtime does with `session.qdqisint8allowed` = 1. Otherwise they are computed on u8 where one operator
    /// reads the codes, and in floats elsewhere.
    bool qdq_is_int8_allowed = false;
    /// ONNX: the order in which products of weights in blocks (MatMulNBits) sum up. "onnxruntime": ONNX
    /// Runtime's bytes. "ordered": of rows that are rounded to codes, the products of each block exactly,
    /// and one fma per block in ascending order, so that a row has the same bits in every batch (doc/onnx.md).
    /// A saved plan keeps its choice.
    std::string nbits = "onnxruntime";
    /// ONNX: the accuracy level of products whose weights a DequantizeLinear dequantizes, 0 to 4, as ONNX
    /// Runtime has it with `session.qdq_matmulnbits_accuracy_level`. Only 4 rounds the other operand to codes.
    std::int64_t qdq_nbits_level = 4;
    /// ONNX: the block size of such products where the file gives none, as ONNX Runtime has it with
    /// `session.qdq_matmulnbits_block_size`: a power of two from 16 to 256; 0: 32; -1: the largest that
    /// divides the rows of the weights, else 16.
    std::int64_t qdq_nbits_block = 0;
};

/// A tensor of a network with its buffer. A light value; valid as long as the network, until it gets other
/// sizes or buffers. An input that was resized stays valid until it is resized by another view.
class OCTET_API tensor_view {
public:
    int index() const { return index_; }                      ///< in the graph
    const std::string &name() const { return tensor_->name; } ///< as in the graph
    /// Dimensions in the framework's order (TFLite: NHWC); empty for a scalar. A size that the file leaves
    /// open is -1 until it is set.
    const memory::dims &dims() const { return tensor_->dims; }
    octet::data_type data_type() const { return tensor_->type; } ///< the type of the elements
    /// Scales and zero points of codes, which .onnx files tell with their operators; not set for floats and
    /// for integers that stand for themselves.
    const model::quantization &quantization() const { return tensor_->quant; }
    std::size_t element_count() const; ///< product of `dims`
    std::size_t size_in_bytes() const; ///< bytes of all elements
    /// "0 ('input') s8 1x96x96x3"
    std::string text() const;

    /// Gives an input another shape, with as many dimensions as in the file; sets its elements to zeros. The
    /// network takes the shapes of all its inputs when it runs, or when an output is asked for: it finds the
    /// plan of these sizes or makes it, as `network::resize` does. Open dimensions of one name have one size
    /// in all inputs. An input whose shape stays keeps its contents, and bound buffers stay bound. Throws
    /// octet::error for a tensor that is no input, for another number of dimensions, and for sizes below 0; a
    /// run throws where operators cannot have the sizes.
    void resize(const memory::dims &dims);

    /// The buffer with its layout; a null memory where a size is open. Inputs and outputs of the network are
    /// dense and row-major, in the order of `dims`; images inside an ONNX network may be channels-last.
    const memory &get_memory() const { return memory_; }
    /// The first byte.
    void *data() const;
    /// The first element. Throws octet::error if T is not the type of the elements.
    template <typename T> T *data_as() const {
        check_type(type_of<T>());
        return static_cast<T *>(data());
    }

    /// Writes all elements. Floats become codes where the tensor holds codes of one scale, as the framework's
    /// own quantizing operator would make them. Throws octet::error, and writes nothing, for any other type
    /// than the elements' and for another count.
    template <typename T> void copy_from(const T *values, std::size_t count) const {
        copy_from(values, type_of<T>(), count);
    }
    /// Writes 64-bit integers, as ONNX has them for token ids, into a tensor of s32. Throws octet::error, and
    /// writes nothing, if one does not fit.
    void copy_from(const std::int64_t *values, std::size_t count) const;
    /// Copies from a vector, an array or whatever else has data() and size().
    template <typename Container> void copy_from(const Container &values) const {
        copy_from(values.data(), values.size());
    }
    /// Writes all bytes. Throws octet::error, and writes nothing, for another size.
    void copy_bytes_from(const void *bytes, std::size_t size) const;

    /// Returns a copy of the elements, in the order of memory. With T = float, codes of one scale are
    /// returned as the real numbers that they stand for. Throws octet::error for any other T than the
    /// elements' type.
    template <typename T> std::vector<T> as() const {
        std::vector<T> values(element_count());
        copy_to(values.data(), type_of<T>());
        return values;
    }

private:
    friend class network;
    tensor_view(int index, const model::graph &g, memory m)
        : tensor_view(index, g, g.tensors[static_cast<std::size_t>(index)], std::move(m)) {}
    tensor_view(int index, const model::graph &g, const model::tensor &t, memory m)
        : index_(index), graph_(&g), tensor_(&t), memory_(std::move(m)) {}
    template <typename T> static octet::data_type type_of();
    void check_type(octet::data_type type) const;
    void check_count(std::size_t count) const;
    void need_sizes() const;
    bool stands_for_reals() const;
    void need_one_scale(const char *what) const;
    void copy_from(const void *values, octet::data_type type, std::size_t count) const;
    void copy_to(void *values, octet::data_type type) const;

    int index_;
    const model::graph *graph_;
    const model::tensor *tensor_;
    memory memory_;
    model::session *session_ = nullptr; ///< set for an input alone
    std::size_t place_ = 0;             ///< place among the inputs
};

/// A network that runs: the plan made of a file or graph, which contexts share, and one context, the memory
/// to run in. Can be moved, not copied. One thread at a time may use it; each further thread takes a context
/// (`new_context`).
class OCTET_API network {
public:
    /// Reads a .tflite or .onnx file, or a file that `save` wrote. Every error names the path.
    explicit network(const std::string &path, const network_options &options = {});
    /// Loads a file in memory, which errors call `name`. The bytes are not needed afterwards.
    network(const void *bytes, std::size_t size, const std::string &name,
            const network_options &options = {});
    /// Checks the graph. Throws octet::error with a sentence that names the node; `unimplemented` with all
    /// operators that Octet lacks at once.
    explicit network(model::graph g, const network_options &options = {});
    ~network();
    /// A network that was moved from can only be destroyed or assigned to.
    ///@{
    network(network &&) noexcept;
    network &operator=(network &&) noexcept;
    ///@}

    /// Returns another context of the same network in its first state: inputs, outputs, sizes and state of
    /// its own; graph, plans and weights shared. Any thread may call it while another one uses the network,
    /// also for `resize`.
    network new_context() const;

    // ---- Use

    std::size_t input_count() const { return get_graph().inputs.size(); }   ///< 0 and more
    std::size_t output_count() const { return get_graph().outputs.size(); } ///< 0 and more
    /// Views of inputs and outputs. Inputs keep their contents from run to run; outputs stay until the next
    /// run. Throw octet::error, which lists the inputs or outputs, for an index or name that does not exist.
    ///@{
    tensor_view input(std::size_t index = 0) const;
    tensor_view input(const std::string &name) const;
    tensor_view output(std::size_t index = 0) const;
    tensor_view output(const std::string &name) const;
    ///@}

    /// Lets runs read an input from, or write an output to, `bytes`: a buffer of the caller's in the layout
    /// and size of the tensor, which must live until another one is bound; null: the network's own buffer
    /// again. Inputs are never copied. An output is copied at the end of `run` where it shares its bytes with
    /// another tensor. Throw octet::error for another size, for an address that is not aligned to the
    /// elements, and for buffers that share bytes.
    ///@{
    void bind_input(std::size_t index, const void *bytes, std::size_t size);
    void bind_output(std::size_t index, void *bytes, std::size_t size);
    ///@}

    /// A buffer of the caller's that runs read.
    struct source_buffer {
        const void *bytes = nullptr; ///< null: the network's own
        std::size_t size = 0;        ///< in bytes
    };
    /// A buffer of the caller's that runs write.
    struct result_buffer {
        void *bytes = nullptr; ///< null: the network's own
        std::size_t size = 0;  ///< in bytes
    };
    /// Binds all inputs and all outputs at once, in their orders, as `bind_input` and `bind_output` do.
    /// Buffers that were bound before are released first, so new buffers are compared with each other alone.
    /// Null bytes: the network's own buffer. Throws octet::error, and binds nothing, for another count and
    /// for buffers that `bind_input` or `bind_output` would refuse.
    void bind(const std::vector<source_buffer> &inputs, const std::vector<result_buffer> &outputs);
    void bind(); ///< unbinds everything

    /// Gives the network other sizes: plans it anew, or reuses the plan of these sizes if it had them lately.
    /// Weights stay packed. Contents of inputs, bound buffers and state are lost. Throws octet::error, and
    /// leaves the network as it was, where an operator cannot have the sizes.
    void resize(const network_sizes &sizes);

    /// Lets go of the elements that `model::borrowed` left with their owner, where the graph has names for
    /// open sizes. For other sizes the packed weights are unpacked again, for as long as the network is
    /// planned. Does nothing for other networks.
    void forget_borrowed();

    /// Sets the state of recurrent operators to its initial value.
    void reset_state();

    /// Called after each node with its place in `get_graph().nodes` and the seconds that it took; its outputs
    /// are in memory then.
    using observer = std::function<void(std::size_t node, double seconds)>;
    /// Runs all nodes in order.
    void run(const observer &after_node = {});

    /// Writes the network in its present sizes to a file from which it starts in milliseconds, without the
    /// model, analysis or packing; processes that read it share the weights. The file is for this version of
    /// the library and this instruction set alone, and is tied to the network's rule, so keep the model. A
    /// network from it begins with these sizes and can have the model's other sizes, for which its weights
    /// are unpacked once. A file of this path is replaced as a whole: a process that has it open or mapped
    /// keeps the old one, several writers each put a whole file there, and where the path is a symbolic link,
    /// the file that it names is replaced. Throws octet::error if the file cannot be written,
    /// `invalid_arguments` where the path is a directory, a device or a pipe.
    void save(const std::string &path) const;
    /// Returns the bytes that `save(path)` would write.
    std::vector<std::uint8_t> save() const;

    // ---- What it consists of

    /// The graph as it runs: operators on codes instead of floats, joined nodes, layouts assigned. While a
    /// size is open, it is the graph as it was read. Tensors and nodes that the file had keep their indices
    /// and numbers (`model::node_number`).
    const model::graph &get_graph() const;

    /// Names of those of ONNX Runtime's transformers that changed the graph of an .onnx file, in their order:
    /// "L2.1 GeluFusionL2" stands for the first pass over those of level 2. Empty for other files and for
    /// saved plans.
    const std::vector<std::string> &passes() const;
    /// The operators that these transformers leave of an .onnx file, one for each node, before Octet replaces
    /// them by its own. Empty for other files and for saved plans.
    const std::vector<std::string> &operators_left() const;

    /// A tensor that a node or the network reads or writes, by its index in the graph. A result may be
    /// overwritten after its last reader has run.
    ///@{
    tensor_view tensor(int index) const;
    memory get_memory(int tensor) const;
    ///@}
    /// Name of a node's implementation: "jit:dot/avx512_vnni", "ref", "view" (the input's buffer), …
    std::string implementation(std::size_t node) const;
    /// Problem, plan and refusals of a node's primitives, one per line.
    std::string explain(std::size_t node) const;
    /// The options that the network was made with.
    const network_options &options() const;
    /// Bytes of the buffers between the nodes: as they share memory, and as if each had its own.
    std::pair<std::size_t, std::size_t> buffer_bytes() const;
    /// Bytes of packed weights, for all sizes that this network or its other contexts had lately; contexts
    /// share them.
    std::size_t weight_bytes() const;

private:
    explicit network(std::unique_ptr<model::session> s);
    int input_index(std::size_t i) const;
    int output_index(std::size_t i) const;
    tensor_view input_at(std::size_t place) const;
    tensor_view output_at(std::size_t place) const;
    std::unique_ptr<model::session> session_;
};

/// Names of the operators of a framework ("tflite", "onnx") that files may have, sorted. Some do not exist
/// any more when the network runs: those that compute shapes, and those that are replaced by others. Throws
/// octet::error for another framework.
OCTET_API std::vector<std::string> supported_operators(const std::string &framework);

/// A node that a network cannot have.
struct refused_node {
    int number = 0; ///< in its file, by which messages name it (`model::node_number`)
    /// The sentence with which a network is refused whose only refused node is this one.
    std::string reason;
    /// False: the node reads results of a refused node, whose type and dimensions neither file nor program
    /// tells.
    bool is_certain = true;
};

/// Returns all nodes for which a network of the graph would be refused, in the order of their numbers; none
/// if it would not be refused. Weights are not packed. A size that is still open counts as 16. Throws
/// octet::error for a defect of the graph that is no node's.
OCTET_API std::vector<refused_node> refused_nodes(model::graph g, const network_options &options = {});
/// Returns all nodes of a file for which a network would be refused, also where the file cannot become a
/// graph because it has operators that Octet lacks. Throws octet::error for a file that cannot be read.
OCTET_API std::vector<refused_node> refused_nodes(const std::string &path,
                                                  const network_options &options = {});

/// An operator as it stands in a file.
struct operator_query {
    std::string op;                                          ///< "Conv", "CONV_2D"
    std::string domain = {};                                 ///< ONNX: "" and "ai.onnx" are the standard's
    std::string framework = "onnx";                          ///< or "tflite"
    std::int64_t opset = 17;                                 ///< ONNX: the operator set
    std::map<std::string, model::attribute> attributes = {}; ///< by the framework's names
    /// Types, dimensions and, for constants, elements; a tensor without a type stands for an absent input.
    /// `foreign_type` names a type that Octet lacks, or is "INT64" for one that Octet has as s32.
    std::vector<model::tensor> inputs = {};
    /// TFLite: types and dimensions. ONNX: only their number counts.
    std::vector<model::tensor> outputs = std::vector<model::tensor>(1);
};
/// Returns the sentence with which a network of this one operator would be refused; empty if it would run.
OCTET_API std::string why_not_supported(const operator_query &query, const network_options &options = {});

/// \cond Element types that a program can name.
template <> inline octet::data_type tensor_view::type_of<float>() { return octet::data_type::f32; }
template <> inline octet::data_type tensor_view::type_of<std::int32_t>() { return octet::data_type::s32; }
template <> inline octet::data_type tensor_view::type_of<std::int16_t>() { return octet::data_type::s16; }
template <> inline octet::data_type tensor_view::type_of<std::int8_t>() { return octet::data_type::s8; }
template <> inline octet::data_type tensor_view::type_of<std::uint8_t>() { return octet::data_type::u8; }
/// \endcond

} // namespace v0
} // namespace octet
