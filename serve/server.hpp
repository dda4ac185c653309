#pragma once // SPDX-License-Identifier: Apache-2.0

// `octet serve` as an object: everything put together, from options to a process that ends in good order.

#include <memory>
#include <string>

#include "server_options.hpp"

namespace octet::serve {

class server {
public:
    /// Listens at once, so that a probe sees a process that is alive, then loads, unless that is left to
    /// `load`. Throws octet::error.
    explicit server(const server_options &options, bool is_loading = true);
    ~server();
    /// Loads what the options name. Throws octet::error.
    void load();

    /// The ports in use, also of a listener that was asked for as port 0; 0 where it is off.
    unsigned short http_port() const, grpc_port() const, metrics_port() const;
    /// Models, certificate, token and access log are read anew.
    void reload();
    /// Not ready; serves for `leave`, then finishes what was accepted. False if that took longer than `most_drain`.
    bool stop();

    /// Serves until SIGTERM or SIGINT; SIGHUP reloads. Returns the exit code. To be called by the only thread of the
    /// process.
    static int run(const server_options &options, const std::string &greeting);

private:
    static int check(const server_options &options);
    void reload_files();
    std::string places() const; ///< addresses that it listens on
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
