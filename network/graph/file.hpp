#pragma once // SPDX-License-Identifier: Apache-2.0

// Files of networks, as bytes of the page cache: nothing is copied until someone needs it, and what was read comes
// back from the file when it is needed again.

#include <functional>

#include "network/graph/graph.hpp"

namespace octet::model {

/// All bytes of a file, mapped. Throws octet::error for one that cannot be opened or mapped.
shared_bytes map_file(const std::string &path);
/// Maps a file whose format counts bytes in 31 bits: refuses a longer one.
shared_bytes map_small_file(const std::string &path);

/// True for bytes of a mapped file.
bool is_mapped(const shared_bytes &bytes);

/// True for bytes that `borrowed` made.
bool is_borrowed(const shared_bytes &bytes);

/// Bytes of a mapped file that were read take no memory any more, until they are read again. Nothing for others.
void release_pages(const shared_bytes &bytes);
/// Releases the pages of all of the file that has these bytes.
void release_all_pages(const shared_bytes &bytes);

/// Asks for the pages of a mapped file at once, since all of it will be read.
void load_pages(const shared_bytes &bytes);

/// Zeros that take no memory.
shared_bytes zero_bytes(std::size_t size);

/// Memory for bytes, at an address that is a multiple of 64.
std::shared_ptr<void> aligned_memory(std::size_t size);

/// A copy of bytes at an address that is a multiple of 64.
shared_bytes aligned_copy(const std::uint8_t *bytes, std::size_t size);

/// Who takes the bytes of a file that is written, one range after the other.
using byte_sink = std::function<void(const void *bytes, std::size_t size)>;

/// Text from a file, fit to be printed in one line.
std::string printable(std::string text);
/// A printable name between quotes.
inline std::string quoted(const std::string &name) { return "'" + printable(name) + "'"; }

} // namespace octet::model
