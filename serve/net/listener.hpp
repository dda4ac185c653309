#pragma once // SPDX-License-Identifier: Apache-2.0

// Connections over TCP and TLS, whatever they speak: who is let in, how many, on which thread, and how they
// end. HTTP/1.1 and gRPC are two kinds of `connection` (net/connection.hpp), which a listener makes.

#include <functional>
#include <memory>

#include "core/receive_budget.hpp"
#include "net/listen_options.hpp"

namespace octet::serve {

class connection;
struct accepted;

class listener {
public:
    using maker = std::function<std::shared_ptr<connection>(accepted &&)>;
    /// Listens, and serves what `make` makes of each connection. Throws std::exception with a sentence.
    listener(const listen_options &options, receive_budget &budget, maker make);
    ~listener();
    unsigned short port() const;
    /// The certificate's files are read anew, for connections from now on.
    void reload_certificate();
    /// From now on an answer is the last one of its connection, where the protocol has a word for it.
    void leave();
    /// After `grace` no more connections are taken, and those are closed that wait for a request then, the
    /// others after their reply. What was received by then is answered; clients that neither send nor take
    /// anything are not waited for.
    void drain(std::chrono::milliseconds grace);
    bool is_idle() const; ///< no connection is left, and none is taken

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
