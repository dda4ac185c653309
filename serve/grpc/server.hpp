#pragma once // SPDX-License-Identifier: Apache-2.0

// The protocol over gRPC, with reflection and gRPC's own health service. Headers of its library are slow to compile: they stay
// in this folder.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/service.hpp"
#include "core/token.hpp"

namespace octet::serve {

struct grpc_options {
    std::string address;         ///< port 0: any that is free
    std::size_t most_body_bytes; ///< of one message
    std::size_t most_total_bytes, most_header_bytes;
    std::chrono::milliseconds idle, ///< of a connection without calls
        receive;                    ///< until a client has said who it is; its calls have their deadlines
    std::string certificate, key, client_authority;
    std::size_t most_connections = 1024;
    std::function<void(std::size_t)> count_connections; ///< is told now and then how many are open
};

class grpc_server {
public:
    /// Throws octet::error.
    grpc_server(const grpc_options &options, service &s, const token &t, receive_budget &b);
    ~grpc_server();
    unsigned short port() const;
    /// The certificate's files, which the caller has checked, are read anew: within a second they are used.
    void reload_certificate();
    /// Who watches the health service is told what `service::is_ready` says.
    void tell_health();
    /// No more calls; those that are under way may finish until then.
    void drain(clock::time_point until);

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
