// A node's graph is copied node by node. Names of a graph become names of the file: what it reads from outside keeps
// its name, what it computes gets a number in front, and a result is written under the name that the node gave it.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/reader/inlined_graphs.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "network/graph/file.hpp"
#include "network/onnx/reader/constants.hpp"
#include "network/onnx/reader/node_order.hpp"

namespace octet::model {
namespace {

namespace format = onnx;
using scope_names = std::map<std::string, std::string>; ///< of a graph, to those of the file

constexpr int most_nodes = 100'000;

const format::AttributeProto *attribute_of(const format::NodeProto &n, const char *name) {
    for (const format::AttributeProto &a : n.attribute())
        if (a.name() == name)
            return &a;
    return nullptr;
}
std::int64_t integer_of(const format::NodeProto &n, const char *name, int i = 0) {
    const format::AttributeProto *a = attribute_of(n, name);
    return !a ? 0 : a->type() == format::AttributeProto::INT ? a->i() : i < a->ints_size() ? a->ints(i) : 0;
}
bool has_graph(const format::NodeProto &n) {
    return n.domain().empty() && (n.op_type() == "If" || n.op_type() == "Loop" || n.op_type() == "Scan");
}

class inliner {
public:
    explicit inliner(const onnx_file &file) : source_(file.model.graph()) {
        for (const onnx_initializer &i : file.initializers)
            add_constant(i.tensor.name(), i.tensor, i.raw_data ? &*i.raw_data : nullptr);
        for (const auto *values : {&source_.input(), &source_.value_info()})
            for (const format::ValueInfoProto &v : *values)
                if (v.type().has_tensor_type())
                    shapes_.emplace(v.name(), &v.type().tensor_type());
        for (const format::OperatorSetIdProto &set : file.model.opset_import())
            if (set.domain().empty())
                opset_ = set.version();
    }

    format::GraphProto run() {
        result_ = source_;
        result_.clear_node();
        for (const int i : order_of_nodes(source_))
            add_node(source_.node(i), {});
        return std::move(result_);
    }

private:
    // ---- what is known

    /// Constants of one element that conditions and counts may be.
    void add_constant(const std::string &name, const format::TensorProto &t, const shared_bytes *raw_data) {
        std::int64_t count = 1;
        for (const std::int64_t d : t.dims())
            count *= d;
        if (count != 1 ||
            (t.data_type() != format::TensorProto::BOOL && t.data_type() != format::TensorProto::INT64))
            return;
        if (t.data_location() == format::TensorProto::EXTERNAL)
            return;
        external_files none;
        const shared_bytes raw(std::vector<std::uint8_t>(t.raw_data().begin(), t.raw_data().end()));
        const tensor value = read_constant(t,
                                           raw_data           ? raw_data
                                           : t.has_raw_data() ? &raw
                                                              : nullptr,
                                           none, "constant");
        if (!value.data.empty())
            constants_[name] =
                value.type == data_type::s32 ? values_of<std::int32_t>(value)[0] : value.data[0];
    }
    const std::int64_t *constant(const std::string &name) const {
        const auto found = constants_.find(name);
        return found == constants_.end() ? nullptr : &found->second;
    }
    /// -1 if it is not known.
    std::int64_t size_of(const std::string &name, std::int64_t axis) const {
        const auto found = shapes_.find(name);
        if (found == shapes_.end() || !found->second->has_shape())
            return -1;
        const auto &dims = found->second->shape();
        axis += axis < 0 ? dims.dim_size() : 0;
        const bool is_there = axis >= 0 && axis < dims.dim_size();
        return is_there && dims.dim(static_cast<int>(axis)).has_dim_value()
                   ? dims.dim(static_cast<int>(axis)).dim_value()
                   : -1;
    }

    // ---- nodes

    static std::string renamed(const std::string &name, const scope_names &scope) {
        const auto found = scope.find(name);
        return found == scope.end() ? name : found->second;
    }

    format::NodeProto &next_node() {
        if (result_.node_size() >= source_.node_size() + most_nodes)
            refuse(inlined_ + " becomes more than " + std::to_string(most_nodes) + " nodes");
        return *result_.add_node();
    }
    format::NodeProto &emit(const std::string &op, const std::vector<std::string> &inputs,
                            const std::string &output) {
        format::NodeProto &n = next_node();
        n.set_op_type(op);
        for (const std::string &input : inputs)
            n.add_input(input);
        n.add_output(output);
        return n;
    }

