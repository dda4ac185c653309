#pragma once // SPDX-License-Identifier: Apache-2.0

// Who may use a network now: any number of calls at once, or one change alone. A change that waits lets no further call
// begin, so that it comes about however many threads keep calling. Nothing here knows Python; its lock is
// released by whoever waits (network.hpp).

#include <condition_variable>
#include <mutex>

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
        explicit use(turns &owner);
        ~use();
        turns &owner_;

    private:
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

    std::mutex mutex_; ///< of what follows
    std::condition_variable changed_;
    int calls_ = 0, waiting_changes_ = 0;
    bool is_changing_ = false;
};

} // namespace octet::python
