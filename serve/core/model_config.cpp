// A table of keys, each with the function that reads its value; a key that is not in it is an error.
// SPDX-License-Identifier: Apache-2.0
#include "core/model_config.hpp"

#include <algorithm>
#include <functional>

#include "core/small_json.hpp"
#include "octet/profile.hpp"

namespace octet::serve {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string &complaint) {
    throw error(status::invalid_arguments, "config.json: " + complaint);
}

std::int64_t whole(const std::string &key, const json &value, std::int64_t low, std::int64_t high) {
    if (value.is_number_integer() && value >= low && value <= high)
        return value.get<std::int64_t>();
    refuse("\"" + key + "\" is " + value.dump() + ", allowed are whole numbers from " + std::to_string(low) +
           " to " + std::to_string(high));
}

memory::dims dims(const std::string &key, const json &value, std::int64_t high) {
    if (!value.is_array())
        refuse("\"" + key + "\" is " + value.dump() + ", allowed is a list of whole numbers");
    memory::dims values;
    for (const json &v : value)
        values.push_back(whole(key, v, 1, high));
    return values;
}

const json &object(const std::string &key, const json &value) {
    if (!value.is_object())
        refuse("\"" + key + "\" is " + value.dump() + ", allowed is an object");
    return value;
}

std::string digits(const std::string &key, const json &value) {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
        refuse("\"" + key + "\" is " + value.dump() + ", allowed are 64 hexadecimal digits in lower case");
    return text;
}

constexpr std::int64_t largest = 1'000'000'000, tebibyte = std::int64_t(1) << 40;

using reader = std::function<void(const std::string &, const json &, model_config &)>;

