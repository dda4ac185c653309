#pragma once // SPDX-License-Identifier: Apache-2.0

// Files that fuzzing begins with: honest ones, and such as only a liar writes. `fuzz_corpus` puts them into a
// directory, network/tests/fuzz_test.cpp runs and mutates them.

#include <cstdint>
#include <string>
#include <vector>

#include "network/tests/fuzz/fuzz_network.hpp"

namespace octet::tests {

struct fuzz_seed {
    std::string name; ///< name of the file
    std::vector<std::uint8_t> bytes;
    fuzz_outcome expected;
};

/// Networks with state.
std::vector<fuzz_seed> recurrent_seeds();

/// Networks that move codes or choose among them, in TFLite.
std::vector<fuzz_seed> move_seeds();

/// Networks on floats and integers, in ONNX, where the library reads it.
std::vector<fuzz_seed> onnx_seeds();

/// Operators of ONNX Runtime, rows of floats and Resize, likewise.
std::vector<fuzz_seed> contrib_seeds();

/// Saved plans of a model, with one field each that lies.
std::vector<fuzz_seed> plan_seeds(const std::string &model);

} // namespace octet::tests
