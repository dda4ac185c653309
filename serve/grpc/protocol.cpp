// Each method of the protocol: what it asks of the service, and how it becomes a call.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/protocol.hpp"

#include <memory>
#include <utility>

#include <google/protobuf/util/json_util.h>

#include "core/description.hpp"
#include "core/small_json.hpp"
#include "grpc/bounded_message.hpp"
#include "grpc/infer_message.hpp"
#include "grpc/own_services.hpp"
#include "grpc/wire_format.hpp"
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

/// Returns the name of the model that a message is about; "" if it is about the server.
template <typename Message> auto model_of(const Message &m, int) -> decltype(std::string(m.name())) {
    return m.name();
}
template <typename Message> auto model_of(const Message &m, long) -> decltype(std::string(m.model_name())) {
    return m.model_name();
}
template <typename Message> std::string model_of(const Message &, ...) { return ""; }

/// Bytes that a message of this type takes as objects.
std::size_t bytes_of(const message_extent &e, std::string_view bytes) {
    constexpr std::size_t of_a_number = 24; // 8 in the message and 8, at times twice that, of the request
    return 2 * bytes.size() + e.numbers * of_a_number;
}

template <typename Message> void parse(std::string_view bytes, Message &to) {
    if (!to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        throw refusal(outcome::invalid, "the bytes are no message of this method");
}

/// A request that was received and is not read yet. Its bytes live as long as this.
struct unread {
    std::shared_ptr<received_body> body;
    message_extent extent;
    std::unique_ptr<receive_budget::share> held; ///< the message's share of memory while it is read
    grant opened;
    clock::time_point deadline;
    std::string trace, peer, model;

    std::string_view bytes() const { return extent.raw.empty() ? body->bytes() : extent.rest; }
};

/// On any thread. Throws refusal.
std::shared_ptr<const service::call> ask(const std::shared_ptr<unread> &u, service &requests,
                                         const service::answer &done) {
    ModelInferRequest message;
    parse(u->bytes(), message);
    u->model = message.model_name();
    u->opened.require(u->model);
    infer_request r = request_of(message, u->extent.raw);
    r.trace = u->trace;
    r.peer = u->peer;
    r.keep = u;
    r.held = &u->body->held;
    r.numbers_held = std::move(u->held);
    r.deadline = u->deadline;
    return requests.infer(std::move(r), "grpc", done);
}

/// A call that waits for its inference.
class infer_call final : public call {
public:
    infer_call(const shared_by_calls &s, origin &&o) : call(s, std::move(o), "infer") {}

private:
    static constexpr std::size_t most_read_at_once = std::size_t(64) << 10; ///< by the thread of a connection

    std::size_t most_message() const override { return shared_.requests.options.most_body_bytes; }
    std::string model() const override { return read_ ? read_->model : ""; }

    void work() override {
        read_ = std::make_shared<unread>();
        read_->extent = extent_of_message(message(), *ModelInferRequest::descriptor(),
                                          ModelInferRequest::kRawInputContentsFieldNumber);
        read_->body = body_;
        read_->held = body_->held.another();
        read_->opened = opened_;
        read_->deadline = deadline_;
        read_->trace = is_traceparent(from_.head.trace) ? from_.head.trace : "";
        read_->peer = from_.peer;
        if (!read_->held->grow(bytes_of(read_->extent, read_->bytes())))
            throw refusal(outcome::overloaded, "requests fill the memory for them");
        const auto weak = std::weak_ptr<infer_call>(std::static_pointer_cast<infer_call>(shared_from_this()));
        const auto done = [weak, later = from_.on.later](const std::shared_ptr<const service::call> &c) {
            (*later)([weak, c] {
                if (const auto self = weak.lock())
                    self->guarded([&] { self->answer(c); });
            });
        };
        if (read_->bytes().size() <= most_read_at_once) {
            waits_ = ask(read_, shared_.requests, done);
            return;
        }
        shared_.requests.readers.submit(
            [weak, later = from_.on.later, done, request = read_, &requests = shared_.requests] {
                std::shared_ptr<const service::call> waits;
                std::exception_ptr failure;
                try {
                    waits = ask(request, requests, done);
                } catch (...) {
                    failure = std::current_exception();
                }
                (*later)([weak, waits, failure, &requests] {
                    if (const auto self = weak.lock())
                        return self->guarded([&] { self->begun(waits, failure); });
                    if (waits)
                        requests.cancel(*waits);
                });
            });
    }
    void begun(const std::shared_ptr<const service::call> &waits, const std::exception_ptr &failure) {
        if (failure)
            std::rethrow_exception(failure);
        waits_ = waits;
    }

    void waits(clock::time_point now) override {
        if (!waits_ || is_late_ || now < waits_->work->deadline)
            return;
        is_late_ = true; // if it runs already, its answer may still come
        shared_.requests.expire(*waits_);
    }
    /// A client leaves also when its deadline is over, by its own clock: that comes first, by the time of the
    /// request's way.
    void left() override {
        constexpr auto way = std::chrono::milliseconds(10);
        if (!waits_)
            return;
        const bool is_expired = waits_->work->deadline - way <= clock::now();
        is_expired ? shared_.requests.expire(*waits_) : shared_.requests.cancel(*waits_);
    }

    /// The message lacks its raw_output_contents, which follow it from where they are.
    void answer(const std::shared_ptr<const service::call> &c) {
        const job &j = *c->work;
        if (j.result != outcome::ok)
            return finish(j.result, j.sentence);
        outgoing reply;
        reply.text = response_of(*c).SerializeAsString();
        reply.keep = c;
        reply.parts.reserve(2 * j.outputs.size());
        const auto heads = std::make_shared<std::vector<std::string>>();
        for (const byte_range &bytes : j.outputs)
            heads->push_back(field_head(ModelInferResponse::kRawOutputContentsFieldNumber, bytes.size));
        for (std::size_t i = 0; i < j.outputs.size(); i++) {
            const std::string &head = (*heads)[i];
            reply.parts.push_back({reinterpret_cast<const std::byte *>(head.data()), head.size()});
            reply.parts.push_back(j.outputs[i]);
        }
        reply.keep = std::make_shared<std::pair<decltype(heads), decltype(c->work)>>(heads, c->work);
        send(std::move(reply));
        finish(0, "");
    }

    std::shared_ptr<unread> read_;
    std::shared_ptr<const service::call> waits_; ///< null: it is read
    bool is_late_ = false;
};

/// A path that there is no method for.
class unknown_call final : public call {
public:
    unknown_call(const shared_by_calls &s, origin &&o) : call(s, std::move(o), "unknown method") {}

private:
    void check() override {
        constexpr int unimplemented = 12;
        finish(unimplemented, "there is no method " + shown(from_.head.path));
    }
    void work() override {}
    std::size_t most_message() const override { return 0; }
};

} // namespace

