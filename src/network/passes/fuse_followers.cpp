// Operators behind accumulating ones; see fusion.hpp.

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "network/graph/graph_editor.hpp"
#include "network/lower/onnx.hpp"
#include "network/lower/tflite.hpp"
#include "network/passes/fusion.hpp"
#include "network/run/evaluate.hpp"

namespace octet::model {
namespace {

template <std::size_t N> bool is_one_of(const char *const (&names)[N], const std::string &op) {
    return std::any_of(std::begin(names), std::end(names), [&](const char *name) { return op == name; });
}

/// Operators that sum products and requantize them to codes.
constexpr const char *accumulating[] = {"BATCH_MATMUL", "CONV_2D",     "DEPTHWISE_CONV_2D", "FULLY_CONNECTED",
                                        "QGemm",        "QLinearConv", "QLinearMatMul",     "TRANSPOSE_CONV"};
/// Operators of which each output code depends on one input code alone, the same way everywhere.
constexpr const char *functions[] = {
    "LEAKY_RELU", "LOGISTIC", "QLinearLeakyRelu", "QLinearSigmoid", "QUANTIZE", "RELU", "RELU6", "TANH"};
/// The two operands of an addition among the inputs of its node; none for other operators.
struct sum_operands {
    std::size_t a, b;
};
std::optional<sum_operands> operands_of_sum(const node &n) {
    if (n.op == "ADD")
        return sum_operands{0, 1};
    if (n.op == "QLinearAdd")
        return sum_operands{0, 3};
    return {};
}

/// Operators whose output keeps its contents in places that they do not write, or shares their input's
/// buffer.
constexpr const char *unusual_buffers[] = {"Dropout", "EXPAND_DIMS", "Flatten", "Identity",
                                           "PAD",     "PADV2",       "Pad",     "RESHAPE",
                                           "Reshape", "SQUEEZE",     "Squeeze", "Unsqueeze"};

std::int32_t lowest_code(data_type type) { return type == data_type::s8 ? -128 : 0; }

/// The value before a rule's post-ops is the code less its zero point, rounded or yet to be rounded.
bool post_ops_see_codes(requantization_rule rule) {
    return rule != requantization_rule::f32 && rule != requantization_rule::f32_v3;
}

class follower_fusion {
public:
    explicit follower_fusion(graph &g) : e_(g) {}

    void run() {
        for (int i = 0; i < static_cast<int>(e_.node_count()); i++) {
            if (e_.is_removed(i) || e_.at(i).outputs.size() != 1)
                continue;
            if (is_one_of(functions, e_.at(i).op))
                join_function(i);
            else if (const auto operands = operands_of_sum(e_.at(i)))
                join_sum(i, input(i, operands->a), input(i, operands->b));
        }
        e_.finish();
    }

private:
    const tensor &at(int t) const { return e_.tensor_at(t); }
    int input(int i, std::size_t k) const { return k < e_.at(i).inputs.size() ? e_.at(i).inputs[k] : -1; }

    /// The accumulating node that writes a tensor of codes which node `reader` alone reads; -1.
    int accumulator_of(int t, int reader) const {
        const int host = e_.producer(t);
        const bool fits = host >= 0 && e_.only_consumer(t) == reader && is_code(at(t).type) &&
                          e_.at(host).outputs.size() == 1 && is_one_of(accumulating, e_.at(host).op);
        return fits ? host : -1;
    }

    bool are_alike(int a, int b) const {
        return at(a).type == at(b).type && at(a).dims == at(b).dims &&
               at(a).is_channels_last == at(b).is_channels_last;
    }

    /// `follower` becomes part of `host`, which moves to `place`, its own or the follower's.
    void join(int host, int follower, int place, const std::vector<int> &more_inputs) {
        node joined = e_.at(host);
        joined.fused.push_back(e_.at(follower));
        joined.outputs = e_.at(follower).outputs;
        joined.inputs.insert(joined.inputs.end(), more_inputs.begin(), more_inputs.end());
        e_.remove(place == host ? follower : host);
        e_.replace(place, std::move(joined));
    }

