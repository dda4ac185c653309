// Options of the provider arrive as entries of the session under a prefix with the provider's name.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string>

#include "octet/profile.hpp"

namespace octet::onnxruntime {
namespace {

struct option {
    const char *name, *allowed;                           ///< null: the names of profiles
    bool (*set)(session_settings &, const std::string &); ///< false for a value that it cannot have
};

bool read_number(const std::string &text, std::size_t largest, std::size_t &number) {
    if (text.empty() || text.size() > 15 ||
        !std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
        return false;
    number = std::stoull(text);
    return number <= largest;
}

/// An entry of the session, whose range networks check.
std::int64_t read_integer(const std::string &key, const std::string &value) {
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure != std::errc() || end != value.data() + value.size())
        refuse(std::string(provider_name) + ": entry '" + key + "' is '" + value + "', allowed: an integer");
    return number;
}

/// Profiles of networks of ONNX.
std::string onnx_profiles() {
    std::string names;
    for (const profile &p : all_profiles())
        if (p.framework == "onnx")
            names += (names.empty() ? "" : ", ") + p.name;
    return names;
}

const option options[] = {
    {"cache_dir", "a directory that is there",
     [](session_settings &s, const std::string &value) {
         s.cache_dir = value;
         std::error_code ignored;
         return std::filesystem::is_directory(value, ignored);
     }},
    {"claim", "quantized, all",
     [](session_settings &s, const std::string &value) {
         s.claim = value == "all" ? claim_kind::all : claim_kind::quantized;
         return value == "all" || value == "quantized";
     }},
    {"log", "0, 1",
     [](session_settings &s, const std::string &value) {
         s.log = value == "1";
         return value == "0" || value == "1";
     }},
    {"memory_limit", "a number of bytes",
     [](session_settings &s, const std::string &value) {
         return read_number(value, static_cast<std::size_t>(-1), s.memory_limit);
     }},
    {"minimum", "1 to 1000000 nodes",
     [](session_settings &s, const std::string &value) {
         return read_number(value, 1000000, s.minimum) && s.minimum >= 1;
     }},
    {"nbits", "onnxruntime, ordered",
     [](session_settings &s, const std::string &value) {
         s.nbits = value;
         return value == "onnxruntime" || value == "ordered";
     }},
    {"profile", nullptr,
     [](session_settings &s, const std::string &value) {
         const auto &all = all_profiles();
         s.profile = value;
         return std::any_of(all.begin(), all.end(),
                            [&](const profile &p) { return p.framework == "onnx" && p.name == value; });
     }},
    {"rows_alike", "0, 1",
     [](session_settings &s, const std::string &value) {
         s.rows_alike = value == "1";
         return value == "0" || value == "1";
     }},
    {"threads", "0 to 1024, 0 as the process has it",
     [](session_settings &s, const std::string &value) {
         std::size_t number = 0;
         const bool is_allowed = read_number(value, 1024, number);
         s.threads = static_cast<int>(number);
         return is_allowed;
     }},
};

void set_option(session_settings &s, const std::string &name, const std::string &value) {
    std::string names;
    for (const option &o : options) {
        if (name == o.name) {
            if (!o.set(s, value))
                refuse(std::string(provider_name) + ": option '" + name + "' is '" + value +
                       "', allowed: " + (o.allowed ? std::string(o.allowed) : onnx_profiles()));
            return;
        }
        names += (names.empty() ? "" : ", ") + std::string(o.name);
    }
    refuse(std::string(provider_name) + ": option '" + name + "' is unknown, allowed: " + names);
}

/// "ep.octetexecutionprovider."
std::string prefix() {
    std::string text = std::string("ep.") + provider_name + ".";
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

} // namespace

session_settings read_settings(const runtime &ort, const ort_session_options *source) {
    struct owned {
        const runtime &ort;
        ort_key_values *entries = nullptr;
        ~owned() {
            if (entries)
                ort(api::release_key_values, entries);
        }
    } held{ort};
    ort(api::session_entries, source, &held.entries);
    const char *const *keys = nullptr;
    const char *const *values = nullptr;
    std::size_t count = 0;
    ort(api::get_key_values, held.entries, &keys, &values, &count);
    session_settings s;
    const std::string own = prefix();
    for (std::size_t i = 0; i < count; i++) {
        const std::string key = keys[i], value = values[i];
        if (key.rfind(own, 0) == 0)
            set_option(s, key.substr(own.size()), value);
        else if (key == "session.qdqisint8allowed")
            s.signed_pairs = value == "1";
        else if (key == "session.qdq_matmulnbits_accuracy_level")
            s.nbits_level = read_integer(key, value);
        else if (key == "session.qdq_matmulnbits_block_size")
            s.nbits_block = read_integer(key, value);
        else if (key == "session.disable_quant_qdq")
            s.pairs_stay = value == "1";
        else if (key == "ep.context_enable")
            s.wants_context_model = value == "1";
        else if (key == "ep.context_embed_mode")
            s.embeds_context = value == "1";
        else if (key == "ep.context_file_path")
            s.context_path = value;
    }
    return s;
}

} // namespace octet::onnxruntime
