#pragma once // SPDX-License-Identifier: Apache-2.0

// Lets a cache make each value once, and outside of its lock.

#include <condition_variable>
#include <mutex>
#include <new>
#include <set>

namespace octet::impl {

/// Keys whose values are being made, each by one thread; others that want the same value wait for it. All is
/// called under the mutex of the cache.
template <typename Key> class keys_in_work {
public:
    void wait_for(std::unique_lock<std::mutex> &lock, const Key &key) {
        ended_.wait(lock, [&] { return keys_.count(key) == 0; });
    }
    void begin(const Key &key) { keys_.insert(key); }
    void end(const Key &key) {
        keys_.erase(key);
        ended_.notify_all();
    }
    /// In the child of a fork there is no thread that would end them, and none that waits.
    void forget() {
        keys_.clear();
        new (&ended_) std::condition_variable;
    }

private:
    std::set<Key> keys_;
    std::condition_variable ended_;
};

} // namespace octet::impl
