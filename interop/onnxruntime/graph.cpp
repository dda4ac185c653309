// ONNX Runtime has run its transformers of level 1 by now: constants are folded, attributes spelled out,
// operators of pairs still float.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/graph.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>
#include <unordered_map>

#include "octet/network.hpp"
#include "octet/onnx_graph.hpp"

namespace octet::onnxruntime {

// INT64 are sizes, axes and indices, which 32 bits hold.
data_type octet_type(int type) {
    switch (type) {
    case element::f32:
        return data_type::f32;
    case element::f16:
        return data_type::f16;
    case element::u4:
        return data_type::u4;
    case element::s4:
        return data_type::s4;
    case element::u8:
    case element::boolean:
        return data_type::u8;
    case element::s8:
        return data_type::s8;
    case element::s16:
        return data_type::s16;
    case element::s32:
    case element::s64:
        return data_type::s32;
    default:
        return data_type::undef;
    }
}

namespace {

class reader {
public:
    reader(const runtime &ort, const ort_graph *source) : ort_(ort), source_(source) {}

    graph read() {
        read_operator_set();
        for (const ort_node *const n : ort_.list(api::node_count, api::nodes, source_))
            read_node(n);
        return std::move(g_);
    }

private:
    void read_operator_set() {
        std::size_t count = 0;
        ort_(api::operator_set_count, source_, &count);
        std::vector<const char *> domains(count);
        std::vector<std::int64_t> versions(count);
        if (count != 0)
            ort_(api::operator_sets, source_, domains.data(), versions.data(), count);
        for (std::size_t i = 0; i < count; i++)
            if (const std::string domain = domains[i] ? domains[i] : "";
                domain.empty() || domain == "ai.onnx")
                g_.opset = versions[i];
    }

    void read_node(const ort_node *handle) {
        const int index = static_cast<int>(g_.nodes.size());
        node n;
        n.handle = handle;
        n.op =
            model::onnx_operator(ort_.text(api::node_domain, handle), ort_.text(api::node_operator, handle));
        n.name = ort_.text(api::node_name, handle);
        for (const ort_value_info *v : ort_.list(api::node_input_count, api::node_inputs, handle))
            n.inputs.push_back(read_by(index, v));
        while (!n.inputs.empty() && n.inputs.back() < 0)
            n.inputs.pop_back();
        for (const ort_value_info *v : ort_.list(api::node_implicit_count, api::node_implicit, handle))
            n.implicit.push_back(read_by(index, v));
        for (const ort_value_info *v : ort_.list(api::node_output_count, api::node_outputs, handle)) {
            n.outputs.push_back(value_of(v));
            if (n.outputs.back() >= 0)
                at(n.outputs.back()).producer = index;
        }
        while (!n.outputs.empty() && n.outputs.back() < 0)
            n.outputs.pop_back();
        std::size_t graphs = 0;
        ort_(api::subgraph_count, handle, &graphs);
        n.has_graphs = graphs != 0;
        if (!n.has_graphs)
            read_attributes(handle, n);
        g_.nodes.push_back(std::move(n));
    }

    value &at(int i) { return g_.values[static_cast<std::size_t>(i)]; }

    int read_by(int node, const ort_value_info *v) {
        const int i = value_of(v);
        if (i >= 0 && (at(i).consumers.empty() || at(i).consumers.back() != node))
            at(i).consumers.push_back(node);
        return i;
    }

    /// -1 for an absent one.
    int value_of(const ort_value_info *info) {
        if (!info)
            return -1;
        const std::string name = ort_.text(api::value_name, info);
        if (name.empty())
            return -1;
        const auto [found, is_new] = values_.emplace(name, static_cast<int>(g_.values.size()));
        if (!is_new)
            return found->second;
        value v;
        v.name = name;
        v.is_output = ort_.flag(api::is_graph_output, info);
        const bool is_constant = ort_.flag(api::is_constant, info);
        v.is_outer_constant = is_constant && ort_.flag(api::is_from_outer_scope, info);
        if (is_constant && !v.is_outer_constant)
            ort_(api::initializer_value, info, &v.constant);
        read_type(info, v);
        g_.values.push_back(std::move(v));
        return found->second;
    }

