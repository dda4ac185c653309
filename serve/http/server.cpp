// A loop per thread, and every connection belongs to one loop: nothing of a connection is locked. Time limits are kept by a
// tick of the loop that looks at its connections ten times a second, which costs a request nothing; the same tick finds
// clients that left while their request waits.
// SPDX-License-Identifier: Apache-2.0
#include "http/server.hpp"

#include <atomic>
#include <charconv>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <linux/filter.h>
#include <malloc.h>
#include <sys/socket.h>

#include "core/address.hpp"

namespace octet::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using error_code = boost::system::error_code;

constexpr auto tick = std::chrono::milliseconds(100);
constexpr std::size_t alignment = 64;
constexpr const char *json_size_field = "Inference-Header-Content-Length";

const char *reason_of(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 499:
        return "Client Closed Request";
    default:
        return http::obsolete_reason(static_cast<http::status>(status)).data();
    }
}

/// The state that all connections share.
struct shared {
    http_options options;
    http_server::handlers handlers;
    receive_budget *budget = nullptr;
    std::atomic<std::size_t> connections{0};
    std::atomic<bool> is_leaving{false};
    std::atomic<clock::time_point> end_of_grace{clock::time_point::max()};
    std::atomic<clock::duration> grace{
        clock::duration(0)}; ///< a connection is idle so long before it is closed then
    std::atomic<bool> is_accepting{true};
    bool is_draining(clock::time_point now) const { return now >= end_of_grace.load(); }
    std::mutex mutex;
    std::shared_ptr<asio::ssl::context> tls; ///< null: none
};

/// A connection as its loop sees it.
class connection {
public:
    virtual ~connection() = default;
    virtual void look(clock::time_point now) = 0;
};

struct loop {
    explicit loop(const receive_budget &b) : budget(b) {}

    const receive_budget &budget; ///< of all loops
    int quiet_ticks = 0;
    std::list<connection *> connections; // goes after the context, whose handlers hold them
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    asio::steady_timer timer{context};
    std::thread thread;

    /// Gives memory that a burst of bodies took back to the system when there was none for a second.
    void give_back_memory() {
        constexpr int enough = 10;
        quiet_ticks = budget.held() > 0 ? 0 : std::min(quiet_ticks + 1, enough + 1);
        if (quiet_ticks == enough)
            malloc_trim(0);
    }

    /// A handler that finds no memory loses its connection, and the loop goes on.
    void run() {
        for (;;)
            try {
                context.run();
                return;
            } catch (const std::bad_alloc &) {
            }
    }

    void start_ticking() {
        timer.expires_after(tick);
        timer.async_wait([this](error_code failed) {
            if (failed)
                return;
            start_ticking(); // first: it goes on where a connection finds no memory
            const auto now = clock::now();
            for (auto it = connections.begin(); it != connections.end();)
                (*it++)->look(now);
            give_back_memory();
        });
    }
};

/// A body with what it takes of the memory for requests. Its memory grows with what arrives.
struct received_body {
    received_body(receive_budget &budget, std::shared_ptr<std::atomic<std::size_t>> client)
        : held(budget, std::move(client)) {}
    receive_budget::share held;
    std::unique_ptr<char[]> memory;
    char *begin = nullptr;
    std::size_t arrived = 0, capacity = 0;
    std::string text; ///< instead of `memory`, where no length was announced
};

tcp::socket &socket_of(tcp::socket &s) { return s; }
tcp::socket &socket_of(asio::ssl::stream<tcp::socket> &s) { return s.next_layer(); }

