// The fields of their messages, written by number.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/own_services.hpp"

#include <algorithm>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>

#include "inference.grpc.pb.h"

namespace octet::serve {
namespace {

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
        answer_ = buffer_of(health_text(shared_.requests.is_ready()));
        StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    }
};

} // namespace

stream *new_reflection_call(shared_by_calls &s, context &c) {
    call *const made = new reflection_call(s, c, "reflection");
    made->begin(false, true);
    return made;
}

stream *new_health_call(shared_by_calls &s, context &c) {
    call *const made = new health_call(s, c, "health");
    made->begin(true, false);
    return made;
}

/// One that is told when the health changes.
class health_watchers::watcher : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
public:
    watcher(health_watchers &a, const context &c)
        : all_(a), client_(address_of(c)), connection_(connection_of(c)) {
        const std::lock_guard<std::mutex> lock(all_.mutex_);
        constexpr std::ptrdiff_t most = 1024;
        const auto &all = all_.watchers_;
        const auto of_client =
            std::count_if(all.begin(), all.end(), [&](const watcher *w) { return w->client_ == client_; });
        if (static_cast<std::ptrdiff_t>(all.size()) < most && of_client < most / 4) {
            all_.watchers_.insert(this);
            tell();
        } else {
            end({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch already"});
        }
    }
    /// These two with the lock of all.
    void tell() {
        const int now = all_.shared_.requests.is_ready();
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
        all_.watchers_.erase(this);
    }
    void OnWriteDone(bool) override {
        const std::lock_guard<std::mutex> lock(all_.mutex_);
        is_writing_ = false;
        tell();
    }
    void OnCancel() override {
        all_.shared_.resets.count(connection_);
        const std::lock_guard<std::mutex> lock(all_.mutex_);
        end({grpc::StatusCode::CANCELLED, ""});
    }
    void OnDone() override { delete this; }

private:
    health_watchers &all_;
    const std::string client_, connection_;
    bool is_writing_ = false, is_over_ = false;
    int told_ = -1;
    grpc::ByteBuffer text_;
};

stream *health_watchers::add(const context &c) { return new watcher(*this, c); }

void health_watchers::tell() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (watcher *w : watchers_)
        w->tell();
}

void health_watchers::end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!watchers_.empty())
        (*watchers_.begin())->end({grpc::StatusCode::UNAVAILABLE, "the server stops"});
}

} // namespace octet::serve
