#pragma once // SPDX-License-Identifier: Apache-2.0

// Bearer tokens and what they open. They can change while the server runs.

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/crypto.h>

#include "core/job.hpp"

namespace octet::serve {

/// The rights of a token's bearer.
struct grant {
    std::string secret;
    std::set<std::string> models; ///< none: all, and what is of the whole server
    /// `model` is "" for what is of the whole server. Throws refusal.
    void require(const std::string &model) const {
        if (!models.empty() && models.count(model) == 0)
            throw refusal(outcome::forbidden, "the token is for other models");
    }
};

class token {
public:
    /// Lines of a token each, followed by the names of the models that it opens, or by none. Returns how many
    /// there are.
    std::size_t set(const std::string &text) {
        const auto grants = std::make_shared<std::vector<grant>>();
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            grant g;
            if (!(words >> g.secret) || g.secret[0] == '#')
                continue;
            for (std::string model; words >> model;)
                g.models.insert(model);
            grants->push_back(std::move(g));
        }
        const std::size_t count = grants->size();
        if (count > 0) {
            const std::lock_guard<std::mutex> lock(mutex_);
            grants_ = grants;
        }
        return count;
    }
    /// Returns the rights that the value of an `Authorization` header gives. Takes equally long for all wrong
    /// values of one length. Throws refusal.
    grant opened_by(std::string_view authorization) const {
        const auto grants = current();
        if (!grants)
            return {};
        constexpr std::string_view scheme = "bearer ";
        const bool is_bearer =
            authorization.size() > scheme.size() &&
            std::equal(scheme.begin(), scheme.end(), authorization.begin(), [](char a, char b) {
                return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
            });
        authorization.remove_prefix(is_bearer ? scheme.size() : 0);
        const grant *found = nullptr;
        for (const grant &g : *grants)
            if (is_bearer && authorization.size() == g.secret.size() &&
                CRYPTO_memcmp(authorization.data(), g.secret.data(), g.secret.size()) == 0)
                found = &g;
        if (!found)
            throw refusal(outcome::unauthorized, "a bearer token is required");
        return *found;
    }

private:
    std::shared_ptr<const std::vector<grant>> current() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return grants_;
    }
    mutable std::mutex mutex_;
    std::shared_ptr<const std::vector<grant>> grants_; ///< null: everybody may ask everything
};

} // namespace octet::serve
