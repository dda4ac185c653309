// A step is planned with its network and executes later, but for one execution of what would else make a kernel in its
// first run; what it tells about itself comes from the primitives' own descriptors.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/step.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace octet::model {
namespace {

constexpr std::int64_t largest_usual_bias = 1 << 24; // primitive::execute

/// "a" or "a + b" when launches differ.
void append_distinct(std::string &list, const std::string &name) {
    if (list.empty())
        list = name;
    else if (list.find(name) == std::string::npos)
        list += " + " + name;
}

} // namespace

/// Executions take bare pointers, so that descriptors are compared here, once.
void primitive_step::add(const primitive_desc_base &pd, const arguments &args) {
    launch l{pd, {}, {}, {}};
    for (const auto &[arg, b] : args) {
        const memory::desc expected = pd.arg_desc(arg), given = b.get_desc();
        if (given != expected && given.reshape(expected.dims(), true) != expected)
            throw error(status::runtime_error,
                        "a primitive takes " + expected.to_string() + ", its buffer is " + given.to_string());
        l.args.emplace_back(arg, b);
    }
    launches_.push_back(std::move(l));
}

buffer primitive_step::weights() const {
    for (const launch &l : launches_)
        for (const auto &[arg, b] : l.args)
            if (arg == OCTET_ARG_WEIGHTS && b.is_shared())
                return b;
    return {};
}

bool primitive_step::can_fetch() const {
    return std::any_of(launches_.begin(), launches_.end(),
                       [](const launch &l) { return l.fetched_bytes() > 0; });
}

/// The first product that can; another one has nothing to add. Lowering has said how many bytes follow before it knew
/// their layout, which may have fewer.
void primitive_step::fetch(const buffer &next) {
    for (launch &l : launches_)
        if (const std::size_t bytes = l.fetched_bytes(); bytes > 0) {
            if (next.get_desc().get_size() >= bytes)
                l.args.emplace_back(OCTET_ARG_ATTR_PREFETCH, next);
            return;
        }
}

void primitive_step::make_primitives() {
    for (launch &l : launches_) {
        l.what = primitive(l.plan);
        l.plan = {};
        for (const auto &[arg, b] : l.args)
            l.operands.push_back({arg, b.slot(), b.is_shared() ? b.get_memory().get_data_handle() : nullptr});
    }
}

/// Constant biases with which a first execution may make a second kernel (primitive::execute); whether it does is known
/// to the primitive alone.
bool primitive_step::launch::has_biases_for_a_second_kernel() const {
    for (const auto &[arg, b] : args)
        if (arg == OCTET_ARG_BIAS && b.is_shared() && b.get_desc().data_type() == data_type::s32) {
            const auto *first = static_cast<const std::int32_t *>(b.get_memory().get_data_handle());
            return std::any_of(first, first + b.get_desc().get_size() / sizeof *first, [](std::int32_t bias) {
                return std::abs(std::int64_t{bias}) > largest_usual_bias;
            });
        }
    return false;
}

/// On zeros where the buffers of runs, which are not there yet, will be.
void primitive_step::launch::execute_once() const {
    const engine cpu(engine::kind::cpu, 0);
    std::unordered_map<int, memory> all;
    for (const auto &[arg, b] : args) {
        const memory::desc d = what.get_primitive_desc().arg_desc(arg);
        all[arg] = b.is_shared() ? memory(d, cpu, b.get_memory().get_data_handle()) : memory(d, cpu);
        if (!b.is_shared())
            std::memset(all[arg].get_data_handle(), 0, d.get_size());
    }
    what.execute(stream(cpu), all);
}

void primitive_step::prepare() const {
    for (const launch &l : launches_)
        if (l.has_biases_for_a_second_kernel())
            l.execute_once();
}

void primitive_step::run(const stream &s, const run_memory &m) const {
    thread_local std::vector<primitive::argument> pointers; // keeps its capacity from run to run
    for (const launch &l : launches_) {
        pointers.clear();
        for (const operand &o : l.operands)
            pointers.push_back({o.arg, o.slot ? m.at(o.slot) : o.shared});
        l.what.execute(s, pointers.data(), pointers.size());
    }
}

std::string primitive_step::implementation() const {
    std::string names;
    for (const launch &l : launches_)
        append_distinct(names, l.what.get_primitive_desc().impl_info_str());
    return names;
}

std::string primitive_step::explain() const {
    std::string lines;
    for (const launch &l : launches_) {
        const primitive_desc_base pd = l.what.get_primitive_desc();
        lines += (lines.empty() ? "" : "\n") + pd.problem_str() + "\n  runs on " + pd.impl_info_str();
        for (const auto &[arg, b] : l.args)
            if (arg == OCTET_ARG_ATTR_PREFETCH)
                lines += "\n  next weights: " + std::to_string(b.get_desc().get_size()) + " bytes";
        const std::string plan = l.what.plan_str();
        if (!plan.empty())
            lines += "\n  plan: " + plan;
        for (const std::string &refusal : pd.refusals())
            lines += "\n  refused by " + refusal;
    }
    return lines;
}

reorder::primitive_desc reorder_desc(const buffer &src, const buffer &dst, const primitive_attr &attr) {
    const engine cpu(engine::kind::cpu, 0);
    return {cpu, src.get_desc(), cpu, dst.get_desc(), attr};
}

std::unique_ptr<step> one_step(const primitive_desc_base &pd, const arguments &args) {
    auto result = std::make_unique<primitive_step>();
    result->add(pd, args);
    return result;
}

} // namespace octet::model
