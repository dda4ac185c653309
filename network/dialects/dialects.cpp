// Dialects by the names of their frameworks, and rows of operators by theirs.
// SPDX-License-Identifier: Apache-2.0
#include "network/dialects/dialects.hpp"

#include <algorithm>
#include <stdexcept>

namespace octet {
inline namespace v0 {
namespace model {

operator_table::operator_table(std::initializer_list<family> families) {
    for (const family rows : families)
        for (const operator_facts &row : rows())
            if (!rows_.emplace(row.name, &row).second)
                throw std::logic_error(std::string("operator ") + row.name + " has two rows");
}

const operator_facts *operator_table::find(std::string_view op) const {
    const auto found = rows_.find(op);
    return found == rows_.end() ? nullptr : found->second;
}

std::vector<std::string> operator_table::listed() const {
    std::vector<std::string> names;
    for (const auto &[name, row] : rows_)
        if (!row->is_internal)
            names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

namespace {
constexpr const dialect *all_dialects[] = {&tflite_dialect, &onnx_dialect};
}

const dialect *find_dialect(std::string_view framework) {
    for (const dialect *d : all_dialects)
        if (d->name == framework)
            return d;
    return nullptr;
}

const dialect &dialect_of(std::string_view framework) {
    if (const dialect *known = find_dialect(framework))
        return *known;
    std::string allowed;
    for (const dialect *d : all_dialects)
        allowed += (allowed.empty() ? "" : " and ") + std::string(d->name);
    refuse("networks of '" + std::string(framework) + "' cannot be run, allowed are " + allowed);
}

namespace {
constexpr operator_facts nothing_known("", {0, input_counts::any_number});
}

const operator_facts &facts_of(const dialect &spoken, std::string_view op) {
    const operator_facts *known = spoken.operators().find(op);
    return known ? *known : nothing_known;
}

/// Asked for several times per node by whatever looks at a graph.
const operator_facts &facts_of(const graph &g, std::string_view op) {
    const dialect *spoken = find_dialect(g.framework);
    return spoken ? facts_of(*spoken, op) : nothing_known;
}

} // namespace model
} // namespace v0
} // namespace octet
