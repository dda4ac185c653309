// Reads an .onnx file in steps that each make the next one safe: the protobuf parser (`parse_onnx`: lengths lie
// inside the bytes), constants (`read_constant`), names and types (here), shapes (`infer_shapes`), and what must hold
// in any graph (`check_graph`). Start at `reader::read`.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "network/graph/file.hpp"
#include "network/graph/node_marks.hpp"
#include "network/onnx/reader/constants.hpp"
#include "network/onnx/reader/inlined_graphs.hpp"
#include "network/onnx/reader/node_order.hpp"
#include "octet/onnx_graph.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

namespace format = onnx;

/// How much of a file is read: also what follows from its operators, or only what it says.
enum class extent { everything, structure };

class reader {
public:
    reader(const onnx_file &file, external_files external)
        : file_(file), inlined_(with_inlined_graphs(file)),
          source_(inlined_ ? *inlined_ : file.model.graph()), external_(std::move(external)) {}

    graph read(extent how_much) {
        check_header();
        g_.framework = "onnx";
        g_.opset = opset_;
        const auto nodes = static_cast<std::size_t>(source_.node_size());
        g_.tensors.reserve(file_.initializers.size() + 2 * nodes);
        g_.nodes.reserve(nodes);
        for (const onnx_initializer &i : file_.initializers)
            add_constant(i.tensor, i.raw_data ? &*i.raw_data : nullptr, i.tensor.name(),
                         "initialiser " + quoted(i.tensor.name()));
        for (const format::ValueInfoProto &input : source_.input())
            if (const auto found = tensors_.find(input.name()); found == tensors_.end())
                g_.inputs.push_back(add_input(input));
            else // files before version 4 name all initialisers as inputs, later ones what may be given
                tensor_at(g_, found->second).is_variable = file_.model.ir_version() >= 4;
        for (const int i : order_of_nodes(source_))
            add_node(source_.node(i), i);
        for (const format::ValueInfoProto &output : source_.output())
            g_.outputs.push_back(find(output.name(), "the network's outputs", " name "));
        for (const format::ValueInfoProto &output : source_.output())
            remember_type(tensor_at(g_, tensors_.at(output.name())), output);
        if (how_much == extent::everything)
            complete_onnx_graph(g_, is_wide_);
        if (how_much == extent::structure) {
            for (std::size_t t = 0; t < g_.tensors.size(); t++)
                if (is_wide_[t])
                    g_.tensors[t].foreign_type = type_name(format::TensorProto::INT64);
            for (const format::ValueInfoProto &value : source_.value_info())
                adopt_declaration(value);
            for (const format::ValueInfoProto &output : source_.output())
                adopt_declaration(output);
        } else if (sizes_are_known() && fits_its_sizes()) {
            for (const format::ValueInfoProto &value : source_.value_info())
                compare_declaration(value);
            for (const format::ValueInfoProto &output : source_.output())
                compare_declaration(output);
            check_graph(g_);
        }
        return std::move(g_);
    }

private:
    void check_header() {
        if (!file_.model.has_graph() || source_.node_size() == 0)
            refuse("this is not an .onnx model: it holds no graph with nodes");
        constexpr std::int64_t oldest = 7; // broadcasting as today; the quantized operators are younger
        for (const format::OperatorSetIdProto &set : file_.model.opset_import())
            if (is_default_domain(set.domain()))
                opset_ = set.version();
        if (opset_ < oldest)
            refuse("operator set " + std::to_string(opset_) + ", allowed is " + std::to_string(oldest) +
                   " or later");
        if (source_.sparse_initializer_size() != 0)
            refuse("sparse initialisers are not supported");
    }

    static bool is_default_domain(const std::string &domain) { return domain.empty() || domain == "ai.onnx"; }

