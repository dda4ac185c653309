#pragma once

// Messages: `text("src has ", n, " channels")`, and the two ways to fail.

#include <sstream>
#include <string>

#include "octet/error.hpp"

namespace octet::impl {

template <typename... Parts> std::string text(const Parts &...parts) {
    std::ostringstream out;
    out.precision(9); // distinguishes any two binary32 values
    (out << ... << parts);
    return out.str();
}

template <typename... Parts> [[noreturn]] void throw_invalid(const Parts &...parts) {
    throw error(status::invalid_arguments, text(parts...));
}

template <typename... Parts> [[noreturn]] void throw_unimplemented(const Parts &...parts) {
    throw error(status::unimplemented, text(parts...));
}

} // namespace octet::impl
