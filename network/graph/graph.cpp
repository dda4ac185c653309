// Checks what every graph must satisfy, whoever made it: sizes that cannot overflow, quantization that fits
// its tensor, and an order of nodes in which each reads only what is there. Readers and hand-made graphs end
// here, so that passes and lowering need not check again. Start at `check_graph`.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/graph.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

namespace octet::model {
namespace {

std::string tensor_text(const graph &g, tensor_id t) {
    return "tensor " + std::to_string(t.number()) + " ('" + tensor_at(g, t).name + "')";
}

/// A tensor that a message is about, if there is one: most are as they should be.
struct subject {
    const graph &g;
    tensor_id t;
};
std::string operator+(const subject &who, const char *rest) { return tensor_text(who.g, who.t) + rest; }

/// Largest tensor: TFLite and FlatBuffers count bytes in 31 bits, and no int8 network comes near.
constexpr std::int64_t max_tensor_bytes = std::numeric_limits<std::int32_t>::max();

/// Ten times what the largest networks have; bounds the time that planning takes.
constexpr std::size_t max_nodes = 65536;

void check_dims(const tensor &t, const subject &who) {
    if (t.dims.size() > max_ndims)
        refuse(who + " has " + std::to_string(t.dims.size()) + " dimensions; allowed are up to " +
               std::to_string(max_ndims));
    std::int64_t bytes = static_cast<std::int64_t>(memory::data_type_size(t.type));
    if (bytes == 0)
        bytes = 1; // foreign types: at least this much
    bool is_empty = false;
    for (std::size_t i = 0; i < t.dim_names.size() && i < t.dims.size(); i++)
        if (t.dims[i] < 0)
            refuse("input '" + t.name + "': dimension " + std::to_string(i) + " ('" + t.dim_names[i] +
                   "') has no fixed size, and none is given");
    for (const dim_t d : t.dims) {
        if (d < 0)
            refuse(who + " has dimensions " + to_text(t.dims) +
                   "; a size that is known only at run time is not supported");
        if (d == 0)
            is_empty = true;
        else if (bytes > max_tensor_bytes / d)
            refuse(who + " has dimensions " + to_text(t.dims) + ", more than 2^31 - 1 bytes");
        else
            bytes *= d;
    }
    if (!t.is_constant || t.type == data_type::undef)
        return;
    const std::int64_t shared = elements_per_byte(t.type),
                       expected = is_empty ? 0 : (bytes + shared - 1) / shared;
    if (static_cast<std::int64_t>(t.data.size()) != expected)
        refuse(who + " holds " + std::to_string(t.data.size()) + " bytes of constant data, but " +
               type_text(t) + " " + to_text(t.dims) + " takes " + std::to_string(expected));
}

std::pair<std::int32_t, std::int32_t> code_range(data_type type) {
    switch (type) {
    case data_type::s8:
        return {-128, 127};
    case data_type::u8:
        return {0, 255};
    case data_type::s16:
        return {-32768, 32767};
    default:
        return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    }
}

/// Scales that a tensor with one per channel has. A bias often names the axis of its weights, so for s32 the
/// axis does not count.
std::int64_t channel_count(const tensor &t, const subject &who) {
    if (t.type == data_type::s32)
        return element_count(t.dims);
    if (t.quant.axis < 0 || t.quant.axis >= static_cast<int>(t.dims.size()))
        refuse(who + " has scales along dimension " + std::to_string(t.quant.axis) +
               ", but its dimensions are " + to_text(t.dims));
    return t.dims[static_cast<std::size_t>(t.quant.axis)];
}

void check_quantization(const tensor &t, const subject &who) {
    const quantization &q = t.quant;
    for (const float scale : q.scales)
        if (!(std::isfinite(scale) && scale > 0))
            refuse(who + " has a scale of " + std::to_string(scale) + "; scales are positive and finite");
    if (q.zero_points.size() != q.scales.size())
        refuse(who + " has " + std::to_string(q.scales.size()) + " scales, but " +
               std::to_string(q.zero_points.size()) + " zero points");
    if (q.scales.size() > 1 && static_cast<std::int64_t>(q.scales.size()) != channel_count(t, who))
        refuse(who + " has " + std::to_string(q.scales.size()) + " scales along dimension " +
               std::to_string(q.axis) + " of " + to_text(t.dims) + "; allowed are 1 or " +
               std::to_string(channel_count(t, who)));
    const auto [lowest, highest] = code_range(t.type);
    for (const std::int32_t zero_point : q.zero_points)
        if (zero_point < lowest || zero_point > highest)
            refuse(who + " has a zero point of " + std::to_string(zero_point) + ", outside the codes of " +
                   type_text(t));
}

/// Checks what passes say of images that lie channels-last.
void check_layout(const tensor &t, const subject &who) {
    if (t.is_channels_last && (t.dims.size() < 3 || t.dims.size() > 5))
        refuse(who + " is channels-last with " + std::to_string(t.dims.size()) +
               " dimensions, allowed are 3 to 5");
}

/// Follows the nodes in order and knows which tensors hold values.
class dataflow_check {
public:
    explicit dataflow_check(const graph &g) : g_(g), is_written_(g.tensors.size()) {
        for (std::size_t i = 0; i < g.tensors.size(); i++)
            is_written_[i] = g.tensors[i].is_constant || g.tensors[i].is_variable;
    }

