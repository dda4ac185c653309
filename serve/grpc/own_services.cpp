// Reflection and health: what they answer, written field by field in protobuf's wire format. The messages are
// few, so protoc makes none of them.
// SPDX-License-Identifier: Apache-2.0

#include "grpc/own_services.hpp"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>

#include "grpc/wire_format.hpp"
#include "inference.pb.h"

namespace octet::serve {
namespace {

constexpr std::size_t most_asked = 4096;

/// grpc.reflection.v1.ServerReflection, from which tools learn services and messages. There is one schema to
/// tell about, and the messages of reflection itself are few: its fields are read and written by their
/// numbers.
class reflection_call : public call {
public:
    reflection_call(const shared_by_calls &s, origin &&o) : call(s, std::move(o), "reflection") {
        reads_more_ = true;
    }

private:
    bool is_endless() const override { return true; }
    std::size_t most_message() const override { return most_asked; }
    void end_of_messages() override { finish(0, ""); }
    void work() override {
        const std::string request(message());
        send({field(2, request) + answer_to(request), {}, nullptr});
    }
    static std::string answer_to(const std::string &request) {
        using google::protobuf::FileDescriptor;
        const FileDescriptor *const file = inference::ModelInferRequest::descriptor()->file();
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
            return field(7, field(1, static_cast<std::size_t>(facts_of(outcome::not_found).grpc)) +
                                field(2, "there is no such schema"));
        google::protobuf::FileDescriptorProto schema;
        file->CopyTo(&schema);
        return field(4, field(1, schema.SerializeAsString()));
    }
};

/// grpc.health.v1.Health for the server as a whole: the service that is asked for makes no difference, and is not read.
class health_call : public call {
public:
    health_call(const shared_by_calls &s, origin &&o) : call(s, std::move(o), "health") {}

protected:
    void tell() {
        told_ = shared_.requests.is_ready();
        send({field(1, std::size_t(told_ ? 1 : 2)), {}, nullptr}); // SERVING, NOT_SERVING
    }
    bool told_ = false;

private:
    bool is_open() const override { return true; }
    bool has_message() const override { return false; }
    std::size_t most_message() const override { return most_asked; }
    void work() override {
        tell();
        finish(0, "");
    }
};

class health_watcher final : public health_call {
public:
    using health_call::health_call;

private:
    bool is_endless() const override { return true; }
    void work() override { tell(); }
    void waits(clock::time_point) override {
        if (told_ != shared_.requests.is_ready())
            tell();
    }
};

} // namespace

std::shared_ptr<call> new_reflection_call(const shared_by_calls &s, origin &&o) {
    return std::make_shared<reflection_call>(s, std::move(o));
}
std::shared_ptr<call> new_health_call(const shared_by_calls &s, origin &&o) {
    return std::make_shared<health_call>(s, std::move(o));
}
std::shared_ptr<call> new_health_watcher(const shared_by_calls &s, origin &&o) {
    return std::make_shared<health_watcher>(s, std::move(o));
}

} // namespace octet::serve
