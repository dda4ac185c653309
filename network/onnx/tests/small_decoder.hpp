#pragma once // SPDX-License-Identifier: Apache-2.0

// A decoder of two layers with random weights, whose attention is one of four operators.

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"

namespace octet::tests::sequences {

using floats = std::vector<float>;

constexpr std::int64_t words = 19, hidden = 24, heads = 4, groups = 2, width = 16, layers = 2, places = 600;

inline floats drawn(std::size_t count, float most, unsigned seed) {
    std::minstd_rand random(seed);
    floats x(count);
    for (float &v : x)
        v = (static_cast<float>(random() % 2001) - 1000.f) * most / 1000.f;
    return x;
}

/// Operators of attention: GroupQueryAttention, MultiHeadAttention, the standard's, DecoderMaskedMultiHeadAttention.
enum class attends { group, several, standard, one_row };

/// What a model has otherwise than the usual one.
struct unlike {
    bool has_positions = false, has_only_last_logits = false, reads_past_twice = false;
    std::int64_t window = -1;
    attends by = attends::group;
    bool has_total = false;                ///< total_sequence_length is an input
    bool takes_rows_for_positions = false; ///< positions begin with the number of rows of the past
};

inline unlike with(attends by) {
    unlike u;
    u.by = by;
    return u;
}

class small_decoder : public onnx_builder {
public:
    explicit small_decoder(const unlike &u = {}) : onnx_builder(u.by == attends::standard ? 23 : 18) {
        open_input<std::int64_t>("input_ids", {"batch", "rows"});
        open_input<std::int64_t>("attention_mask", {"batch", "all"});
        if (u.has_positions)
            open_input<std::int64_t>("position_ids", {"batch", "rows"});
        if (u.has_total)
            input<std::int32_t>("total_sequence_length", {1});
        if (u.by == attends::one_row)
            input<std::int32_t>("past_sequence_length", {1});
        weights("embedding", {words, hidden}, 1.f);
        weights("cosines", {places, width / 2}, 1.f);
        weights("sines", {places, width / 2}, 1.f);
        constant<std::int64_t>("one", {1}, {1});
        scalar<std::int64_t>("first", 1);
        set(node("ReduceSum", {"attention_mask", "one"}, {"count"}), "keepdims", std::int64_t{0});
        node("Sub", {"count", "one"}, {"last"});
        set(node("Cast", {"last"}, {"lengths"}), "to", std::int64_t{onnx::TensorProto::INT32});
        node("Shape", {"attention_mask"}, {"sizes"});
        node("Gather", {"sizes", "first"}, {"size"});
        set(node("Cast", {"size"}, {"total"}), "to", std::int64_t{onnx::TensorProto::INT32});
        if (u.by != attends::group)
            read_mask(u);
        std::string x = node("Gather", {"embedding", "input_ids"}, {"x"}).output(0);
        for (std::int64_t i = 0; i < layers; i++)
            x = layer(x, std::to_string(i), u);
        if (u.has_only_last_logits) {
            constant<std::int64_t>("end", {1}, {-1});
            constant<std::int64_t>("far", {1}, {1 << 30});
            x = node("Slice", {x, "end", "far", "one"}, {"xl"}).output(0);
        }
        weights("head", {hidden, words}, 1.f);
        node("MatMul", {x, "head"}, {"logits"});
        output("logits");
        for (std::int64_t i = 0; i < layers; i++)
            for (const char *const kind : {"key", "value"})
                output("present." + std::to_string(i) + "." + kind);
    }