    /// The constant, known under this name from now on.
    void emit_constant(const std::string &name, const format::TensorProto &t) {
        format::NodeProto &n = emit("Constant", {}, name);
        format::AttributeProto &value = *n.add_attribute();
        value.set_name("value");
        value.set_type(format::AttributeProto::TENSOR);
        *value.mutable_t() = t;
        add_constant(name, t, nullptr);
    }
    void emit_number(const std::string &name, format::TensorProto::DataType type, std::int64_t number,
                     bool is_list = false) {
        format::TensorProto t;
        t.set_data_type(type);
        if (is_list)
            t.add_dims(1);
        if (type == format::TensorProto::INT64)
            t.add_int64_data(number);
        else
            t.add_int32_data(static_cast<std::int32_t>(number));
        emit_constant(name, t);
    }

    static void set_integer(format::NodeProto &n, const char *name, std::int64_t number) {
        format::AttributeProto &a = *n.add_attribute();
        a.set_name(name);
        a.set_type(format::AttributeProto::INT);
        a.set_i(number);
    }

    /// A copy in the file's names, or what its graph gives.
    void add_node(const format::NodeProto &source, const scope_names &scope) {
        format::NodeProto n = source;
        for (std::string &name : *n.mutable_input())
            name = renamed(name, scope);
        for (std::string &name : *n.mutable_output())
            name = renamed(name, scope);
        if (n.op_type() == "Constant")
            if (const format::AttributeProto *value = attribute_of(n, "value"); value && value->has_t())
                add_constant(n.output(0), value->t(), nullptr);
        if (has_graph(n) && inlines(n, scope))
            return;
        next_node() = std::move(n);
    }

    /// `n` has the file's names, its graphs those of `scope`.
    bool inlines(const format::NodeProto &n, const scope_names &scope) {
        inlined_ = n.op_type() + " '" + printable(n.output(0)) + "'";
        return n.op_type() == "If"     ? inlines_if(n, scope)
               : n.op_type() == "Loop" ? inlines_loop(n, scope)
                                       : inlines_scan(n, scope);
    }

    /// The nodes of a graph, whose outputs are written under `results`; inputs are in `scope`.
    void add_graph(const format::GraphProto &graph, scope_names scope,
                   const std::vector<std::string> &results) {
        const std::string prefix = std::to_string(copies_++) + ":";
        std::map<std::string, bool> is_computed;
        for (const format::NodeProto &n : graph.node())
            for (const std::string &name : n.output())
                if (!name.empty()) {
                    scope[name] = prefix + name;
                    is_computed[name] = true;
                }
        for (const format::TensorProto &t : graph.initializer())
            scope[t.name()] = prefix + t.name();
        // A result of a node is written where it belongs; a second one of it, or of another kind, is copied.
        std::vector<bool> is_written(results.size());
        for (std::size_t i = 0; i < results.size(); i++)
            if (const std::string &name = graph.output(static_cast<int>(i)).name();
                is_computed[name] && !results[i].empty()) {
                scope[name] = results[i];
                is_computed[name] = false;
                is_written[i] = true;
            }
        for (const format::TensorProto &t : graph.initializer())
            emit_constant(scope.at(t.name()), t);
        for (const format::NodeProto &n : graph.node())
            add_node(n, scope);
        for (std::size_t i = 0; i < results.size(); i++)
            if (!is_written[i] && !results[i].empty())
                emit("Identity", {renamed(graph.output(static_cast<int>(i)).name(), scope)}, results[i]);
    }

    static std::vector<std::string> outputs_of(const format::NodeProto &n, int count) {
        std::vector<std::string> result(n.output().begin(), n.output().end());
        result.resize(static_cast<std::size_t>(count));
        return result;
    }

    bool inlines_if(const format::NodeProto &n, const scope_names &scope) {
        const std::int64_t *condition = n.input_size() == 1 ? constant(n.input(0)) : nullptr;
        const auto *branch =
            condition ? attribute_of(n, *condition ? "then_branch" : "else_branch") : nullptr;
        if (!branch || !branch->has_g() || branch->g().output_size() < n.output_size())
            return false;
        add_graph(branch->g(), scope, outputs_of(n, branch->g().output_size()));
        return true;
    }

    // ---- bodies that are repeated

