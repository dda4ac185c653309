// Vectors of recurrent operators: each case of ONNX Runtime becomes a network of one node. Recurrent networks of oneDNN
// are in rnn_ops.cpp, its other operations in onednn_ops.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <functional>

#include "check/check.hpp"

namespace octet::vectors {
namespace {

using names = std::vector<const char *>;

struct recurrent_form {
    const char *op;
    names inputs, outputs;
    names constants; ///< inputs that a model always holds as constants
};

const recurrent_form forms[] = {
    {"LSTM",
     {"x", "w", "r", "bias", "sequence_lens", "initial_h", "initial_c", "peephole"},
     {"y", "y_h", "y_c"},
     {"bias", "peephole"}},
    {"GRU", {"x", "w", "r", "bias", "sequence_lens", "initial_h"}, {"y", "y_h"}, {"bias"}},
    {"RNN", {"x", "w", "r", "bias", "sequence_lens", "initial_h"}, {"y", "y_h"}, {"bias"}},
    {"DynamicQuantizeLSTM",
     {"x", "w", "r", "bias", "sequence_lens", "initial_h", "initial_c", "peephole", "w_scale", "w_zero_point",
      "r_scale", "r_zero_point"},
     {"y", "y_h", "y_c"},
     {"w", "r", "bias", "peephole", "w_scale", "w_zero_point", "r_scale", "r_zero_point"}},
};

const recurrent_form *find_recurrent_form(const std::string &op) {
    for (const recurrent_form &form : forms)
        if (op == form.op)
            return &form;
    return nullptr;
}

/// A list as the text that graphs have for one.
std::string list_text(const json_value &list, const std::function<std::string(const json_value &)> &text_of) {
    std::string text;
    for (const json_value &entry : list.items())
        text += (text.empty() ? "" : ",") + text_of(entry);
    return text;
}

std::string number_text(const json_value &number) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, number.f32()).ptr);
}

class recurrent_case {
public:
    recurrent_case(const recurrent_form &form, const json_value &c, const std::vector<std::uint8_t> &blob)
        : form_(form), case_json_(c), params_(c["params"]), blob_(blob) {}

    operator_case build() {
        case_.op = form_.op;
        case_.name = case_json_["name"].text();
        case_.any_nan_is_equal = true;
        case_.graph.framework = "onnx";
        model::node node{form_.op, {}, {}, {}};
        for (const char *name : form_.inputs)
            node.inputs.push_back(add_input(name));
        for (const char *name : form_.outputs)
            node.outputs.push_back(add_output(name));
        set_attributes(node);
        case_.add_node(std::move(node));
        return std::move(case_);
    }

private:
    bool is_constant(const std::string &name) const {
        for (const char *constant : form_.constants)
            if (name == constant)
                return true;
        return (name == "w" || name == "r") && params_["weights_constant"].integer(0, 1) == 1;
    }

    int add_input(const std::string &name) {
        const json_value inputs = case_json_["inputs"];
        if (!inputs.has(name.c_str()))
            return -1;
        tensor_record t = read_tensor(inputs[name.c_str()], blob_);
        t.name = name;
        return case_.add_input(t, is_constant(name));
    }

    /// An output that a case lacks is one without a name.
    int add_output(const std::string &name) {
        const json_value outputs = case_json_["outputs"];
        if (!outputs.has(name.c_str())) {
            model::tensor none;
            none.foreign_type = "unknown";
            return case_.add(std::move(none));
        }
        tensor_record t = read_tensor(outputs[name.c_str()], blob_);
        t.name = name;
        return case_.add_output(t);
    }

    /// A list of directions, or their number.
    std::string direction() const {
        const json_value directions = params_["directions"];
        if (directions.is_number())
            return directions.integer(1, 2) == 2 ? "bidirectional" : "forward";
        const std::vector<json_value> all = directions.items();
        return all.size() == 2 ? "bidirectional" : all.at(0).text();
    }

    void set_attributes(model::node &node) const {
        node.attributes["direction"] = direction();
        for (const char *name : {"hidden_size", "input_forget", "linear_before_reset"})
            if (params_.has(name))
                node.attributes[name] = params_[name].as<std::int64_t>();
        if (params_.has("clip"))
            node.attributes["clip"] = params_["clip"].f32();
        if (params_.has("activations"))
            node.attributes["activations"] =
                list_text(params_["activations"], [](const json_value &name) { return name.text(); });
        for (const char *name : {"activation_alpha", "activation_beta"})
            if (params_.has(name))
                node.attributes[name] = list_text(params_[name], number_text);
    }

    const recurrent_form &form_;
    json_value case_json_, params_;
    const std::vector<std::uint8_t> &blob_;
    operator_case case_;
};

} // namespace

bool replay_recurrent_case(const json_value &c, const std::vector<std::uint8_t> &blob, const options &opt,
                           report &results) {
    const std::string op = c["op"].text();
    const recurrent_form *form = find_recurrent_form(op);
    if (!form || !is_supported("onnx", op))
        return false;
    replay(recurrent_case(*form, c, blob).build(), opt, results);
    return true;
}

void replay_recurrent(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    for_cases(file, results, [&](const json_value &c, const std::string &op, const std::string &name) {
        if (op == "onednn_rnn")
            replay_rnn_case(c, blob, opt, results);
        else if (!replay_onednn_case(c, blob, opt, results) && !replay_recurrent_case(c, blob, opt, results))
            results.skip(op, name, "Octet does not execute " + op);
    });
}

} // namespace octet::vectors
