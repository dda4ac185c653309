#pragma once // SPDX-License-Identifier: Apache-2.0

// A child process has a copy of every lock, and one thread: a lock that another thread held when the process
// forked stays locked there for ever. So each mutex of this library that outlives a call stands beside a
// fork_guard.

#include <functional>
#include <mutex>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// While it exists, a fork waits until its mutex is free, so that in the child the mutex is free too and what
/// it guards is whole. All guarded mutexes are tried until all are had at once, and none is held while
/// another is waited for, so the order in which they nest does not matter. A fork waits for a second at most:
/// a thread may hold a mutex for as long as it makes a large network, or may wait itself for a lock of the
/// caller's. The child then begins with a new mutex.
class OCTET_API fork_guard {
public:
    /// The process in which `after_fork` is called.
    enum class process { parent, child };

    /// The mutex must outlive the guard. `after_fork` is called in both processes while the mutex is locked;
    /// in the child it cleans up work that other threads had begun, since those threads do not exist there.
    explicit fork_guard(std::mutex &mutex, std::function<void(process)> after_fork = {});
    /// Forks no longer wait for the mutex.
    ~fork_guard();
    fork_guard(const fork_guard &) = delete;
    fork_guard &operator=(const fork_guard &) = delete;

private:
    friend class fork_guards;
    std::mutex &mutex_;
    const std::function<void(process)> after_fork_;
    fork_guard *previous_ = nullptr, *next_ = nullptr; ///< in the list of all
    bool is_held_ = false;                             ///< by the thread that forks
};

} // namespace v0
} // namespace octet
