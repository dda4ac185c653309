#pragma once // SPDX-License-Identifier: Apache-2.0

// Networks: a .tflite or .onnx file, or a graph of one's own, as something that runs.
//
//     octet::network net("model.onnx");
//     net.input(0).copy_from(pixels);
//     net.run();
//     const std::vector<float> scores = net.output(0).as<float>();
//
// Everything that can fail fails when the network is made: an operator that Octet lacks, shapes that do not fit,
// memory. All primitives and buffers are made then, too; `run` only executes and allocates nothing. (Where an .onnx file
// leaves sizes open, this happens in the first run after an input got them: net.input("ids").resize({1, 128}).) A server makes
// one network per thread out of the first (`new_context`); they share graph and packed weights. Installed as the
// CMake target octet::network, a library of its own next to the primitives.

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

/// Sizes of a network's inputs; what is not said is as in the file. A dimension to which the file gives a name
/// but no size is 1 where it is an input's first and the network can have that; elsewhere it is open, and must get a size
/// before the network runs: here, by `network::resize`, or by `resize` of the input.
struct network_sizes {
    /// The first dimension of every input; 0: as `shapes` or the file say. Works also where constants of the network
    /// (a Reshape's) name the old batch, or this one.
    dim_t batch = 0;
    /// Dimensions of inputs by their names, in the framework's order (TFLite: NHWC).
    std::map<std::string, memory::dims> shapes = {};
    /// Sizes of dimensions that an .onnx file names ("sequence"), wherever they occur.
    std::map<std::string, dim_t> dimensions = {};
};

namespace model {
/// Gives a graph as it was read these sizes, as `network` does with those of its options. Throws octet::error where an
/// operator cannot have them.
OCTET_API void set_sizes(graph &g, const network_sizes &sizes);

/// Elements of a constant that stay where they are until the network is made, and no longer. The network copies those that
/// runs read and that no primitive packs; in its graph they read as zeros afterwards. `save` throws octet::error, and so does
/// `resize` to other sizes. If the graph has names for open sizes (`tensor::dim_names`), the elements stay until
/// `network::forget_borrowed`, and other sizes are possible.
OCTET_API shared_bytes borrowed(const void *bytes, std::size_t size);

/// Reads what `network::save` wrote, and nothing else: a program that calls this and no other reader is linked without the
/// libraries of the other formats. The file is mapped. Throws octet::error, which begins with the path, for a file that is
/// damaged, of another version of the library, or for another instruction set.
OCTET_API graph read_saved(const std::string &path);
/// Reads what `network::save` returned; the bytes, which messages call `name`, are copied.
OCTET_API graph read_saved(const void *bytes, std::size_t size, const std::string &name);
} // namespace model

/// How a network is made.
struct network_options {
    /// Contract of the accumulating operators (convolution, depthwise, fully connected, batch matmul).
    /// `automatic`: the framework's own; any other rule derives its multipliers or scales from the model's
    /// scales.
    requantization_rule rule = requantization_rule::automatic;
    /// Joins operators where that keeps every byte of the network's outputs; tensors between them vanish.
    bool fusion = true;
    dim_t batch = 0; ///< of `network_sizes`
    /// Threads that creation and runs of this network use: 0 as `set_num_threads` says for the process, 1 the calling
    /// thread alone.
    int threads = 0;
    std::map<std::string, memory::dims> shapes = {}; ///< of `network_sizes`
    std::map<std::string, dim_t> dimensions = {};    ///< of `network_sizes`
    /// Called while the network is made, also in other sizes, from the thread that makes it: the part that is done, 0 to
    /// 1, and what is next. It must not use the network or its contexts, which wait for it.
    std::function<void(double done, const std::string &next)> progress = {};
    /// Bytes that weights and buffers may take; a network that needs more throws `out_of_memory` and tells how many.
    /// 0: no limit.
    std::size_t memory_limit = 0;
    /// The runtime whose bytes a .tflite network gives, by a name of `all_profiles` (octet/profile.hpp); empty: the framework's
    /// default, TensorFlow Lite Micro or ONNX Runtime. `rule` is `automatic` then.
    std::string profile = {};
    /// ONNX: whether a row times a matrix that is computed, or dequantized from constants, has the same bits
    /// alone as among others. Otherwise a single row is summed up in an order of its own, as ONNX Runtime
    /// does it. A saved plan keeps its choice.
    bool rows_alike = false;
    /// ONNX: whether operators between QuantizeLinear and DequantizeLinear on s8 are computed on s8, as ONNX Runtime does with
    /// `session.qdqisint8allowed` = 1. Otherwise they are computed on u8 where one operator reads the codes, else on floats.
    bool qdq_is_int8_allowed = false;
};