    void join_function(int i) {
        const int host = input(i, 0) < 0 ? -1 : accumulator_of(input(i, 0), i);
        if (host >= 0 && are_alike(input(i, 0), e_.at(i).outputs[0]))
            join(host, i, host, {});
    }

    void join_sum(int i, int value, int other) {
        if (value < 0 || other < 0)
            return;
        if (e_.producer(other) > e_.producer(value)) // the later one need not move
            std::swap(value, other);
        if (!join_sum_behind(value, other, i))
            join_sum_behind(other, value, i);
    }

    bool join_sum_behind(int value, int other, int i) {
        const int host = accumulator_of(value, i), other_producer = e_.producer(other);
        if (host < 0 || other_producer < 0 || !are_alike(value, other) ||
            !are_alike(value, e_.at(i).outputs[0]) || at(other).is_variable)
            return false;
        const int place = other_producer < host ? host : i;
        const std::vector<int> &read = e_.at(host).inputs;
        if (std::find(read.begin(), read.end(), other) != read.end() ||
            !can_be_overwritten(other, place, i) || !can_move(host, place))
            return false;
        join(host, i, place, {other});
        overwritten_at_[other] = place;
        return true;
    }

    /// Whether nobody but the sum, node `reader`, needs a tensor from node `place` on.
    bool can_be_overwritten(int t, int place, int reader) const {
        if (is_one_of(unusual_buffers, e_.at(e_.producer(t)).op))
            return false;
        const std::vector<int> &readers = e_.consumers(t);
        return std::all_of(readers.begin(), readers.end(), [&](int r) {
            return r == reader || (r >= 0 && r < place && !is_one_of(unusual_buffers, e_.at(r).op));
        });
    }

    /// Whether a node's inputs are still there if it runs later.
    bool can_move(int i, int to) const {
        return std::none_of(e_.at(i).inputs.begin(), e_.at(i).inputs.end(), [&](int t) {
            const auto found = overwritten_at_.find(t);
            return found != overwritten_at_.end() && found->second > i && found->second <= to;
        });
    }

    graph_editor e_;
    std::map<int, int> overwritten_at_; ///< tensors whose buffer a sum took, and the sum's place
};

// ---- Lowering

/// Output codes of a function for all input codes, lowest first.
std::vector<std::int32_t> table_of(const graph &g, const node &f, data_type type) {
    std::vector<std::uint8_t> codes(256);
    std::iota(codes.begin(), codes.end(), static_cast<std::uint8_t>(lowest_code(type)));
    const std::vector<std::uint8_t> results = evaluate(g, f, 0, codes, memory::dims{256});
    std::vector<std::int32_t> table;
    for (const std::uint8_t byte : results)
        table.push_back(type == data_type::s8 ? static_cast<std::int8_t>(byte) : byte);
    return table;
}

/// The interval that a table clips to, if that is all it does.
std::optional<post_op::clip> as_clip(const std::vector<std::int32_t> &table, std::int32_t lowest) {
    const auto [low, high] = std::minmax_element(table.begin(), table.end());
    for (std::size_t i = 0; i < table.size(); i++)
        if (table[i] != std::clamp(lowest + static_cast<std::int32_t>(i), *low, *high))
            return {};
    return post_op::clip{*low, *high};
}

/// Grows a chain of post-ops. Values are codes less `zero_point`.
class chain {
public:
    chain(primitive_attr &attr, const lowering &l)
        : l_(l), type_(l.result().type), lowest_(lowest_code(type_)), ops_(attr.get_post_ops()) {
        const auto found = attr.zero_points().find(OCTET_ARG_DST);
        zero_point_ = found == attr.zero_points().end() ? 0 : found->second.values.at(0);
    }

