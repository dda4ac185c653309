// The last failure's sentence, one per thread.
// SPDX-License-Identifier: Apache-2.0
#include "network/c/guard.hpp"

#include <cstdio>

namespace octet::c {
namespace {

constexpr std::size_t longest_sentence = 4096; ///< a longer one is cut

thread_local char last_sentence[longest_sentence];

} // namespace

octet_status fail(octet_status why, const char *call, const char *sentence) noexcept {
    char text[longest_sentence]; // `sentence` may lie in what is written
    std::snprintf(text, sizeof text, "%s: %s", call, sentence);
    std::snprintf(last_sentence, sizeof last_sentence, "%s", text);
    return why;
}

octet_status status_of(status s) noexcept {
    switch (s) {
    case status::success:
        return octet_success;
    case status::out_of_memory:
        return octet_out_of_memory;
    case status::invalid_arguments:
        return octet_invalid_arguments;
    case status::unimplemented:
        return octet_unimplemented;
    case status::runtime_error:
        break;
    }
    return octet_runtime_error;
}

} // namespace octet::c

extern "C" const char *octet_last_error() { return octet::c::last_sentence; }
