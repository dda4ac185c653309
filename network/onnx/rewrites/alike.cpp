// As `common_subexpression_elimination.cc` of ONNX Runtime 1.30, level 1: which nodes compute the same.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <variant>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/onnx/rewrites/sized_constants.hpp"

namespace octet::model {
namespace {

template <typename T> T in_attribute(T value) { return value; }
std::string in_attribute(std::string_view text) { return std::string(text); }

bool is_assumed(const assumed_attribute &assumed, const std::string &name, const attribute &value) {
    return name == assumed.name &&
           std::visit([&](auto v) { return value == attribute(in_attribute(v)); }, assumed.value);
}

/// Returns the attributes that the file gives a node, without those that equal their assumed value.
std::map<std::string, attribute> own_attributes(const graph &g, const node &n) {
    std::map<std::string, attribute> attributes = n.attributes;
    const assumed_attribute &assumed = facts_of(g, n).assumed;
    for (auto a = attributes.begin(); a != attributes.end();)
        a = is_assumed(assumed, a->first, a->second) ? attributes.erase(a) : std::next(a);
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
