#pragma once // SPDX-License-Identifier: Apache-2.0

// The tables of doc/contracts.md, written from the table of rules: each rule's formula, ties and domain, and
// how many codes differ between any two, counted on stated distributions.

#include <string>

namespace octet::match {

/// Markdown, between the marks that doc/contracts.md has; the same on every machine.
std::string registry_page();

} // namespace octet::match
