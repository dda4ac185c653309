// Timers, limits and counts that connections of every protocol have, and the loops that run them.
// SPDX-License-Identifier: Apache-2.0

#include "net/connection.hpp"

#include <utility>

#include <malloc.h>

namespace octet::serve {

namespace {

/// Gives free memory of the heap back to the system. Under a sanitizer the heap is the sanitizer's own;
/// glibc's is not begun there, and two threads that begin it at once (malloc_trim does) break it.
void give_memory_back() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    malloc_trim(0);
#endif
}

std::string address_of_client(const tcp::socket &socket) {
    error_code ignored;
    asio::ip::address address = socket.remote_endpoint(ignored).address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    return address.to_string();
}

} // namespace

void turn_away(tcp::socket &socket, const listen_options &options) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(options.full), ignored);
}

/// A handler that finds no memory loses its connection, and the loop goes on.
void loop::run() {
    for (;;)
        try {
            context.run();
            return;
        } catch (const std::bad_alloc &) {
        }
}

void loop::start_ticking() {
    timer.expires_after(tick);
    timer.async_wait([this](error_code failed) {
        if (failed)
            return;
        start_ticking(); // first: it goes on where a connection finds no memory
        const auto now = clock::now();
        for (auto it = connections.begin(); it != connections.end();)
            (*it++)->look(now);
        // Memory that a burst of bodies took goes back to the system when none came or went for a second.
        constexpr int enough = 10;
        const std::size_t before = std::exchange(held, budget.held());
        quiet_ticks = held != before ? 0 : std::min(quiet_ticks + 1, enough + 1);
        if (quiet_ticks == enough)
            give_memory_back();
    });
}

connection::connection(accepted &&a)
    : stream_(std::move(a.socket), std::move(a.tls)), loop_(a.of), shared_(a.shared),
      peer_(address_of_client(stream_.socket())), client_(shared_.budget.client(peer_)),
      held_(shared_.budget, client_) {
    place_ = loop_.connections.insert(loop_.connections.end(), this); // nothing throws from here on
    shared_.connections++;
    shared_.options.count(1);
}

connection::~connection() {
    loop_.connections.erase(place_);
    shared_.options.count(-1);
    shared_.connections--;
}

void connection::begin() {
    constexpr std::size_t bytes_of_tls = std::size_t(72) << 10;
    const std::size_t bytes = shared_.options.bytes_of_connection;
    if (bytes > 0 && !held_.grow(bytes + (stream_.is_secure() ? bytes_of_tls : 0)))
        return turn_away(stream_.socket(), shared_.options);
    if (!stream_.is_secure())
        return start();
    until_ = clock::now() + shared_.options.receive;
    stream_.async_handshake([self = shared_from_this()](error_code failed) {
        self->until_ = clock::time_point::max();
        if (!failed)
            self->start();
    });
}

void connection::close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
}

void connection::finish_sending() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    until_ = clock::now() + std::chrono::seconds(1);
    drop_rest();
}

void connection::drop_rest() {
    stream_.socket().async_read_some(asio::buffer(dropped_),
                                     [self = shared_from_this()](error_code failed, std::size_t) {
                                         if (!failed)
                                             self->drop_rest();
                                     });
}

} // namespace octet::serve
