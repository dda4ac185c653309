// A parser with limits on size, depth and repeated keys; files are read only if they are regular ones.
// SPDX-License-Identifier: Apache-2.0
#include "core/small_json.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "octet/error.hpp"

namespace octet::serve {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string &sentence) { throw error(status::invalid_arguments, sentence); }

} // namespace

json read_small_json(std::string_view text) {
    if (text.size() > most_control_bytes)
        refuse("JSON of " + std::to_string(text.size()) + " bytes given, allowed are " +
               std::to_string(most_control_bytes));
    std::vector<std::set<std::string>> keys; ///< keys of the enclosing objects
    const auto look = [&](int depth, json::parse_event_t event, const json &value) {
        if (static_cast<std::size_t>(depth) >= deepest_json)
            refuse("JSON is nested deeper than " + std::to_string(deepest_json) + " levels");
        if (event == json::parse_event_t::object_start)
            keys.emplace_back();
        else if (event == json::parse_event_t::object_end)
            keys.pop_back();
        else if (event == json::parse_event_t::key &&
                 !keys.back().insert(value.get_ref<const std::string &>()).second)
            refuse("JSON: a key stands twice: \"" + value.get<std::string>().substr(0, 100) + '"');
        return true;
    };
    try {
        return json::parse(text, look);
    } catch (const json::parse_error &e) {
        refuse(json_complaint(text, e.byte));
    } catch (const json::out_of_range &) {
        refuse("JSON: a number is beyond all limits");
    }
}

std::string json_complaint(std::string_view text, std::size_t byte) {
    if (byte > text.size())
        return "JSON ends too early, after " + std::to_string(text.size()) +
               " bytes: a value, a quote or a bracket is missing";
    constexpr std::size_t most_shown = 40;
    const std::size_t from = byte > most_shown ? byte - most_shown : 0;
    return "JSON, byte " + std::to_string(byte) + ": the last character of '" +
           std::string(text.substr(from, byte - from)) + "' cannot stand there";
}

std::string read_regular_file(const std::string &path, std::size_t most_bytes) {
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        refuse(path + ": cannot be read: " + std::strerror(errno));
    const auto close = [](const int *f) { ::close(*f); };
    const std::unique_ptr<const int, decltype(close)> closing(&file, close);
    std::string text, complaint;
    struct stat about {};
    if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        complaint = "is no regular file";
    else if (static_cast<std::size_t>(about.st_size) > most_bytes)
        complaint =
            "has " + std::to_string(about.st_size) + " bytes, allowed are " + std::to_string(most_bytes);
    else
        text.resize(static_cast<std::size_t>(about.st_size));
    for (std::size_t at = 0; complaint.empty() && at < text.size();) {
        const ssize_t got = ::read(file, text.data() + at, text.size() - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            complaint = got < 0 ? std::strerror(errno) : "has become shorter while it was read";
        at += static_cast<std::size_t>(got);
    }
    if (!complaint.empty())
        refuse(path + ": " + complaint);
    return text;
}

} // namespace octet::serve
