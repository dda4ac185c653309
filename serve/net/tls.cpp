// Makes a listener's TLS context: reads certificate, key and authority, chooses the protocol (ALPN).
// SPDX-License-Identifier: Apache-2.0

#include "net/tls.hpp"

#include <stdexcept>

#include <boost/asio/ssl/context.hpp>

#include "octet/error.hpp"

namespace octet::serve {
namespace {

namespace ssl = boost::asio::ssl;

/// Answers a client that names protocols: with this one, if it is among them.
template <const char *Name, std::size_t Size, int Otherwise>
int choose(SSL *, const unsigned char **out, unsigned char *size, const unsigned char *offered,
           unsigned offered_size, void *) {
    for (unsigned at = 0; at < offered_size; at += offered[at] + 1U)
        if (offered[at] == Size && at + Size < offered_size &&
            std::equal(Name, Name + Size, offered + at + 1)) {
            *out = offered + at + 1;
            *size = Size;
            return SSL_TLSEXT_ERR_OK;
        }
    return Otherwise;
}
constexpr char h2[] = "h2", http1[] = "http/1.1";

/// Reads a file by `load`, whose reason is OpenSSL's.
template <typename Load> void load_file(const char *what, const std::string &path, const Load &load) {
    try {
        load();
    } catch (const std::exception &e) {
        throw error(status::invalid_arguments,
                    "TLS: " + path + ": cannot be read as " + what + " in PEM: " + e.what());
    }
}

} // namespace

std::shared_ptr<ssl::context> make_tls(const std::string &certificate, const std::string &key,
                                       const std::string &client_authority, const std::string &protocol) {
    if (certificate.empty())
        return nullptr;
    const auto tls = std::make_shared<ssl::context>(ssl::context::tls_server);
    try {
        tls->set_options(ssl::context::default_workarounds);
        // Frees buffers of connections that wait.
        SSL_CTX_set_mode(tls->native_handle(), SSL_MODE_RELEASE_BUFFERS);
        // Whoever records a connection and gets the key later can read none of these.
        if (SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION) != 1 ||
            SSL_CTX_set_cipher_list(tls->native_handle(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
            throw std::runtime_error("no suite of TLS 1.2 is there");
        SSL_CTX_set_alpn_select_cb(tls->native_handle(),
                                   protocol == h2 ? choose<h2, 2, SSL_TLSEXT_ERR_ALERT_FATAL>
                                                  : choose<http1, 8, SSL_TLSEXT_ERR_NOACK>,
                                   nullptr);
        if (!client_authority.empty()) {
            load_file("certificates of clients (--tls-client-ca)", client_authority,
                      [&] { tls->load_verify_file(client_authority); });
            tls->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
            SSL_CTX_set_session_id_context(tls->native_handle(),
                                           reinterpret_cast<const unsigned char *>("octet"), 5);
        }
        load_file("a certificate (--tls-certificate)", certificate,
                  [&] { tls->use_certificate_chain_file(certificate); });
        load_file("the certificate's private key (--tls-key)", key,
                  [&] { tls->use_private_key_file(key, ssl::context::pem); });
    } catch (const error &) {
        throw;
    } catch (const std::exception &e) {
        throw error(status::runtime_error, std::string("TLS: ") + e.what());
    }
    return tls;
}

} // namespace octet::serve
