#pragma once // SPDX-License-Identifier: Apache-2.0

// The files of a model, read so that nobody can change them under the network, and compared with the digests
// that their configuration names.

#include <map>
#include <string>

#include "core/model_source.hpp"
#include "octet/graph.hpp"

namespace octet::serve {

/// SHA-256 of files by their names, in hexadecimal digits. The key "" is the model's own file; none: any
/// files are taken.
using file_digests = std::map<std::string, std::string>;

/// Throws octet::error.
model::graph read_model(const model_source &source, const file_digests &allowed);

/// SHA-256 in hexadecimal digits, of all of a regular file. Throws octet::error.
std::string digest_of(const std::string &path);

} // namespace octet::serve
