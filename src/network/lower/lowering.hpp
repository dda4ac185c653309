#pragma once

// What the lowering of one node sees and makes. A lowering function reads the node through `lowering`, checks
// what it needs, creates primitives, and returns a step that holds them with their arguments. Failures are
// octet::error sentences about the node; `network` puts "node N (OP): " in front.

#include <initializer_list>
#include <unordered_map>

#include "network/run/buffers.hpp"
#include "network/run/network.hpp"

namespace octet::model {

using arguments = std::unordered_map<int, memory>;

/// Primitives that run one after the other.
class primitive_step final : public step {
public:
    void add(const primitive_desc_base &pd, arguments args);
    void run(const stream &s) override;
    std::string implementation() const override;
    std::string explain() const override;

private:
    struct launch {
        primitive_desc_base pd;
        primitive what;
        arguments args;
    };
    std::vector<launch> launches_;
};

/// A step of one primitive.
std::unique_ptr<step> one_step(const primitive_desc_base &pd, arguments args);

/// The output is the input's buffer under other dimensions.
class view_step final : public step {
public:
    void run(const stream &) override {}
    std::string implementation() const override { return "view"; }
    std::string explain() const override { return "the input's buffer under other dimensions; nothing runs"; }
};

class lowering {
public:
    lowering(const node &n, const graph &g, tensor_buffers &buffers, const engine &e,
             const network_options &options)
        : node_(n), graph_(g), buffers_(buffers), engine_(e), options_(options) {}

    const node &get_node() const { return node_; }
    const network_options &options() const { return options_; }
    const engine &get_engine() const { return engine_; }
    const graph &get_graph() const { return graph_; }

    /// What the operator itself computes: the output, or the tensor that it would hand to the first operator
    /// that is fused behind it.
    const tensor &result() const;

    /// The same for another node, one that is fused behind this one.
    lowering of(const node &n) const { return {n, graph_, buffers_, engine_, options_}; }

    /// Tensors of the node. Throw if absent, or of a type that is not in `types`.
    bool has_input(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i] >= 0; }
    std::size_t input_count() const { return node_.inputs.size(); }
    const tensor &input(std::size_t i) const;
    const tensor &input(std::size_t i, std::initializer_list<data_type> types) const;
    const tensor &output() const;
    const tensor &output(std::initializer_list<data_type> types) const;
    const tensor &output(std::size_t i, std::initializer_list<data_type> types) const; ///< of several

    /// Integers of a constant s32 input (axes, paddings, a permutation).
    std::vector<std::int64_t> constant_integers(std::size_t i) const;

    bool has_attribute(const std::string &name) const { return node_.attributes.count(name) != 0; }
    std::int64_t integer(const std::string &name) const;
    std::int64_t integer(const std::string &name, std::int64_t fallback) const;
    std::vector<std::int64_t> integers(const std::string &name,
                                       const std::vector<std::int64_t> &fallback) const;
    float real(const std::string &name) const;
    std::string text(const std::string &name) const;
    std::string text(const std::string &name, const std::string &fallback) const;

    /// The buffer of an input or of the output, in the tensor's layout or seen through `d`. Buffers of
    /// computed tensors get their addresses only after all nodes are lowered.
    memory input_memory(std::size_t i) const;
    memory output_memory() const;
    memory input_memory(std::size_t i, const memory::desc &d) const;
    memory output_memory(const memory::desc &d) const;
    memory output_memory(std::size_t i) const;

    /// The output's buffer, which can be written now and keeps its contents; asked for before the others.
    memory kept_output_memory() const;

    /// A constant input in the layout that the primitive chose, reordered now, once.
    memory packed_input(std::size_t i, const memory::desc &plain, const memory::desc &chosen) const;

    /// Lets the output share the input's buffer.
    void alias_output_to_input(std::size_t i) const;

private:
    int input_index(std::size_t i) const;
    int output_index() const;
    int output_index(std::size_t i) const;
    template <typename T> const T &attribute_as(const std::string &name, const char *kind) const;

    const node &node_;
    const graph &graph_;
    tensor_buffers &buffers_;
    const engine &engine_;
    const network_options &options_;
};

/// Dense descriptor of a tensor in its layout; a scalar gets one dimension.
memory::desc dense_desc(const tensor &t);
/// The same for a tensor that needs a buffer: throws for a type that Octet lacks and for one without
/// elements.
memory::desc checked_desc(const tensor &t);

/// The same with leading dimensions of size 1 up to `rank`, as broadcasting needs it.
memory::desc padded_desc(const tensor &t, std::size_t rank);

/// What two such tensors of equal rank broadcast to; throws if they do not.
memory::dims broadcast_dims(const memory::desc &a, const memory::desc &b);

/// Row-major matrices, transposed by strides. Missing leading dimensions are 1.
memory::desc matrices_desc(const memory::dims &matrix_dims, data_type type, std::size_t rank,
                           bool is_transposed);

/// Weights to plan with: a constant may take any layout, others stay as they are.
memory::desc planned_weights(const memory::desc &plain, const tensor &weights);

[[noreturn]] void refuse(const std::string &reason);
[[noreturn]] void refuse_as_unimplemented(const std::string &reason);

using lowering_function = std::unique_ptr<step> (*)(const lowering &);
/// Operators of a framework; null for one without a lowering. `…_operators` lists the others, for messages.
lowering_function find_tflite_lowering(const std::string &op);
std::string tflite_operators();
lowering_function find_onnx_lowering(const std::string &op);
std::string onnx_operators();

} // namespace octet::model
