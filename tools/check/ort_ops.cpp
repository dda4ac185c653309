// Operator vectors of ONNX Runtime: each case becomes a network of one ONNX node, with the inputs and
// attributes that the operator's definition names, in its order. Scales and zero points are constant inputs,
// as in a model.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "check/check.hpp"

namespace octet::vectors {
namespace {

/// Names of the file: an input is a tensor of the case or one of its parameters; "x_scale" and "x_zero_point"
/// belong to the tensor "x". What a case lacks is an absent optional input.
struct node_form {
    const char *op;
    std::vector<const char *> inputs, outputs;
    std::vector<const char *> weights; ///< inputs that a model holds as constants
    std::vector<const char *> attributes;
};

const node_form node_forms[] = {
    {"QLinearConv",
     {"x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "bias"},
     {"y"},
     {"w", "bias"},
     {"strides", "pads", "dilations", "group", "kernel_shape", "channels_last"}},
    {"ConvInteger",
     {"x", "w", "x_zero_point", "w_zero_point"},
     {"y"},
     {"w"},
     {"strides", "pads", "dilations", "group", "kernel_shape"}},
    {"QLinearMatMul",
     {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"},
     {"y"},
     {"b"},
     {}},
    {"MatMulInteger", {"a", "b", "a_zero_point", "b_zero_point"}, {"y"}, {"b"}, {}},
    {"QGemm",
     {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "c", "y_scale", "y_zero_point"},
     {"y"},
     {"b", "c"},
     {"transA", "transB", "alpha"}},
    {"QuantizeLinear", {"x", "y_scale", "y_zero_point"}, {"y"}, {}, {"axis"}},
    {"DequantizeLinear", {"x", "x_scale", "x_zero_point"}, {"y"}, {}, {"axis"}},
    {"DynamicQuantizeLinear", {"x"}, {"y", "y_scale", "y_zero_point"}, {}, {}},
    {"QLinearAdd",
     {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"},
     {"y"},
     {},
     {}},
    {"QLinearSigmoid", {"x", "x_scale", "x_zero_point", "y_scale", "y_zero_point"}, {"y"}, {}, {}},
    {"QLinearLeakyRelu", {"x", "x_scale", "x_zero_point", "y_scale", "y_zero_point"}, {"y"}, {}, {"alpha"}},
    {"QLinearSoftmax",
     {"x", "x_scale", "x_zero_point", "y_scale", "y_zero_point"},
     {"y"},
     {},
     {"axis", "opset"}},
    {"QLinearAveragePool",
     {"x", "x_scale", "x_zero_point", "y_scale", "y_zero_point"},
     {"y"},
     {},
     {"kernel_shape", "strides", "pads", "ceil_mode", "count_include_pad", "channels_last"}},
    {"QLinearGlobalAveragePool",
     {"x", "x_scale", "x_zero_point", "y_scale", "y_zero_point"},
     {"y"},
     {},
     {"channels_last"}},
    {"MaxPool", {"x"}, {"y"}, {}, {"kernel_shape", "strides", "pads", "dilations", "ceil_mode"}},
    {"QLinearConcat", {"y_scale", "y_zero_point"}, {"y"}, {}, {"axis"}}, // and what the file keeps in lists
    {"QLinearMul",
     {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"},
     {"y"},
     {},
     {}},
};

const node_form *find_form(const std::string &op) {
    for (const node_form &form : node_forms)
        if (op == form.op)
            return &form;
    return nullptr;
}

bool contains(const std::vector<const char *> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

template <typename T> void set_values(model::tensor &t, const json_value &values) {
    std::vector<std::uint8_t> data;
    for (const T value : values.list<T>()) {
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
        data.insert(data.end(), bytes, bytes + sizeof value);
    }
    t.data = std::move(data);
    if (values.is_array())
        t.dims = {static_cast<dim_t>(t.data.size() / sizeof(T))};
}

/// A scale (f32) or a zero point (of its tensor's type) as a constant: a scalar, or one dimension.
model::tensor constant_of(const std::string &name, const json_value &values, data_type type) {
    model::tensor t;
    t.name = name;
    t.type = type;
    t.is_constant = true;
    switch (type) {
    case data_type::f32:
        set_values<float>(t, values);
        break;
    case data_type::s32:
        set_values<std::int32_t>(t, values);
        break;
    case data_type::s8:
        set_values<std::int8_t>(t, values);
        break;
    case data_type::u8:
        set_values<std::uint8_t>(t, values);
        break;
    default:
        values.fail("belongs to a tensor of type " + model::to_text(type) + ", allowed: f32, s32, s8, u8");
    }
    return t;
}

model::attribute read_attribute(const json_value &value) {
    if (value.is_array())
        return value.list<std::int64_t>();
    if (value.is_number())
        return value.as<std::int64_t>();
    return value.f32();
}

class case_builder {
public:
    case_builder(const node_form &form, const json_value &c, const std::vector<std::uint8_t> &blob,
                 std::string name)
        : form_(form), params_(c["params"]), tensors_(c["tensors"]), blob_(blob) {
        case_.op = form.op;
        case_.name = std::move(name);
    }

    operator_case build() {
        case_.graph.framework = "onnx";
        model::node node{form_.op, {}, {}, {}};
        for (const char *name : form_.inputs)
            node.inputs.push_back(add_input(name));
        if (form_.op == std::string("QLinearConcat"))
            add_concat_inputs(node.inputs);
        for (const char *name : form_.outputs)
            node.outputs.push_back(case_.add_output(tensor(name)));
        for (const char *name : form_.attributes)
            if (params_.has(name))
                node.attributes[name] = read_attribute(params_[name]);
        case_.add_node(std::move(node));
        return std::move(case_);
    }

private:
    tensor_record tensor(const std::string &name) const {
        tensor_record t = read_tensor(tensors_[name.c_str()], blob_);
        t.name = name;
        return t;
    }

    int add_input(const std::string &name) {
        if (tensors_.has(name.c_str()))
            return case_.add_input(tensor(name), contains(form_.weights, name));
        if (!params_.has(name.c_str()))
            return -1;
        const std::string owner = name.substr(0, name.find('_'));
        const data_type type = ends_with(name, "_scale") ? data_type::f32 : tensor(owner).type;
        return case_.add(constant_of(name, params_[name.c_str()], type));
    }

    /// x0, x1, … with their scales and zero points, which the file keeps in lists.
    void add_concat_inputs(std::vector<int> &inputs) {
        const std::vector<json_value> scales = params_["x_scale"].items(),
                                      zero_points = params_["x_zero_point"].items();
        if (scales.size() != zero_points.size())
            params_["x_scale"].fail("and x_zero_point differ in length");
        for (std::size_t i = 0; i < scales.size(); i++) {
            const std::string name = "x" + std::to_string(i);
            inputs.push_back(add_input(name));
            inputs.push_back(case_.add(constant_of(name + "_scale", scales[i], data_type::f32)));
            inputs.push_back(case_.add(constant_of(name + "_zero_point", zero_points[i], tensor(name).type)));
        }
    }

    const node_form &form_;
    json_value params_, tensors_;
    const std::vector<std::uint8_t> &blob_;
    operator_case case_;
};

} // namespace

void replay_ort_operators(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    std::map<std::string, int> seen; // cases have no names: they are counted per operator
    for (const json_value &c : file.root()["cases"].items()) {
        const std::string op = c["op"].text(), name = op + "_" + std::to_string(seen[op]++);
        if (!results.wants(op))
            continue;
        results.begin(name);
        const node_form *form = find_form(op);
        if (form && is_supported("onnx", op))
            replay(case_builder(*form, c, blob, name).build(), opt, results);
        else
            results.skip(op, name, "Octet does not execute this operator");
    }
}

} // namespace octet::vectors
