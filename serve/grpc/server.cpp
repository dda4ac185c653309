// gRPC's callback interface: a call is an object that waits for its answer, not a thread.

#include "grpc/server.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/datatypes.hpp"
#include "inference.grpc.pb.h"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using context = grpc::CallbackServerContext;

grpc::StatusCode code_of(outcome o) {
    switch (o) {
    case outcome::ok:
        return grpc::StatusCode::OK;
    case outcome::invalid:
        return grpc::StatusCode::INVALID_ARGUMENT;
    case outcome::unauthorized:
        return grpc::StatusCode::UNAUTHENTICATED;
    case outcome::forbidden:
        return grpc::StatusCode::PERMISSION_DENIED;
    case outcome::not_found:
        return grpc::StatusCode::NOT_FOUND;
    case outcome::too_large:
    case outcome::overloaded:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case outcome::unavailable:
        return grpc::StatusCode::UNAVAILABLE;
    case outcome::expired:
        return grpc::StatusCode::DEADLINE_EXCEEDED;
    case outcome::cancelled:
        return grpc::StatusCode::CANCELLED;
    case outcome::failed:
        break;
    }
    return grpc::StatusCode::INTERNAL;
}

std::string metadata_of(const context &c, const char *key) {
    const auto found = c.client_metadata().find(key);
    return found == c.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

template <typename Field> void append(std::vector<double> &numbers, const Field &field) {
    numbers.insert(numbers.end(), field.begin(), field.end());
}

std::vector<double> numbers_of(const inference::InferTensorContents &c) {
    if (c.uint64_contents_size() + c.fp64_contents_size() + c.bytes_contents_size() > 0)
        throw refusal(outcome::invalid,
                      "no model has inputs of 64-bit floats, unsigned 64-bit integers or strings");
    std::vector<double> numbers;
    append(numbers, c.bool_contents());
    append(numbers, c.int_contents());
    append(numbers, c.int64_contents());
    append(numbers, c.uint_contents());
    append(numbers, c.fp32_contents());
    return numbers;
}

infer_request request_of(const ModelInferRequest &r) {
    infer_request request;
    request.model = r.model_name();
    request.version = r.model_version();
    request.id = r.id();
    const bool is_raw = r.raw_input_contents_size() > 0;
    if (is_raw && r.raw_input_contents_size() != r.inputs_size())
        throw refusal(outcome::invalid, std::to_string(r.raw_input_contents_size()) +
                                            " raw_input_contents for " + std::to_string(r.inputs_size()) +
                                            " inputs");
    for (int i = 0; i < r.inputs_size(); i++) {
        given_tensor t;
        t.name = r.inputs(i).name();
        t.datatype = r.inputs(i).datatype();
        t.shape.assign(r.inputs(i).shape().begin(), r.inputs(i).shape().end());
        if (is_raw)
            t.bytes = byte_range{reinterpret_cast<const std::byte *>(r.raw_input_contents(i).data()),
                                 r.raw_input_contents(i).size()};
        else
            t.numbers = numbers_of(r.inputs(i).contents());
        request.inputs.push_back(std::move(t));
    }
    for (const auto &output : r.outputs())
        request.outputs.push_back(output.name());
    for (const auto &[name, value] : r.parameters()) {
        if (name == "timeout")
            request.timeout_us =
                value.has_uint64_param()
                    ? static_cast<std::int64_t>(std::min<std::uint64_t>(value.uint64_param(), 1ull << 62))
                    : value.int64_param();
        else if (name == "profile")
            request.wants_profile = value.bool_param();
    }
    return request;
}

void fill(ModelInferResponse &r, const service::call &c) {
    const job &j = *c.work;
    r.set_model_name(c.model->name());
    r.set_model_version(c.model->version());
    r.set_id(c.id);
    if (!j.profile.empty())
        (*r.mutable_parameters())["profile"].set_string_param(j.profile);
    for (std::size_t i = 0; i < j.wanted.size(); i++) {
        const tensor_info &t = c.model->outputs()[j.wanted[i]];
        auto &output = *r.add_outputs();
        output.set_name(t.name);
        output.set_datatype(protocol_name(t.type));
        for (const std::int64_t d : j.output_dims[i])
            output.add_shape(d);
        r.add_raw_output_contents(j.outputs[i].data, j.outputs[i].size);
    }
}

/// A call that waits for its inference.
class infer_call : public grpc::ServerUnaryReactor {
public:
    infer_call(service &s, context &c, const ModelInferRequest &request, ModelInferResponse &response)
        : service_(s), context_(c), response_(response) {
        const std::string trace = metadata_of(c, "traceparent");
        if (!trace.empty())
            c.AddInitialMetadata("traceparent", trace);
        try {
            infer_request r = request_of(request);
            r.trace = trace;
            if (c.deadline() != std::chrono::system_clock::time_point::max())
                r.deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                                c.deadline() - std::chrono::system_clock::now());
            auto call =
                service_.infer(std::move(r), "grpc",
                               [this](const std::shared_ptr<const service::call> &done) { answer(*done); });
            const std::lock_guard<std::mutex> lock(mutex_);
            if (is_cancelled_)
                give_up(*call);
            call_ = std::move(call);
        } catch (const refusal &e) {
            service_.refused("grpc", "infer", e, request.model_name(), trace);
            if (e.why == outcome::overloaded || e.why == outcome::unavailable)
                context_.AddTrailingMetadata("retry-after",
                                             std::to_string(service_.retry_after(request.model_name())));
            Finish({code_of(e.why), e.what()});
        } catch (const std::exception &e) {
            Finish({grpc::StatusCode::INTERNAL, e.what()});
        }
    }

    void OnCancel() override {
        std::shared_ptr<const service::call> call;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_cancelled_ = true;
            call = call_;
        }
        if (call)
            give_up(*call);
    }
    void OnDone() override { delete this; }

