#pragma once // SPDX-License-Identifier: Apache-2.0

// A connection as its loop sees it. A loop is a thread, and every connection belongs to one loop: nothing of
// a connection is locked. Time limits are kept by a tick of the loop that looks at its connections ten times
// a second, which costs a request nothing.

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/job.hpp"
#include "core/receive_budget.hpp"
#include "net/listen_options.hpp"

namespace octet::serve {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using error_code = boost::system::error_code;
using tls_context = std::shared_ptr<asio::ssl::context>;

constexpr auto tick = std::chrono::milliseconds(100);

/// The common state of all connections of a listener.
struct shared_by_connections {
    shared_by_connections(listen_options o, receive_budget &b) : options(std::move(o)), budget(b) {}

    const listen_options options;
    receive_budget &budget;
    std::atomic<std::size_t> connections{0};
    std::atomic<bool> is_leaving{false}, is_accepting{true};
    std::atomic<clock::time_point> end_of_grace{clock::time_point::max()};
    /// While the server stops, a connection that has been idle for so long is closed.
    std::atomic<clock::duration> grace{clock::duration(0)};
    bool is_draining(clock::time_point now) const { return now >= end_of_grace.load(); }
    std::mutex mutex;
    tls_context tls; ///< null: none
};

class connection;

/// One connection too many is told so, without waiting.
void turn_away(tcp::socket &socket, const listen_options &options);

struct loop {
    explicit loop(const receive_budget &b) : budget(b) {}

    const receive_budget &budget; ///< shared by all loops
    std::size_t held = 0;         ///< bytes held at the last tick
    int quiet_ticks = 0;
    std::list<connection *> connections; // goes after the context, whose handlers hold them
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    asio::steady_timer timer{context};
    std::thread thread;

    void run();
    void start_ticking();
};

/// An accepted socket, from which a connection is made.
struct accepted {
    tcp::socket socket;
    loop &of;
    shared_by_connections &shared;
    tls_context tls;
};

/// A socket with or without TLS, as Asio and Beast read and write it.
class stream {
public:
    using executor_type = tcp::socket::executor_type;
    stream(tcp::socket s, tls_context t) : tls_(std::move(t)), socket_(std::move(s)) {
        if (tls_)
            secure_.emplace(socket_, *tls_);
    }
    bool is_secure() const { return secure_.has_value(); }
    tcp::socket &socket() { return socket_; }
    executor_type get_executor() { return socket_.get_executor(); }
    template <typename Handler> void async_handshake(Handler &&h) {
        secure_->async_handshake(asio::ssl::stream_base::server, std::forward<Handler>(h));
    }
    template <typename Buffers, typename Handler> void async_read_some(const Buffers &b, Handler &&h) {
        secure_ ? secure_->async_read_some(b, std::forward<Handler>(h))
                : socket_.async_read_some(b, std::forward<Handler>(h));
    }
    template <typename Buffers, typename Handler> void async_write_some(const Buffers &b, Handler &&h) {
        secure_ ? secure_->async_write_some(b, std::forward<Handler>(h))
                : socket_.async_write_some(b, std::forward<Handler>(h));
    }

private:
    tls_context tls_; ///< lives as long as the stream
    tcp::socket socket_;
    std::optional<asio::ssl::stream<tcp::socket &>> secure_;
};

class connection : public std::enable_shared_from_this<connection> {
public:
    explicit connection(accepted &&a);
    virtual ~connection();
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    /// Counts its memory, or says that there is none; the handshake, then `start`.
    void begin();
    /// Called ten times a second: ends what has waited too long.
    virtual void look(clock::time_point now) = 0;
    /// Ends the connection; operations that wait for the socket fail.
    virtual void close();

protected:
    virtual void start() = 0;

    /// A socket that is closed with unread bytes in it resets the connection, and the client may lose the
    /// reply: they are read for a second.
    void finish_sending();
    /// While the server stops, clients that have sent and taken nothing since then are not waited for.
    clock::time_point stuck(clock::time_point now) const {
        constexpr auto patience = std::chrono::seconds(2);
        return shared_.is_draining(now) ? now - patience : clock::time_point::min();
    }
    /// For asio::async_write: all is written, and each part counts as progress.
    auto all_of_it() {
        return [this](const error_code &failed, std::size_t) -> std::size_t {
            moved_ = clock::now();
            return failed ? 0 : std::size_t(256) << 10;
        };
    }

    stream stream_;
    loop &loop_;
    shared_by_connections &shared_;
    std::string peer_; ///< the client's address: 10.0.0.1, ::1
    std::shared_ptr<std::atomic<std::size_t>> client_;
    receive_budget::share held_; ///< the connection's share of memory, without its requests
    clock::time_point until_ = clock::time_point::max(); ///< time at which the connection is closed
    clock::time_point moved_ = clock::now();             ///< time of the last progress

private:
    void drop_rest();
    std::list<connection *>::iterator place_;
    char dropped_[4096];
};

} // namespace octet::serve
