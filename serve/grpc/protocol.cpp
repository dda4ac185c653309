// Each call is a small state machine of gRPC's callbacks: read, check, queue, reply.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/protocol.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/util/json_util.h>

#include "core/classification.hpp"
#include "core/description.hpp"
#include "core/small_json.hpp"
#include "grpc/bounded_message.hpp"
#include "octet/settings.hpp"

namespace octet::serve {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using context = grpc::CallbackServerContext;

namespace {

grpc::StatusCode code_of(outcome o) { return static_cast<grpc::StatusCode>(facts_of(o).grpc); }

std::string metadata_of(const context &c, const char *key) {
    const auto found = c.client_metadata().find(key);
    return found == c.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

/// "ipv4:10.0.0.1:4711" or "ipv6:%5B::1%5D:4711" as HTTP names the client, with whom it shares an account: 10.0.0.1, ::1.
std::string address_of(const context &c) {
    std::string address = c.peer();
    address.erase(std::min(address.rfind(':'), address.size()));
    address.erase(0, address.find(':') + 1);
    for (const std::string bracket : {"%5B", "%5D", "[", "]", "::ffff:"})
        if (const auto at = address.find(bracket); at != address.npos)
            address.erase(at, bracket.size());
    return address;
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

std::int64_t whole_number(const std::string &name, const inference::InferParameter &value) {
    constexpr std::uint64_t most = std::uint64_t(1) << 62;
    if (value.has_uint64_param())
        return static_cast<std::int64_t>(std::min(value.uint64_param(), most));
    if (!value.has_int64_param())
        throw refusal(outcome::invalid, "parameter '" + name + "' is no whole number");
    return value.int64_param();
}

infer_request request_of(const ModelInferRequest &r) {
    infer_request request;
    request.model = r.model_name();
    request.version = r.model_version();
    if (r.id().size() > most_id_bytes)
        throw refusal(outcome::invalid, "id has " + std::to_string(r.id().size()) + " bytes, at most " +
                                            std::to_string(most_id_bytes) + " are taken");
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
        for (const auto &[name, value] : r.inputs(i).parameters())
            check_parameter(name, {});
        if (is_raw && r.inputs(i).has_contents())
            throw refusal(outcome::invalid,
                          "input '" + shown(t.name) + "' has contents beside raw_input_contents");
        if (is_raw)
            t.bytes = byte_range{reinterpret_cast<const std::byte *>(r.raw_input_contents(i).data()),
                                 r.raw_input_contents(i).size()};
        else
            t.numbers = numbers_of(r.inputs(i).contents());
        request.inputs.push_back(std::move(t));
    }
    for (const auto &output : r.outputs()) {
        request.outputs.push_back(output.name());
        for (const auto &[name, value] : output.parameters()) {
            check_parameter(name, {"classification"});
            request.classes[output.name()] = whole_number(name, value);
        }
    }
    for (const auto &[name, value] : r.parameters()) {
        check_parameter(name, parameters_of_request);
        if (name == "timeout")
            request.timeout_us = whole_number(name, value);
        else if (name == "priority")
            request.priority = whole_number(name, value);
        else if (!value.has_bool_param())
            throw refusal(outcome::invalid, "parameter '" + name + "' is no bool");
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
        output.set_datatype(datatype_of_output(*c.model, j, i));
        for (const std::int64_t d : j.output_dims[i])
            output.add_shape(d);
        r.add_raw_output_contents(j.outputs[i].data, j.outputs[i].size);
    }
}

/// A message that has the fields of this object.
template <typename Message> void from_json(const nlohmann::ordered_json &j, Message &to) {
    const auto status = google::protobuf::util::JsonStringToMessage(
        j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), &to);
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

/// Numbers travel in a byte or more and become one of 8 bytes in the message and 8, at times twice that, of the request.
constexpr std::size_t bytes_of_number = 24;

} // namespace

/// A call from its header to its end: the token is checked, a message is read as soon as there is room for one, then `work`.
class call : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
public:
    call(protocol &p, context &c, const char *what)
        : protocol_(p), context_(c), what_(what), client(address_of(c)),
          held_(p.budget, p.budget.client(client)) {}

    /// Called by the method that made it. Nothing of the object may be used afterwards.
    void begin(bool is_open, bool has_message) {
        try {
            if (!is_open)
                opened_ = protocol_.secret.opened_by(metadata_of(context_, "authorization"));
            if (!has_message)
                return work();
            read_next();
        } catch (const refusal &e) {
            refuse(e);
        }
    }
    void read() { StartRead(&bytes_); }
    void give_up() { context_.TryCancel(); }
    /// Whether it ends by itself, as all do that have one message.
    virtual bool has_end() const { return true; }

