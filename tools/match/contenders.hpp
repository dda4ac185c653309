#pragma once // SPDX-License-Identifier: Apache-2.0

// The contracts and runtimes that a network can run under: the contract of its format, the other rules, every
// runtime that networks learn.

#include <string>
#include <vector>

#include "octet/network.hpp"

namespace octet::match {

struct contender {
    std::string name;
    network_options options;
};

/// All of a framework's networks ("tflite", "onnx"), its own contract first.
std::vector<contender> contenders(const std::string &framework);
/// Contenders that change operators without sums of products, too, which rules do not.
std::vector<contender> runtimes(const std::string &framework);
/// A runtime with each substitute ("A+B") for what it has no contract for; none for a rule.
std::vector<contender> with_substitutes(const contender &c);
/// By name. Throws octet::error with the names that there are.
contender find_contender(const std::string &framework, const std::string &name);

} // namespace octet::match