    void read_type(const ort_value_info *info, value &v) {
        const ort_type_info *type = nullptr;
        const ort_shape_info *shape = nullptr;
        ort_(api::value_type, info, &type);
        if (type)
            ort_(api::cast_to_tensor_info, type, &shape);
        if (!shape)
            return;
        ort_(api::get_element_type, shape, &v.type);
        std::size_t rank = 0;
        ort_(api::get_dimensions_count, shape, &rank);
        v.dims.resize(rank);
        std::vector<const char *> names(rank);
        if (rank != 0) {
            ort_(api::get_dimensions, shape, v.dims.data(), rank);
            ort_(api::get_symbolic_dimensions, shape, names.data(), rank);
        }
        for (const char *name : names)
            v.dim_names.push_back(name ? name : "");
        v.has_shape = rank != 0 || ort_.is_of_number(shape);
    }

    // ---- Attributes

    void read_attributes(const ort_node *handle, node &n) {
        for (const ort_attribute *a : ort_.list(api::attribute_count, api::attributes, handle)) {
            int kind = 0;
            ort_(api::attribute_type, a, &kind);
            const std::string name = ort_.text(api::attribute_name, a);
            if (kind == attribute_kind::integer) {
                n.attributes[name] = numbers<std::int64_t>(a, kind, 1).at(0);
            } else if (kind == attribute_kind::integers) {
                n.attributes[name] = numbers<std::int64_t>(a, kind, 0);
            } else if (kind == attribute_kind::real) {
                n.attributes[name] = numbers<float>(a, kind, 1).at(0);
            } else if (kind == attribute_kind::text) {
                const std::vector<char> text = numbers<char>(a, kind, 0);
                n.attributes[name] = std::string(text.begin(), text.end());
            } else if (kind == attribute_kind::reals) {
                n.attributes[name] = list_text(numbers<float>(a, kind, 0));
            } else if (kind == attribute_kind::texts) {
                n.attributes[name] = list_text(numbers<char>(a, kind, 0));
            } else if (kind == attribute_kind::tensor) {
                read_tensor_attribute(a, name, n);
            } // others belong to no operator that Octet has
        }
    }

    /// Lists as graphs have them: texts with commas between the entries.
    static std::string list_text(const std::vector<float> &numbers) {
        std::string text;
        for (const float number : numbers) {
            char digits[32];
            text.append(text.empty() ? "" : ",");
            text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        }
        return text;
    }
    /// ONNX Runtime ends each entry with a zero.
    static std::string list_text(const std::vector<char> &entries) {
        std::string text(entries.begin(), entries.end());
        if (!text.empty())
            text.pop_back();
        std::replace(text.begin(), text.end(), '\0', ',');
        return text;
    }

    /// Too small a buffer is a failure that tells the size.
    template <typename T> std::vector<T> numbers(const ort_attribute *a, int kind, std::size_t count) const {
        std::size_t bytes = count * sizeof(T);
        if (bytes == 0) {
            try {
                ort_(api::read_attribute, a, kind, nullptr, 0, &bytes);
            } catch (const error &) { // the size is there
            }
        }
        std::vector<T> values(bytes / sizeof(T));
        if (bytes != 0)
            ort_(api::read_attribute, a, kind, static_cast<void *>(values.data()), bytes, &bytes);
        values.resize(bytes / sizeof(T));
        return values;
    }

    /// One element, as ConstantOfShape has it; other tensors make the operator one that is not supported.
    void read_tensor_attribute(const ort_attribute *a, const std::string &name, node &n) const;

