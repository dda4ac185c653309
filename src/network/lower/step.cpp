// A step is planned with its network and only executes later; what it tells about itself comes from the
// primitives' own descriptors.

#include "network/lower/step.hpp"

namespace octet::model {
namespace {

/// "a" or "a + b" when launches differ.
void append_distinct(std::string &list, const std::string &name) {
    if (list.empty())
        list = name;
    else if (list.find(name) == std::string::npos)
        list += " + " + name;
}

} // namespace

void primitive_step::add(const primitive_desc_base &pd, arguments args) {
    launches_.push_back({pd, primitive(pd), std::move(args)});
}

void primitive_step::run(const stream &s) {
    for (const launch &l : launches_)
        l.what.execute(s, l.args);
}

std::string primitive_step::implementation() const {
    std::string names;
    for (const launch &l : launches_)
        append_distinct(names, l.pd.impl_info_str());
    return names;
}

std::string primitive_step::explain() const {
    std::string lines;
    for (const launch &l : launches_) {
        lines += (lines.empty() ? "" : "\n") + l.pd.problem_str() + "\n  runs on " + l.pd.impl_info_str();
        const std::string plan = l.what.plan_str();
        if (!plan.empty())
            lines += "\n  plan: " + plan;
        for (const std::string &refusal : l.pd.refusals())
            lines += "\n  refused by " + refusal;
    }
    return lines;
}

std::unique_ptr<step> one_step(const primitive_desc_base &pd, arguments args) {
    auto result = std::make_unique<primitive_step>();
    result->add(pd, std::move(args));
    return result;
}

} // namespace octet::model
