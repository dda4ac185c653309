// The framing of messages, windows, time limits and the status, for every method.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/call.hpp"

#include <cstring>
#include <limits>

namespace octet::serve {
namespace {

constexpr int internal_status = 13, unimplemented_status = 12;
constexpr std::size_t prefix_bytes = 5, first_memory = 4096; // memory of a message that is only announced
constexpr std::size_t bytes_of_call = 2048 + first_memory;   // with its stream

/// "250m" is 250 ms. Throws refusal.
clock::duration time_of(const std::string &text) {
    using namespace std::chrono;
    constexpr std::pair<char, std::int64_t> units[] = {
        {'H', 3'600'000'000'000}, {'M', 60'000'000'000}, {'S', 1'000'000'000},
        {'m', 1'000'000},         {'u', 1000},           {'n', 1}};
    constexpr std::size_t most_digits = 8;
    constexpr std::int64_t most = 86'400'000'000'000; // a day
    const std::string digits = text.substr(0, text.size() - !text.empty());
    if (digits.empty() || digits.size() > most_digits ||
        digits.find_first_not_of("0123456789") != std::string::npos)
        throw refusal(outcome::invalid, "grpc-timeout is '" + shown(text) + "'");
    for (const auto &[unit, ns] : units)
        if (unit == text.back())
            return nanoseconds(std::min<std::int64_t>(std::stoll(digits), most / ns) * ns);
    throw refusal(outcome::invalid, "grpc-timeout is '" + shown(text) + "'");
}

/// As gRPC writes a sentence: bytes that are no printable ASCII, and %, as %XX.
std::string percent_encoded(const std::string &text) {
    constexpr char digits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= ' ' && byte <= '~' && c != '%')
            encoded += c;
        else
            encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

} // namespace

call::call(const shared_by_calls &s, origin &&o, const char *what)
    : shared_(s), from_(std::move(o)), what_(what), held_(s.budget, from_.client),
      until_(clock::now() + s.receive), moved_(clock::now()) {}

void call::hold(std::size_t bytes) const {
    if (!held_.grow(bytes))
        throw refusal(outcome::overloaded, "requests fill the memory for them");
}

void call::begin() {
    guarded([&] {
        if (from_.head.bytes > shared_.most_header_bytes)
            throw refusal(outcome::too_large, "the header is larger than " +
                                                  std::to_string(shared_.most_header_bytes) + " bytes");
        hold(bytes_of_call + from_.head.bytes);
        if (from_.head.method != "POST" || from_.head.type.rfind("application/grpc", 0) != 0) {
            http_status_ = "415";
            throw refusal(outcome::invalid, "gRPC is POST with content-type application/grpc");
        }
        check();
        if (!is_open())
            opened_ = shared_.secret.opened_by(from_.head.authorization);
        if (!from_.head.timeout.empty())
            deadline_ = clock::now() + time_of(from_.head.timeout);
    });
}

void call::data(const char *bytes, std::size_t size) {
    moved_ = clock::now();
    guarded([&] {
        while (size > 0 && phase_ == phase::receiving) {
            const bool is_prefix = prefix_size_ < prefix_bytes;
            std::size_t taken = 0;
            if (is_prefix) {
                taken = std::min(size, prefix_bytes - prefix_size_);
                std::memcpy(prefix_ + prefix_size_, bytes, taken);
                if ((prefix_size_ += taken) == prefix_bytes)
                    begin_message();
            } else {
                const auto [to, room] = body_->room(std::min(size, body_->missing()));
                taken = std::min({size, room, body_->missing()});
                std::memcpy(to, bytes, taken);
                if (!body_->add(taken))
                    throw refusal(outcome::overloaded, "requests fill the memory for them");
            }
            bytes += taken;
            size -= taken;
            granted_ -= std::min(granted_, taken);
            if (body_ && phase_ == phase::receiving)
                take_message();
        }
        if (reads_more_ && phase_ == phase::working && size > 0) { // the window bounds how much
            hold(size);
            pending_.append(bytes, size);
        }
    });
}

/// The prefix is there: is the message welcome?
void call::begin_message() {
    std::size_t size = 0;
    for (std::size_t i = 1; i < prefix_bytes; i++)
        size = size << 8 | prefix_[i];
    if (prefix_[0] == 1) // a small message may unpack to gigabytes
        return finish(unimplemented_status,
                      "compressed messages are not taken, grpc-encoding is identity only");
    if (prefix_[0] != 0)
        return finish(internal_status, "the message has no prefix of gRPC");
    if (size > most_message())
        throw refusal(outcome::too_large, "the message is larger than max: it has " + std::to_string(size) +
                                              " bytes, at most " + std::to_string(most_message()) +
                                              " are taken");
    body_ = std::make_shared<received_body>(shared_.budget, from_.client, size, first_memory);
}

/// Works with the message if it is complete; else lets the client send more of it, as what has arrived was counted.
void call::take_message() {
    constexpr std::size_t most_ahead = std::size_t(1) << 20;
    const std::size_t missing = body_->missing();
    if (missing == 0) {
        phase_ = phase::working;
        return work();
    }
    if (const std::size_t wanted = std::min(missing, most_ahead);
        granted_ < wanted && granted_ < most_ahead / 2) {
        from_.on.open_window(from_.stream, wanted - granted_);
        granted_ = wanted;
    }
}

void call::end() {
    is_remote_over_ = true;
    if (phase_ != phase::receiving)
        return;
    guarded([&] {
        if (has_message() || prefix_size_ > 0)
            return end_of_messages();
        phase_ = phase::working;
        work();
    });
}

void call::end_of_messages() {
    throw refusal(outcome::invalid, "there is no message, or only a part of one");
}

void call::look(clock::time_point now, bool is_draining, clock::time_point stuck) {
    if (is_ending_ && sent_ == size_ && now - moved_ > std::chrono::milliseconds(100))
        from_.on.reset(from_.stream, false);
    if (sent_ < size_ || is_ending_)
        return now > until_ || moved_ < stuck ? from_.on.reset(from_.stream, true) : void();
    if (is_draining && is_endless())
        return finish(facts_of(outcome::unavailable).grpc, "the server stops");
    if (phase_ != phase::receiving)
        return waits(now);
    if (now > deadline_)
        refuse(refusal(outcome::expired, "its time is over"));
    else if (now > until_)
        refuse(refusal(outcome::cancelled, "the message did not arrive within " +
                                               std::to_string(shared_.receive.count()) + " ms"));
    else if (moved_ < stuck)
        refuse(refusal(outcome::unavailable, "the server stops"));
}

void call::closed() {
    if (phase_ != phase::over)
        left();
    phase_ = phase::over;
}

// ---- The answer

void call::send(outgoing &&message) {
    std::size_t size = message.text.size();
    for (const byte_range &part : message.parts)
        size += part.size;
    char prefix[prefix_bytes] = {};
    for (std::size_t i = 1; i < prefix_bytes; i++)
        prefix[i] = static_cast<char>(size >> 8 * (prefix_bytes - 1 - i));
    message.text.insert(0, prefix, prefix_bytes);
    out_ = std::move(message);
    sent_ = 0;
    size_ = size + prefix_bytes;
    moved_ = clock::now();
    until_ = moved_ + shared_.send;
    if (has_header_)
        return from_.on.resume(from_.stream);
    has_header_ = true;
    wire::fields header{{":status", "200"}, {"content-type", "application/grpc"}};
    if (is_traceparent(from_.head.trace))
        header.emplace_back("traceparent", from_.head.trace);
    from_.on.respond(from_.stream, header, false);
}

void call::finish(int code, const std::string &sentence) {
    if (is_ending_)
        return;
    phase_ = phase::over;
    is_ending_ = true;
    code_ = code;
    sentence_ = percent_encoded(sentence);
    if (sent_ == size_) {
        moved_ = clock::now();
        until_ = moved_ + shared_.send;
        body_.reset();
    }
    if (has_header_)
        return from_.on.resume(from_.stream);
    wire::fields header{{":status", http_status_}, {"content-type", "application/grpc"}};
    for (auto &field : trailer())
        header.push_back(std::move(field));
    has_header_ = true;
    from_.on.respond(from_.stream, header, true);
}

wire::fields call::trailer() const {
    wire::fields fields{{"grpc-status", std::to_string(code_)}};
    if (!sentence_.empty())
        fields.emplace_back("grpc-message", sentence_);
    if (!retry_after_.empty())
        fields.emplace_back("retry-after", retry_after_);
    if (code_ == unimplemented_status)
        fields.emplace_back("grpc-accept-encoding", "identity");
    return fields;
}

void call::refuse(const refusal &e) {
    access line;
    line.protocol = "grpc";
    line.what = what_;
    line.model = model();
    line.trace = is_traceparent(from_.head.trace) ? from_.head.trace : "";
    line.peer = from_.peer;
    shared_.requests.refused(std::move(line), e);
    finish(e.why, e.what());
}

void call::finish(outcome why, const std::string &sentence) {
    if (why == outcome::overloaded || why == outcome::unavailable)
        retry_after_ = std::to_string(shared_.requests.retry_after(model()));
    finish(facts_of(why).grpc, sentence);
}

std::size_t call::ready(std::size_t most, bool &is_last) const {
    const std::size_t size = std::min(most, size_ - sent_);
    is_last = is_ending_ && sent_ + size == size_;
    return size;
}

void call::take(std::size_t size, std::vector<char> &to) {
    moved_ = clock::now();
    std::size_t before = sent_; // already sent bytes of this piece
    sent_ += size;
    const auto append = [&](const char *data, std::size_t bytes) {
        const std::size_t skipped = std::min(before, bytes), taken = std::min(bytes - skipped, size);
        to.insert(to.end(), data + skipped, data + skipped + taken);
        before -= skipped;
        size -= taken;
    };
    append(out_.text.data(), out_.text.size());
    for (const byte_range &part : out_.parts)
        append(reinterpret_cast<const char *>(part.data), part.size);
    if (sent_ < size_)
        return;
    out_ = {};
    if (is_ending_ || !reads_more_)
        return;
    // The next message of several: what has come of it already, then what the client may send again.
    held_.shrink(pending_.size());
    phase_ = phase::receiving;
    until_ = moved_ + shared_.receive;
    const std::size_t consumed = prefix_bytes + message().size();
    body_.reset();
    prefix_size_ = 0;
    from_.on.open_window(from_.stream, consumed);
    granted_ += consumed;
    const std::string more = std::move(pending_);
    pending_.clear();
    data(more.data(), more.size());
    if (is_remote_over_)
        end();
}

} // namespace octet::serve