    struct repetition {
        const format::GraphProto &body;
        std::int64_t count;
        int states; ///< carried from one copy to the next, first behind `first_input` and `first_output`
        int first_input, first_output;
    };

    /// The body `count` times; `begin(i, scope)` gives its other inputs their names. What a copy gives beside its
    /// states is put together along `axis(k)`, from the end if `is_reversed(k)`.
    template <typename Begin, typename Axis, typename Reversed>
    void repeat(const repetition &r, const format::NodeProto &n, const scope_names &scope,
                std::vector<std::string> states, const Begin &begin, const Axis &axis,
                const Reversed &is_reversed) {
        const int stacked = r.body.output_size() - r.first_output - r.states;
        std::vector<std::vector<std::string>> parts(static_cast<std::size_t>(stacked));
        const std::string prefix = std::to_string(copies_++) + ":";
        for (std::int64_t i = 0; i < r.count; i++) {
            const std::string step = prefix + std::to_string(i) + ":";
            scope_names inner = scope;
            begin(i, step, inner);
            for (int s = 0; s < r.states; s++)
                inner[r.body.input(r.first_input + s).name()] = states[static_cast<std::size_t>(s)];
            std::vector<std::string> results(static_cast<std::size_t>(r.body.output_size()));
            for (int s = 0; s < r.states; s++) {
                states[static_cast<std::size_t>(s)] = step + "state" + std::to_string(s);
                results[static_cast<std::size_t>(r.first_output + s)] = states[static_cast<std::size_t>(s)];
            }
            for (int k = 0; k < stacked; k++)
                if (r.states + k < n.output_size() && !n.output(r.states + k).empty()) {
                    auto &of = parts[static_cast<std::size_t>(k)];
                    of.push_back(step + "part" + std::to_string(k));
                    results[static_cast<std::size_t>(r.first_output + r.states + k)] = of.back();
                }
            add_graph(r.body, inner, results);
        }
        for (int s = 0; s < std::min(r.states, n.output_size()); s++)
            if (!n.output(s).empty())
                emit("Identity", {states[static_cast<std::size_t>(s)]}, n.output(s));
        for (int k = 0; k < stacked; k++)
            if (auto &of = parts[static_cast<std::size_t>(k)]; !of.empty())
                stack(of, axis(k), is_reversed(k), n.output(r.states + k));
    }

    /// One new dimension, along which the parts lie.
    void stack(std::vector<std::string> parts, std::int64_t axis, bool is_reversed, const std::string &to) {
        if (is_reversed)
            std::reverse(parts.begin(), parts.end());
        constexpr int axes_are_an_input = 13;
        if (opset_ >= axes_are_an_input)
            emit_number(to + ":axes", format::TensorProto::INT64, axis, true);
        for (std::string &part : parts) {
            const std::string line = part + ":line";
            if (opset_ >= axes_are_an_input) {
                emit("Unsqueeze", {part, to + ":axes"}, line);
            } else {
                format::AttributeProto &a = *emit("Unsqueeze", {part}, line).add_attribute();
                a.set_name("axes");
                a.set_type(format::AttributeProto::INTS);
                a.add_ints(axis);
            }
            part = line;
        }
        set_integer(emit("Concat", parts, to), "axis", axis);
    }

    bool inlines_loop(const format::NodeProto &n, const scope_names &scope) {
        const auto *attribute = attribute_of(n, "body");
        if (!attribute || !attribute->has_g() || n.input_size() < 2)
            return false;
        const format::GraphProto &body = attribute->g();
        const int states = n.input_size() - 2;
        if (body.input_size() != states + 2 || body.output_size() < states + 1)
            return false;
        std::int64_t count = 0;
        if (!count_of_loop(n, body, scope, count))
            return false;
        const auto has_stacked = [&] { return n.output_size() > states; };
        if (count == 0 && has_stacked())
            return false;
        repeat(
            {body, count, states, 2, 1}, n, scope, {n.input().begin() + 2, n.input().end()},
            [&](std::int64_t i, const std::string &step, scope_names &inner) {
                inner[body.input(0).name()] = step + "number";
                inner[body.input(1).name()] = step + "condition";
                emit_number(step + "number", format::TensorProto::INT64, i);
                emit_number(step + "condition", format::TensorProto::BOOL, 1);
            },
            [](int) { return 0; }, [](int) { return false; });
        return true;
    }

