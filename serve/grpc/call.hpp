#pragma once // SPDX-License-Identifier: Apache-2.0

// A call of gRPC from its header to its status, on one stream of HTTP/2: the token first, then the bytes of a
// message, as many as there is room for, then objects, as few as a request needs, then the answer. All of it
// happens on the thread of its connection; what works elsewhere comes back through `later`.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/received_body.hpp"
#include "core/service.hpp"
#include "core/token.hpp"

namespace octet::serve {

/// The header of a call, as far as anybody asks for it.
struct call_head {
    std::string method, path, type, authorization, trace, timeout;
    std::size_t bytes = 0; ///< bytes of all fields, as HPACK counts them
};

/// A message that the client gets: `text`, then `parts`.
struct outgoing {
    std::string text;
    std::vector<byte_range> parts;
    std::shared_ptr<const void> keep; ///< owner of the parts' bytes
};

/// The services of a connection for the streams of its calls.
class wire {
public:
    using fields = std::vector<std::pair<std::string, std::string>>;
    using poster = std::function<void(std::function<void()>)>;
    virtual ~wire() = default;
    /// The header of the answer, which is all of it, or is followed by what the call has to send.
    virtual void respond(int stream, const fields &header, bool is_all) = 0;
    virtual void trail(int stream, const fields &trailer) = 0;
    /// The call has more to send.
    virtual void resume(int stream) = 0;
    /// Ends the stream; without a failure only if all of the answer is sent, for a client that goes on sending.
    virtual void reset(int stream, bool is_failure) = 0;
    /// The client may send that many bytes more; at the beginning it may send `first_window`.
    virtual void open_window(int stream, std::size_t bytes) = 0;
    static constexpr std::size_t first_window = 65535;
    /// Runs a function on the connection's thread, if that is still there. To be called on any thread.
    std::shared_ptr<const poster> later;
};

/// The origin of a call.
struct origin {
    wire &on;
    int stream;
    call_head head;
    std::string peer;
    std::shared_ptr<std::atomic<std::size_t>> client; ///< account of memory
};

/// The common state of all calls.
struct shared_by_calls {
    service &requests;
    const token &secret;
    receive_budget &budget;
    std::size_t most_header_bytes;
    std::chrono::milliseconds receive, send; ///< time that a client has for a message, and for an answer
};

class call : public std::enable_shared_from_this<call> {
public:
    /// `what` is its name in the log.
    call(const shared_by_calls &s, origin &&o, const char *what);
    virtual ~call() = default;

    // ---- What the connection tells it
    void begin();
    void data(const char *bytes, std::size_t size);
    /// The client sends no more.
    void end();
    /// Ten times a second. `is_draining`: the server stops, and waits for no client that has moved nothing
    /// since `stuck`.
    void look(clock::time_point now, bool is_draining, clock::time_point stuck);
    /// The stream is gone.
    void closed();
    /// How much of the answer can be sent now, `most` at most; `is_last` if nothing but the trailer follows.
    std::size_t ready(std::size_t most, bool &is_last) const;
    /// Appends the next `size` bytes of the answer.
    void take(std::size_t size, std::vector<char> &to);
    wire::fields trailer() const;

protected:
    // ---- What a method does
    virtual void check() {}                        ///< the header, before anything else. Throws or finishes
    virtual bool is_open() const { return false; } ///< without a token
    /// The message is there, if the method has one. Throws, or answers now or later.
    virtual void work() = 0;
    virtual std::size_t most_message() const = 0;
    virtual bool has_message() const { return true; }
    /// The client sends no more messages.
    virtual void end_of_messages();
    virtual void left() {}                            ///< the client
    virtual void waits(clock::time_point) {}          ///< while it works: ten times a second
    virtual bool is_endless() const { return false; } ///< it ends with the server
    virtual std::string model() const { return ""; }

    std::string_view message() const { return body_ ? body_->bytes() : std::string_view(); }
    /// Sends a message. When it is sent, the next one is read, where there are several.
    void send(outgoing &&message);
    void finish(int code, const std::string &sentence);
    /// With `retry-after` where trying again may help.
    void finish(outcome why, const std::string &sentence);
    /// Is logged, too.
    void refuse(const refusal &e);
    /// Does what throws, and ends the call if it throws.
    template <typename Function> void guarded(const Function &f) {
        try {
            f();
        } catch (const refusal &e) {
            refuse(e);
        } catch (const std::bad_alloc &) {
            refuse(refusal(outcome::overloaded, "there is no memory for this request"));
        } catch (const std::exception &e) {
            refuse(refusal(outcome::failed, e.what()));
        }
    }
    /// Counts memory until the call is over. Throws refusal.
    void hold(std::size_t bytes) const;

    const shared_by_calls &shared_;
    const origin from_;
    const char *const what_;
    grant opened_; ///< by its token
    clock::time_point deadline_ = clock::time_point::max();
    std::shared_ptr<received_body> body_; ///< null: nothing of a message is there
    bool reads_more_ = false;             ///< messages after the first one

private:
    enum class phase { receiving, working, over };
    void take_message();
    void begin_message();

    mutable receive_budget::share held_;
    phase phase_ = phase::receiving;
    unsigned char prefix_[5] = {};
    std::size_t prefix_size_ = 0, granted_ = wire::first_window;
    std::string pending_; ///< bytes of later messages
    bool is_remote_over_ = false;

    outgoing out_;
    std::size_t sent_ = 0, size_ = 0; ///< bytes of `out_`
    bool has_header_ = false, is_ending_ = false;
    int code_ = 0;
    std::string http_status_ = "200", sentence_, retry_after_;
    clock::time_point until_, moved_;
};

} // namespace octet::serve