    void run() {
        for (const int number : g_.inputs) {
            const tensor_id t = checked(number, [] { return "the network's inputs"; });
            if (tensor_at(g_, t).is_constant)
                refuse("the network's input " + tensor_text(g_, t) + " is a constant");
            is_written_[t.index()] = true;
        }
        for (std::size_t i = 0; i < g_.nodes.size(); i++)
            check_node(g_.nodes[i], [&] { return node_text(g_, i); });
        for (const int number : g_.outputs) {
            const tensor_id t = checked(number, [] { return "the network's outputs"; });
            if (!is_written_[t.index()])
                refuse("the network's output " + tensor_text(g_, t) + " is written by no node");
        }
    }

private:
    /// Who a message is about; it is asked for if there is one.
    using naming = std::function<std::string()>;

    /// The tensor of a number that a graph lists.
    tensor_id checked(int number, const naming &who) const {
        if (number < 0 || static_cast<std::size_t>(number) >= g_.tensors.size())
            refuse(who() + " name tensor " + std::to_string(number) + ", but there are " +
                   std::to_string(g_.tensors.size()) + " tensors");
        return tensor_id(number);
    }

    void check_node(const node &n, const naming &who) {
        for (const int number : n.inputs)
            check_input(number, who);
        for (const node &f : n.fused)
            check_fused(f, [&] { return who() + ": fused " + f.op; });
        if (n.outputs.empty())
            refuse(who() + " has no outputs, allowed are 1 or more");
        for (const int number : n.outputs) {
            const tensor_id t = checked(number, [&] { return "the outputs of " + who(); });
            if (is_written_[t.index()])
                refuse(who() + " writes " + tensor_text(g_, t) +
                       ", which is an input, a constant or written before");
            is_written_[t.index()] = true;
            check_result_type(t, n, who);
        }
    }

    /// A result without a type comes of inputs of one that Octet lacks.
    void check_result_type(tensor_id t, const node &n, const naming &who) const {
        if (has_no_type(tensor_at(g_, t)))
            for (std::size_t i = 0; i < n.inputs.size(); i++)
                if (const tensor_id x = input_of(n, i);
                    x && tensor_at(g_, x).type == data_type::undef && !tensor_at(g_, x).foreign_type.empty())
                    refuse(who() + ": input " + std::to_string(i) + " ('" + tensor_at(g_, x).name + "') is " +
                           type_text(tensor_at(g_, x)) + ", allowed are f32, s32, s16, s8 and u8");
        check_type(t, who);
    }

    static bool has_no_type(const tensor &t) { return t.type == data_type::undef && t.foreign_type.empty(); }

    void check_type(tensor_id t, const naming &who) const {
        if (has_no_type(tensor_at(g_, t)))
            refuse(who() + " uses " + tensor_text(g_, t) + ", which has no type");
    }

    void check_input(int number, const naming &who) const {
        if (number == -1)
            return;
        const tensor_id t = checked(number, [&] { return "the inputs of " + who(); });
        const bool is_empty = element_count(tensor_at(g_, t).dims) == 0; // e.g. the shape of a scalar
        if (!is_written_[t.index()] && !is_empty)
            refuse(who() + " reads " + tensor_text(g_, t) +
                   ", which is no input or constant of the network and which no earlier node writes");
        check_type(t, who);
    }

