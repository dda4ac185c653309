#pragma once // SPDX-License-Identifier: Apache-2.0

// How many random problems a test tries. The environment says it and no macro, so that an object file serves
// every program and preset.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace octet::test {

/// `usual` problems, or OCTET_TEST_PERCENT of them: 1000 is a long run, 10 a short one. At least one.
inline std::int64_t problem_count(std::int64_t usual = 400) {
    const char *value = std::getenv("OCTET_TEST_PERCENT");
    char *end = nullptr;
    const double percent = value ? std::strtod(value, &end) : 100;
    if (value && (end == value || *end || !(percent > 0)))
        throw std::runtime_error("OCTET_TEST_PERCENT is " + std::string(value) +
                                 ", allowed: a number above 0");
    return std::max(std::int64_t{1}, static_cast<std::int64_t>(static_cast<double>(usual) * percent / 100));
}

} // namespace octet::test
