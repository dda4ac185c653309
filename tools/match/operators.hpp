#pragma once // SPDX-License-Identifier: Apache-2.0

// Contracts of whole operators: what Octet's networks and element-wise primitives compute, each under
// everything that it can be told. A runtime that networks learn, or a rule that a primitive takes, is a
// contract here without more.

#include "match/subject.hpp"

namespace octet::match {

subject operator_subject(const description &d);

} // namespace octet::match