/// A tensor of a network with its buffer. A light value; valid as long as the network, until it gets other
/// sizes or buffers. An input that was resized stays valid until it is resized by another view.
class OCTET_API tensor_view {
public:
    int index() const { return index_; }                      ///< in the graph
    const std::string &name() const { return tensor_->name; } ///< as in the graph
    /// In the framework's order (TFLite: NHWC); empty for a scalar, -1 where the file leaves a size open and it has none yet.
    const memory::dims &dims() const { return tensor_->dims; }
    octet::data_type data_type() const { return tensor_->type; } ///< of the elements
    /// Scales and zero points of codes, which .onnx files tell with their operators; not set for floats and for
    /// integers that stand for themselves.
    const model::quantization &quantization() const { return tensor_->quant; }
    std::size_t element_count() const; ///< product of `dims`
    std::size_t size_in_bytes() const; ///< of all elements
    /// "0 ('input') s8 1x96x96x3"
    std::string text() const;

    /// Gives an input of a network another shape, with as many dimensions as in the file. Its elements are zeros then. The
    /// network takes the shapes of all its inputs when it runs, or when an output is asked for: it finds the plan of
    /// these sizes or makes it, as `network::resize` does. Open dimensions of one name have one size in all inputs. An input
    /// whose shape stays keeps its contents, and bound buffers stay bound. Throws octet::error for a tensor that is no
    /// input, for another number of dimensions, and for sizes below 0; a run throws where operators cannot have the sizes.
    void resize(const memory::dims &dims);

    /// The buffer with its layout; a null memory where a size is open. Inputs and outputs of the network are dense and row-major, in the order of
    /// `dims`; images inside an ONNX network may be channels-last.
    const memory &get_memory() const { return memory_; }
    /// The first byte.
    void *data() const;
    /// The first element. Throws octet::error if T is not the type of the elements.
    template <typename T> T *data_as() const {
        check_type(type_of<T>());
        return static_cast<T *>(data());
    }

    /// Writes all elements. Floats become codes where the tensor holds codes of one scale, as the framework's own
    /// quantizing operator would make them. Throws octet::error, and writes nothing, for any other type than the
    /// elements' and for another count.
    template <typename T> void copy_from(const T *values, std::size_t count) const {
        copy_from(values, type_of<T>(), count);
    }
    /// 64-bit integers, as ONNX has them for token ids, into a tensor of s32: all of them must fit.
    void copy_from(const std::int64_t *values, std::size_t count) const;
    /// Copies from a vector, an array or whatever else has data() and size().
    template <typename Container> void copy_from(const Container &values) const {
        copy_from(values.data(), values.size());
    }
    /// Writes all bytes. Throws octet::error, and writes nothing, for another size.
    void copy_bytes_from(const void *bytes, std::size_t size) const;

    /// A copy of the elements, in the order of memory. Codes with one scale can also be had as the real numbers
    /// that they stand for, with T = float. Throws octet::error for any other T than the elements' type.
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
    model::session *session_ = nullptr; ///< of an input
    std::size_t place_ = 0;             ///< of an input, among them
};

