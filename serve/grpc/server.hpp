#pragma once

// The protocol over gRPC, with reflection and gRPC's own health service. Its headers are slow to compile: they stay in
// server.cpp.

#include <chrono>
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
    std::string certificate, key;
};

class grpc_server {
public:
    /// Throws octet::error.
    grpc_server(const grpc_options &options, service &s, const token &t);
    ~grpc_server();
    unsigned short port() const;
    /// The certificate's files, which the caller has checked, are read anew: within a second they are used.
    void reload_certificate();
    /// The health service says so; calls are still taken.
    void leave();
    /// No more calls; those that are under way may finish until then.
    void drain(clock::time_point until);

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
