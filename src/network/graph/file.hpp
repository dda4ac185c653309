#pragma once

// Files of networks, as bytes.

#include "network/graph/graph.hpp"

namespace octet::model {

/// All bytes of a file; formats count them in 31 bits. Throws octet::error for one that cannot be opened or
/// read, or that is longer.
std::vector<std::uint8_t> read_file(const std::string &path);

/// Text from a file, fit to be printed in one line.
std::string printable(std::string text);

} // namespace octet::model