    void OnReadDone(bool is_good) override {
        protocol_.room.leave(*this);
        guarded([&] {
            if (!is_good)
                return end_of_messages();
            if (!held_.grow(2 * bytes_.Length())) // its bytes, and the message that they become
                throw refusal(outcome::overloaded, "requests fill the memory for them");
            work();
        });
    }
    void OnCancel() override {
        if (protocol_.room.leave(*this))
            Finish({grpc::StatusCode::CANCELLED, ""});
    }
    void OnDone() override {
        protocol_.room.leave(*this);
        delete this;
    }

protected:
    /// The message is there, if the method has one. Throws, or finishes the call now or later.
    virtual void work() = 0;
    virtual void end_of_messages() { Finish({grpc::StatusCode::INVALID_ARGUMENT, "there is no message"}); }
    virtual std::string model() const { return ""; }

    void read_next() {
        if (!protocol_.room.enter(*this))
            throw refusal(outcome::overloaded, "too many messages wait to be received");
    }
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
    void refuse(const refusal &e) {
        access line;
        line.protocol = "grpc";
        line.what = what_;
        line.model = model();
        line.trace = metadata_of(context_, "traceparent");
        line.peer = client;
        protocol_.requests.refused(std::move(line), e);
        if (e.why == outcome::overloaded || e.why == outcome::unavailable)
            context_.AddTrailingMetadata("retry-after",
                                         std::to_string(protocol_.requests.retry_after(model())));
        Finish({code_of(e.why), e.what()});
    }
    template <typename Message> void parse(Message &to) {
        {
            grpc::ProtoBufferReader bytes(&bytes_);
            const message_extent extent = extent_of_message(bytes, *Message::descriptor());
            numbers_held_ = held_.another();
            if (!numbers_held_->grow(extent.numbers * bytes_of_number))
                throw refusal(outcome::overloaded, "requests fill the memory for them");
        }
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
        protocol_.room.write(*this);
        StartWriteAndFinish(&answer_, grpc::WriteOptions(), status);
    }

    protocol &protocol_;
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

// ---- Methods

namespace {

/// Answered at once.
template <typename Request, typename Response> class unary_call : public call {
public:
    using function = void (protocol::*)(const Request &, Response &);
    unary_call(protocol &p, context &c, const char *what, function f, background *where)
        : call(p, c, what), answer_with_(f), where_(where) {}

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
    const function answer_with_;
    background *const where_; ///< null: it takes no time
    Request request_;
};

/// A call that waits for its inference.
class infer_call : public call {
public:
    using call::call;

