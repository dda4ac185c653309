#pragma once // SPDX-License-Identifier: Apache-2.0

// JSON that people and clients write for the server's own use: configuration and control requests. Size and
// depth are bounded, and a key that stands twice is an error.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace octet::serve {

constexpr std::size_t most_control_bytes = std::size_t(64) << 10; ///< bound of a request that is no inference
constexpr std::size_t deepest_json = 32;

/// Throws octet::error with a sentence.
nlohmann::json read_small_json(std::string_view text);

/// A sentence about the byte, counted from 1, at which a parser gave up; one behind the end: the text is too short.
std::string json_complaint(std::string_view text, std::size_t byte);

/// The text of a regular file of at most `most_bytes`. Nothing that has no end or waits for a writer is read. Throws
/// octet::error.
std::string read_regular_file(const std::string &path, std::size_t most_bytes);

} // namespace octet::serve