    /// Checks a node that was fused into another: all its inputs exist, except for the other node's result.
    void check_fused(const node &f, const naming &who) const {
        const auto is_input = [&](int k) { return k >= 0 && input_of(f, static_cast<std::size_t>(k)); };
        if (f.outputs.size() != 1 || !f.fused.empty() || !is_input(f.result_input) || f.stored_input < -1 ||
            (f.stored_input >= 0 && !is_input(f.stored_input)))
            refuse(who() + " has " + std::to_string(f.outputs.size()) + " outputs, " +
                   std::to_string(f.fused.size()) + " fused operators, and its operands at inputs " +
                   std::to_string(f.result_input) + " and " + std::to_string(f.stored_input) + " of " +
                   std::to_string(f.inputs.size()));
        checked(f.outputs[0], [&] { return "the outputs of " + who(); });
        const int result = f.inputs[static_cast<std::size_t>(f.result_input)];
        checked(result, [&] { return "the inputs of " + who(); });
        for (const int number : f.inputs)
            if (number != result)
                check_input(number, who);
    }

    const graph &g_;
    std::vector<bool> is_written_;
};

} // namespace

void refuse(const std::string &reason) { throw error(status::invalid_arguments, reason); }
void refuse_as_unimplemented(const std::string &reason) { throw error(status::unimplemented, reason); }

void check_tensor(const graph &g, tensor_id t) {
    const subject who{g, t};
    check_dims(tensor_at(g, t), who);
    check_quantization(tensor_at(g, t), who);
}

std::optional<std::int32_t> constant_code(const graph &g, tensor_id code) {
    if (!code)
        return {};
    const tensor &t = tensor_at(g, code);
    if (!t.is_constant || !is_code(t.type) || t.data.size() != 1)
        return {};
    return t.type == data_type::s8 ? static_cast<std::int8_t>(t.data[0]) : t.data[0];
}

bool is_read(const graph &g, tensor_id t) {
    return has(outputs_of(g), t) ||
           any_of(g.nodes, [&](const node &reader) { return has(inputs_of(reader), t); });
}

void report_none_used() { throw std::out_of_range("a tensor or node that there is not is used"); }

tensor_id add_tensor(graph &g, tensor t) {
    g.tensors.push_back(std::move(t));
    return tensor_id(g.tensors.size() - 1);
}

} // namespace octet::model

namespace octet {
inline namespace v0 {
namespace model {

void check_graph(const graph &g) {
    if (g.nodes.size() > max_nodes)
        refuse("the network has " + std::to_string(g.nodes.size()) + " nodes, allowed are up to " +
               std::to_string(max_nodes));
    for (std::size_t i = 0; i < g.tensors.size(); i++) {
        check_tensor(g, tensor_id(i));
        check_layout(g.tensors[i], {g, tensor_id(i)});
    }
    dataflow_check(g).run();
}

std::int64_t element_count(const memory::dims &dims) {
    std::int64_t count = 1;
    for (const dim_t d : dims)
        count *= d;
    return count;
}

std::string to_text(const memory::dims &dims) {
    std::string text;
    for (const dim_t d : dims)
        text += (text.empty() ? "" : "x") + std::to_string(d);
    return text.empty() ? "scalar" : text;
}

std::string to_text(data_type type) { return to_string(type); }

std::string type_text(const tensor &t) {
    return t.foreign_type.empty() || t.type != data_type::undef ? to_text(t.type) : t.foreign_type;
}

std::string operator_text(const node &n) {
    std::string text = n.op;
    for (const node &f : n.fused)
        text += " + " + f.op;
    return text;
}

int node_number(const graph &g, std::size_t index) {
    const int number = g.nodes.at(index).number;
    return number >= 0 ? number : static_cast<int>(index);
}

std::string node_text(const graph &g, std::size_t index) {
    return "node " + std::to_string(node_number(g, index)) + " (" + operator_text(g.nodes.at(index)) + ")";
}

} // namespace model
} // namespace v0
} // namespace octet
