#pragma once

// The bearer token, if one is required; it can change while the server runs.

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <openssl/crypto.h>

namespace octet::serve {

class token {
public:
    void set(std::string secret) {
        const std::lock_guard<std::mutex> lock(mutex_);
        secret_ = std::make_shared<const std::string>(std::move(secret));
    }
    /// Whether the value of an `Authorization` header is right. Takes as long for every wrong one of a length.
    bool allows(std::string_view authorization) const {
        const auto secret = current();
        if (!secret)
            return true;
        constexpr std::string_view scheme = "bearer ";
        const bool is_bearer =
            authorization.size() > scheme.size() &&
            std::equal(scheme.begin(), scheme.end(), authorization.begin(), [](char a, char b) {
                return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
            });
        authorization.remove_prefix(is_bearer ? scheme.size() : 0);
        return is_bearer && authorization.size() == secret->size() &&
               CRYPTO_memcmp(authorization.data(), secret->data(), secret->size()) == 0;
    }

private:
    std::shared_ptr<const std::string> current() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return secret_;
    }
    mutable std::mutex mutex_;
    std::shared_ptr<const std::string> secret_;
};

} // namespace octet::serve
