#pragma once // SPDX-License-Identifier: Apache-2.0

// Failures, in one form for the whole library: an exception with a status for programs and a sentence for
// people.

#include <stdexcept>
#include <string>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// Why a call failed. The values follow oneDNN's `dnnl_status_t`.
enum class status {
    success = 0,
    out_of_memory = 1,
    invalid_arguments = 2, ///< the request contradicts itself or the documentation
    unimplemented = 3,     ///< the request makes sense, but no implementation takes it
    runtime_error = 5,
};

/// The name of an enumerator, as for those of octet/types.hpp.
OCTET_API const char *to_string(status s);

/// The one form in which Octet reports a failure. `what()` names the argument, what was given and what is
/// allowed; for `unimplemented` it lists every implementation with its reason.
///
/// All that can fail fails at creation of a descriptor, memory or primitive; `execute` throws only when its
/// arguments do not fit the primitive, and then before anything is written.
class OCTET_API error : public std::runtime_error {
public:
    error(octet::status s, const std::string &text); ///< `text` becomes `what()`
    ~error() override;

    octet::status status; ///< why, for programs; `what()` is for people
    const char *message;  ///< same text as `what()`, spelled as in oneDNN 2.x
};

} // namespace v0
} // namespace octet
