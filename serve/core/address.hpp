#pragma once // SPDX-License-Identifier: Apache-2.0

// "HOST:PORT" as people write it, for all that listens.

#include <string>

#include "octet/error.hpp"

namespace octet::serve {

struct listen_address {
    std::string host, port; ///< the port is a number from 0 to 65535; the host of IPv6 has no brackets
};

/// Throws octet::error.
inline listen_address parse_address(const std::string &text) {
    const std::size_t colon = text.rfind(':');
    listen_address a{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
    const bool is_number =
        !a.port.empty() && a.port.size() <= 5 && a.port.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || std::stoul(a.port) > 65535)
        throw error(status::invalid_arguments,
                    "address '" + text +
                        "' given, the form is ADDRESS:PORT with a port from 0 to 65535, or off");
    if (a.host.size() > 2 && a.host.front() == '[' && a.host.back() == ']')
        a.host = a.host.substr(1, a.host.size() - 2);
    return a;
}

} // namespace octet::serve