const std::map<std::string, reader> &readers() {
    static const std::map<std::string, reader> keys = {
        {"instances",
         [](auto &key, auto &v, auto &c) { c.instances = static_cast<int>(whole(key, v, 1, 256)); }},
        {"max_batch_size", [](auto &key, auto &v, auto &c) { c.most_rows = whole(key, v, 1, 4096); }},
        {"preferred_batch_sizes",
         [](auto &key, auto &v, auto &c) {
             c.sizes = dims(key, v, 4096);
             c.sizes.push_back(1); // there is always a way to run one
             std::sort(c.sizes.begin(), c.sizes.end());
             c.sizes.erase(std::unique(c.sizes.begin(), c.sizes.end()), c.sizes.end());
             if (c.sizes.size() > 12)
                 refuse("\"" + key + "\" has " + std::to_string(c.sizes.size()) +
                        " sizes, with 1; allowed are 12, because a network keeps 16 plans");
         }},
        {"max_queue_delay_microseconds",
         [](auto &key, auto &v, auto &c) {
             c.queue.delay = std::chrono::microseconds(whole(key, v, 0, 10'000'000));
         }},
        {"max_queued_requests",
         [](auto &key, auto &v, auto &c) {
             c.queue.most_jobs = static_cast<std::size_t>(whole(key, v, 1, 1'000'000));
         }},
        {"max_queued_bytes",
         [](auto &key, auto &v, auto &c) {
             c.queue.most_bytes = static_cast<std::size_t>(whole(key, v, 1, tebibyte));
         }},
        {"max_wait_milliseconds",
         [](auto &key, auto &v, auto &c) {
             c.queue.most_wait = std::chrono::milliseconds(whole(key, v, 1, 3'600'000));
         }},
        {"max_sequences",
         [](auto &key, auto &v, auto &c) {
             c.sequences.most = static_cast<std::size_t>(whole(key, v, 1, 65'536));
         }},
        {"max_sequence_tokens",
         [](auto &key, auto &v, auto &c) { c.sequences.most_tokens = whole(key, v, 1, 1 << 24); }},
        {"max_cache_bytes",
         [](auto &key, auto &v, auto &c) {
             c.sequences.most_bytes = static_cast<std::size_t>(whole(key, v, 1, tebibyte));
         }},
        {"max_sequence_idle_milliseconds",
         [](auto &key, auto &v, auto &c) {
             c.sequences.idle = std::chrono::milliseconds(whole(key, v, 1, 86'400'000));
         }},
        {"threads", [](auto &key, auto &v, auto &c) { c.threads = static_cast<int>(whole(key, v, 0, 256)); }},
        {"versions",
         [](auto &key, auto &v, auto &c) { c.versions = static_cast<int>(whole(key, v, 1, 64)); }},
        {"memory_limit",
         [](auto &key, auto &v, auto &c) {
             c.network.memory_limit = static_cast<std::size_t>(whole(key, v, 1, tebibyte));
         }},
        {"rule",
         [](auto &key, auto &v, auto &c) {
             if (!v.is_string())
                 refuse("\"" + key + "\" is " + v.dump() + ", allowed is the name of a rule");
             try {
                 c.network.rule = requantization_rule_from_string(v.template get<std::string>().c_str());
             } catch (const error &e) {
                 refuse("\"" + key + "\": " + e.what());
             }
         }},
        {"sha256",
         [](auto &key, auto &v, auto &c) {
             if (v.is_object())
                 for (const auto &[name, digest] : v.items())
                     c.sha256[name == "model" ? "" : name] = digits(name, digest);
             else
                 c.sha256[""] = digits(key, v);
         }},
        {"datatypes",
         [](auto &key, auto &v, auto &c) {
             for (const auto &[name, type] : object(key, v).items()) {
                 c.datatypes[name] = find_datatype(type.is_string() ? type.template get<std::string>() : "");
                 if (!c.datatypes[name])
                     refuse("\"" + name + "\" is " + type.dump() +
                            ", allowed is a datatype of the protocol: \"FP32\", \"INT64\", …");
             }
         }},
        {"profile",
         [](auto &key, auto &v, auto &c) {
             if (!v.is_string())
                 refuse("\"" + key + "\" is " + v.dump() + ", allowed is the name of a profile");
             try {
                 c.network.profile = v.template get<std::string>();
                 find_profile(c.network.profile);
             } catch (const error &e) {
                 refuse("\"" + key + "\": " + e.what());
             }
         }},
        {"rows_alike",
         [](auto &key, auto &v, auto &c) {
             if (!v.is_boolean())
                 refuse("\"" + key + "\" is " + v.dump() + ", allowed are true and false");
             c.rows_alike = v.template get<bool>();
         }},
        {"dimensions",
         [](auto &key, auto &v, auto &c) {
             for (const auto &[name, size] : object(key, v).items())
                 c.network.dimensions[name] = whole(name, size, 1, largest);
         }},
        {"shapes",
         [](auto &key, auto &v, auto &c) {
             for (const auto &[name, shape] : object(key, v).items())
                 c.network.shapes[name] = dims(name, shape, largest);
         }},
    };
    return keys;
}

} // namespace

model_config read_config(const std::string &text) {
    json root;
    try {
        root = read_small_json(text);
    } catch (const error &e) {
        refuse(e.what());
    }
    if (!root.is_object())
        refuse("it is no object");
    model_config config;
    for (const auto &[key, value] : root.items()) {
        const auto found = readers().find(key);
        if (found == readers().end()) {
            std::string known;
            for (const auto &[name, ignored] : readers())
                known += (known.empty() ? "" : ", ") + name;
            refuse("unknown key \"" + key + "\", allowed are " + known);
        }
        found->second(key, value, config);
    }
    if (!config.sizes.empty() && config.sizes.back() > config.most_rows)
        refuse("\"preferred_batch_sizes\" has " + std::to_string(config.sizes.back()) +
               ", \"max_batch_size\" is " + std::to_string(config.most_rows));
    return config;
}

std::string with_key(const std::string &text, const std::string &key, const json &value) {
    json root = text.empty() ? json::object() : read_small_json(text);
    root[key] = value;
    return root.dump();
}

} // namespace octet::serve