    tensor_id add(tensor t, const std::string &name) {
        const tensor_id added = add_tensor(g_, std::move(t));
        is_wide_.resize(g_.tensors.size());
        if (!tensors_.emplace(name, added).second)
            refuse("two tensors have the name " + quoted(name));
        return added;
    }

    void add_constant(const format::TensorProto &source, const shared_bytes *raw_data,
                      const std::string &name, const std::string &who) {
        tensor t = read_constant(source, raw_data, external_, who);
        t.name = printable(name);
        const tensor_id added = add(std::move(t), name);
        is_wide_[added.index()] = source.data_type() == format::TensorProto::INT64;
        if (source.data_type() == format::TensorProto::DOUBLE)
            doubles_.emplace(added, [this, source, raw = raw_data ? *raw_data : shared_bytes(),
                                     has_raw = raw_data != nullptr, who] {
                return read_rounded_doubles(source, has_raw ? &raw : nullptr, external_, who);
            });
    }

    /// A Cast of constant doubles to floats, the one use that they have here, reads the floats.
    void round_doubles(node &n) {
        if (n.op != "Cast" || n.inputs.size() != 1 ||
            attribute_or(n, "to", std::int64_t{0}) != format::TensorProto::FLOAT)
            return;
        const auto doubles = doubles_.find(input_of(n, 0));
        if (doubles == doubles_.end())
            return;
        n.inputs[0] = add_tensor(g_, doubles->second());
        is_wide_.resize(g_.tensors.size());
    }

    tensor_id add_input(const format::ValueInfoProto &source) {
        const std::string who = "input " + quoted(source.name());
        if (!source.type().has_tensor_type() || !source.type().tensor_type().has_shape())
            refuse(who + " is no tensor with dimensions");
        tensor t;
        t.name = printable(source.name());
        declare(t, source.type().tensor_type(), who);
        remember_type(t, source);
        const tensor_id added = add(std::move(t), source.name());
        is_wide_[added.index()] = source.type().tensor_type().elem_type() == format::TensorProto::INT64;
        return added;
    }

    /// For who shows inputs and outputs as the file declares them.
    static void remember_type(tensor &t, const format::ValueInfoProto &declared) {
        const int type = declared.type().tensor_type().elem_type();
        if (stands_for(octet_type(type), type_name(type)))
            t.foreign_type = type_name(type);
    }

    /// Type and dimensions as the file declares them.
    void declare(tensor &t, const format::TypeProto::Tensor &type, const std::string &who) {
        set_type(t, type.elem_type());
        for (const auto &d : type.shape().dim()) {
            if (d.has_dim_value() && d.dim_value() < -1)
                refuse(who + ": dimension " + std::to_string(t.dims.size()) + " is " +
                       std::to_string(d.dim_value()) + ", allowed is 0 or more, or -1 for any");
            const bool is_open = !d.has_dim_value() || d.dim_value() < 0;
            const dim_t open_size = t.dims.empty() ? 1 : -1; // of the batch
            t.dim_names.push_back(!is_open                ? ""
                                  : d.dim_param().empty() ? "dimension " + std::to_string(t.dims.size())
                                                          : printable(d.dim_param()));
            t.dims.push_back(is_open ? open_size : d.dim_value());
        }
        const auto is_open = [](const std::string &name) { return !name.empty(); };
        if (std::none_of(t.dim_names.begin(), t.dim_names.end(), is_open))
            t.dim_names.clear();
    }

    bool sizes_are_known() const {
        return none_of(inputs_of(g_), [&](tensor_id t) {
            const memory::dims &dims = tensor_at(g_, t).dims;
            return std::count(dims.begin(), dims.end(), -1) != 0;
        });
    }

    /// Infers shapes. Where open first dimensions cannot be 1, since they are no batch or constants name
    /// another one, but can have another size, they are left open like any others.
    bool fits_its_sizes() {
        try {
            infer_shapes(g_);
            return true;
        } catch (const error &e) {
            if (e.status != status::invalid_arguments || !fits_another_size())
                throw;
        }
        set_open_first_dimensions(-1);
        return false;
    }