private:
    /// gRPC cancels also what a deadline has ended; the client's own comes first, by the time of the request's way.
    void give_up(const service::call &c) {
        constexpr auto way = std::chrono::milliseconds(10);
        const bool is_expired =
            c.work->deadline != clock::time_point::max() && c.work->deadline - way <= clock::now();
        is_expired ? service_.expire(c) : service_.cancel(c);
    }
    void answer(const service::call &c) {
        if (c.work->result != outcome::ok)
            return Finish({code_of(c.work->result), c.work->sentence});
        fill(response_, c);
        Finish(grpc::Status::OK);
    }

    service &service_;
    context &context_;
    ModelInferResponse &response_;
    std::mutex mutex_;
    bool is_cancelled_ = false;
    std::shared_ptr<const service::call> call_;
};

class protocol : public inference::GRPCInferenceService::CallbackService {
public:
    protocol(service &s, const token &t) : service_(s), token_(t) {}

private:
    using reactor = grpc::ServerUnaryReactor;

    /// What is answered at once: `work` fills the response or throws.
    template <typename Work> reactor *answer(context *c, bool is_open, const char *what, const Work &work) {
        reactor *const r = c->DefaultReactor();
        grpc::Status status;
        try {
            if (!is_open)
                check(*c);
            work();
        } catch (const refusal &e) {
            service_.refused("grpc", what, e);
            status = {code_of(e.why), e.what()};
        } catch (const std::exception &e) {
            status = {grpc::StatusCode::INTERNAL, e.what()};
        }
        r->Finish(status);
        return r;
    }
    void check(const context &c) const {
        if (!token_.allows(metadata_of(c, "authorization")))
            throw refusal(outcome::unauthorized, "a bearer token is required");
    }

    reactor *ServerLive(context *c, const inference::ServerLiveRequest *,
                        inference::ServerLiveResponse *r) override {
        return answer(c, true, "live", [&] { r->set_live(true); });
    }
    reactor *ServerReady(context *c, const inference::ServerReadyRequest *,
                         inference::ServerReadyResponse *r) override {
        return answer(c, true, "ready", [&] { r->set_ready(service_.is_ready()); });
    }
    reactor *ModelReady(context *c, const inference::ModelReadyRequest *q,
                        inference::ModelReadyResponse *r) override {
        return answer(c, false, "model ready", [&] {
            try {
                service_.models.find(q->name(), q->version());
                r->set_ready(true);
            } catch (const refusal &e) {
                if (e.why == outcome::not_found)
                    throw;
                r->set_ready(false);
            }
        });
    }
    reactor *ServerMetadata(context *c, const inference::ServerMetadataRequest *,
                            inference::ServerMetadataResponse *r) override {
        return answer(c, false, "metadata", [&] {
            r->set_name("octet");
            r->set_version(version());
            r->add_extensions("model_repository");
        });
    }
    reactor *ModelMetadata(context *c, const inference::ModelMetadataRequest *q,
                           inference::ModelMetadataResponse *r) override {
        return answer(c, false, "model metadata", [&] {
            const auto m = service_.models.find(q->name(), q->version());
            r->set_name(m->name());
            r->set_platform(m->platform());
            for (const std::string &v : service_.models.versions(m->name()))
                r->add_versions(v);
            const auto tell = [](const tensor_info &t, inference::ModelMetadataResponse::TensorMetadata &to) {
                to.set_name(t.name);
                to.set_datatype(protocol_name(t.type));
                for (const dim_t d : t.shown())
                    to.add_shape(d);
            };
            for (const tensor_info &t : m->inputs())
                tell(t, *r->add_inputs());
            for (const tensor_info &t : m->outputs())
                tell(t, *r->add_outputs());
        });
    }
    reactor *ModelInfer(context *c, const ModelInferRequest *q, ModelInferResponse *r) override {
        if (!token_.allows(metadata_of(*c, "authorization")))
            return answer(c, false, "infer", [] {});
        return new infer_call(service_, *c, *q, *r);
    }
    reactor *RepositoryIndex(context *c, const inference::RepositoryIndexRequest *q,
                             inference::RepositoryIndexResponse *r) override {
        return answer(c, false, "index", [&] {
            for (const auto &row : service_.models.index()) {
                if (q->ready() && row.state != "READY")
                    continue;
                auto &to = *r->add_models();
                to.set_name(row.name);
                to.set_version(row.version);
                to.set_state(row.state);
                to.set_reason(row.reason);
            }
        });
    }
    reactor *RepositoryModelLoad(context *c, const inference::RepositoryModelLoadRequest *q,
                                 inference::RepositoryModelLoadResponse *) override {
        return answer(c, false, "load", [&] {
            service_.require_changes();
            service_.models.load(q->model_name());
        });
    }
    reactor *RepositoryModelUnload(context *c, const inference::RepositoryModelUnloadRequest *q,
                                   inference::RepositoryModelUnloadResponse *) override {
        return answer(c, false, "unload", [&] {
            service_.require_changes();
            service_.models.unload(q->model_name());
        });
    }

