#pragma once // SPDX-License-Identifier: Apache-2.0

// Attributes that are lists of words or of real numbers. A graph has them as a text with commas between;
// numbers have as many digits as they need to be found again.

#include <string>
#include <vector>

#include "network/lower/lowering.hpp"

namespace octet::model {

/// None where the attribute is absent.
///@{
std::vector<std::string> words_of(const lowering &l, const std::string &attribute);
std::vector<float> numbers_of(const lowering &l, const std::string &attribute);
///@}

} // namespace octet::model
