#pragma once // SPDX-License-Identifier: Apache-2.0

// The methods that gRPC's server offers: the Open Inference Protocol, gRPC's health service, and reflection. Their messages are
// read in this order: the token first, then bytes, as many as there is room for, then objects, as few as a request needs.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <grpcpp/grpcpp.h>

#include "core/service.hpp"
#include "core/token.hpp"
#include "inference.grpc.pb.h"

namespace octet::serve {

class call;

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

class protocol : public grpc::Service {
public:
    protocol(service &s, const token &t, receive_budget &b, std::size_t reading_places,
             std::chrono::milliseconds most_receive);
    ~protocol() override;

    /// The readiness may have changed: who watches the health is told.
    void tell_health();
    /// Ends the streams that have no end of their own.
    void end_streams();

    service &requests;
    const token &secret;
    receive_budget &budget;
    reading_room room;

private:
    class watcher;
    friend class watcher;
    using stream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
    void add(const std::string &path, std::function<stream *(grpc::CallbackServerContext *)> make);
    /// A method of which `answer` reads a `Request` and writes a `Response` or throws; `where`, if it takes long.
    template <typename Request, typename Response>
    void add_unary(const char *name, bool is_open, void (protocol::*answer)(const Request &, Response &),
                   background *where = nullptr);

    void server_live(const inference::ServerLiveRequest &q, inference::ServerLiveResponse &r);
    void server_ready(const inference::ServerReadyRequest &q, inference::ServerReadyResponse &r);
    void model_ready(const inference::ModelReadyRequest &q, inference::ModelReadyResponse &r);
    void server_metadata(const inference::ServerMetadataRequest &q, inference::ServerMetadataResponse &r);
    void model_metadata(const inference::ModelMetadataRequest &q, inference::ModelMetadataResponse &r);
    void model_config(const inference::ModelConfigRequest &q, inference::ModelConfigResponse &r);
    void model_statistics(const inference::ModelStatisticsRequest &q, inference::ModelStatisticsResponse &r);
    void repository_index(const inference::RepositoryIndexRequest &q, inference::RepositoryIndexResponse &r);
    void load(const inference::RepositoryModelLoadRequest &q, inference::RepositoryModelLoadResponse &r);
    void unload(const inference::RepositoryModelUnloadRequest &q,
                inference::RepositoryModelUnloadResponse &r);

    std::list<std::string> paths_; ///< which gRPC refers to
    std::mutex mutex_;             ///< of what follows
    std::set<watcher *> watchers_;
};

} // namespace octet::serve