    service &service_;
    const token &token_;
};

std::string text_of(const std::string &path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file)
        throw error(status::invalid_arguments, path + ": cannot be read");
    return text.str();
}

/// A file in memory, which others open by its path.
class memory_file {
public:
    explicit memory_file(const char *name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
        if (descriptor_ < 0)
            throw error(status::runtime_error, std::string("no file in memory: ") + std::strerror(errno));
    }
    ~memory_file() { ::close(descriptor_); }
    memory_file(const memory_file &) = delete;
    memory_file &operator=(const memory_file &) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
    void write(const std::string &text) const {
        if (::ftruncate(descriptor_, 0) != 0 ||
            ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            throw error(status::runtime_error,
                        std::string("no memory for a certificate: ") + std::strerror(errno));
    }

private:
    int descriptor_;
};

/// gRPC takes another certificate from files that it looks at every second, whatever is in them at that moment. It is
/// given copies, which change when the server is told to and the files were found to be good.
class watched_certificate {
public:
    void read(const grpc_options &o) const {
        const std::string key = text_of(o.key), certificate = text_of(o.certificate);
        key_.write(key);
        certificate_.write(certificate);
    }
    std::shared_ptr<grpc::ServerCredentials> credentials() const {
        using namespace grpc::experimental;
        constexpr unsigned seconds = 1;
        TlsServerCredentialsOptions tls(
            std::make_shared<FileWatcherCertificateProvider>(key_.path(), certificate_.path(), seconds));
        tls.watch_identity_key_cert_pairs();
        tls.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
        return TlsServerCredentials(tls);
    }

private:
    memory_file key_{"key"}, certificate_{"certificate"};
};

} // namespace

struct grpc_server::state {
    state(service &s, const token &t) : implementation(s, t) {}
    protocol implementation;
    grpc_options options;
    std::unique_ptr<watched_certificate> certificate; ///< null: no TLS; goes after the server
    std::unique_ptr<grpc::Server> server;
    int port = 0;
};

grpc_server::grpc_server(const grpc_options &options, service &s, const token &t)
    : state_(std::make_unique<state>(s, t)) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ResourceQuota quota("octet");
    quota.Resize(options.most_total_bytes);
    grpc::ServerBuilder builder;
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(std::min<std::size_t>(options.most_body_bytes, 0x7fffffff)));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0); // a second server on the port is an error
    const auto limit = [&](const char *name, std::int64_t value) {
        builder.AddChannelArgument(name, static_cast<int>(std::min<std::int64_t>(value, 0x7fffffff)));
    };
    limit(GRPC_ARG_MAX_METADATA_SIZE, static_cast<std::int64_t>(options.most_header_bytes));
    limit(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle.count());
    limit(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, options.receive.count());
    state_->options = options;
    if (!options.certificate.empty()) {
        state_->certificate = std::make_unique<watched_certificate>();
        state_->certificate->read(options);
    }
    builder.AddListeningPort(options.address,
                             state_->certificate ? state_->certificate->credentials()
                                                 : grpc::InsecureServerCredentials(),
                             &state_->port);
    builder.RegisterService(&state_->implementation);
    state_->server = builder.BuildAndStart();
    if (!state_->server || state_->port == 0)
        throw error(status::invalid_arguments, "gRPC cannot listen on " + options.address);
}

grpc_server::~grpc_server() { drain(clock::now()); }

unsigned short grpc_server::port() const { return static_cast<unsigned short>(state_->port); }

void grpc_server::reload_certificate() {
    if (state_->certificate)
        state_->certificate->read(state_->options);
}

void grpc_server::leave() {
    if (auto *const health = state_->server->GetHealthCheckService())
        health->SetServingStatus(false);
}

void grpc_server::drain(clock::time_point until) {
    state_->server->Shutdown(std::chrono::system_clock::now() +
                             std::chrono::duration_cast<std::chrono::microseconds>(
                                 std::max(until - clock::now(), clock::duration(0))));
}

} // namespace octet::serve