    bool fits_another_size() {
        const std::set<dim_t> sizes = likely_sizes();
        return std::any_of(sizes.begin(), sizes.end(), [&](dim_t size) {
            if (!set_open_first_dimensions(size))
                return false;
            try {
                infer_shapes(g_);
                return true;
            } catch (const error &) { // neither
                return false;
            }
        });
    }

    /// Small sizes, powers of two, and those that inputs and constants have, as matrices must fit together.
    std::set<dim_t> likely_sizes() const {
        constexpr dim_t largest = 1 << 12, all_up_to = 16;
        constexpr std::size_t at_most = 100; // of a large file
        std::set<dim_t> sizes;
        for (dim_t size = 2; size <= largest; size = size < all_up_to ? size + 1 : 2 * size)
            sizes.insert(size);
        for (const tensor &t : g_.tensors)
            for (const dim_t size : t.dims)
                if (sizes.size() < at_most && size > 1)
                    sizes.insert(size);
        return sizes;
    }

    /// False if there are none.
    bool set_open_first_dimensions(dim_t size) {
        bool are_there = false;
        for (const tensor_id t : inputs_of(g_)) {
            tensor &input = tensor_at(g_, t);
            if (input.dim_names.empty() || input.dim_names.front().empty())
                continue;
            input.dims.front() = size;
            are_there = true;
        }
        return are_there;
    }

    tensor_id find(const std::string &name, const std::string &who, const char *what_it_does) const {
        const auto found = tensors_.find(name);
        if (found == tensors_.end())
            refuse(who + what_it_does + quoted(name) +
                   ", which is no input, initialiser or output of a node that can run before");
        return found->second;
    }

    /// `number` counts the nodes of the file, of which constants become none of the graph.
    void add_node(const format::NodeProto &source, int number) {
        node n;
        n.op = onnx_operator(source.domain(), source.op_type());
        n.number = number;
        const std::string who = "node " + std::to_string(number) + " (" + n.op + ")";
        if (n.op == "Constant")
            return add_constant_node(source, who);
        for (const std::string &name : source.input())
            n.inputs.push_back(name.empty() ? tensor_id() : find(name, who, " reads "));
        const std::size_t listed = n.inputs.size();
        drop_absent_at_end(n.inputs);
        if (n.inputs.size() < listed)
            set_mark(n, &node_marks::absent_inputs, static_cast<int>(listed - n.inputs.size()));
        int last = source.output_size(); // optional outputs at the end
        while (last > 0 && source.output(last - 1).empty())
            last--;
        if (last == 0)
            refuse(who + " has no output");
        for (int i = 0; i < last; i++)
            n.outputs.push_back(add_output(source.output(i), who));
        for (const format::AttributeProto &a : source.attribute()) {
            if (a.name() == "channels_last" && source.domain() != "com.microsoft")
                refuse(who + " has attribute 'channels_last', which only operators of com.microsoft have");
            add_attribute(n, a);
        }
        round_doubles(n);
        g_.nodes.push_back(std::move(n));
    }

    tensor_id add_output(const std::string &name, const std::string &who) {
        tensor t;
        t.name = printable(name);
        t.foreign_type = "unknown"; // until shapes are inferred
        if (name.empty())           // left out, before others that are there
            return add_tensor(g_, std::move(t));
        if (tensors_.count(name) != 0)
            refuse(who + " writes " + quoted(name) + ", which is an input, an initialiser or written before");
        return add(std::move(t), name);
    }

    void add_constant_node(const format::NodeProto &source, const std::string &who) {
        for (const format::AttributeProto &a : source.attribute()) {
            const auto value = constant_of(a);
            if (!value || source.output_size() != 1)
                continue;
            const std::string &raw = value->raw_data();
            const shared_bytes copy(std::vector<std::uint8_t>(raw.begin(), raw.end()));
            return add_constant(*value, value->has_raw_data() ? &copy : nullptr, source.output(0), who);
        }
        throw error(status::unimplemented,
                    who + " has no attribute 'value' with a dense tensor, and no numbers");
    }

