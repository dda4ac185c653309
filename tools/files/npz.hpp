#pragma once // SPDX-License-Identifier: Apache-2.0

// .npz, NumPy's file of several arrays: a zip archive of .npy files, each named after its array (numpy.savez,
// numpy.savez_compressed). libzip does the archive.

#include <string>
#include <utility>
#include <vector>

#include "files/array.hpp"

namespace octet::tools {

/// Arrays with their names, in the order of the archive.
using named_arrays = std::vector<std::pair<std::string, array>>;

/// The arrays without their elements, which are not unpacked: a small archive may unpack to very much. Throws
/// octet::error, which begins with `name`, for what is no zip archive or holds something else.
named_arrays described_npz(const std::vector<std::uint8_t> &file, const std::string &name);
/// The array that is described at `index`. Throws as described_npz does.
array unpacked(const std::vector<std::uint8_t> &file, std::size_t index, const std::string &name);
/// All arrays, unpacked.
named_arrays parse_npz(const std::vector<std::uint8_t> &file, const std::string &name);

/// A whole archive, not compressed; equal arrays give equal bytes.
std::string npz_text(const named_arrays &arrays);

} // namespace octet::tools
