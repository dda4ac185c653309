#pragma once // SPDX-License-Identifier: Apache-2.0

// One account of the memory that requests of all protocols take: bytes that have arrived, not bytes that were
// announced.

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace octet::serve {

class receive_budget {
    using counter = std::atomic<std::size_t>;

public:
    /// No client may hold more than half of `total`: one that attacks leaves the other half to all others.
    explicit receive_budget(std::size_t total) : most_(total), most_of_client_(total / 2) {}

    /// The account of a client, by its address. All connections of an address share it.
    std::shared_ptr<counter> client(const std::string &address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto it = clients_.begin(); it != clients_.end();)
            it = it->second.expired() ? clients_.erase(it) : std::next(it);
        auto shared = clients_[address].lock();
        if (!shared)
            clients_[address] = shared = std::make_shared<counter>(0);
        return shared;
    }
    std::size_t held() const { return held_; }

    /// The bytes that one request holds. They are given back when it is destroyed.
    class share {
    public:
        share(receive_budget &b, std::shared_ptr<counter> client) : budget_(b), client_(std::move(client)) {}
        ~share() { shrink(size_); }
        share(const share &) = delete;
        share &operator=(const share &) = delete;
        /// False, and nothing has changed, where the client or the server holds too much then.
        bool grow(std::size_t bytes) {
            const bool fits = (*client_ += bytes) <= budget_.most_of_client_;
            const bool all_fit = (budget_.held_ += bytes) <= budget_.most_;
            size_ += bytes;
            if (!fits || !all_fit)
                shrink(bytes);
            return fits && all_fit;
        }
        /// Another share of the same client, for bytes that are given back earlier.
        std::unique_ptr<share> another() const { return std::make_unique<share>(budget_, client_); }
        void shrink(std::size_t bytes) {
            *client_ -= bytes;
            budget_.held_ -= bytes;
            size_ -= bytes;
        }

    private:
        receive_budget &budget_;
        std::shared_ptr<counter> client_;
        std::size_t size_ = 0;
    };

private:
    const std::size_t most_, most_of_client_;
    counter held_{0};
    std::mutex mutex_; ///< guards the members below
    std::map<std::string, std::weak_ptr<counter>> clients_;
};

} // namespace octet::serve