    /// The spellings of a constant: a tensor, a number, a list.
    static std::optional<format::TensorProto> constant_of(const format::AttributeProto &a) {
        if (a.name() == "value" && a.has_t())
            return a.t();
        const bool is_integer = a.name() == "value_int" || a.name() == "value_ints";
        const bool is_list = a.name() == "value_ints" || a.name() == "value_floats";
        if (!is_integer && a.name() != "value_float" && a.name() != "value_floats")
            return {};
        format::TensorProto t;
        t.set_data_type(is_integer ? format::TensorProto::INT64 : format::TensorProto::FLOAT);
        if (is_list) {
            t.mutable_int64_data()->CopyFrom(a.ints());
            t.mutable_float_data()->CopyFrom(a.floats());
            t.add_dims(is_integer ? a.ints_size() : a.floats_size());
        } else if (is_integer) {
            t.add_int64_data(a.i());
        } else {
            t.add_float_data(a.f());
        }
        return t;
    }

    /// Entries with commas between (onnx/ops/attribute_lists.hpp).
    template <typename List, typename Text>
    static std::string list_text(const List &list, const Text &text_of) {
        std::string text;
        for (const auto &entry : list)
            text += (text.empty() ? "" : ",") + text_of(entry);
        return text;
    }
    /// The shortest text from which the number is read again.
    static std::string number_text(float number) {
        char text[32];
        return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
    }

    /// Kinds of attributes that no supported operator has (tensors, graphs, lists of others) are left out.
    static void add_attribute(node &n, const format::AttributeProto &a) {
        switch (a.type()) {
        case format::AttributeProto::INT:
            n.attributes[a.name()] = static_cast<std::int64_t>(a.i());
            break;
        case format::AttributeProto::FLOAT:
            n.attributes[a.name()] = a.f();
            break;
        case format::AttributeProto::STRING:
            n.attributes[a.name()] = printable(a.s());
            break;
        case format::AttributeProto::INTS:
            n.attributes[a.name()] = std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
            break;
        case format::AttributeProto::FLOATS:
            n.attributes[a.name()] = list_text(a.floats(), number_text);
            break;
        case format::AttributeProto::STRINGS:
            n.attributes[a.name()] = list_text(a.strings(), printable);
            break;
        case format::AttributeProto::TENSOR: // ConstantOfShape's value, of one element
            add_tensor_attribute(n, a);
            break;
        default:
            break;
        }
    }

    static void add_tensor_attribute(node &n, const format::AttributeProto &a) {
        const std::string &raw = a.t().raw_data();
        const shared_bytes copy(std::vector<std::uint8_t>(raw.begin(), raw.end()));
        external_files none;
        const tensor t = read_constant(a.t(), a.t().has_raw_data() ? &copy : nullptr, none,
                                       "attribute " + quoted(a.name()));
        if (t.data.size() == sizeof(float) && t.type == data_type::f32)
            n.attributes[a.name()] = values_of<float>(t)[0];
        else if (t.data.size() == sizeof(std::int32_t) && t.type == data_type::s32)
            n.attributes[a.name()] = static_cast<std::int64_t>(values_of<std::int32_t>(t)[0]);
        else if (t.data.size() == 1)
            n.attributes[a.name()] = static_cast<std::int64_t>(
                t.type == data_type::s8 ? static_cast<std::int8_t>(t.data[0]) : t.data[0]);
        else
            n.attributes[a.name()] = "a tensor " + type_text(t) + " " + to_text(t.dims);
    }