    /// False if it is not known.
    bool count_of_loop(const format::NodeProto &n, const format::GraphProto &body, const scope_names &scope,
                       std::int64_t &count) const {
        const bool has_condition = !n.input(1).empty();
        const std::int64_t *first = has_condition ? constant(n.input(1)) : nullptr;
        const std::int64_t *trips = n.input(0).empty() ? nullptr : constant(n.input(0));
        if ((has_condition && !first) || (!n.input(0).empty() && !trips))
            return false;
        if ((first && !*first) || (trips && *trips <= 0)) {
            count = 0;
            return true;
        }
        const int goes_on = condition_of(body, scope);
        if (goes_on < 0 || (goes_on == 1 && !trips))
            return false;
        count = goes_on == 0 ? 1 : *trips;
        return true;
    }

    /// What a body says of the next copy: 0, 1, or -1 if it computes that.
    int condition_of(const format::GraphProto &body, const scope_names &scope) const {
        std::string name = body.output(0).name();
        for (int i = body.node_size() - 1; i >= 0; i--) { // writers come before readers
            const format::NodeProto &n = body.node(i);
            if (n.output_size() != 1 || n.output(0) != name)
                continue;
            if (n.op_type() == "Identity" && n.input_size() == 1) {
                name = n.input(0);
            } else {
                const auto *value = n.op_type() == "Constant" ? attribute_of(n, "value") : nullptr;
                return value && value->has_t() ? truth_of(value->t()) : -1;
            }
        }
        if (name == body.input(1).name())
            return 1;
        for (const format::TensorProto &t : body.initializer())
            if (t.name() == name)
                return truth_of(t);
        const std::int64_t *outer = constant(renamed(name, scope));
        return outer ? *outer != 0 : -1;
    }
    static int truth_of(const format::TensorProto &t) {
        if (t.data_type() != format::TensorProto::BOOL)
            return -1;
        if (t.has_raw_data())
            return t.raw_data().size() == 1 ? t.raw_data()[0] != 0 : -1;
        return t.int32_data_size() == 1 ? t.int32_data(0) != 0 : -1;
    }

    /// Since set 9; the one before has batches.
    bool inlines_scan(const format::NodeProto &n, const scope_names &scope) {
        constexpr int without_batches = 9;
        const auto *attribute = attribute_of(n, "body");
        const auto sources = static_cast<int>(integer_of(n, "num_scan_inputs"));
        const int states = n.input_size() - sources;
        if (opset_ < without_batches || !attribute || !attribute->has_g() || sources < 1 || states < 0)
            return false;
        const format::GraphProto &body = attribute->g();
        if (body.input_size() != n.input_size() || body.output_size() < states)
            return false;
        const auto axis_of = [&](int k) { return integer_of(n, "scan_input_axes", k); };
        const std::int64_t count = size_of(n.input(states), axis_of(0));
        if (count <= 0)
            return false;
        repeat(
            {body, count, states, 0, 0}, n, scope, {n.input().begin(), n.input().begin() + states},
            [&](std::int64_t i, const std::string &step, scope_names &inner) {
                for (int k = 0; k < sources; k++) {
                    const std::string part = step + "source" + std::to_string(k), index = part + ":index";
                    const bool is_reversed = integer_of(n, "scan_input_directions", k) != 0;
                    emit_number(index, format::TensorProto::INT64, is_reversed ? count - 1 - i : i);
                    set_integer(emit("Gather", {n.input(states + k), index}, part), "axis", axis_of(k));
                    inner[body.input(states + k).name()] = part;
                }
            },
            [&](int k) { return integer_of(n, "scan_output_axes", k); },
            [&](int k) { return integer_of(n, "scan_output_directions", k) != 0; });
        return true;
    }

    const format::GraphProto &source_;
    format::GraphProto result_;
    std::unordered_map<std::string, std::int64_t> constants_; ///< of one element, by name in the file
    std::unordered_map<std::string, const format::TypeProto::Tensor *> shapes_;
    std::int64_t opset_ = 0;
    std::string inlined_; ///< for messages
    int copies_ = 0;
};

} // namespace

std::optional<onnx::GraphProto> with_inlined_graphs(const onnx_file &file) {
    const auto &nodes = file.model.graph().node();
    if (std::none_of(nodes.begin(), nodes.end(), has_graph))
        return {};
    return inliner(file).run();
}

} // namespace octet::model