/// Answered at once, or where changes are made.
template <typename Request, typename Response> class protocol::unary_call final : public call {
public:
    unary_call(const protocol &p, origin &&o, const char *what, function<Request, Response> f, bool is_open,
               background *where)
        : call(p, std::move(o), what), protocol_(p), answer_with_(f), is_open_(is_open), where_(where) {}

private:
    bool is_open() const override { return is_open_; }
    bool has_message() const override { return Request::descriptor()->field_count() > 0; }
    std::size_t most_message() const override { return most_control_bytes; }
    void work() override {
        const auto request = std::make_shared<Request>();
        if (has_message()) {
            const message_extent extent = extent_of_message(message(), *Request::descriptor());
            hold(bytes_of(extent, message()));
            parse(message(), *request);
            opened_.require(model_of(*request, 0));
        }
        if (!where_)
            return answer_to(*request);
        where_->submit([weak = this->weak_from_this(), later = from_.on.later, request, &p = protocol_,
                        answer_with = answer_with_] {
            const auto response = std::make_shared<Response>();
            std::exception_ptr failure;
            try {
                (p.*answer_with)(*request, *response);
            } catch (...) {
                failure = std::current_exception();
            }
            (*later)([weak, response, failure] {
                const auto self = std::static_pointer_cast<unary_call>(weak.lock());
                if (self)
                    self->guarded([&] {
                        if (failure)
                            std::rethrow_exception(failure);
                        self->finish_with(*response);
                    });
            });
        });
    }
    void answer_to(const Request &request) {
        Response response;
        (protocol_.*answer_with_)(request, response);
        finish_with(response);
    }
    void finish_with(const Response &response) {
        hold(response.ByteSizeLong());
        send({response.SerializeAsString(), {}, nullptr});
        finish(0, "");
    }
    const protocol &protocol_;
    const function<Request, Response> answer_with_;
    const bool is_open_;
    background *const where_; ///< null: it takes no time
};

