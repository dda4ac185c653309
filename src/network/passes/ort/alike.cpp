// Which nodes compute the same, as ONNX Runtime's CommonSubexpressionElimination sees them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <variant>

#include "network/graph/graph_editor.hpp"
#include "network/passes/ort/fold_integers.hpp"

namespace octet::model {
namespace {

/// Attributes of this value are one with those that a file leaves out. Where an operator has several, ONNX Runtime compares them in
/// the order in which it has them, that of the file and then that of a table of hashes: only the first of the latter counts.
struct default_attribute {
    std::string_view op, name;
    std::variant<std::int64_t, float, std::string_view> value;
};
constexpr std::int64_t none = 0, one = 1;
constexpr default_attribute defaults[] = {
    {"ArgMax", "select_last_index", none},
    {"AveragePool", "count_include_pad", none},
    {"Cast", "saturate", one},
    {"Conv", "group", one},
    {"DepthToSpace", "mode", std::string_view("DCR")},
    {"Elu", "alpha", 1.f},
    {"Flatten", "axis", one},
    {"Gather", "axis", none},
    {"Gelu", "approximate", std::string_view("none")},
    {"Gemm", "beta", 1.f},
    {"HardSigmoid", "beta", 0.5f},
    {"LeakyRelu", "alpha", 0.01f},
    {"ReduceL2", "keepdims", one},
    {"ReduceMax", "keepdims", one},
    {"ReduceMean", "keepdims", one},
    {"ReduceMin", "keepdims", one},
    {"ReduceSum", "keepdims", one},
    {"Reshape", "allowzero", none},
    {"ThresholdedRelu", "alpha", 1.f},
};

template <typename T> T in_attribute(T value) { return value; }
std::string in_attribute(std::string_view text) { return std::string(text); }

bool is_default(const std::string &op, const std::string &name, const attribute &value) {
    return std::any_of(std::begin(defaults), std::end(defaults), [&](const default_attribute &d) {
        return name == d.name && op == d.op &&
               std::visit([&](auto v) { return value == attribute(in_attribute(v)); }, d.value);
    });
}

/// What the file says of a node, but for what goes without saying.
std::map<std::string, attribute> own_attributes(const graph &g, const node &n) {
    std::map<std::string, attribute> attributes = n.attributes;
    for (auto a = attributes.begin(); a != attributes.end();)
        a = is_default(n.op, a->first, a->second) ? attributes.erase(a) : std::next(a);
    if (n.op == "Softmax" || n.op == "LogSoftmax") {
        constexpr std::int64_t last_axis_opset = 13;
        attributes.emplace("axis", std::int64_t{g.opset < last_axis_opset ? 1 : -1});
    }
    return attributes;
}

/// How a file lists absent inputs and who reads the results does not count.
bool have_equal_marks(const node &a, const node &b) {
    if (a.marks == b.marks)
        return true;
    const auto compared = [](node_marks marks) {
        marks.absent_inputs = 0;
        marks.unread = kept_unread::no;
        return marks;
    };
    return compared(marks_of(a)) == compared(marks_of(b));
}

} // namespace

bool are_alike(const graph &g, const node &a, const node &b) {
    return &a == &b || (a.op == b.op && have_equal_marks(a, b) &&
                        (a.attributes == b.attributes || own_attributes(g, a) == own_attributes(g, b)));
}

} // namespace octet::model
