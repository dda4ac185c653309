// Vectors of the operators of decoders as ONNX Runtime computed them: each case becomes a network of one node, with
// inputs and outputs in the order of the operator's definition. Shapes are inferred, as for a file.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <list>

#include "check/check.hpp"

namespace octet::vectors {
namespace {

struct attention_form {
    const char *op, *name; ///< in the file, in a graph
    std::vector<const char *> inputs, outputs;
    std::vector<const char *>
        sizes; ///< inputs from whose values dimensions follow, which a model computes from sizes
};

const attention_form attention_forms[] = {
    {"GroupQueryAttention",
     "GroupQueryAttention",
     {"query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length", "cos_cache",
      "sin_cache", "position_ids", "attention_bias", "head_sink", "k_scale", "v_scale"},
     {"output", "present_key", "present_value", "output_qk"},
     {"total_sequence_length"}},
    {"MultiHeadAttention",
     "MultiHeadAttention",
     {"query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value"},
     {"output", "present_key", "present_value"},
     {}},
    {"DecoderMaskedMultiHeadAttention",
     "DecoderMaskedMultiHeadAttention",
     {"query", "key", "value", "mask_index", "attention_bias", "past_key", "past_value",
      "past_sequence_length", "beam_width", "cache_indirection", "bias"},
     {"output", "present_key", "present_value", "qk"},
     {"past_sequence_length", "beam_width"}},
    {"Attention",
     "ai.onnx::Attention",
     {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"},
     {"Y", "present_key", "present_value", "qk"},
     {}},
    {"RotaryEmbedding",
     "ai.onnx::RotaryEmbedding",
     {"X", "cos_cache", "sin_cache", "position_ids"},
     {"Y"},
     {}},
    {"RMSNormalization", "RMSNormalization", {"X", "scale"}, {"Y"}, {}},
};

bool is_among(const std::vector<const char *> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// The parameters of a case that are the node's attributes.
std::map<std::string, model::attribute> attributes_of(const json_value &params) {
    const std::vector<const char *> reals = {"scale", "softcap", "epsilon", "mask_filter_value"},
                                    texts = {"k_quant_type", "v_quant_type"},
                                    others = {"same_with_2_threads", "outputs_present", "share_buffer",
                                              "opset"};
    std::map<std::string, model::attribute> attributes;
    for (const std::string &name : params.keys()) {
        const json_value value = params[name.c_str()];
        if (is_among(reals, name))
            attributes[name] = value.f32();
        else if (is_among(texts, name))
            attributes[name] = value.text();
        else if (!is_among(others, name))
            attributes[name] = value.as<std::int64_t>();
    }
    return attributes;
}

class attention_case {
public:
    attention_case(const attention_form &form, const json_value &c, const std::vector<std::uint8_t> &blob)
        : form_(form), inputs_(c["inputs"]), outputs_(c["outputs"]), blob_(blob) {
        case_.op = form.op;
        case_.name = c["name"].text();
        case_.graph.framework = "onnx";
        const json_value params = c["params"];
        if (params.has("opset"))
            case_.graph.opset = params["opset"].integer(1, 100);
        model::node node{form.name, {}, {}, attributes_of(params)};
        for (const char *name : form.inputs)
            node.inputs.push_back(add_input(name));
        std::size_t last = form.outputs.size();
        while (last > 0 && !outputs_.has(form.outputs[last - 1]))
            last--;
        for (std::size_t i = 0; i < last; i++)
            node.outputs.push_back(add_output(form.outputs[i]));
        case_.add_node(std::move(node));
    }

    /// Valid as long as this object.
    const operator_case &get() const { return case_; }

private:
    int add_input(const std::string &name) {
        if (!inputs_.has(name.c_str()))
            return -1;
        const json_value record = inputs_[name.c_str()];
        tensor_record t = read_wide_tensor(record, blob_, copies_);
        t.name = name;
        const std::string type = record["dtype"].text();
        const int index = case_.add_input(t, is_among(form_.sizes, name));
        case_.graph.tensors.back().foreign_type = type == "s64" ? "INT64" : type == "bool" ? "BOOL" : "";
        return index;
    }

    /// One without a record is there, but nobody reads it.
    int add_output(const std::string &name) {
        model::tensor made;
        made.name = name;
        made.foreign_type = "unknown"; // until shapes are inferred
        const int index = case_.add(std::move(made));
        if (!outputs_.has(name.c_str()))
            return index;
        tensor_record t = read_tensor(outputs_[name.c_str()], blob_);
        t.name = name;
        case_.expected[0].outputs.push_back(std::move(t));
        case_.graph.outputs.push_back(index);
        return index;
    }

    const attention_form &form_;
    json_value inputs_, outputs_;
    const std::vector<std::uint8_t> &blob_;
    std::list<std::vector<std::uint8_t>> copies_;
    operator_case case_;
};

} // namespace

void replay_attention_operators(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    for_cases(file, results, [&](const json_value &c, const std::string &op, const std::string &name) {
        const auto *form = std::find_if(std::begin(attention_forms), std::end(attention_forms),
                                        [&](const attention_form &f) { return op == f.op; });
        if (form == std::end(attention_forms) || !is_supported("onnx", form->name))
            return results.skip(op, name, "Octet does not execute this operator");
        const attention_case made(*form, c, blob);
        operator_case whole = made.get();
        try {
            model::infer_shapes(whole.graph);
        } catch (const error &e) {
            if (e.status != status::unimplemented)
                return results.fail(op, name, e.what());
        }
        replay(whole, opt, results);
    });
}

} // namespace octet::vectors
