#pragma once // SPDX-License-Identifier: Apache-2.0

// The methods that gRPC's server offers: the Open Inference Protocol, gRPC's health service, and reflection.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "grpc/call.hpp"
#include "inference.pb.h"

namespace octet::serve {

class protocol : public shared_by_calls {
public:
    explicit protocol(const shared_by_calls &s);

    /// The call that this header asks for, which may be one that refuses it.
    std::shared_ptr<call> make(origin &&o) const;

private:
    /// A method of which `answer` reads a `Request` and writes a `Response` or throws.
    template <typename Request, typename Response>
    using function = void (protocol::*)(const Request &, Response &) const;
    template <typename Request, typename Response>
    void add_unary(const char *name, function<Request, Response> answer, bool is_open = false,
                   background *where = nullptr);
    template <typename Request, typename Response> class unary_call;

    void server_live(const inference::ServerLiveRequest &q, inference::ServerLiveResponse &r) const;
    void server_ready(const inference::ServerReadyRequest &q, inference::ServerReadyResponse &r) const;
    void model_ready(const inference::ModelReadyRequest &q, inference::ModelReadyResponse &r) const;
    void server_metadata(const inference::ServerMetadataRequest &q,
                         inference::ServerMetadataResponse &r) const;
    void model_metadata(const inference::ModelMetadataRequest &q, inference::ModelMetadataResponse &r) const;
    void model_config(const inference::ModelConfigRequest &q, inference::ModelConfigResponse &r) const;
    void model_statistics(const inference::ModelStatisticsRequest &q,
                          inference::ModelStatisticsResponse &r) const;
    void repository_index(const inference::RepositoryIndexRequest &q,
                          inference::RepositoryIndexResponse &r) const;
    void load(const inference::RepositoryModelLoadRequest &q,
              inference::RepositoryModelLoadResponse &r) const;
    void unload(const inference::RepositoryModelUnloadRequest &q,
                inference::RepositoryModelUnloadResponse &r) const;

    std::map<std::string, std::function<std::shared_ptr<call>(origin &&)>> methods_; ///< by path
};

} // namespace octet::serve