    void append_function(const node &f) {
        const std::vector<std::int32_t> table = table_of(l_.get_graph(), f, type_);
        if (const auto clip = as_clip(table, lowest_)) {
            ops_.append_clip(clip->low - zero_point_, clip->high - zero_point_);
        } else {
            ops_.append_add(zero_point_);
            zero_point_ = 0;
            post_op::table stage;
            stage.type = type_;
            std::transform(table.begin(), table.end(), stage.entries.begin(),
                           [](std::int32_t code) { return static_cast<std::uint8_t>(code); });
            ops_.append_table(stage);
        }
    }

    /// The addition of the codes so far and those in the output's buffer, whichever is a.
    void append_sum(const node &add, int value) {
        add.op == "ADD" ? append_tflite_sum(add, value) : append_qlinear_sum(add, value);
    }

    void finish(primitive_attr &attr) const {
        attr.set_post_ops(ops_);
        attr.set_zero_points(OCTET_ARG_DST, 0, {zero_point_});
    }

private:
    void append_tflite_sum(const node &add, int value) {
        const auto &tensors = l_.get_graph().tensors;
        const auto codes = [&](int t, const char *who) {
            return per_tensor(tensors[static_cast<std::size_t>(t)], who);
        };
        const int other = add.inputs[add.inputs[0] == value ? 1 : 0];
        const linear_codes x = codes(value, "an input of ADD"), d = codes(other, "an input of ADD"),
                           y = codes(add.outputs[0], "the output of ADD");
        constexpr requantization_rule rule = requantization_rule::tflite_2step;
        if (zero_point_ != x.zero_point) // behind a table of codes
            ops_.append_add(zero_point_ - x.zero_point);
        ops_.append_scaled_add(
            {add_multipliers_of(rule, x.scale, d.scale, y.scale), x.zero_point, d.zero_point, rule});
        const code_interval range = activation_interval(attribute_or<std::string>(add, "activation", "NONE"),
                                                        tensors[static_cast<std::size_t>(add.outputs[0])]);
        zero_point_ = y.zero_point;
        if (!range.is_whole)
            ops_.append_clip(range.low - zero_point_, range.high - zero_point_);
    }

    void append_qlinear_sum(const node &add, int value) {
        const lowering as_node = l_.of(add);
        const linear_parameters a = per_tensor_parameters(as_node, 1, 2),
                                b = per_tensor_parameters(as_node, 4, 5),
                                y = per_tensor_parameters(as_node, 6, 7);
        const qlinear_add_factors f =
            qlinear_add_factors_of(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point);
        if (add.inputs[0] == value)
            ops_.append_qlinear_add({f.scale_a, f.scale_b, f.shift, zero_point_, false});
        else
            ops_.append_qlinear_add({f.scale_b, f.scale_a, f.shift, zero_point_, true});
        zero_point_ = 0; // part of the shift
    }

    const lowering &l_;
    const data_type type_;
    const std::int32_t lowest_;
    post_ops ops_;
    std::int32_t zero_point_;
};

} // namespace

void fuse_followers(graph &g, requantization_rule rule) {
    if (post_ops_see_codes(rule))
        follower_fusion(g).run();
}

int fused_value(const node &host, const node &follower) {
    const auto operands = operands_of_sum(follower);
    if (!operands)
        return follower.inputs.at(0);
    const int a = follower.inputs.at(operands->a), b = follower.inputs.at(operands->b);
    return std::find(host.inputs.begin(), host.inputs.end(), a) == host.inputs.end() ? a : b;
}

void append_fused(primitive_attr &attr, const lowering &l) {
    const node &host = l.get_node();
    if (host.fused.empty())
        return;
    chain stages(attr, l);
    for (const node &f : host.fused) {
        const auto operands = operands_of_sum(f);
        if (!operands) {
            stages.append_function(f);
            continue;
        }
        const int value = fused_value(host, f), a = f.inputs[operands->a], b = f.inputs[operands->b];
        const auto place = std::find(host.inputs.begin(), host.inputs.end(), value == a ? b : a);
        l.alias_output_to_input(static_cast<std::size_t>(place - host.inputs.begin()));
        stages.append_sum(f, value);
    }
    stages.finish(attr);
}

} // namespace octet::model
