#pragma once // SPDX-License-Identifier: Apache-2.0

// Turns in using a network: any number of calls at once, or one change alone. While a change waits, no
// further call begins, so that the change comes about however many threads keep calling. Nothing here knows
// Python; its lock is released by whoever waits (network.hpp).

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
        const use *outer_; ///< this thread's use of another network
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

    std::mutex mutex_; ///< guards the members below
    std::condition_variable changed_;
    int calls_ = 0, waiting_changes_ = 0;
    bool is_changing_ = false;
    const fork_guard at_fork_{mutex_, [this](fork_guard::process where) {
                                  if (where == fork_guard::process::child)
                                      forget_other_threads();
                              }};
};

} // namespace octet::python
