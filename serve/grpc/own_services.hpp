#pragma once // SPDX-License-Identifier: Apache-2.0

// The methods of gRPC's own services, whose messages are few and have their fields written by number: reflection and health.

#include <set>

#include "grpc/call.hpp"

namespace octet::serve {

using stream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

stream *new_reflection_call(shared_by_calls &s, context &c);
stream *new_health_call(shared_by_calls &s, context &c);

/// Those who watch the health: they are told when it changes.
class health_watchers {
public:
    explicit health_watchers(shared_by_calls &s) : shared_(s) {}
    stream *add(const context &c);
    void tell();
    void end();

private:
    class watcher;
    shared_by_calls &shared_;
    std::mutex mutex_; ///< of what follows
    std::set<watcher *> watchers_;
};

} // namespace octet::serve
