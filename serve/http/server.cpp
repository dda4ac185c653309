// A connection of HTTP/1.1, read with Boost.Beast: its header, its body, the wait for the answer, the reply,
// and from the beginning. The tick of its loop also finds clients that left while their request waits.
// SPDX-License-Identifier: Apache-2.0
#include "http/server.hpp"

#include <charconv>
#include <optional>

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <sys/socket.h>

#include "core/received_body.hpp"
#include "net/connection.hpp"

namespace octet::serve {
namespace {

namespace http = boost::beast::http;

constexpr const char *json_size_field = "Inference-Header-Content-Length";

const char *reason_of(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 499:
        return "Client Closed Request";
    default:
        return http::obsolete_reason(static_cast<http::status>(status)).data();
    }
}

class session final : public connection {
public:
    session(accepted &&a, const http_handlers &h)
        : connection(std::move(a)), handlers_(h),
          buffer_(std::max(2 * shared_.options.most_header_bytes, least_buffer_bytes)),
          waiting_(loop_.context) {}

    void start() override { read_header(); }

    void look(clock::time_point now) override {
        if (phase_ == phase::idle && !has_begun_ && parser_ &&
            (buffer_.size() > 0 || parser_->got_some())) { // the first bytes of a header
            has_begun_ = true;
            moved_ = now;
            until_ = std::min(until_, now + shared_.options.receive);
        }
        const bool is_unasked = phase_ == phase::idle && shared_.is_draining(now) &&
                                now - idle_since_ >= shared_.grace.load() && !has_begun_ && !has_bytes();
        if (call_)
            look_at_call(now);
        else if (now > until_ || is_unasked || (is_the_clients_turn() && moved_ < stuck(now)))
            close();
    }
    void close() override {
        connection::close();
        waiting_.cancel();
    }

private:
    enum class phase { idle, receiving, waiting, sending };
    static constexpr std::size_t least_buffer_bytes = std::size_t(128) << 10;
    using parser = http::request_parser<http::string_body>;

    std::shared_ptr<session> self() { return std::static_pointer_cast<session>(shared_from_this()); }

    bool is_the_clients_turn() const { return phase_ == phase::idle ? has_begun_ : phase_ != phase::waiting; }

    /// Looks at the socket: returns a number of bytes, 0 at the end of what the client sends, or -1 with
    /// errno.
    auto peek() {
        char byte;
        return ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    }
    bool has_bytes() { return buffer_.size() > 0 || peek() > 0; }

