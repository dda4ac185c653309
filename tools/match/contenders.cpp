// The list of what a network can run under.
// SPDX-License-Identifier: Apache-2.0
#include "match/contenders.hpp"

#include "common/text.hpp"
#include "octet/profile.hpp"

namespace octet::match {

std::vector<contender> runtimes(const std::string &framework) {
    std::vector<contender> all;
    for (const profile &p : all_profiles())
        if (p.framework == framework) {
            network_options options;
            options.profile = p.name;
            all.push_back({p.name, options});
        }
    return all;
}

std::vector<contender> contenders(const std::string &framework) {
    std::vector<contender> all = runtimes(framework);
    if (framework != "tflite")
        return all; // .onnx networks have one rule
    for (const requantization_rule rule : all_requantization_rules()) {
        if (rule == requantization_rule::automatic || rule == requantization_rule::none)
            continue;
        network_options options;
        options.rule = rule;
        all.push_back({to_string(rule), options});
    }
    return all;
}

std::vector<contender> with_substitutes(const contender &c) {
    std::vector<contender> all;
    if (c.options.profile.empty())
        return all;
    const std::string framework = find_profile(c.name).framework;
    for (const profile &p : all_profiles()) {
        const bool fits = p.framework == framework || p.name == "exact-f32";
        if (!fits || p.name == c.name)
            continue;
        contender pair = c;
        pair.name = pair.options.profile = c.name + '+' + p.name;
        all.push_back(pair);
    }
    return all;
}

contender find_contender(const std::string &framework, const std::string &name) {
    // "A+B": what A has no contract for is B's. The network finds out whether they are of its framework.
    if (name.find('+') != std::string::npos) {
        find_profile(name);
        network_options options;
        options.profile = name;
        return {name, options};
    }
    std::string names;
    for (const contender &c : contenders(framework)) {
        if (c.name == name)
            return c;
        names += (names.empty() ? "" : ", ") + c.name;
    }
    impl::throw_invalid("profile '", name, "', allowed for networks of ", framework, ": ", names,
                        ", or two profiles as A+B");
}

} // namespace octet::match
