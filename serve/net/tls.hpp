#pragma once // SPDX-License-Identifier: Apache-2.0

// TLS of a listener: which versions and suites, whose certificates, which protocol (ALPN).

#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace octet::serve {

/// Null without a certificate. With an authority, clients need a certificate that it has signed. `protocol`
/// is what clients are told that ask for one: "h2" is insisted on, as gRPC demands. Throws octet::error where
/// these are no certificate, its key and an authority.
std::shared_ptr<boost::asio::ssl::context> make_tls(const std::string &certificate, const std::string &key,
                                                    const std::string &client_authority,
                                                    const std::string &protocol);

} // namespace octet::serve
