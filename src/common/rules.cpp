// The part of a rule's facts that is public: names, lists, what a rule takes.
// SPDX-License-Identifier: Apache-2.0
#include "common/rules.hpp"

#include <cstring>

#include "common/text.hpp"
#include "octet/error.hpp"

namespace octet {
inline namespace v0 {

const std::vector<requantization_rule> &all_requantization_rules() {
    static const std::vector<requantization_rule> rules = [] {
        std::vector<requantization_rule> all;
        for (const impl::rule_facts &row : impl::rule_table)
            all.push_back(row.rule);
        return all;
    }();
    return rules;
}

rule_parameters parameters_of(requantization_rule rule) { return impl::facts_of(rule).parameters; }

bool rounds_before_zero_point(requantization_rule rule) {
    const impl::rule_facts &facts = impl::facts_of(rule);
    return impl::is_float(rule) ? facts.f32.rounds_before_zero_point : !facts.real.adds_zero_point;
}

bool derives_from_f32(requantization_rule rule) {
    const impl::multiplier_derivation how = impl::facts_of(rule).fixed_point.derivation;
    return how == impl::multiplier_derivation::f32_times_128 || how == impl::multiplier_derivation::f32_bits;
}

const char *to_string(requantization_rule rule) {
    return impl::is_rule(rule) ? impl::facts_of(rule).name : "unknown";
}

requantization_rule requantization_rule_from_string(const char *name) {
    if (!name)
        impl::throw_invalid("requantization_rule_from_string: name is null, allowed: the name of a rule");
    for (const impl::rule_facts &row : impl::rule_table)
        if (std::strcmp(row.name, name) == 0)
            return row.rule;
    impl::throw_invalid("requantization rule '", name,
                        "', allowed: ", impl::names_of_rules([](const impl::rule_facts &) { return true; }));
}

} // namespace v0
} // namespace octet
