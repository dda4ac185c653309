#pragma once // SPDX-License-Identifier: Apache-2.0

// Saved plans for fuzzing: their checksums would refuse nearly every mutant, so they are set right first.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace octet::saved {
struct PlanT;
}

namespace octet::tests {

/// A network's file as a saved plan.
///@{
std::vector<std::uint8_t> saved_plan_of(const std::string &model);
std::vector<std::uint8_t> saved_plan_of(const std::vector<std::uint8_t> &model);
///@}

/// The same bytes with the length of the file and the checksums that are right for them, as far as the structure
/// can be found.
std::vector<std::uint8_t> resealed(std::vector<std::uint8_t> plan);

/// The plan with another structure and right checksums. Its blobs move with the structure's size.
std::vector<std::uint8_t> changed_plan(const std::vector<std::uint8_t> &plan,
                                       const std::function<void(saved::PlanT &)> &change);

} // namespace octet::tests
