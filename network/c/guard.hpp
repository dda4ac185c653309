#pragma once // SPDX-License-Identifier: Apache-2.0

// The border between C and C++: every function of octet/octet.h runs inside `guarded`, so that no exception leaves the
// library and every failure has its sentence.

#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

#include "octet/error.hpp"
#include "octet/octet.h"

namespace octet::c {

/// Keeps the sentence for octet_last_error; allocates nothing, so that it also works without memory.
octet_status fail(octet_status why, const char *call, const char *sentence) noexcept;

octet_status status_of(status s) noexcept;

/// Throws unless `pointer` is one; `argument` is what the header calls it.
inline void need(const void *pointer, const char *argument) {
    if (!pointer)
        throw error(status::invalid_arguments, std::string(argument) + " is a null pointer");
}

inline void need(std::initializer_list<std::pair<const void *, const char *>> pointers) {
    for (const auto &[pointer, argument] : pointers)
        need(pointer, argument);
}

/// Runs `body` and turns what it throws into a status; sentences begin with the call's name.
template <typename F> octet_status guarded(const char *call, F &&body) noexcept {
    try {
        body();
        return octet_success;
    } catch (const error &e) {
        return fail(status_of(e.status), call, e.what());
    } catch (const std::bad_alloc &) {
        return fail(octet_out_of_memory, call, "not enough memory");
    } catch (const std::exception &e) {
        return fail(octet_runtime_error, call, e.what());
    } catch (...) {
        return fail(octet_runtime_error, call, "an unknown failure");
    }
}

} // namespace octet::c