    /// Whether the client has left. One that sends no more may still read: it gets the reply that HTTP/1.1
    /// has for those who wait, and the system of one that has left says so then. With TLS, or of HTTP/1.0, it
    /// is taken to be there.
    bool has_left() {
        const auto got = peek();
        if (got == 0 && !has_probed_ && !stream_.is_secure() && parser_->get().version() >= 11) {
            has_probed_ = true;
            constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            ::send(stream_.socket().native_handle(), go_on.data(), go_on.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (got != 0)
            return got < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
        int failure = 0; // reading says nothing of it after the end
        socklen_t size = sizeof failure;
        ::getsockopt(stream_.socket().native_handle(), SOL_SOCKET, SO_ERROR, &failure, &size);
        return failure != 0;
    }

    /// The client of a request that waits may have left, or its time may be over.
    void look_at_call(clock::time_point now) {
        if (call_->work && !is_late_ && call_->work->deadline <= now) {
            is_late_ = true; // if it runs already, its answer may still come
            const auto call = call_;
            return handlers_.give_up(*call, true);
        }
        if (has_left()) {
            close();
            until_ = time_for_lost_answer();
            const auto call = std::move(call_);
            if (call->work)
                handlers_.give_up(*call, false);
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
        moved_ = clock::now();
        until_ = moved_ + shared_.options.receive;
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
            return got_request({}, nullptr, nullptr);
        std::size_t most = 0;
        try {
            most = handlers_.most_body_bytes(head_of_request());
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

    /// Bodies of a known length go straight from the socket to where they stay, in large pieces: the parser
    /// would copy an image twice.
    void read_body() {
        const bool is_chunked = parser_->chunked();
        const auto size = is_chunked ? 0 : static_cast<std::size_t>(*parser_->content_length());
        const auto json = parser_->get()[json_size_field]; // the first tensor follows it
        std::size_t json_size = 0;
        std::from_chars(json.data(), json.data() + json.size(), json_size);
        arrived_ = 0;
        body_ =
            std::make_shared<received_body>(shared_.budget, client_, size, std::size_t(1) << 20, json_size);
        if (is_chunked)
            return read_chunks();
        with_memory([&] {
            const std::size_t there = std::min(size, buffer_.size());
            asio::buffer_copy(asio::buffer(body_->room(std::max<std::size_t>(there, 1)).first, there),
                              buffer_.data());
            buffer_.consume(there);
            got_bytes(there);
        });
    }

    void read_chunks() {
        http::async_read_some(stream_, buffer_, *parser_, [self = self()](error_code failed, std::size_t) {
            if (failed)
                return self->read_failed(failed);
            self->moved_ = clock::now();
            std::string &text = self->parser_->get().body();
            if (!self->body_->held.grow(text.size() - self->arrived_))
                return self->end_without_memory();
            self->arrived_ = text.size();
            if (!self->parser_->is_done())
                return self->read_chunks();
            const auto kept = std::make_shared<chunks>(chunks{std::move(self->body_), std::move(text)});
            self->got_request(kept->text, &kept->body->held, kept);
        });
    }

    template <typename Function> void with_memory(const Function &f) {
        try {
            f();
        } catch (const std::bad_alloc &) {
            end_with(503, "there is no memory for the body");
        }
    }

    void got_bytes(std::size_t got) {
        received_body &body = *body_;
        moved_ = clock::now();
        if (!body.add(got))
            return end_without_memory();
        if (body.missing() == 0) {
            wait_for(1);
            return got_request(body.bytes(), &body.held, body_);
        }
        if (got > 0)
            wait_for(body.missing());
        // With a few large reads: on a busy machine all of it has come, else the kernel wakes the loop when a
        // good part of what is missing is there, not for each segment.
        const auto [to, size] = body.room();
        stream_.async_read_some(asio::buffer(to, size), [self = self()](error_code failed, std::size_t n) {
            if (!failed)
                self->with_memory([&] { self->got_bytes(n); });
        });
    }

    void end_without_memory() { end_with(503, "requests that are being received fill the memory for them"); }

    /// Sets how much has to be there before the socket counts as readable.
    void wait_for(std::size_t missing) {
        constexpr std::size_t most = std::size_t(256) << 10, least = std::size_t(32) << 10;
        const int bytes = missing < least ? 1 : static_cast<int>(std::min(missing, most));
        if (stream_.is_secure() || bytes == awaited_)
            return;
        awaited_ = bytes;
        error_code ignored;
        stream_.socket().set_option(asio::socket_base::receive_low_watermark(bytes), ignored);
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
        send(handlers_.refuse(head_of_request(), e), true);
    }
    void end_with(int status, const std::string &sentence) {
        end_with({status == 413 || status == 431 ? outcome::too_large
                  : status == 503                ? outcome::overloaded
                                                 : outcome::invalid,
                  sentence, status});
    }

    /// The page that asks, "" if the client is none.
    std::string_view origin() const {
        const auto field = parser_->get()["Origin"];
        return {field.data(), field.size()};
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

    /// `keep` is what the body lies in, and counts as `held`.
    void got_request(std::string_view body, receive_budget::share *held, std::shared_ptr<const void> keep) {
        phase_ = phase::waiting;
        is_late_ = has_probed_ = false;
        until_ = time_for_lost_answer();
        const auto &message = parser_->get();
        keep_alive_ = message.keep_alive();
        has_body_ = message.method() != http::verb::head;
        http_request request = head_of_request();
        request.body = body;
        request.held = held;
        request.keep = std::move(keep);
        body_.reset(); // it is the request's now
        trace_ = request.trace;
        if (request.method == "OPTIONS" && !message["Access-Control-Request-Method"].empty() &&
            handlers_.origins.allow(origin()))
            return send(handlers_.origins.preflight());
        waiting_.expires_at(clock::time_point::max());
        waiting_.async_wait([self = self()](error_code) {});
        const auto is_current = [number = ++request_number_](const session *s) {
            return s && s->phase_ == phase::waiting && s->request_number_ == number;
        };
        rest::answering to;
        to.done = [weak = std::weak_ptr<session>(self()), is_current](http_reply &&reply) {
            if (const auto self = weak.lock(); is_current(self.get()))
                self->send(std::move(reply));
        };
        to.begun = [weak = std::weak_ptr<session>(self()),
                    is_current](std::shared_ptr<const service::call> c) {
            if (const auto self = weak.lock(); is_current(self.get()))
                self->call_ = std::move(c);
        };
        to.later = [&context = loop_.context](std::function<void()> f) { asio::post(context, std::move(f)); };
        call_ = handlers_.handle(request, to);
        if (phase_ != phase::waiting)
            call_.reset(); // it was replied to at once
    }

    void send(http_reply &&reply, bool is_last = false) {
        phase_ = phase::sending;
        moved_ = clock::now();
        until_ = moved_ + shared_.options.send;
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
        for (const auto &[name, value] : handlers_.origins.fields(origin()))
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
        asio::async_write(stream_, buffers_, all_of_it(), [self = self()](error_code failed, std::size_t) {
            self->reply_ = {};
            if (failed)
                return;
            if (self->keep_alive_)
                return self->read_header();
            self->finish_sending();
        });
    }

    struct chunks {
        std::shared_ptr<received_body> body; ///< counts
        std::string text;
    };

    const http_handlers &handlers_;
    /// A chunk's header or a trailer without an end would fill it without end: the parser has no limit of its
    /// own for these.
    boost::beast::flat_buffer buffer_;
    std::optional<parser> parser_;
    phase phase_ = phase::idle;
    std::shared_ptr<const service::call> call_;
    bool is_late_ = false;    ///< the call, and has been told so
    bool has_probed_ = false; ///< the client that sends no more
    /// Holds the connection while it waits. What other threads have of it doesn't, so that it ends on its loop.
    asio::steady_timer waiting_;
    std::shared_ptr<received_body> body_; ///< while it is received
    std::size_t arrived_ = 0;             ///< in chunks
    bool has_begun_ = false;              ///< the next header
    clock::time_point idle_since_ = clock::now();
    /// Number of the request on this connection; an answer to another one comes too late.
    std::uint64_t request_number_ = 0;
    int awaited_ = 1; ///< bytes, of the socket
    bool keep_alive_ = true, has_body_ = true;
    std::string trace_, head_;
    http_reply reply_;
    std::vector<asio::const_buffer> buffers_;
};

} // namespace

std::unique_ptr<listener> listen_http(listen_options options, receive_budget &budget, http_handlers h) {
    options.protocol = "http/1.1";
    options.full = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                   "Connection: close\r\n\r\n";
    const auto kept = std::make_shared<const http_handlers>(std::move(h));
    return std::make_unique<listener>(
        options, budget, [kept](accepted &&a) { return std::make_shared<session>(std::move(a), *kept); });
}

} // namespace octet::serve
