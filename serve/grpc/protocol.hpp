#pragma once // SPDX-License-Identifier: Apache-2.0

// The methods that gRPC's server offers: the Open Inference Protocol, gRPC's health service, and reflection.

#include <functional>
#include <list>
#include <string>

#include "grpc/call.hpp"
#include "grpc/own_services.hpp"
#include "inference.grpc.pb.h"

namespace octet::serve {

class protocol : public grpc::Service, public shared_by_calls {
public:
    protocol(service &s, const token &t, receive_budget &b, std::size_t reading_places,
             std::chrono::milliseconds most_receive);

    health_watchers watchers;
    /// Ends the streams that have no end of their own.
    void end_streams();

private:
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
};

} // namespace octet::serve
