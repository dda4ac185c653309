#pragma once // SPDX-License-Identifier: Apache-2.0

// A call of gRPC from its header to its end. Messages are read in this order: the token first, then bytes, as many as there is room for,
// then objects, as few as a request needs.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <grpcpp/grpcpp.h>

#include "core/service.hpp"
#include "core/token.hpp"
#include "grpc/bounded_message.hpp"

namespace octet::serve {

class call;
using context = grpc::CallbackServerContext;

grpc::StatusCode code_of(outcome o);
/// Of the call's header; "" where it has none.
std::string metadata_of(const context &c, const char *key);
/// The client's address as HTTP names it, with whom it shares an account: 10.0.0.1, ::1.
std::string address_of(const context &c);
/// Address and port, of one connection: "10.0.0.1 4711".
std::string connection_of(const context &c);

/// Messages that are being received: each may become as large as any, so few are read at once, and the others wait. It also bounds the
/// time of all that depends on a client: waiting, being read, and taking the reply.
class reading_room {
public:
    reading_room(std::size_t places, std::chrono::milliseconds most_time)
        : places_(places), most_of_client_(std::max<std::size_t>(1, places / 2)), most_time_(most_time) {}
    /// Reads now, or later when others are done; false if too many wait.
    bool enter(call &c);
    /// One that waits, reads or writes does so no more. Whether it had waited, and will not read.
    bool leave(call &c);
    /// It begins to write its reply.
    void write(call &c);
    /// Cancels what takes too long.
    void look(clock::time_point now);
    /// Cancels what would never end by itself.
    void end_endless();

private:
    void admit();
    template <typename Condition> void give_up_if(const Condition &condition);

    const std::size_t places_, most_of_client_;
    const std::chrono::milliseconds most_time_;
    std::recursive_mutex mutex_; ///< of what follows; a call that is cancelled may leave at once
    std::list<call *> reading_, waiting_, writing_;
    std::map<std::string, std::size_t> reading_of_;
};

/// Counts what clients cancel. Who begins calls and resets them does so faster than they end, and each takes memory until then: a
/// connection that does it too often is cut.
class cancellations {
public:
    std::function<void(const std::string &connection)> cut; ///< set before the first call
    void count(const std::string &connection);

private:
    static constexpr int most_per_second = 1000;
    std::mutex mutex_; ///< of what follows
    std::map<std::string, int> counts_;
    clock::time_point since_;
};

/// What all calls of a server share.
struct shared_by_calls {
    shared_by_calls(service &s, const token &t, receive_budget &b, std::size_t reading_places,
                    std::chrono::milliseconds most_receive)
        : requests(s), secret(t), budget(b), room(reading_places, most_receive) {}
    service &requests;
    const token &secret;
    receive_budget &budget;
    reading_room room;
    cancellations resets;
};

/// A call: the token is checked, a message is read as soon as there is room for one, then `work`.
class call : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
public:
    call(shared_by_calls &s, context &c, const char *what)
        : shared_(s), context_(c), what_(what), client(address_of(c)),
          held_(s.budget, s.budget.client(client)) {}

    /// Called by the method that made it. Nothing of the object may be used afterwards.
    void begin(bool is_open, bool has_message);
    void read() { StartRead(&bytes_); }
    void give_up() { context_.TryCancel(); }
    /// Whether it ends by itself, as all do that have one message.
    virtual bool has_end() const { return true; }

    void OnReadDone(bool is_good) override;
    void OnCancel() final {
        shared_.resets.count(connection_of(context_));
        cancelled();
    }
    void OnDone() override {
        shared_.room.leave(*this);
        delete this;
    }

protected:
    /// The message is there, if the method has one. Throws, or finishes the call now or later.
    virtual void work() = 0;
    virtual void cancelled() {
        if (shared_.room.leave(*this))
            Finish({grpc::StatusCode::CANCELLED, ""});
    }
    virtual void end_of_messages() { Finish({grpc::StatusCode::INVALID_ARGUMENT, "there is no message"}); }
    virtual std::string model() const { return ""; }

    void read_next() {
        if (!shared_.room.enter(*this))
            throw refusal(outcome::overloaded, "too many messages wait to be received");
    }
    /// Does what throws, and ends the call if it throws.
    void guarded(const std::function<void()> &f);
    void refuse(const refusal &e);
    template <typename Message> void parse(Message &to) {
        take_numbers(*Message::descriptor());
        const std::size_t size = bytes_.Length();
        if (!grpc::SerializationTraits<Message>::Deserialize(&bytes_, &to).ok())
            throw refusal(outcome::invalid, "the bytes are no message of this method");
        bytes_.Clear();
        held_.shrink(size);
    }
    template <typename Message> void finish_with(const Message &answer) {
        bool is_own = false;
        const auto status = grpc::SerializationTraits<Message>::Serialize(answer, &answer_, &is_own);
        if (!status.ok())
            return Finish(status);
        if (!held_.grow(answer_.Length()))
            return Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "replies fill the memory for requests"});
        shared_.room.write(*this);
        StartWriteAndFinish(&answer_, grpc::WriteOptions(), status);
    }

private:
    void take_numbers(const google::protobuf::Descriptor &type);

protected:
    shared_by_calls &shared_;
    context &context_;
    const char *const what_;

public:
    const std::string client;
    clock::time_point since; ///< it waits, reads or writes; the room's

protected:
    receive_budget::share held_;
    std::unique_ptr<receive_budget::share> numbers_held_;
    grpc::ByteBuffer bytes_, answer_;
    grant opened_; ///< by its token
};

} // namespace octet::serve
