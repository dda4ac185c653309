// Each method of the protocol: what it asks of the service, and how it becomes a call.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/protocol.hpp"

#include <memory>
#include <utility>

#include <google/protobuf/util/json_util.h>

#include "core/description.hpp"
#include "core/small_json.hpp"
#include "grpc/infer_message.hpp"
#include "octet/settings.hpp"

namespace octet::serve {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

namespace {

/// A message that has the fields of this object.
template <typename Message> void from_json(const nlohmann::ordered_json &j, Message &to) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true; // the REST form tells more
    const auto status = google::protobuf::util::JsonStringToMessage(
        j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), &to, options);
    if (!status.ok())
        throw error(octet::status::runtime_error, std::string(status.message()));
}

/// Which model a message is about: "" where it is about the server.
template <typename Message> auto model_of(const Message &m, int) -> decltype(std::string(m.name())) {
    return m.name();
}
template <typename Message> auto model_of(const Message &m, long) -> decltype(std::string(m.model_name())) {
    return m.model_name();
}
template <typename Message> std::string model_of(const Message &, ...) { return ""; }

/// Answered at once.
template <typename Request, typename Response> class unary_call : public call {
public:
    using function = void (protocol::*)(const Request &, Response &);
    unary_call(protocol &p, context &c, const char *what, function f, background *where)
        : call(p, c, what), protocol_(p), answer_with_(f), where_(where) {}

private:
    void work() override {
        if (bytes_.Length() > most_control_bytes)
            throw refusal(outcome::too_large, "the message has " + std::to_string(bytes_.Length()) +
                                                  " bytes, at most " + std::to_string(most_control_bytes) +
                                                  " are taken");
        if (Request::descriptor()->field_count() > 0)
            parse(request_);
        if (Request::descriptor()->field_count() > 0)
            opened_.require(model_of(request_, 0));
        if (where_)
            where_->submit([this] { guarded([&] { answer(); }); });
        else
            answer();
    }
    void answer() {
        Response response;
        (protocol_.*answer_with_)(request_, response);
        finish_with(response);
    }
    protocol &protocol_;
    const function answer_with_;
    background *const where_; ///< null: it takes no time
    Request request_;
};

/// A call that waits for its inference.
class infer_call : public call {
public:
    using call::call;

private:
    void cancelled() override {
        std::shared_ptr<const service::call> waits;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_cancelled_ = true;
            waits = call_;
        }
        if (waits)
            give_up(*waits);
        else
            call::cancelled();
    }
    void work() override {
        const std::string trace = metadata_of(context_, "traceparent");
        if (is_traceparent(trace))
            context_.AddInitialMetadata("traceparent", trace);
        parse(request_);
        opened_.require(request_.model_name());
        infer_request r = request_of(request_);
        r.trace = trace;
        r.peer = client;
        r.held = &held_;
        r.numbers_held = std::move(numbers_held_);
        if (context_.deadline() != std::chrono::system_clock::time_point::max())
            r.deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                            context_.deadline() - std::chrono::system_clock::now());
        auto waits = shared_.requests.infer(
            std::move(r), "grpc",
            [this](const std::shared_ptr<const service::call> &done) { answer(*done); });
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_cancelled_)
            give_up(*waits);
        call_ = std::move(waits);
    }
    std::string model() const override { return request_.model_name(); }

    /// gRPC cancels also what a deadline has ended; the client's own comes first, by the time of the request's way.
    void give_up(const service::call &c) {
        constexpr auto way = std::chrono::milliseconds(10);
        const bool is_expired = c.work->deadline - way <= clock::now();
        is_expired ? shared_.requests.expire(c) : shared_.requests.cancel(c);
    }
    void answer(const service::call &c) {
        if (c.work->result != outcome::ok)
            return Finish({code_of(c.work->result), c.work->sentence});
        ModelInferResponse response;
        fill(response, c);
        finish_with(response);
    }

    ModelInferRequest request_;
    std::mutex mutex_;
    bool is_cancelled_ = false;
    std::shared_ptr<const service::call> call_;
};

} // namespace

void protocol::end_streams() {
    room.end_endless();
    watchers.end();
}