    model::graph graph_of() const {
        const std::vector<std::uint8_t> file = finish();
        return model::read_onnx(file.data(), file.size(), "decoder.onnx");
    }

private:
    template <typename T> void open_input(const std::string &name, const names &sizes) {
        input<T>(name, dims(sizes.size(), -1));
        auto &shape = *graph()
                           .mutable_input(graph().input_size() - 1)
                           ->mutable_type()
                           ->mutable_tensor_type()
                           ->mutable_shape();
        for (std::size_t d = 0; d < sizes.size(); d++)
            shape.mutable_dim(static_cast<int>(d))->set_dim_param(sizes[d]);
    }
    void weights(const std::string &name, const dims &shape, float most) {
        const auto count = static_cast<std::size_t>(shape[0] * shape[1]);
        constant<float>(name, shape, drawn(count, most, static_cast<unsigned>(name.size()) + seed_++));
    }
    /// A number for each score, and positions of tokens.
    void read_mask(const unlike &u) {
        node("Shape", {"input_ids"}, {"new_sizes"});
        node("Gather", {"new_sizes", "first"}, {"new"});
        node("Sub", {"size", "new"}, {"rows_before"});
        scalar<std::int64_t>("none", 0);
        scalar<std::int64_t>("step", 1);
        scalar<float>("seen", 0.f);
        scalar<float>("unseen", std::numeric_limits<float>::lowest());
        constant<std::int64_t>("axis_1", {1}, {1});
        constant<std::int64_t>("axes_1_2", {2}, {1, 2});
        constant<std::int64_t>("axis_0", {1}, {0});
        node("Range", {"none", "size", "step"}, {"columns"});
        node("Range", {"rows_before", "size", "step"}, {"last_rows"});
        node("Unsqueeze", {"last_rows", "axis_1"}, {"row_column"});
        node("LessOrEqual", {"columns", "row_column"}, {"is_earlier"});
        set(node("Cast", {"attention_mask"}, {"is_token"}), "to", std::int64_t{onnx::TensorProto::BOOL});
        node("Unsqueeze", {"is_token", "axes_1_2"}, {"is_token_4"});
        node("And", {"is_token_4", "is_earlier"}, {"is_seen"});
        node("Where", {"is_seen", "seen", "unseen"}, {"bias"});
        set(node("Cast", {"attention_mask"}, {"mask_index"}), "to", std::int64_t{onnx::TensorProto::INT32});
        if (u.has_positions)
            return;
        if (u.takes_rows_for_positions) {
            node("Unsqueeze", {"last_rows", "axis_0"}, {"position_ids"});
            return;
        }
        scalar<std::int64_t>("along", 1);
        node("CumSum", {"attention_mask", "along"}, {"counts"});
        node("Sub", {"counts", "one"}, {"places"});
        node("Unsqueeze", {"rows_before", "axis_0"}, {"begin"});
        node("Unsqueeze", {"size", "axis_0"}, {"end_of_all"});
        node("Slice", {"places", "begin", "end_of_all", "axis_1"}, {"position_ids"});
    }
    void past(const std::string &name, std::int64_t of_groups) {
        input<float>(name, {-1, of_groups, -1, width});
        auto &shape = *graph()
                           .mutable_input(graph().input_size() - 1)
                           ->mutable_type()
                           ->mutable_tensor_type()
                           ->mutable_shape();
        shape.mutable_dim(0)->set_dim_param("batch");
        shape.mutable_dim(2)->set_dim_param("past");
    }
    std::string attention_layer(const std::string &x, const std::string &i, const unlike &u) {
        const std::int64_t of_groups = u.by == attends::standard ? groups : heads;
        names parts;
        for (const char *const part : {"query", "key", "value"}) {
            const std::string name = part + i;
            weights("w" + name, {hidden, (part[0] == 'q' ? heads : of_groups) * width}, 0.4f);
            node("MatMul", {x, "w" + name}, {name});
            if (part[0] != 'v')
                node("RotaryEmbedding", {name, "position_ids", "cosines", "sines"}, {name + "r"}, microsoft);
            parts.push_back(part[0] == 'v' ? name : name + "r");
        }
        names inputs = parts;
        if (u.by == attends::several)
            inputs.insert(inputs.end(), {"", "", "bias"});
        else if (u.by == attends::standard)
            inputs.push_back(i == "0" ? "bias" : "is_seen");
        else
            inputs.insert(inputs.end(), {"mask_index", ""});
        for (const char *const kind : {"key", "value"})
            past(inputs.emplace_back("past_key_values." + i + "." + kind), of_groups);
        if (u.by == attends::one_row)
            inputs.push_back("past_sequence_length");
        const names outputs = {"a" + i, "present." + i + ".key", "present." + i + ".value"};
        const char *const op = u.by == attends::several    ? "MultiHeadAttention"
                               : u.by == attends::standard ? "Attention"
                                                           : "DecoderMaskedMultiHeadAttention";
        onnx::NodeProto &n = node(op, inputs, outputs, u.by == attends::standard ? "" : microsoft);
        set(n, u.by == attends::standard ? "q_num_heads" : "num_heads", heads);
        if (u.by == attends::standard)
            set(n, "kv_num_heads", groups);
        if (u.by == attends::one_row)
            set(n, "past_present_share_buffer", std::int64_t{1});
        return behind_attention(x, i);
    }
    std::string behind_attention(const std::string &x, const std::string &i) {
        weights("back" + i, {heads * width, hidden}, 0.4f);
        node("MatMul", {"a" + i, "back" + i}, {"b" + i});
        return node("Add", {x, "b" + i}, {"x" + i}).output(0);
    }
    std::string layer(const std::string &x, const std::string &i, const unlike &u) {
        if (u.by != attends::group)
            return attention_layer(x, i, u);
        names inputs = {"q" + i, "", ""};
        for (const char *const kind : {"key", "value"}) {
            const std::string name = inputs.emplace_back("past_key_values." + i + "." + kind);
            past(name, groups);
            if (u.reads_past_twice && i == "0")
                output(node("Neg", {name}, {name + ".negative"}).output(0));
        }
        for (const char *const name :
             {"lengths", u.has_total ? "total_sequence_length" : "total", "cosines", "sines"})
            inputs.emplace_back(name);
        if (u.has_positions)
            inputs.emplace_back("position_ids");
        weights("qkv" + i, {hidden, (heads + 2 * groups) * width}, 0.4f);
        node("MatMul", {x, "qkv" + i}, {"q" + i});
        onnx::NodeProto &n = node("GroupQueryAttention", inputs,
                                  {"a" + i, "present." + i + ".key", "present." + i + ".value"}, microsoft);
        set(n, "num_heads", heads);
        set(n, "kv_num_heads", groups);
        set(n, "do_rotary", std::int64_t{1});
        set(n, "local_window_size", u.window);
        return behind_attention(x, i);
    }
    unsigned seed_ = 1;
};

} // namespace octet::tests::sequences
