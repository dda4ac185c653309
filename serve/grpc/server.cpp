// A connection of HTTP/2, whose frames nghttp2 reads and writes, and whose streams are calls.
//
// Frames that are read go through nghttp2 to the calls; their answers are written when nothing else is being
// written. Nothing that a client sends takes memory without a bound:
//
// - Header blocks: nghttp2 ends a connection after 8 CONTINUATION frames. Fields beyond the limit are counted and
//   not kept; far beyond it they end the connection.
// - Streams: 256 at once, each counted in the memory for requests. A thousand in a second that end early end the
//   connection.
// - Messages: a stream may send 64 KiB, and more of it once the part that has arrived was counted (call.hpp). The
//   connection's own window is always open.
// - Buffers: the memory beyond the least counts in the memory for requests, as the connection itself does.
// - Frames that need an answer: nothing more is read while many wait to be written. Frames that mean nothing end
//   the connection if there are many in a second.
//
// Time is bounded, too: of connections without calls, of messages, of answers that nobody takes, and of clients
// that do not answer a PING. When the server stops, GOAWAY is sent twice: at once, and after the time of grace
// with the last stream that is served.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/server.hpp"

#include <map>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <nghttp2/nghttp2.h>

#include "grpc/protocol.hpp"
#include "net/connection.hpp"

namespace octet::serve {
namespace {

constexpr int most_streams = 256, most_early_ends = 1000,
              most_empty_frames = 10'000; ///< of a second, the last two
constexpr int connection_window = 16 << 20;
constexpr std::size_t most_unsent_frames = 512;
constexpr std::size_t least_buffer = std::size_t(16) << 10, most_buffer = std::size_t(256) << 10;

template <typename T, void (*Delete)(T *)> struct deleter {
    void operator()(T *p) const { Delete(p); }
};
using options = std::unique_ptr<nghttp2_option, deleter<nghttp2_option, nghttp2_option_del>>;
using callbacks = std::unique_ptr<nghttp2_session_callbacks,
                                  deleter<nghttp2_session_callbacks, nghttp2_session_callbacks_del>>;

/// Makes an object of nghttp2.
template <typename T> T *made(int (*make)(T **)) {
    T *p = nullptr;
    if (make(&p) != 0)
        throw std::bad_alloc();
    return p;
}

std::vector<nghttp2_nv> pairs_of(const wire::fields &fields) {
    std::vector<nghttp2_nv> pairs;
    for (const auto &[name, value] : fields)
        pairs.push_back({reinterpret_cast<std::uint8_t *>(const_cast<char *>(name.data())),
                         reinterpret_cast<std::uint8_t *>(const_cast<char *>(value.data())), name.size(),
                         value.size(), NGHTTP2_NV_FLAG_NONE}); // nghttp2 copies them
    return pairs;
}

class session final : public connection, public wire {
public:
    session(accepted &&a, const protocol &p) : connection(std::move(a)), protocol_(p), in_(least_buffer) {}
    ~session() override { end_calls(); }