/// All methods are streams for gRPC's library, which hands over the header of a stream before it reads the message. On the wire
/// a unary call is a stream of one message.
void protocol::add(const std::string &path, std::function<stream *(context *)> make) {
    using namespace grpc::internal;
    paths_.push_back(path);
    AddMethod(new RpcServiceMethod(paths_.back().c_str(), RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodRawCallback(paths_.size() - 1,
                          new CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(std::move(make)));
}

template <typename Request, typename Response>
void protocol::add_unary(const char *name, bool is_open,
                         void (protocol::*answer)(const Request &, Response &), background *where) {
    add(std::string("/inference.GRPCInferenceService/") + name,
        [this, name, is_open, answer, where](context *c) {
            auto *const made = new unary_call<Request, Response>(*this, *c, name, answer, where);
            made->begin(is_open, Request::descriptor()->field_count() > 0);
            return made;
        });
}

protocol::protocol(service &s, const token &t, receive_budget &b, std::size_t reading_places,
                   std::chrono::milliseconds most_receive)
    : shared_by_calls(s, t, b, reading_places, most_receive), watchers(*this) {
    add_unary("ServerLive", true, &protocol::server_live);
    add_unary("ServerReady", true, &protocol::server_ready);
    add_unary("ModelReady", false, &protocol::model_ready);
    add_unary("ServerMetadata", false, &protocol::server_metadata);
    add_unary("ModelMetadata", false, &protocol::model_metadata);
    add_unary("ModelConfig", false, &protocol::model_config);
    add_unary("ModelStatistics", false, &protocol::model_statistics);
    add_unary("RepositoryIndex", false, &protocol::repository_index);
    add_unary("RepositoryModelLoad", false, &protocol::load, &requests.changes);
    add_unary("RepositoryModelUnload", false, &protocol::unload, &requests.changes);
    add("/inference.GRPCInferenceService/ModelInfer", [this](context *c) {
        call *const made = new infer_call(*this, *c, "infer");
        made->begin(false, true);
        return made;
    });
    add("/grpc.health.v1.Health/Check", [this](context *c) { return new_health_call(*this, *c); });
    add("/grpc.health.v1.Health/Watch", [this](context *c) { return watchers.add(*c); });
    for (const char *path : {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                             "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"})
        add(path, [this](context *c) { return new_reflection_call(*this, *c); });
}

void protocol::server_live(const inference::ServerLiveRequest &, inference::ServerLiveResponse &r) {
    r.set_live(true);
}
void protocol::server_ready(const inference::ServerReadyRequest &, inference::ServerReadyResponse &r) {
    r.set_ready(requests.is_ready());
}
void protocol::model_ready(const inference::ModelReadyRequest &q, inference::ModelReadyResponse &r) {
    r.set_ready(requests.is_ready(q.name(), q.version()));
}
void protocol::server_metadata(const inference::ServerMetadataRequest &,
                               inference::ServerMetadataResponse &r) {
    r.set_name("octet");
    r.set_version(version());
    for (const char *extension : extensions)
        r.add_extensions(extension);
}
void protocol::model_metadata(const inference::ModelMetadataRequest &q, inference::ModelMetadataResponse &r) {
    const auto m = requests.models.find(q.name(), q.version());
    from_json(describe(*m, requests.models.versions(m->name())), r);
}
void protocol::model_config(const inference::ModelConfigRequest &q, inference::ModelConfigResponse &r) {
    from_json(describe_configuration(*requests.models.find(q.name(), q.version())), *r.mutable_config());
}
void protocol::model_statistics(const inference::ModelStatisticsRequest &q,
                                inference::ModelStatisticsResponse &r) {
    std::vector<std::shared_ptr<served_model>> models = requests.models.all(q.name());
    if (!q.version().empty())
        models = {requests.models.find(q.name(), q.version())};
    else if (!q.name().empty())
        requests.models.find(q.name(), ""); // or there is none
    from_json(describe_statistics(models), r);
}
void protocol::repository_index(const inference::RepositoryIndexRequest &q,
                                inference::RepositoryIndexResponse &r) {
    for (const auto &row : requests.models.index()) {
        if (q.ready() && row.state != "READY")
            continue;
        auto &to = *r.add_models();
        to.set_name(row.name);
        to.set_version(row.version);
        to.set_state(row.state);
        to.set_reason(row.reason);
    }
}
void protocol::load(const inference::RepositoryModelLoadRequest &q,
                    inference::RepositoryModelLoadResponse &) {
    requests.require_changes();
    requests.models.load(q.model_name());
}
void protocol::unload(const inference::RepositoryModelUnloadRequest &q,
                      inference::RepositoryModelUnloadResponse &) {
    requests.require_changes();
    requests.models.unload(q.model_name());
}

} // namespace octet::serve