/// A network that runs: what was made of a file, and a context, which is memory to run in. Can be moved, not copied;
/// one thread at a time may use it, any number those that `new_context` made.
class OCTET_API network {
public:
    /// Reads a .tflite or .onnx file, or what `save` wrote. Every error names it.
    explicit network(const std::string &path, const network_options &options = {});
    /// Loads a file in memory, which errors call `name`. The bytes are not needed afterwards.
    network(const void *bytes, std::size_t size, const std::string &name,
            const network_options &options = {});
    /// Checks the graph. Throws octet::error with a sentence that names the node; `unimplemented` with all
    /// operators that Octet lacks at once.
    explicit network(model::graph g, const network_options &options = {});
    ~network();
    /// The other one can only be destroyed or assigned to.
    ///@{
    network(network &&) noexcept;
    network &operator=(network &&) noexcept;
    ///@}

    /// Another context of the same network, as it was when it was made: own inputs, outputs, sizes and state; shared
    /// graph, plans and weights. Any thread may call it while another one uses the network, also for `resize`.
    network new_context() const;

    // ---- Use

    std::size_t input_count() const { return get_graph().inputs.size(); }   ///< 0 and more
    std::size_t output_count() const { return get_graph().outputs.size(); } ///< 0 and more
    /// Inputs keep their contents from run to run; outputs stay until the next run. Throw octet::error, with
    /// what there is, for an index or name that there is not.
    ///@{
    tensor_view input(std::size_t index = 0) const;
    tensor_view input(const std::string &name) const;
    tensor_view output(std::size_t index = 0) const;
    tensor_view output(const std::string &name) const;
    ///@}

    /// Lets an input be read from, an output be written to `bytes`, a buffer of the caller's in the layout and size
    /// of the tensor, which stays valid until another one is bound; null: the network's own again. Inputs are
    /// never copied; an output is, at the end of `run`, where it shares its bytes with another tensor. Throw octet::error for
    /// another size, for an address that is not aligned to the elements, and for buffers that share bytes.
    ///@{
    void bind_input(std::size_t index, const void *bytes, std::size_t size);
    void bind_output(std::size_t index, void *bytes, std::size_t size);
    ///@}

    /// A buffer of the caller's, to be read.
    struct source_buffer {
        const void *bytes = nullptr; ///< null: the network's own
        std::size_t size = 0;        ///< in bytes
    };
    /// A buffer of the caller's, to be written.
    struct result_buffer {
        void *bytes = nullptr; ///< null: the network's own
        std::size_t size = 0;  ///< in bytes
    };
    /// Binds all inputs and all outputs at once, in their orders, in place of what was bound before: as `bind_input` and
    /// `bind_output` do, but new buffers are compared among themselves alone. Null bytes: the network's own; without
    /// arguments everything is unbound. Throws octet::error, and binds nothing, for another count and for what these refuse.
    void bind(const std::vector<source_buffer> &inputs, const std::vector<result_buffer> &outputs);
    void bind(); ///< unbinds everything

    /// Gives the network other sizes at once: plans it anew, or takes the plan of these sizes if there was one lately; weights
    /// stay packed. Contents of inputs, bound buffers and state are lost. Throws octet::error, and leaves
    /// the network as it was, where an operator cannot have them.
    void resize(const network_sizes &sizes);

    /// Does without the elements that `model::borrowed` left with their owner, where the graph has names for open sizes: for
    /// other sizes, what is packed is unpacked again for as long as they are planned. Does nothing for other networks.
    void forget_borrowed();

    /// Sets the state of recurrent operators as it was at first.
    void reset_state();

    /// Called after each node with its place in `get_graph().nodes` and the seconds that it took; its outputs
    /// are then in memory.
    using observer = std::function<void(std::size_t node, double seconds)>;
    /// Runs all nodes in order.
    void run(const observer &after_node = {});

    /// Writes the network in its present sizes to a file from which it starts in milliseconds: without the model, without
    /// analysis, without packing; processes share the weights. The file is good for this version of the library and
    /// this instruction set alone, its network has this rule, and another way of storing weights is not promised:
    /// keep the model. Its network begins with these sizes, can have others as the model can, for which its weights are
    /// unpacked once, and keeps these where it is not told others. A file of this path is replaced as a whole: who
    /// has it open or mapped keeps the old one, several writers each put a whole file there, a symbolic link stays and the
    /// file that it names is replaced. Throws octet::error if it cannot be written, `invalid_arguments` where the path is
    /// a directory, a device or a pipe.
    void save(const std::string &path) const;
    /// The bytes of that file.
    std::vector<std::uint8_t> save() const;

