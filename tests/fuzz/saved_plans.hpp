#pragma once

// Saved plans for fuzzing: their checksums would refuse nearly every mutant, so they are set right first.

#include <cstdint>
#include <string>
#include <vector>

namespace octet::tests {

/// A network's file as a saved plan.
///@{
std::vector<std::uint8_t> saved_plan_of(const std::string &model);
std::vector<std::uint8_t> saved_plan_of(const std::vector<std::uint8_t> &model);
///@}

/// The same bytes with the length of the file and the checksums that are right for them, as far as the structure
/// can be found.
std::vector<std::uint8_t> resealed(std::vector<std::uint8_t> plan);

} // namespace octet::tests
