#pragma once // SPDX-License-Identifier: Apache-2.0

// Who may use a network now: any number of calls at once, or one change alone. A change that waits lets no further call
// begin, so that it comes about however many threads keep calling. Nothing here knows Python; its lock is
// released by whoever waits (network.hpp).

#include <condition_variable>
#include <mutex>

#include "octet/fork_guard.hpp"

namespace octet::python {

class turns {
public:
    /// One use of the network by this thread, waited for by the constructors of `call` and `change`. They throw
    /// octet::error where this thread uses the network already, which would wait for itself.
    class use {
    public:
        use(const use &) = delete;
        use &operator=(const use &) = delete;

    protected:
        use(turns &owner, bool is_change);
        ~use();
        turns &owner_;

    private:
        friend class turns;
        const bool is_change_;
        const use *outer_; ///< of another network, in this thread
    };

    class call : public use {
    public:
        explicit call(turns &owner);
        ~call();
    };
    class change : public use {
    public:
        explicit change(turns &owner);
        ~change();
    };

private:
    static thread_local const use *innermost_;

    void forget_other_threads();

    std::mutex mutex_; ///< of what follows
    std::condition_variable changed_;
    int calls_ = 0, waiting_changes_ = 0;
    bool is_changing_ = false;
    const fork_guard at_fork_{mutex_, [this](fork_guard::process where) {
                                  if (where == fork_guard::process::child)
                                      forget_other_threads();
                              }};
};

} // namespace octet::python
