// Seeds of saved plans: an honest one, and the same with right checksums and one field that lies.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>

#include <plan_generated.h>

#include "network/saved/format.hpp"
#include "network/tests/fuzz/saved_plans.hpp"
#include "network/tests/fuzz/seeds.hpp"
#include "octet/requantization.hpp"

namespace octet::tests {
namespace {

/// The first tensor that is a constant, or not.
saved::TensorT &tensor_of(std::vector<std::unique_ptr<saved::TensorT>> &tensors, bool is_constant) {
    return **std::find_if(tensors.begin(), tensors.end(),
                          [&](const auto &t) { return t->is_constant == is_constant; });
}

} // namespace

std::vector<fuzz_seed> plan_seeds(const std::string &model) {
    const std::vector<std::uint8_t> plan = saved_plan_of(model);
    constexpr int far = std::numeric_limits<int>::max();
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    std::vector<fuzz_seed> seeds = {{"plan", plan, fuzz_outcome::ran}};
    const auto hostile = [&](const char *name, const std::function<void(saved::PlanT &)> &change) {
        seeds.push_back({name, changed_plan(plan, change), fuzz_outcome::refused});
    };
    seeds.push_back({"plan_unchanged", changed_plan(plan, [](saved::PlanT &) {}), fuzz_outcome::ran});
    hostile("plan_input", [](saved::PlanT &p) { p.inputs = {far}; });
    hostile("plan_output", [](saved::PlanT &p) { p.outputs = {-1}; });
    hostile("plan_node_input", [](saved::PlanT &p) { p.nodes.front()->inputs.front() = far; });
    hostile("plan_operator", [](saved::PlanT &p) { p.nodes.front()->op = "NONE"; });
    hostile("plan_framework", [](saved::PlanT &p) { p.framework = "none"; });
    hostile("plan_rule", [](saved::PlanT &p) { p.rule = far; });
    hostile("plan_next_rule",
            [](saved::PlanT &p) { p.rule = static_cast<int>(all_requantization_rules().back()) + 1; });
    hostile("plan_type", [](saved::PlanT &p) { p.tensors.front()->type = far; });
    hostile("plan_no_type", [](saved::PlanT &p) {
        p.tensors[static_cast<std::size_t>(p.nodes.front()->outputs.front())]->type = 0;
    });
    hostile("plan_dims", [](saved::PlanT &p) { tensor_of(p.tensors, false).dims = {huge, huge}; });
    hostile("plan_no_dims", [](saved::PlanT &p) { tensor_of(p.tensors, false).dims.clear(); });
    hostile("plan_constant", [](saved::PlanT &p) { tensor_of(p.tensors, true).blob = far; });
    hostile("plan_packed_tensor", [](saved::PlanT &p) { p.packed.front()->tensor = far; });
    hostile("plan_packed_blob", [](saved::PlanT &p) { p.packed.front()->blob = -1; });
    hostile("plan_packed_layout", [](saved::PlanT &p) { p.packed.front()->chosen->strides.clear(); });
    hostile("plan_packed_width", [](saved::PlanT &p) { p.packed.front()->chosen->packed_width = huge; });
    hostile("plan_blob_outside", [](saved::PlanT &p) {
        saved::Blob &b = p.blobs.back();
        b = saved::Blob(b.offset() + (std::uint64_t{1} << 40), b.size(), 0);
    });
    hostile("plan_blob_size", [](saved::PlanT &p) {
        saved::Blob &b = p.blobs.back();
        b = saved::Blob(b.offset(), ~std::uint64_t{0}, 0);
    });
    hostile("plan_blobs_overlap", [](saved::PlanT &p) { p.blobs.back() = p.blobs.front(); });
    hostile("plan_source_input", [](saved::PlanT &p) { p.source->inputs = {far}; });
    hostile("plan_source_elements", [](saved::PlanT &p) {
        saved::TensorT &t = tensor_of(p.source->tensors, true);
        t.blob = -1, t.same_as = far;
    });
    hostile("plan_source_is_no_constant", [](saved::PlanT &p) {
        saved::TensorT &t = tensor_of(p.source->tensors, true);
        t.blob = -1, t.same_as = p.inputs.front();
    });
    hostile("plan_source_dims", [](saved::PlanT &p) { tensor_of(p.source->tensors, true).dims = {3, huge}; });
    hostile("plan_source_without_nodes", [](saved::PlanT &p) { p.source->nodes.clear(); });
    return seeds;
}

} // namespace octet::tests