template <typename Stream>
class session : public connection, public std::enable_shared_from_this<session<Stream>> {
public:
    session(Stream stream, loop &l, shared &s, std::shared_ptr<asio::ssl::context> tls)
        : tls_(std::move(tls)), stream_(std::move(stream)), loop_(l), shared_(s),
          buffer_(std::max(2 * s.options.most_header_bytes, least_buffer_bytes)), waiting_(l.context) {
        error_code ignored;
        asio::ip::address address = socket_of(stream_).remote_endpoint(ignored).address();
        if (address.is_v6() && address.to_v6().is_v4_mapped())
            address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
        peer_ = address.to_string();
        client_ = shared_.budget->client(peer_);
        place_ = loop_.connections.insert(loop_.connections.end(), this); // nothing throws from here on
        shared_.connections++;
        shared_.handlers.connections(1);
    }
    ~session() override {
        loop_.connections.erase(place_);
        shared_.handlers.connections(-1);
        shared_.connections--;
    }

    void start() {
        if constexpr (std::is_same_v<Stream, tcp::socket>) {
            read_header();
        } else {
            until_ = clock::now() + shared_.options.receive;
            stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](error_code failed) {
                if (!failed)
                    self->read_header();
            });
        }
    }

    void look(clock::time_point now) override {
        if (phase_ == phase::idle && !has_begun_ && parser_ &&
            (buffer_.size() > 0 || parser_->got_some())) { // the first bytes of a header
            has_begun_ = true;
            until_ = std::min(until_, now + shared_.options.receive);
        }
        const bool is_over = now > until_;
        const bool is_unasked = phase_ == phase::idle && shared_.is_draining(now) &&
                                now - idle_since_ >= shared_.grace.load() && !has_begun_ && !has_bytes();
        if (call_) {
            look_at_call(now);
        } else if (is_over || is_unasked) {
            close();
            waiting_.cancel();
        }
    }