template <typename Request, typename Response>
void protocol::add_unary(const char *name, function<Request, Response> answer, bool is_open,
                         background *where) {
    methods_[std::string("/inference.GRPCInferenceService/") + name] = [this, name, answer, is_open,
                                                                        where](origin &&o) {
        return std::make_shared<unary_call<Request, Response>>(*this, std::move(o), name, answer, is_open,
                                                               where);
    };
}

protocol::protocol(const shared_by_calls &s) : shared_by_calls(s) {
    add_unary("ServerLive", &protocol::server_live, true);
    add_unary("ServerReady", &protocol::server_ready, true);
    add_unary("ModelReady", &protocol::model_ready);
    add_unary("ServerMetadata", &protocol::server_metadata);
    add_unary("ModelMetadata", &protocol::model_metadata);
    add_unary("ModelConfig", &protocol::model_config);
    add_unary("ModelStatistics", &protocol::model_statistics);
    add_unary("RepositoryIndex", &protocol::repository_index);
    add_unary("RepositoryModelLoad", &protocol::load, false, &requests.changes);
    add_unary("RepositoryModelUnload", &protocol::unload, false, &requests.changes);
    methods_["/inference.GRPCInferenceService/ModelInfer"] = [this](origin &&o) {
        return std::make_shared<infer_call>(*this, std::move(o));
    };
    methods_["/grpc.health.v1.Health/Check"] = [this](origin &&o) {
        return new_health_call(*this, std::move(o));
    };
    methods_["/grpc.health.v1.Health/Watch"] = [this](origin &&o) {
        return new_health_watcher(*this, std::move(o));
    };
    for (const char *version : {"v1", "v1alpha"})
        methods_[std::string("/grpc.reflection.") + version + ".ServerReflection/ServerReflectionInfo"] =
            [this](origin &&o) { return new_reflection_call(*this, std::move(o)); };
}

std::shared_ptr<call> protocol::make(origin &&o) const {
    const auto found = methods_.find(o.head.path);
    return found == methods_.end() ? std::make_shared<unknown_call>(*this, std::move(o))
                                   : found->second(std::move(o));
}

void protocol::server_live(const inference::ServerLiveRequest &, inference::ServerLiveResponse &r) const {
    r.set_live(true);
}
void protocol::server_ready(const inference::ServerReadyRequest &, inference::ServerReadyResponse &r) const {
    r.set_ready(requests.is_ready());
}
void protocol::model_ready(const inference::ModelReadyRequest &q, inference::ModelReadyResponse &r) const {
    r.set_ready(requests.is_ready(q.name(), q.version()));
}
void protocol::server_metadata(const inference::ServerMetadataRequest &,
                               inference::ServerMetadataResponse &r) const {
    r.set_name("octet");
    r.set_version(version());
    for (const char *extension : extensions)
        r.add_extensions(extension);
}
void protocol::model_metadata(const inference::ModelMetadataRequest &q,
                              inference::ModelMetadataResponse &r) const {
    const auto m = requests.models.find(q.name(), q.version());
    from_json(describe(*m, requests.models.versions(m->name())), r);
}
void protocol::model_config(const inference::ModelConfigRequest &q, inference::ModelConfigResponse &r) const {
    from_json(describe_configuration(*requests.models.find(q.name(), q.version())), *r.mutable_config());
}
void protocol::model_statistics(const inference::ModelStatisticsRequest &q,
                                inference::ModelStatisticsResponse &r) const {
    std::vector<std::shared_ptr<served_model>> models = requests.models.all(q.name());
    if (!q.version().empty())
        models = {requests.models.find(q.name(), q.version())};
    else if (!q.name().empty())
        requests.models.find(q.name(), ""); // or there is none
    from_json(describe_statistics(models), r);
}
void protocol::repository_index(const inference::RepositoryIndexRequest &q,
                                inference::RepositoryIndexResponse &r) const {
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
                    inference::RepositoryModelLoadResponse &) const {
    requests.require_changes();
    requests.models.load(q.model_name());
}
void protocol::unload(const inference::RepositoryModelUnloadRequest &q,
                      inference::RepositoryModelUnloadResponse &) const {
    requests.require_changes();
    requests.models.unload(q.model_name());
}

} // namespace octet::serve
