#pragma once // SPDX-License-Identifier: Apache-2.0

// Cross-origin requests (https://fetch.spec.whatwg.org/#http-cors-protocol): whether pages of other sites may use the
// server from a browser.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/rest.hpp"

namespace octet::serve {

class cors {
public:
    /// Origins as browsers send them, "https://example.org"; "*" stands for all.
    explicit cors(std::vector<std::string> origins = {}) : origins_(std::move(origins)) {}

    bool allow(std::string_view origin) const {
        return !origin.empty() &&
               (all() || std::find(origins_.begin(), origins_.end(), origin) != origins_.end());
    }

    /// Fields of each reply to a page of this origin. Where the answer depends on the origin, caches are told.
    std::vector<std::pair<std::string, std::string>> fields(std::string_view origin) const {
        std::vector<std::pair<std::string, std::string>> f;
        if (!origins_.empty() && !all())
            f.emplace_back("Vary", "Origin");
        if (allow(origin)) {
            f.emplace_back("Access-Control-Allow-Origin", all() ? "*" : std::string(origin));
            f.emplace_back("Access-Control-Expose-Headers",
                           "Inference-Header-Content-Length, Retry-After, traceparent");
        }
        return f;
    }

    /// The reply to the question that a browser asks first. It needs no token: browsers send none with it.
    static http_reply preflight() {
        http_reply reply;
        reply.status = 204;
        reply.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST"},
                         {"Access-Control-Allow-Headers",
                          "Authorization, Content-Type, Inference-Header-Content-Length, traceparent"},
                         {"Access-Control-Max-Age", "7200"}};
        return reply;
    }

private:
    bool all() const { return std::find(origins_.begin(), origins_.end(), "*") != origins_.end(); }

    std::vector<std::string> origins_;
};

} // namespace octet::serve