private:
    enum class phase { idle, receiving, waiting, sending };
    static constexpr std::size_t least_buffer_bytes = std::size_t(128) << 10;
    using parser = http::request_parser<http::string_body>;

    std::shared_ptr<session> self() { return this->shared_from_this(); }

    void close() {
        error_code ignored;
        socket_of(stream_).shutdown(tcp::socket::shutdown_both, ignored);
        socket_of(stream_).close(ignored);
    }

    /// What the socket has: a number of bytes, 0 at the end of what the client sends, or -1 and errno.
    auto peek() {
        char byte;
        return ::recv(socket_of(stream_).native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    }
    bool has_bytes() { return buffer_.size() > 0 || peek() > 0; }

    /// Whether the client has left. One that sends no more may still read: it gets the reply that HTTP/1.1 has for those who wait,
    /// and the system of one that has left says so then. With TLS, or of HTTP/1.0, it is taken to be there.
    bool has_left() {
        const auto got = peek();
        if (got == 0 && !has_probed_ && std::is_same_v<Stream, tcp::socket> &&
            parser_->get().version() >= 11) {
            has_probed_ = true;
            constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            ::send(socket_of(stream_).native_handle(), go_on.data(), go_on.size(),
                   MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (got != 0)
            return got < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
        int failure = 0; // reading says nothing of it after the end
        socklen_t size = sizeof failure;
        ::getsockopt(socket_of(stream_).native_handle(), SOL_SOCKET, SO_ERROR, &failure, &size);
        return failure != 0;
    }

    /// The client of a request that waits may have left, or its time may be over.
    void look_at_call(clock::time_point now) {
        if (call_->work && !is_late_ && call_->work->deadline <= now) {
            is_late_ = true; // if it runs already, its answer may still come
            const auto call = call_;
            return shared_.handlers.give_up(*call, true);
        }
        if (has_left()) {
            close();
            until_ = time_for_lost_answer();
            const auto call = std::move(call_);
            if (call->work)
                shared_.handlers.give_up(*call, false);
        }
    }
    /// Until when a connection without a call waits: there may have been no memory for the answer.
    clock::time_point time_for_lost_answer() const { return clock::now() + shared_.options.send; }

    void read_header() {
        phase_ = phase::idle;
        has_begun_ = false;
        idle_since_ = clock::now();
        until_ = idle_since_ + shared_.options.idle;
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(shared_.options.most_header_bytes));
        parser_->body_limit(shared_.options.most_body_bytes);
        http::async_read_header(stream_, buffer_, *parser_, [self = self()](error_code failed, std::size_t) {
            self->got_header(failed);
        });
    }

    void got_header(error_code failed) {
        if (failed)
            return read_failed(failed);
        phase_ = phase::receiving;
        until_ = clock::now() + shared_.options.receive;
        const auto &head = parser_->get();
        const auto coding = head[http::field::transfer_encoding];
        const std::size_t codings = head.count(http::field::transfer_encoding);
        if (codings > 0 && (codings > 1 || head.version() < 11 || !boost::beast::iequals(coding, "chunked")))
            return end_with(400, "Transfer-Encoding: only chunked is taken, and not from HTTP/1.0");
        const std::size_t hosts = head.count(http::field::host);
        if (hosts > 1 || (hosts == 0 && head.version() >= 11))
            return end_with(400, std::to_string(hosts) + " Host headers given, HTTP/1.1 has one");
        if (!head["Content-Encoding"].empty())
            return end_with(415, "Content-Encoding: no encoding is taken");
        const std::uint64_t length = parser_->content_length().value_or(0);
        if (length == 0 && !parser_->chunked())
            return got_request({}, nullptr);
        std::size_t most = 0;
        try {
            most = shared_.handlers.most_body_bytes(head_of_request());
        } catch (const refusal &e) {
            return end_with(e);
        }
        parser_->body_limit(most);
        if (length > most)
            return end_with(413, "the body has " + std::to_string(length) + " bytes, at most " +
                                     std::to_string(most) + " are taken");
        if (head.version() >= 11 && boost::beast::iequals(head[http::field::expect], "100-continue")) {
            static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            asio::async_write(stream_, asio::buffer(go_on), [self = self()](error_code e, std::size_t) {
                if (!e)
                    self->read_body();
            });
            return;
        }
        read_body();
    }

    /// Bodies of a known length go straight from the socket to where they stay, in large pieces: the parser would copy an
    /// image twice.
    void read_body() {
        body_ = std::make_shared<received_body>(*shared_.budget, client_);
        if (parser_->chunked())
            return read_chunks();
        const auto size = static_cast<std::size_t>(*parser_->content_length());
        const std::size_t there = std::min(size, buffer_.size());
        if (!make_room(size, there))
            return;
        asio::buffer_copy(asio::buffer(body_->begin, there), buffer_.data());
        buffer_.consume(there);
        got_bytes(there, size);
    }

    void read_chunks() {
        http::async_read_some(stream_, buffer_, *parser_, [self = self()](error_code failed, std::size_t) {
            if (failed)
                return self->read_failed(failed);
            received_body &body = *self->body_;
            const std::size_t arrived = self->parser_->get().body().size();
            if (!body.held.grow(arrived - body.arrived))
                return self->end_without_memory();
            body.arrived = arrived;
            if (!self->parser_->is_done())
                return self->read_chunks();
            body.text = std::move(self->parser_->get().body());
            self->got_request(body.text, self->body_);
        });
    }

    /// Memory for `arrived` bytes and more that follow, up to `size`: what is announced and never sent takes little.
    bool make_room(std::size_t size, std::size_t arrived) {
        constexpr std::size_t first = std::size_t(1) << 20, factor = 4;
        received_body &body = *body_;
        if (body.begin && body.arrived < body.capacity)
            return true;
        const std::size_t capacity = std::min(size, std::max({first, factor * body.capacity, arrived}));
        try {
            std::unique_ptr<char[]> memory(new char[capacity + alignment]); // not zeroed
            char *const begin = memory.get() + before_body(memory.get());
            std::copy_n(body.begin, body.arrived, begin);
            body.memory = std::move(memory);
            body.begin = begin;
            body.capacity = capacity;
            return true;
        } catch (const std::bad_alloc &) {
            end_with(503, "there is no memory for a body of " + std::to_string(size) + " bytes");
            return false;
        }
    }

    void got_bytes(std::size_t got, std::size_t size) {
        received_body &body = *body_;
        if (!body.held.grow(got))
            return end_without_memory();
        body.arrived += got;
        if (body.arrived == size) {
            wait_for(1);
            return got_request({body.begin, size}, body_);
        }
        if (got > 0)
            wait_for(size - body.arrived);
        if (make_room(size, body.arrived))
            read_rest(size);
    }

    /// With a few large reads: on a busy machine all of it has come, else the kernel wakes the loop when a good part of what is
    /// missing is there, not for each segment.
    void read_rest(std::size_t size) {
        const auto room = asio::buffer(body_->begin + body_->arrived, body_->capacity - body_->arrived);
        stream_.async_read_some(room, [self = self(), size](error_code failed, std::size_t got) {
            if (!failed)
                self->got_bytes(got, size);
        });
    }

    void end_without_memory() { end_with(503, "requests that are being received fill the memory for them"); }

    /// Sets how much has to be there before the socket counts as readable.
    void wait_for(std::size_t missing) {
        constexpr std::size_t most = std::size_t(256) << 10, least = std::size_t(32) << 10;
        if constexpr (std::is_same_v<Stream, tcp::socket>) {
            const int bytes = missing < least ? 1 : static_cast<int>(std::min(missing, most));
            if (bytes == awaited_)
                return;
            awaited_ = bytes;
            error_code ignored;
            stream_.set_option(asio::socket_base::receive_low_watermark(bytes), ignored);
        }
    }

    /// Bytes to leave out at the beginning so that the first tensor, which follows the JSON, is aligned: a network can
    /// read it where it lies.
    std::size_t before_body(const char *memory) const {
        const auto json = parser_->get()[json_size_field];
        std::size_t size = 0;
        std::from_chars(json.data(), json.data() + json.size(), size);
        return -(reinterpret_cast<std::uintptr_t>(memory) + size) % alignment;
    }

    void read_failed(error_code failed) {
        if (failed == http::error::header_limit)
            return end_with(431, "the header is larger than " +
                                     std::to_string(shared_.options.most_header_bytes) + " bytes");
        if (failed == http::error::body_limit)
            return end_with(413, "the body is larger than " +
                                     std::to_string(shared_.options.most_body_bytes) + " bytes");
        const bool is_closed = failed == http::error::end_of_stream ||
                               failed == http::error::partial_message ||
                               failed.category() != http::make_error_code(http::error::bad_method).category();
        if (!is_closed)
            end_with(400, "no HTTP: " + failed.message());
    }

    /// Also what the parser holds of it, which the connection would keep while it is sent a reply.
    void drop_body() {
        keep_alive_ = false;
        body_.reset();
        std::string().swap(parser_->get().body());
    }

    /// A reply to what is not read to its end: the connection cannot be used again.
    void end_with(const refusal &e) {
        drop_body();
        send(shared_.handlers.refuse(head_of_request(), e), true);
    }
    void end_with(int status, const std::string &sentence) {
        end_with({status == 413 || status == 431 ? outcome::too_large
                  : status == 503                ? outcome::overloaded
                                                 : outcome::invalid,
                  sentence, status});
    }

    /// Without the body.
    http_request head_of_request() const {
        const auto &message = parser_->get();
        const auto view = [](boost::beast::string_view v) { return std::string_view(v.data(), v.size()); };
        http_request request;
        request.method = view(message.method_string());
        request.target = view(message.target());
        request.authorization = view(message[http::field::authorization]);
        request.json_size = view(message[json_size_field]);
        request.trace = view(message["traceparent"]);
        if (!is_traceparent(request.trace))
            request.trace = {};
        request.peer = peer_;
        return request;
    }

    void got_request(std::string_view body, std::shared_ptr<received_body> memory) {
        phase_ = phase::waiting;
        is_late_ = has_probed_ = false;
        until_ = time_for_lost_answer();
        const auto &message = parser_->get();
        keep_alive_ = message.keep_alive();
        has_body_ = message.method() != http::verb::head;
        http_request request = head_of_request();
        request.body = body;
        request.held = memory ? &memory->held : nullptr;
        request.keep = std::move(memory);
        body_.reset(); // it is the request's now
        trace_ = request.trace;
        waiting_.expires_at(clock::time_point::max());
        waiting_.async_wait([self = self()](error_code) {});
        const auto is_current = [number = ++request_number_](const session *s) {
            return s && s->phase_ == phase::waiting && s->request_number_ == number;
        };
        rest::answering to;
        to.done = [weak = this->weak_from_this(), is_current](http_reply &&reply) {
            if (const auto self = weak.lock(); is_current(self.get()))
                self->send(std::move(reply));
        };
        to.begun = [weak = this->weak_from_this(), is_current](std::shared_ptr<const service::call> c) {
            if (const auto self = weak.lock(); is_current(self.get()))
                self->call_ = std::move(c);
        };
        to.later = [&context = loop_.context](std::function<void()> f) { asio::post(context, std::move(f)); };
        call_ = shared_.handlers.handle(request, to);
        if (phase_ != phase::waiting)
            call_.reset(); // it was replied to at once
    }

    void send(http_reply &&reply, bool is_last = false) {
        phase_ = phase::sending;
        until_ = clock::now() + shared_.options.send;
        waiting_.cancel();
        call_.reset();
        reply_ = std::move(reply);
        std::size_t length = reply_.text.size();
        for (const byte_range &part : reply_.parts)
            length += part.size;
        keep_alive_ &= !is_last && !shared_.is_leaving;
        head_ = "HTTP/1.1 " + std::to_string(reply_.status) + ' ' + reason_of(reply_.status) +
                "\r\nContent-Type: " + reply_.type + "\r\nContent-Length: " + std::to_string(length) + "\r\n";
        for (const auto &[name, value] : reply_.headers)
            head_ += name + ": " + value + "\r\n";
        if (!trace_.empty())
            head_ += "traceparent: " + trace_ + "\r\n";
        head_ += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
        buffers_.assign({asio::buffer(head_)});
        if (has_body_) {
            buffers_.push_back(asio::buffer(reply_.text));
            for (const byte_range &part : reply_.parts)
                buffers_.emplace_back(part.data, part.size);
        }
        asio::async_write(stream_, buffers_, [self = self()](error_code failed, std::size_t) {
            self->reply_ = {};
            if (failed)
                return;
            if (self->keep_alive_)
                return self->read_header();
            self->finish_sending();
        });
    }

    /// A socket that is closed with unread bytes in it resets the connection, and the client may lose the reply.
    void finish_sending() {
        error_code ignored;
        socket_of(stream_).shutdown(tcp::socket::shutdown_send, ignored);
        phase_ = phase::sending;
        until_ = clock::now() + std::chrono::seconds(1);
        drop_rest();
    }
    void drop_rest() {
        socket_of(stream_).async_read_some(asio::buffer(dropped_),
                                           [self = self()](error_code failed, std::size_t) {
                                               if (!failed)
                                                   self->drop_rest();
                                           });
    }

    std::shared_ptr<asio::ssl::context> tls_; ///< lives as long as the stream
    Stream stream_;
    loop &loop_;
    shared &shared_;
    std::list<connection *>::iterator place_;
    /// A chunk's header or a trailer without an end would fill it without end: the parser has no limit of its own for these.
    boost::beast::flat_buffer buffer_;
    std::optional<parser> parser_;
    phase phase_ = phase::idle;
    clock::time_point until_ = clock::time_point::max();
    std::shared_ptr<const service::call> call_;
    bool is_late_ = false;    ///< the call, and has been told so
    bool has_probed_ = false; ///< the client that sends no more
    /// Holds the connection while it waits. What other threads have of it doesn't, so that it ends on its loop.
    asio::steady_timer waiting_;
    std::string peer_;
    std::shared_ptr<std::atomic<std::size_t>> client_;
    std::shared_ptr<received_body> body_; ///< while it is received
    bool has_begun_ = false;              ///< the next header
    clock::time_point idle_since_ = clock::now();
    std::uint64_t request_number_ = 0; ///< of this connection; an answer to another one comes too late
    int awaited_ = 1;                  ///< bytes, of the socket
    bool keep_alive_ = true, has_body_ = true;
    std::string trace_, head_;
    http_reply reply_;
    std::vector<asio::const_buffer> buffers_;
    char dropped_[4096];
};

std::shared_ptr<asio::ssl::context> make_tls(const std::string &certificate, const std::string &key,
                                             const std::string &client_authority) {
    if (certificate.empty())
        return nullptr;
    const auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    try {
        tls->set_options(asio::ssl::context::default_workarounds);
        // Whoever records a connection and gets the key later can read none of these.
        if (SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION) != 1 ||
            SSL_CTX_set_cipher_list(tls->native_handle(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
            throw std::runtime_error("no suite of TLS 1.2 is there");
        if (!client_authority.empty()) {
            tls->load_verify_file(client_authority);
            tls->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
            SSL_CTX_set_session_id_context(tls->native_handle(),
                                           reinterpret_cast<const unsigned char *>("octet"), 5);
        }
        tls->use_certificate_chain_file(certificate);
        tls->use_private_key_file(key, asio::ssl::context::pem);
    } catch (const std::exception &e) {
        throw error(status::invalid_arguments, "TLS with " + certificate + " and " + key + ": " + e.what());
    }
    return tls;
}

tcp::endpoint endpoint_of(asio::io_context &context, const std::string &address) {
    const listen_address parsed = parse_address(address);
    error_code failed;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(parsed.host, parsed.port, tcp::resolver::passive, failed);
    if (failed || found.empty())
        throw error(status::invalid_arguments, "'" + address + "': " + failed.message());
    return found.begin()->endpoint();
}

} // namespace

void check_certificate(const std::string &certificate, const std::string &key,
                       const std::string &client_authority) {
    make_tls(certificate, key, client_authority);
}

struct http_server::state {
    shared all;
    std::vector<std::unique_ptr<loop>> loops;
    std::unique_ptr<tcp::acceptor> acceptor;
    std::unique_ptr<asio::steady_timer> pause, end; ///< without descriptors; of accepting
    std::size_t next = 0;
    unsigned short port = 0;

    void accept() {
        loop &l = *loops[next++ % loops.size()];
        acceptor->async_accept(l.context, [this, &l](error_code failed, tcp::socket socket) {
            if (failed == asio::error::operation_aborted || !all.is_accepting)
                return;
            if (failed) { // no descriptors are left, for example: some will be free again
                pause->expires_after(tick);
                pause->async_wait([this](error_code e) {
                    if (!e)
                        accept();
                });
                return;
            }
            try {
                welcome(l, std::move(socket));
            } catch (const std::bad_alloc &) { // one connection less
            }
            accept();
        });
    }

    /// Whoever has connected by now is answered: what waits to be accepted when a listening socket is closed would be reset. So
    /// nobody may begin to connect first, while those that have begun go on.
    void stop_accepting() {
        sock_filter without_syn[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), // the flags of TCP
                                     BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
        const sock_fprog filter = {4, without_syn};
        ::setsockopt(acceptor->native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
        end->expires_after(tick); // for handshakes that are under way
        end->async_wait([this](error_code failed) {
            if (!failed)
                close_acceptor();
        });
    }
    void close_acceptor() {
        error_code failed;
        acceptor->non_blocking(true, failed);
        while (!failed) {
            tcp::socket socket(loops.front()->context);
            acceptor->accept(socket, failed);
            if (!failed)
                welcome(*loops.front(), std::move(socket));
        }
        all.is_accepting = false;
        acceptor->close(failed);
    }

    void welcome(loop &l, tcp::socket socket) {
        if (all.connections >= all.options.most_connections) {
            static const std::string full =
                "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                "Connection: close\r\n\r\n";
            error_code ignored;
            socket.non_blocking(true, ignored);
            socket.write_some(asio::buffer(full), ignored);
            return;
        }
        std::shared_ptr<asio::ssl::context> tls;
        {
            const std::lock_guard<std::mutex> lock(all.mutex);
            tls = all.tls;
        }
        const auto shared_socket = std::make_shared<tcp::socket>(std::move(socket));
        asio::post(l.context, [this, &l, shared_socket, tls] {
            error_code ignored;
            shared_socket->set_option(tcp::no_delay(true), ignored);
            if (tls)
                std::make_shared<session<asio::ssl::stream<tcp::socket>>>(
                    asio::ssl::stream<tcp::socket>(std::move(*shared_socket), *tls), l, all, tls)
                    ->start();
            else
                std::make_shared<session<tcp::socket>>(std::move(*shared_socket), l, all, nullptr)->start();
        });
    }
};

http_server::http_server(const http_options &options, receive_budget &budget, handlers h)
    : state_(std::make_unique<state>()) {
    state &s = *state_;
    s.all.options = options;
    s.all.budget = &budget;
    s.all.handlers = std::move(h);
    s.all.tls = make_tls(options.certificate, options.key, options.client_authority);
    for (int i = 0; i < std::max(1, options.threads); i++)
        s.loops.push_back(std::make_unique<loop>(budget));
    asio::io_context &first = s.loops.front()->context;
    try {
        const tcp::endpoint endpoint = endpoint_of(first, options.address);
        s.acceptor = std::make_unique<tcp::acceptor>(first);
        s.acceptor->open(endpoint.protocol());
        s.acceptor->set_option(tcp::acceptor::reuse_address(true));
        s.acceptor->bind(endpoint);
        s.acceptor->listen(1024);
        s.port = s.acceptor->local_endpoint().port();
    } catch (const boost::system::system_error &e) {
        throw error(status::invalid_arguments,
                    "cannot listen on " + options.address + ": " + e.code().message());
    }
    s.pause = std::make_unique<asio::steady_timer>(first);
    s.accept();
    for (const auto &l : s.loops) {
        l->start_ticking();
        l->thread = std::thread([&l = *l] { l.run(); });
    }
}

http_server::~http_server() {
    for (const auto &l : state_->loops)
        l->context.stop();
    for (const auto &l : state_->loops)
        l->thread.join();
    error_code ignored;
    state_->acceptor->close(ignored); // a `drain` that has not come yet closes it, too
    state_->pause->cancel();
    if (state_->end)
        state_->end->cancel();
    for (const auto &l : state_->loops) { // connections go with the handlers that hold them
        l->work.reset();
        l->context.restart();
        for (connection *c : std::list<connection *>(l->connections))
            c->look(clock::time_point::max());
        l->timer.cancel();
        l->context.poll();
    }
}

unsigned short http_server::port() const { return state_->port; }

void http_server::reload_certificate() {
    const http_options &o = state_->all.options;
    auto next = make_tls(o.certificate, o.key, o.client_authority);
    const std::lock_guard<std::mutex> lock(state_->all.mutex);
    state_->all.tls = std::move(next);
}

void http_server::leave() { state_->all.is_leaving = true; }

void http_server::drain(std::chrono::milliseconds grace) {
    leave();
    state_->all.grace = grace;
    state_->all.end_of_grace = clock::now() + grace;
    asio::post(state_->loops.front()->context, [s = state_.get(), grace] {
        s->end = std::make_unique<asio::steady_timer>(s->loops.front()->context, grace);
        s->end->async_wait([s](error_code failed) {
            if (!failed)
                s->stop_accepting();
        });
    });
}

bool http_server::is_idle() const { return state_->all.connections == 0 && !state_->all.is_accepting; }

} // namespace octet::serve