    void start() override {
        later = std::make_shared<poster>(
            [&context = loop_.context, weak = std::weak_ptr<session>(self())](std::function<void()> f) {
                asio::post(context, [weak, f = std::move(f)] {
                    const auto self = weak.lock();
                    if (!self)
                        return;
                    f();
                    self->write();
                });
            });
        const options o(made(nghttp2_option_new));
        nghttp2_option_set_no_auto_window_update(o.get(), 1);
        nghttp2_option_set_no_closed_streams(o.get(), 1);
        nghttp2_option_set_max_continuations(o.get(), 8);
        nghttp2_option_set_stream_reset_rate_limit(o.get(), most_early_ends, most_early_ends);
        nghttp2_session *made_session = nullptr;
        if (nghttp2_session_server_new2(&made_session, calls_back().get(), this, o.get()) != 0)
            throw std::bad_alloc();
        h2_.reset(made_session);
        const nghttp2_settings_entry settings[] = {
            {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_streams},
            {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
             static_cast<std::uint32_t>(shared_.options.most_header_bytes)},
            {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
        nghttp2_submit_settings(h2_.get(), NGHTTP2_FLAG_NONE, settings, std::size(settings));
        nghttp2_session_set_local_window_size(h2_.get(), NGHTTP2_FLAG_NONE, 0, connection_window);
        write();
    }

    void look(clock::time_point now) override {
        if (now > until_ || (!h2_ && moved_ < stuck(now)))
            return close();
        if (!h2_)
            return; // a handshake of TLS
        for (auto it = calls_.begin(); it != calls_.end();) {
            const auto &[stream, c] = *it++;
            if (c.is_called)
                c.is_called->look(now, shared_.is_draining(now), stuck(now));
            else if (c.begun < std::max(stuck(now), now - shared_.options.receive)) // a header without an end
                return close();
        }
        if (now - second_ > std::chrono::seconds(1)) {
            second_ = now;
            early_ends_ = empty_frames_ = 0;
        }
        say_goodbye(now);
        // A client with calls that says nothing is asked whether it is there.
        const auto silent = now - heard_;
        if (!calls_.empty() && silent > shared_.options.idle + shared_.options.receive)
            return close();
        if (silent < shared_.options.idle)
            has_asked_ = false;
        else if (!has_asked_ && !calls_.empty())
            has_asked_ = nghttp2_submit_ping(h2_.get(), NGHTTP2_FLAG_NONE, nullptr) == 0;
        write();
    }

    void close() override {
        connection::close();
        end_calls();
    }

    // ---- What calls ask for
    void respond(int stream, const fields &header, bool is_all) override {
        nghttp2_data_provider data{};
        data.read_callback = read_answer;
        const auto pairs = pairs_of(header);
        nghttp2_submit_response(h2_.get(), stream, pairs.data(), pairs.size(), is_all ? nullptr : &data);
    }
    void trail(int stream, const fields &trailer) override {
        const auto pairs = pairs_of(trailer);
        nghttp2_submit_trailer(h2_.get(), stream, pairs.data(), pairs.size());
    }
    void resume(int stream) override { nghttp2_session_resume_data(h2_.get(), stream); }
    void reset(int stream, bool is_failure) override {
        if (is_failure || nghttp2_session_get_stream_local_close(h2_.get(), stream) == 1)
            nghttp2_submit_rst_stream(h2_.get(), NGHTTP2_FLAG_NONE, stream,
                                      is_failure ? NGHTTP2_CANCEL : NGHTTP2_NO_ERROR);
    }
    void open_window(int stream, std::size_t bytes) override {
        nghttp2_submit_window_update(h2_.get(), NGHTTP2_FLAG_NONE, stream, static_cast<std::int32_t>(bytes));
    }

private:
    /// A stream: its header, then its call.
    struct begun_call {
        call_head head;
        clock::time_point begun = clock::now();
        std::shared_ptr<call> is_called;
    };

    std::shared_ptr<session> self() { return std::static_pointer_cast<session>(shared_from_this()); }

    // ---- Bytes in and out

    bool is_behind() const {
        return is_writing_ && nghttp2_session_get_outbound_queue_size(h2_.get()) > most_unsent_frames;
    }

    void read() {
        if (is_reading_ || is_over_ || is_behind())
            return;
        is_reading_ = true;
        stream_.async_read_some(asio::buffer(in_), [self = self()](error_code failed, std::size_t size) {
            self->is_reading_ = false;
            if (failed)
                return self->close();
            self->heard_ = self->moved_ = clock::now();
            const auto taken = nghttp2_session_mem_recv(
                self->h2_.get(), reinterpret_cast<const std::uint8_t *>(self->in_.data()), size);
            self->is_over_ |= taken < 0;
            self->fit_input(size);
            self->write();
        });
    }

    // Both buffers double where there is more to read or to write, as long as the memory for requests has room.

    void fit_input(std::size_t got) {
        const std::size_t size = in_.size();
        if (got == size && size < most_buffer && held_.grow(size)) {
            in_.resize(2 * size);
        } else if (calls_.empty() && size > least_buffer) {
            held_.shrink(size - least_buffer);
            std::vector<char>(least_buffer).swap(in_);
        }
    }
    bool has_room_to_write() {
        if (out_.size() >= most_written_ && most_written_ < most_buffer && held_.grow(2 * most_written_))
            most_written_ *= 2; // and a vector may have twice the memory that it needs
        return out_.size() < most_written_;
    }
    void drop_written() {
        out_.clear();
        if (!calls_.empty() || most_written_ == least_buffer)
            return;
        held_.shrink(2 * (most_written_ - least_buffer));
        most_written_ = least_buffer;
        std::vector<char>().swap(out_);
    }

    void write() {
        if (is_writing_)
            return read();
        while (has_room_to_write()) {
            const std::uint8_t *data = nullptr;
            const auto size = nghttp2_session_mem_send(h2_.get(), &data);
            is_over_ |= size < 0;
            if (size <= 0)
                break;
            out_.insert(out_.end(), data, data + size);
        }
        const bool is_done =
            is_over_ || (!nghttp2_session_want_read(h2_.get()) && !nghttp2_session_want_write(h2_.get()));
        if (out_.empty())
            return is_done ? end() : read();
        is_writing_ = true;
        until_ = clock::now() + shared_.options.send;
        asio::async_write(stream_, asio::buffer(out_), all_of_it(),
                          [self = self()](error_code failed, std::size_t) {
                              self->is_writing_ = false;
                              self->until_ = clock::time_point::max();
                              self->drop_written();
                              failed ? self->close() : self->write();
                          });
        read();
    }

    void end() {
        end_calls();
        if (!is_ended_)
            finish_sending();
        is_ended_ = is_over_ = true;
    }

    void end_calls() {
        is_over_ = true;
        for (auto &[stream, c] : std::exchange(calls_, {}))
            if (c.is_called)
                c.is_called->closed();
    }

    /// Without calls for long, or when the server stops.
    void say_goodbye(clock::time_point now) {
        const bool is_leaving = shared_.end_of_grace.load() != clock::time_point::max();
        if (is_leaving && !has_warned_)
            has_warned_ = nghttp2_submit_shutdown_notice(h2_.get()) == 0;
        const bool is_idle = calls_.empty() && now - without_calls_since_ > shared_.options.idle,
                   is_silent = !has_greeted_ && now - without_calls_since_ > shared_.options.receive;
        if (!is_goodbye_ && (is_idle || is_silent || shared_.is_draining(now)))
            is_goodbye_ = nghttp2_submit_goaway(h2_.get(), NGHTTP2_FLAG_NONE,
                                                nghttp2_session_get_last_proc_stream_id(h2_.get()),
                                                NGHTTP2_NO_ERROR, nullptr, 0) == 0;
    }

    void end_flood(bool is_flood) {
        if (is_flood)
            nghttp2_session_terminate_session(h2_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
    }

    // ---- What nghttp2 tells: functions of C, which throw nothing

    static session &of(void *user) { return *static_cast<session *>(user); }
    template <typename Function> static int guarded(const Function &f) {
        try {
            f();
            return 0;
        } catch (...) { // no memory
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
    }
    static call *call_of(session &s, int stream) {
        const auto found = s.calls_.find(stream);
        return found == s.calls_.end() ? nullptr : found->second.is_called.get();
    }

    static int begin_header(nghttp2_session *, const nghttp2_frame *frame, void *user) {
        return guarded([&] {
            if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
                of(user).calls_[frame->hd.stream_id];
        });
    }

    static int add_field(nghttp2_session *, const nghttp2_frame *frame, const std::uint8_t *name,
                         std::size_t name_size, const std::uint8_t *value, std::size_t value_size,
                         std::uint8_t, void *user) {
        return guarded([&] {
            const auto found = of(user).calls_.find(frame->hd.stream_id);
            if (found == of(user).calls_.end() || found->second.is_called)
                return;                                        // trailers
            constexpr std::size_t of_a_field = 32, flood = 16; ///< times the limit
            call_head &head = found->second.head;
            head.bytes += name_size + value_size + of_a_field;
            if (head.bytes > of(user).shared_.options.most_header_bytes)
                return of(user).end_flood(head.bytes > flood * of(user).shared_.options.most_header_bytes);
            const std::string_view key(reinterpret_cast<const char *>(name), name_size);
            for (const auto &[known, to] :
                 {std::pair(":method", &head.method), std::pair(":path", &head.path),
                  std::pair("content-type", &head.type), std::pair("authorization", &head.authorization),
                  std::pair("traceparent", &head.trace), std::pair("grpc-timeout", &head.timeout)})
                if (key == known && to->empty())
                    to->assign(reinterpret_cast<const char *>(value), value_size);
        });
    }

    static int got_frame(nghttp2_session *, const nghttp2_frame *frame, void *user) {
        return guarded([&] {
            session &s = of(user);
            const nghttp2_frame_hd &head = frame->hd;
            s.has_greeted_ = true; // the first frame is SETTINGS
            const bool is_data = head.type == NGHTTP2_DATA,
                       is_end = (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
            if (head.type == NGHTTP2_PING || head.type == NGHTTP2_SETTINGS || head.type == NGHTTP2_PRIORITY ||
                (is_data && head.length == 0 && !is_end))
                return s.end_flood(++s.empty_frames_ == most_empty_frames);
            if (head.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
                s.begin_call(head.stream_id);
            if (is_end && (is_data || head.type == NGHTTP2_HEADERS))
                if (call *const c = call_of(s, head.stream_id))
                    c->end();
        });
    }

    void begin_call(int stream) {
        begun_call &b = calls_.at(stream);
        b.is_called = protocol_.make({*this, stream, std::move(b.head), peer_, client_});
        b.is_called->begin();
    }

    static int got_data(nghttp2_session *h2, std::uint8_t, int stream, const std::uint8_t *data,
                        std::size_t size, void *user) {
        return guarded([&] {
            nghttp2_session_consume_connection(h2, size);
            if (call *const c = call_of(of(user), stream))
                c->data(reinterpret_cast<const char *>(data), size);
        });
    }

    static int stream_closed(nghttp2_session *, int stream, std::uint32_t why, void *user) {
        return guarded([&] {
            session &s = of(user);
            const auto found = s.calls_.find(stream);
            if (found == s.calls_.end())
                return;
            const auto gone = std::move(found->second.is_called);
            s.calls_.erase(found);
            if (s.calls_.empty())
                s.without_calls_since_ = clock::now();
            if (gone)
                gone->closed();
            if (why != NGHTTP2_NO_ERROR)
                s.end_flood(++s.early_ends_ == most_early_ends);
        });
    }

    static ssize_t read_answer(nghttp2_session *, int stream, std::uint8_t *, std::size_t most,
                               std::uint32_t *flags, nghttp2_data_source *, void *user) {
        ssize_t size = NGHTTP2_ERR_DEFERRED;
        const int failed = guarded([&] {
            call *const c = call_of(of(user), stream);
            bool is_last = false;
            const std::size_t there = c ? c->ready(most, is_last) : 0;
            if (there == 0 && !is_last)
                return;
            *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
            if (is_last) {
                *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
                of(user).trail(stream, c->trailer());
            }
            size = static_cast<ssize_t>(there);
        });
        return failed ? failed : size;
    }

    static int send_answer(nghttp2_session *, nghttp2_frame *frame, const std::uint8_t *head,
                           std::size_t size, nghttp2_data_source *, void *user) {
        constexpr std::size_t head_bytes = 9;
        session &s = of(user);
        if (!s.has_room_to_write())
            return NGHTTP2_ERR_WOULDBLOCK;
        return guarded([&] {
            s.out_.insert(s.out_.end(), head, head + head_bytes);
            s.calls_.at(frame->hd.stream_id).is_called->take(size, s.out_);
        });
    }

    static const callbacks &calls_back() {
        static const callbacks all = [] {
            callbacks c(made(nghttp2_session_callbacks_new));
            nghttp2_session_callbacks_set_on_begin_headers_callback(c.get(), begin_header);
            nghttp2_session_callbacks_set_on_header_callback(c.get(), add_field);
            nghttp2_session_callbacks_set_on_frame_recv_callback(c.get(), got_frame);
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c.get(), got_data);
            nghttp2_session_callbacks_set_on_stream_close_callback(c.get(), stream_closed);
            nghttp2_session_callbacks_set_send_data_callback(c.get(), send_answer);
            return c;
        }();
        return all;
    }

    const protocol &protocol_;
    std::unique_ptr<nghttp2_session, deleter<nghttp2_session, nghttp2_session_del>> h2_;
    std::map<int, begun_call> calls_; ///< by stream
    std::vector<char> in_, out_;
    std::size_t most_written_ = least_buffer; ///< bytes in `out_`
    bool is_reading_ = false, is_writing_ = false;
    bool is_over_ = false, is_ended_ = false; ///< nothing more is read; nor written
    bool has_greeted_ = false, has_warned_ = false, is_goodbye_ = false, has_asked_ = false;
    clock::time_point without_calls_since_ = clock::now(), heard_ = clock::now(), second_ = clock::now();
    int early_ends_ = 0, empty_frames_ = 0; ///< in this second
};

} // namespace

std::unique_ptr<listener> listen_grpc(listen_options options, receive_budget &budget, service &s,
                                      const token &t) {
    options.protocol = "h2";
    const auto methods = std::make_shared<const protocol>(
        shared_by_calls{s, t, budget, options.most_header_bytes, options.receive, options.send});
    return std::make_unique<listener>(options, budget, [methods](accepted &&a) {
        return std::make_shared<session>(std::move(a), *methods);
    });
}

} // namespace octet::serve
