#pragma once // SPDX-License-Identifier: Apache-2.0

// Work that takes long and is no inference: it is done in threads of its own, so that those that read and
// write never wait for it.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/job.hpp"

namespace octet::serve {

class background {
public:
    explicit background(int threads) {
        for (int i = 0; i < threads; i++)
            threads_.emplace_back([this] { work(); });
    }
    ~background() { stop(); }

    /// `task` throws nothing. Throws refusal where too many wait.
    void submit(std::function<void()> task) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (is_stopping_)
                throw refusal(outcome::unavailable, "the server stops");
            if (waiting_.size() >= most_waiting)
                throw refusal(outcome::overloaded,
                              std::to_string(most_waiting) + " requests wait already to be read");
            waiting_.push_back(std::move(task));
        }
        wake_.notify_one();
    }
    /// Takes no more, and does what it has taken.
    void stop() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_stopping_ = true;
        }
        wake_.notify_all();
        for (std::thread &t : threads_)
            if (t.joinable())
                t.join();
    }

private:
    static constexpr std::size_t most_waiting = 256;
    void work() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
            if (waiting_.empty())
                return;
            auto task = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            task();
            task = nullptr; // destroys the task's captures without the lock
            lock.lock();
        }
    }

    std::mutex mutex_; ///< guards the members below
    std::condition_variable wake_;
    bool is_stopping_ = false;
    std::deque<std::function<void()>> waiting_;
    std::vector<std::thread> threads_;
};

} // namespace octet::serve
