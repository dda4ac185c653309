#pragma once // SPDX-License-Identifier: Apache-2.0

// How failures cross the C interface: functions do their work in `guarded`, which makes a status of an
// exception and reports its sentence.

#include <string>
#include <type_traits>

#include "octet/compat/dnnl_types.h"
#include "onednn/convert.hpp"

namespace octet::onednn {

/// Takes the sentence of a failure. The library keeps it for octet_dnnl_last_error(), the preloaded one tells
/// it if it is verbose.
void report(const char *sentence) noexcept;

/// The status of the exception in flight, which is reported.
dnnl_status_t status_of_exception() noexcept;

/// Throws where an argument is a null pointer.
template <typename T> T *needed(T *pointer, const char *name) {
    if (pointer == nullptr)
        refuse(status::invalid_arguments, std::string(name) + " is a null pointer");
    return pointer;
}

/// The status of `call()`: what it returns, or success.
template <typename Call> dnnl_status_t guarded(Call &&call) noexcept {
    try {
        if constexpr (std::is_same_v<decltype(call()), dnnl_status_t>)
            return call();
        else
            return call(), dnnl_success;
    } catch (...) {
        return status_of_exception();
    }
}

} // namespace octet::onednn
