#pragma once // SPDX-License-Identifier: Apache-2.0

// gRPC on a listener: HTTP/2 with nghttp2, and the methods of protocol.hpp on its streams.

#include <memory>

#include "core/service.hpp"
#include "core/token.hpp"
#include "net/listener.hpp"

namespace octet::serve {

/// Listens and serves. Throws std::exception with a sentence.
std::unique_ptr<listener> listen_grpc(listen_options options, receive_budget &budget, service &s,
                                      const token &t);

} // namespace octet::serve