    void OnCancel() override {
        std::shared_ptr<const service::call> waits;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_cancelled_ = true;
            waits = call_;
        }
        if (waits)
            give_up(*waits);
        else
            call::OnCancel();
    }

private:
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
        auto waits = protocol_.requests.infer(
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
        is_expired ? protocol_.requests.expire(c) : protocol_.requests.cancel(c);
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

std::string varint(std::size_t n) {
    std::string bytes;
    for (; n > 127; n >>= 7)
        bytes += static_cast<char>(n | 128);
    return bytes += static_cast<char>(n);
}
std::string field(unsigned number, const std::string &value) {
    return varint(number << 3 | 2) + varint(value.size()) + value;
}
std::string field(unsigned number, std::size_t value) { return varint(number << 3) + varint(value); }

grpc::ByteBuffer buffer_of(const std::string &bytes) {
    const grpc::Slice slice(bytes);
    return {&slice, 1};
}

/// grpc.reflection.v1.ServerReflection, from which tools learn services and messages. There is one schema to tell about, and the
/// messages of reflection itself are few: its fields are read and written by their numbers.
class reflection_call : public call {
public:
    using call::call;
    bool has_end() const override { return false; }
    void OnWriteDone(bool is_good) override {
        if (!is_good)
            return Finish({grpc::StatusCode::CANCELLED, ""});
        try {
            read_next();
        } catch (const refusal &e) {
            refuse(e);
        }
    }

private:
    void end_of_messages() override { Finish(grpc::Status::OK); }
    void work() override {
        const std::size_t size = bytes_.Length();
        grpc::Slice whole;
        if (size > 4096 || !bytes_.DumpToSingleSlice(&whole).ok())
            throw refusal(outcome::invalid, "reflection: a message of " + std::to_string(size) + " bytes");
        const std::string request(reinterpret_cast<const char *>(whole.begin()), whole.size());
        answer_ = buffer_of(field(2, request) + answer_to(request));
        bytes_.Clear();
        held_.shrink(2 * size);
        StartWrite(&answer_);
    }
    static std::string answer_to(const std::string &request) {
        using google::protobuf::FileDescriptor;
        const FileDescriptor *const file = ModelInferRequest::descriptor()->file();
        const FileDescriptor *found = nullptr;
        google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t *>(request.data()),
                                                  static_cast<int>(request.size()));
        while (const std::uint32_t tag = in.ReadTag()) {
            std::uint32_t size = 0;
            std::string text;
            if ((tag & 7) != 2 || !in.ReadVarint32(&size) || !in.ReadString(&text, static_cast<int>(size)))
                break;
            if (tag >> 3 == 7)
                return field(6, field(1, field(1, "inference.GRPCInferenceService")) +
                                    field(1, field(1, "grpc.health.v1.Health")));
            if (tag >> 3 == 3)
                found = file->pool()->FindFileByName(text);
            if (tag >> 3 == 4)
                found = file->pool()->FindFileContainingSymbol(text);
        }
        if (found != file)
            return field(7, field(1, std::size_t{grpc::StatusCode::NOT_FOUND}) +
                                field(2, "there is no such schema"));
        google::protobuf::FileDescriptorProto schema;
        file->CopyTo(&schema);
        return field(4, field(1, schema.SerializeAsString()));
    }
};

std::string health_text(bool is_serving) { return field(1, is_serving ? 1 : 2); }

/// Answers grpc.health.v1.Health for the server as a whole: the service that is asked for makes no difference, and is not read.
class health_call : public call {
public:
    using call::call;

private:
    void work() override {
        answer_ = buffer_of(health_text(protocol_.requests.is_ready()));
        StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    }
};

} // namespace

/// One that is told when the health changes.
class protocol::watcher : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
public:
    watcher(protocol &p, const context &c) : protocol_(p), client_(address_of(c)) {
        const std::lock_guard<std::mutex> lock(protocol_.mutex_);
        constexpr std::ptrdiff_t most = 1024;
        const auto &all = protocol_.watchers_;
        const auto of_client =
            std::count_if(all.begin(), all.end(), [&](const watcher *w) { return w->client_ == client_; });
        if (static_cast<std::ptrdiff_t>(all.size()) < most && of_client < most / 4) {
            protocol_.watchers_.insert(this);
            tell();
        } else {
            end({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch already"});
        }
    }
    /// These two with the protocol's lock.
    void tell() {
        const int now = protocol_.requests.is_ready();
        if (is_writing_ || is_over_ || now == told_)
            return;
        is_writing_ = true;
        told_ = now;
        text_ = buffer_of(health_text(now));
        StartWrite(&text_);
    }
    void end(const grpc::Status &status) {
        if (!is_over_)
            Finish(status);
        is_over_ = true;
        protocol_.watchers_.erase(this);
    }
    void OnWriteDone(bool) override {
        const std::lock_guard<std::mutex> lock(protocol_.mutex_);
        is_writing_ = false;
        tell();
    }
    void OnCancel() override {
        const std::lock_guard<std::mutex> lock(protocol_.mutex_);
        end({grpc::StatusCode::CANCELLED, ""});
    }
    void OnDone() override { delete this; }

private:
    protocol &protocol_;
    const std::string client_;
    bool is_writing_ = false, is_over_ = false;
    int told_ = -1;
    grpc::ByteBuffer text_;
};

protocol::~protocol() = default;

void protocol::tell_health() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (watcher *w : watchers_)
        w->tell();
}

void protocol::end_streams() {
    room.end_endless();
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!watchers_.empty())
        (*watchers_.begin())->end({grpc::StatusCode::UNAVAILABLE, "the server stops"});
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
    : requests(s), secret(t), budget(b), room(reading_places, most_receive) {
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
    const auto begun = [](auto *made, bool is_open, bool has_message) {
        made->begin(is_open, has_message);
        return made;
    };
    add("/inference.GRPCInferenceService/ModelInfer",
        [this, begun](context *c) { return begun(new infer_call(*this, *c, "infer"), false, true); });
    add("/grpc.health.v1.Health/Check",
        [this, begun](context *c) { return begun(new health_call(*this, *c, "health"), true, false); });
    add("/grpc.health.v1.Health/Watch", [this](context *c) { return new watcher(*this, *c); });
    for (const char *path : {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                             "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"})
        add(path, [this, begun](context *c) {
            return begun(new reflection_call(*this, *c, "reflection"), false, true);
        });
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
