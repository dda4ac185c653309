#pragma once // SPDX-License-Identifier: Apache-2.0

// The table of a numerics version, tests/numerics/numerics_N.txt: a line "HASH PROBLEM" for each problem, whose
// inputs follow from the text alone.

#include <cstdint>
#include <string>
#include <vector>

#include "octet/types.hpp"

namespace octet::tests {

struct expected_bytes {
    std::string hash, problem;
};

/// The lines of the present version whose problem begins with a network's word, or does not. Fails a test where
/// there is no table.
std::vector<expected_bytes> read_table(bool of_networks);

/// Fills `elements` of a type with values that follow from the seed: every code of 8 bits, s32 within ±2^17, floats
/// of magnitudes 2^-6 to 2^4 and zeros of both signs.
void fill(void *data, data_type type, std::size_t elements, std::uint64_t seed);

/// FNV-1a over bytes.
class byte_hash {
public:
    void add(const void *data, std::size_t size);
    /// Every NaN counts as the same: the sign and payload of a result that is none are unspecified.
    void add_floats(const float *data, std::size_t count);
    std::string text() const;
    std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0xcbf29ce484222325u;
};

/// Compares, or writes the line into the file OCTET_NUMERICS_TABLE where that is set.
void expect_hash(const expected_bytes &line, const std::string &got, const std::string &where);

} // namespace octet::tests