    /// Takes the file's declaration of a tensor that no shape function is asked about.
    void adopt_declaration(const format::ValueInfoProto &value) {
        const auto found = tensors_.find(value.name());
        if (found == tensors_.end() || !value.type().has_tensor_type() ||
            !value.type().tensor_type().has_shape())
            return;
        tensor &t = tensor_at(g_, found->second);
        if (t.type == data_type::undef)
            declare(t, value.type().tensor_type(), "tensor " + quoted(value.name()));
    }

    /// The declaration of a tensor must have the type that its node gives. Its dimensions may differ, because
    /// ONNX Runtime does not rely on declared dimensions.
    void compare_declaration(const format::ValueInfoProto &value) {
        const auto found = tensors_.find(value.name());
        if (found == tensors_.end() || !value.type().has_tensor_type())
            return; // says something about nothing
        const format::TypeProto::Tensor &declared = value.type().tensor_type();
        tensor &t = tensor_at(g_, found->second);
        const data_type type = octet_type(declared.elem_type());
        if (declared.elem_type() != format::TensorProto::UNDEFINED && t.type != data_type::undef &&
            t.type != type && !t.is_constant)
            refuse("tensor " + quoted(value.name()) + " is declared " + type_name(declared.elem_type()) +
                   ", but its node gives " + type_text(t));
        if (!declared.has_shape() || t.type == data_type::undef || t.is_constant || !t.dim_names.empty())
            return;
        const auto &dims = declared.shape().dim();
        const bool has_equal_rank = dims.size() == static_cast<int>(t.dims.size());
        std::vector<std::string> differ(t.dims.size());
        for (std::size_t d = 0; d < t.dims.size(); d++)
            if (const int k = static_cast<int>(d);
                !has_equal_rank || (dims[k].has_dim_value() && dims[k].dim_value() != t.dims[d]))
                differ[d] = "dimension " + std::to_string(d);
        if (differ != std::vector<std::string>(t.dims.size()))
            t.dim_names = differ;
    }

    const onnx_file &file_;
    const std::optional<format::GraphProto> inlined_;
    const format::GraphProto &source_;
    external_files external_;
    std::int64_t opset_ = 0;
    std::unordered_map<std::string, tensor_id> tensors_;
    std::vector<bool> is_wide_;                            ///< inputs and constants: INT64, by tensor
    std::map<tensor_id, std::function<tensor()>> doubles_; ///< constants, which these read as floats
    graph g_;
};

/// Bytes of which neither their beginning nor the file's name tells the format come here too.
std::string not_a_model(const std::string &name) {
    return std::filesystem::path(name).extension() == ".onnx"
               ? "this is not an .onnx model, or it is truncated or damaged"
               : "this is not an .onnx model, nor a .tflite one, nor a plan of octet save; or it is "
                 "truncated or "
                 "damaged";
}

graph read_model(const shared_bytes &bytes, const external_files &beside, const std::string &name,
                 extent how_much = extent::everything) {
    google::protobuf::SetLogHandler(nullptr); // errors are one line, this program's own
    try {
        const std::optional<onnx_file> file = parse_onnx(bytes);
        if (!file)
            refuse(not_a_model(name));
        return reader(*file, beside).read(how_much);
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, name + ": not enough memory for its tensors");
    } catch (
        const std::exception &) { // protobuf's or the file system's own; their words say nothing to a user
        throw error(status::invalid_arguments, name + ": " + not_a_model(name));
    }
}

graph read_file(const std::string &path, extent how_much) {
    return read_model(map_small_file(path), external_files(path), path, how_much);
}

} // namespace

graph read_onnx(const std::string &path) { return read_file(path, extent::everything); }

graph read_onnx_structure(const std::string &path) { return read_file(path, extent::structure); }

graph read_onnx(const std::uint8_t *bytes, std::size_t size, const std::string &name) {
    return read_model(std::vector<std::uint8_t>(bytes, bytes + size), {}, name);
}

} // namespace model
} // namespace v0
} // namespace octet