    const runtime &ort_;
    const ort_graph *source_;
    graph g_;
    std::unordered_map<std::string, int> values_;
};

void set_type(model::tensor &t, int type) {
    t.type = octet_type(type);
    if (t.type == data_type::undef)
        t.foreign_type = "type " + std::to_string(type);
}

template <typename To, typename From>
std::vector<std::uint8_t> narrowed(const From *from, std::size_t count) {
    std::vector<std::uint8_t> bytes(count * sizeof(To));
    for (std::size_t i = 0; i < count; i++) {
        const auto narrow = static_cast<To>(
            std::clamp<From>(from[i], std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
        std::memcpy(bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
    }
    return bytes;
}

constexpr std::size_t worth_borrowing = 4096; ///< bytes; copies of smaller ones are no matter

/// Type, dimensions and elements of a tensor of ONNX Runtime's.
model::tensor tensor_of(const runtime &ort, const ort_value *source, constants kind) {
    struct owned {
        const runtime &ort;
        ort_shape_info *shape = nullptr;
        ~owned() {
            if (shape)
                ort(api::release_shape, shape);
        }
    } info{ort};
    ort(api::get_tensor_shape, source, &info.shape);
    const ort_shape_info *const shape = info.shape;
    int type = element::none;
    std::size_t rank = 0;
    ort(api::get_element_type, shape, &type);
    ort(api::get_dimensions_count, shape, &rank);
    std::vector<std::int64_t> dims(rank);
    if (rank != 0)
        ort(api::get_dimensions, shape, dims.data(), rank);
    model::tensor t;
    t.dims.assign(dims.begin(), dims.end());
    set_type(t, type);
    t.is_constant = true;
    if (t.type == data_type::undef)
        return t;
    const auto count = static_cast<std::size_t>(model::element_count(t.dims));
    const auto shared = static_cast<std::size_t>(elements_per_byte(t.type));
    const std::size_t size = (count + shared - 1) / shared * memory::data_type_size(t.type);
    void *data = nullptr;
    ort(api::get_tensor_data, const_cast<ort_value *>(source), &data);
    if (type == element::s64) {
        t.data = narrowed<std::int32_t>(static_cast<const std::int64_t *>(data), count);
    } else if (kind == constants::borrowed && size >= worth_borrowing) {
        t.data = model::borrowed(data, size);
    } else {
        const auto *bytes = static_cast<const std::uint8_t *>(data);
        t.data = std::vector<std::uint8_t>(bytes, bytes + size);
    }
    return t;
}

void reader::read_tensor_attribute(const ort_attribute *a, const std::string &name, node &n) const {
    struct owned {
        const runtime &ort;
        ort_value *tensor = nullptr;
        ~owned() {
            if (tensor)
                ort(api::release_value, tensor);
        }
    } held{ort_};
    ort_(api::attribute_tensor, a, &held.tensor);
    const model::tensor t = held.tensor ? tensor_of(ort_, held.tensor, constants::copied) : model::tensor();
    if (t.type == data_type::f32 && t.data.size() == sizeof(float)) {
        float number;
        std::memcpy(&number, t.data.data(), sizeof number);
        n.attributes[name] = number;
    } else if (t.type == data_type::s32 && t.data.size() == sizeof(std::int32_t)) {
        std::int32_t number;
        std::memcpy(&number, t.data.data(), sizeof number);
        n.attributes[name] = std::int64_t{number};
    } else if (t.data.size() == 1) {
        n.attributes[name] = t.type == data_type::s8 ? std::int64_t{static_cast<std::int8_t>(t.data[0])}
                                                     : std::int64_t{t.data[0]};
    } else {
        n.attributes[name] = "a tensor " + model::type_text(t) + " " + model::to_text(t.dims);
    }
}

} // namespace

graph read_graph(const runtime &ort, const ort_graph *source) { return reader(ort, source).read(); }

std::string text_of(const graph &g, int i) {
    const node &n = g.nodes[static_cast<std::size_t>(i)];
    return "node " + std::to_string(i) + " (" + n.op + ")" + (n.name.empty() ? "" : " '" + n.name + "'");
}

selection select(const graph &g, std::vector<int> nodes) {
    selection s;
    std::sort(nodes.begin(), nodes.end());
    s.nodes = std::move(nodes);
    const std::set<int> inside(s.nodes.begin(), s.nodes.end());
    std::set<int> seen;
    for (const int i : s.nodes)
        for (const int v : g.nodes[static_cast<std::size_t>(i)].inputs)
            if (v >= 0 && seen.insert(v).second) {
                const value &read = g.values[static_cast<std::size_t>(v)];
                if (!read.constant && inside.count(read.producer) == 0)
                    s.inputs.push_back(v);
            }
    for (const int i : s.nodes)
        for (const int v : g.nodes[static_cast<std::size_t>(i)].outputs)
            if (v >= 0) {
                const value &written = g.values[static_cast<std::size_t>(v)];
                if (written.is_output || std::any_of(written.consumers.begin(), written.consumers.end(),
                                                     [&](int c) { return inside.count(c) == 0; }))
                    s.outputs.push_back(v);
            }
    return s;
}

namespace {

/// Nodes as ONNX Runtime has them, and which inputs and constants are INT64.
struct plain_network {
    model::graph graph;
    std::vector<bool> is_int64;
};

plain_network plain_network_of(const runtime &ort, const graph &g, const selection &part,
                               const std::vector<std::vector<std::int64_t>> &input_dims, constants kind) {
    plain_network made;
    model::graph &result = made.graph; // lambdas cannot have bindings of a structure
    std::vector<bool> &is_wide = made.is_int64;
    result.framework = "onnx";
    result.opset = g.opset;
    std::unordered_map<int, int> tensors; // by value
    const auto add = [&](int v, model::tensor t) {
        t.name = g.values[static_cast<std::size_t>(v)].name;
        result.tensors.push_back(std::move(t));
        const int index = static_cast<int>(result.tensors.size() - 1);
        tensors.emplace(v, index);
        return index;
    };
    for (std::size_t i = 0; i < part.inputs.size(); i++) {
        const value &v = g.values[static_cast<std::size_t>(part.inputs[i])];
        model::tensor t;
        set_type(t, v.type);
        t.dims.assign(input_dims[i].begin(), input_dims[i].end());
        if (std::count(v.dims.begin(), v.dims.end(), -1) != 0)
            for (std::size_t d = 0; d < v.dims.size(); d++)
                t.dim_names.push_back(v.dims[d] >= 0           ? ""
                                      : v.dim_names[d].empty() ? v.name + " " + std::to_string(d)
                                                               : v.dim_names[d]);
        const int index = add(part.inputs[i], std::move(t));
        result.inputs.push_back(index);
        is_wide.resize(result.tensors.size());
        is_wide.back() = v.type == element::s64;
    }
    const auto tensor_index = [&](int v) {
        if (v < 0)
            return -1;
        if (const auto found = tensors.find(v); found != tensors.end())
            return found->second;
        const value &constant = g.values[static_cast<std::size_t>(v)];
        const int index = add(v, tensor_of(ort, constant.constant, kind));
        is_wide.resize(result.tensors.size());
        is_wide.back() = constant.type == element::s64;
        return index;
    };
    for (const int i : part.nodes) {
        const node &from = g.nodes[static_cast<std::size_t>(i)];
        model::node n;
        n.op = from.op;
        n.number = i;
        n.attributes = from.attributes;
        for (const int v : from.inputs)
            n.inputs.push_back(tensor_index(v));
        for (const int v : from.outputs) {
            model::tensor t;
            t.foreign_type = "unknown"; // until shapes are inferred
            if (v >= 0) {
                n.outputs.push_back(add(v, std::move(t)));
            } else { // left out, before others that are there
                result.tensors.push_back(std::move(t));
                n.outputs.push_back(static_cast<int>(result.tensors.size() - 1));
            }
        }
        result.nodes.push_back(std::move(n));
    }
    for (const int v : part.outputs)
        result.outputs.push_back(tensors.at(v));
    for (std::size_t t = 0; t < is_wide.size(); t++)
        if (is_wide[t])
            result.tensors[t].foreign_type = "INT64";
    return made;
}

} // namespace

model::graph network_of(const runtime &ort, const graph &g, const selection &part,
                        const std::vector<std::vector<std::int64_t>> &input_dims, constants kind) {
    plain_network made = plain_network_of(ort, g, part, input_dims, kind);
    model::complete_onnx_graph(made.graph, made.is_int64);
    model::infer_shapes(made.graph);
    return std::move(made.graph);
}

std::map<int, std::string> refused_in(const runtime &ort, const graph &g, const selection &part,
                                      const std::vector<std::vector<std::int64_t>> &input_dims) {
    plain_network made = plain_network_of(ort, g, part, input_dims, constants::borrowed);
    std::map<int, std::string> reasons;
    for (const refused_node &n : refused_nodes(std::move(made.graph)))
        if (n.is_certain)
            reasons.emplace(n.number, n.reason);
    return reasons;
}

} // namespace octet::onnxruntime
