// A call is a small state machine of gRPC's callbacks; here is what all of them do, and who may read when.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/call.hpp"

#include <algorithm>

#include <grpcpp/support/proto_buffer_reader.h>

namespace octet::serve {
namespace {

/// Numbers travel in a byte or more and become one of 8 bytes in the message and 8, at times twice that, of the request.
constexpr std::size_t bytes_of_number = 24;

} // namespace

grpc::StatusCode code_of(outcome o) { return static_cast<grpc::StatusCode>(facts_of(o).grpc); }

std::string metadata_of(const context &c, const char *key) {
    const auto found = c.client_metadata().find(key);
    return found == c.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

// Of "ipv4:10.0.0.1:4711" or "ipv6:%5B::1%5D:4711".
std::string address_of(const context &c) {
    std::string address = c.peer();
    address.erase(std::min(address.rfind(':'), address.size()));
    address.erase(0, address.find(':') + 1);
    for (const std::string bracket : {"%5B", "%5D", "[", "]", "::ffff:"})
        if (const auto at = address.find(bracket); at != address.npos)
            address.erase(at, bracket.size());
    return address;
}

std::string connection_of(const context &c) {
    const std::string peer = c.peer();
    return address_of(c) + ' ' + peer.substr(std::min(peer.rfind(':') + 1, peer.size()));
}

void cancellations::count(const std::string &connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = clock::now();
    if (now - since_ > std::chrono::seconds(1)) {
        counts_.clear();
        since_ = now;
    }
    if (++counts_[connection] == most_per_second)
        cut(connection);
}

void call::begin(bool is_open, bool has_message) {
    try {
        if (!is_open)
            opened_ = shared_.secret.opened_by(metadata_of(context_, "authorization"));
        if (!has_message)
            return work();
        read_next();
    } catch (const refusal &e) {
        refuse(e);
    }
}

void call::OnReadDone(bool is_good) {
    shared_.room.leave(*this);
    guarded([&] {
        if (!is_good)
            return end_of_messages();
        if (!held_.grow(2 * bytes_.Length())) // its bytes, and the message that they become
            throw refusal(outcome::overloaded, "requests fill the memory for them");
        work();
    });
}

void call::guarded(const std::function<void()> &f) {
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

void call::refuse(const refusal &e) {
    access line;
    line.protocol = "grpc";
    line.what = what_;
    line.model = model();
    line.trace = metadata_of(context_, "traceparent");
    line.peer = client;
    shared_.requests.refused(std::move(line), e);
    if (e.why == outcome::overloaded || e.why == outcome::unavailable)
        context_.AddTrailingMetadata("retry-after", std::to_string(shared_.requests.retry_after(model())));
    Finish({code_of(e.why), e.what()});
}

void call::take_numbers(const google::protobuf::Descriptor &type) {
    grpc::ProtoBufferReader bytes(&bytes_);
    numbers_held_ = held_.another();
    if (!numbers_held_->grow(extent_of_message(bytes, type).numbers * bytes_of_number))
        throw refusal(outcome::overloaded, "requests fill the memory for them");
}

// ---- Reading

bool reading_room::enter(call &c) {
    constexpr std::ptrdiff_t most_waiting = 1024;
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const auto of_client =
        std::count_if(waiting_.begin(), waiting_.end(), [&](const call *w) { return w->client == c.client; });
    if (static_cast<std::ptrdiff_t>(waiting_.size()) >= most_waiting || of_client >= most_waiting / 4)
        return false;
    c.since = clock::now();
    waiting_.push_back(&c);
    admit();
    return true;
}

bool reading_room::leave(call &c) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const auto waits = std::find(waiting_.begin(), waiting_.end(), &c);
    const auto reads = std::find(reading_.begin(), reading_.end(), &c);
    if (waits != waiting_.end()) {
        waiting_.erase(waits);
        return true;
    }
    if (reads != reading_.end()) {
        reading_.erase(reads);
        if (--reading_of_[c.client] == 0)
            reading_of_.erase(c.client);
        admit();
    }
    writing_.remove(&c);
    return false;
}

void reading_room::write(call &c) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    c.since = clock::now();
    writing_.push_back(&c);
}

/// Admits those that have waited longest, except where a client has its part already.
void reading_room::admit() {
    for (auto it = waiting_.begin(); it != waiting_.end() && reading_.size() < places_;) {
        call &c = **it;
        std::size_t &of_client = reading_of_[c.client];
        if (of_client >= most_of_client_) {
            ++it;
            continue;
        }
        of_client++;
        it = waiting_.erase(it);
        c.since = clock::now();
        reading_.push_back(&c);
        c.read();
    }
}

template <typename Condition> void reading_room::give_up_if(const Condition &condition) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    for (const std::list<call *> *calls : {&waiting_, &reading_, &writing_})
        for (call *c : std::list<call *>(*calls)) // which may go while others are ended
            if (std::find(calls->begin(), calls->end(), c) != calls->end() && condition(*c))
                c->give_up();
}

void reading_room::look(clock::time_point now) {
    give_up_if([&](const call &c) { return now - c.since > most_time_; });
}

void reading_room::end_endless() {
    give_up_if([](const call &c) { return !c.has_end(); });
}

} // namespace octet::serve
