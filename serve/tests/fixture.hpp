#pragma once // SPDX-License-Identifier: Apache-2.0

// A server in the test's process, on ports that are free, and the digits network as its oracle.

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "demo.hpp"
#include "octet/network.hpp"
#include "serve/tests/client.hpp"
#include "server.hpp"

namespace octet::tests {

inline serve::server_options on_free_ports() {
    serve::server_options o;
    o.http = o.metrics = o.grpc = "127.0.0.1:0";
    o.workers = 2;
    o.poll = std::chrono::milliseconds(0);
    return o;
}

inline serve::server_options demo_options() {
    serve::server_options o = on_free_ports();
    o.sources.push_back(serve::demo_model());
    return o;
}

/// The network's own answers for rows of 64 codes.
class digits_oracle {
public:
    explicit digits_oracle(const std::string &profile = "") : net_(make(profile)) {}
    std::string operator()(const std::string &codes) {
        std::string answers;
        for (std::size_t at = 0; at < codes.size(); at += 64) {
            net_.input().copy_bytes_from(codes.data() + at, 64);
            net_.run();
            answers.append(static_cast<const char *>(net_.output().data()), 10);
        }
        return answers;
    }

private:
    static network make(const std::string &profile) {
        const std::string bytes = serve::demo_model().bytes;
        network_options o;
        o.threads = 1;
        o.profile = profile;
        return network(bytes.data(), bytes.size(), "digits", o);
    }
    network net_;
};

inline std::string random_codes(std::minstd_rand &random, std::size_t rows) {
    std::string codes(rows * 64, '\0');
    for (char &c : codes)
        c = static_cast<char>(random() >> 6);
    return codes;
}

/// A request for `digits` in JSON, and one whose tensors are bytes; `head` gets the header with the size of its JSON.
inline std::string json_request(const std::string &codes, const std::string &more = "") {
    std::string text = "{\"inputs\":[{\"name\":\"image\",\"shape\":[" + std::to_string(codes.size() / 64) +
                       ",8,8,1],\"datatype\":\"INT8\",\"data\":[";
    for (std::size_t i = 0; i < codes.size(); i++)
        text += (i ? "," : "") + std::to_string(static_cast<signed char>(codes[i]));
    return text + "]}]" + more + "}";
}
inline std::string binary_request(const std::string &codes, std::string &head) {
    const std::string json =
        "{\"inputs\":[{\"name\":\"image\",\"shape\":[" + std::to_string(codes.size() / 64) +
        ",8,8,1],\"datatype\":\"INT8\",\"parameters\":{\"binary_data_size\":" + std::to_string(codes.size()) +
        "}}],\"parameters\":{\"binary_data_output\":true}}";
    head = "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
    return json + codes;
}
/// The bytes behind the JSON of a reply.
inline std::string binary_part(const http_answer &answer) {
    const std::string size = answer.header("Inference-Header-Content-Length");
    return size.empty() ? "no binary part: " + answer.body : answer.body.substr(std::stoul(size));
}

constexpr const char *digits_path = "/v2/models/digits/infer";

} // namespace octet::tests