    // ---- What it consists of

    /// The graph as it runs, or as it was read while a size is open: operators on codes instead of floats, joined nodes, layouts assigned. Tensors and
    /// nodes that were there before keep their indices and numbers (`model::node_number`).
    const model::graph &get_graph() const;

    /// Which of ONNX Runtime's transformers changed the graph of an .onnx file, in their order: "L2.1 GeluFusionL2" for the
    /// first time over those of level 2. None for other files and for saved plans.
    const std::vector<std::string> &passes() const;
    /// The operators that those leave of an .onnx file, one for each node, before Octet writes them in its own. None for other
    /// files and for saved plans.
    const std::vector<std::string> &operators_left() const;

    /// Any tensor that a node or the network reads or writes. What a node writes may be overwritten after its
    /// last reader.
    ///@{
    tensor_view tensor(int index) const;
    memory get_memory(int tensor) const;
    ///@}
    /// Name of what a node runs on: "jit:dot/avx512_vnni", "ref", "view" (the input's buffer), …
    std::string implementation(std::size_t node) const;
    /// Problem, plan and refusals of a node's primitives, one per line.
    std::string explain(std::size_t node) const;
    /// The options that it was made with.
    const network_options &options() const;
    /// Bytes of the buffers between the nodes: shared, and as they would be if each had its own.
    std::pair<std::size_t, std::size_t> buffer_bytes() const;
    /// Bytes of weights as operators read them, of all sizes that it or its other contexts had lately: they are
    /// shared.
    std::size_t weight_bytes() const;

private:
    explicit network(std::unique_ptr<model::session> s);
    int input_index(std::size_t i) const;
    int output_index(std::size_t i) const;
    tensor_view input_at(std::size_t place) const;
    tensor_view output_at(std::size_t place) const;
    std::unique_ptr<model::session> session_;
};

/// Operators of a framework ("tflite", "onnx") that files may have, sorted. Some are gone when the network runs: those that compute
/// shapes, and those that others take the place of. Throws octet::error for another framework.
OCTET_API std::vector<std::string> supported_operators(const std::string &framework);

/// A node that a network cannot have.
struct refused_node {
    int number = 0; ///< in its file, by which messages name it (`model::node_number`)
    std::string
        reason; ///< the sentence with which a network is refused that has this node and no other such one
    bool is_certain =
        true; ///< false: it reads what a refused node computes, of which neither file nor program tells type and dimensions
};

/// All nodes for which a network of the graph would be refused, in the order of their numbers; none: it would not be. Weights
/// are not packed. A size that is still open is 16. Throws octet::error for what is wrong with the graph and no node's fault.
OCTET_API std::vector<refused_node> refused_nodes(model::graph g, const network_options &options = {});
/// All nodes of a file for which a network would be refused, also of one that `network` does not read since it has operators that
/// Octet lacks. Throws octet::error for a file that cannot be read.
OCTET_API std::vector<refused_node> refused_nodes(const std::string &path,
                                                  const network_options &options = {});

/// An operator as a file would have it.
struct operator_query {
    std::string op;                                          ///< "Conv", "CONV_2D"
    std::string domain = {};                                 ///< ONNX: "" and "ai.onnx" are the standard's
    std::string framework = "onnx";                          ///< or "tflite"
    std::int64_t opset = 17;                                 ///< ONNX: the operator set
    std::map<std::string, model::attribute> attributes = {}; ///< by the framework's names
    /// Types, dimensions and, of constants, elements; a tensor without a type stands for an absent input. A `foreign_type` names
    /// a type that Octet lacks, and "INT64" one that it has as s32.
    std::vector<model::tensor> inputs = {};
    /// TFLite: types and dimensions. ONNX: their number counts.
    std::vector<model::tensor> outputs = std::vector<model::tensor>(1);
};
/// The sentence with which a network of this one operator is refused, empty for one that runs.
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
