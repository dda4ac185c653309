// A counter of calls and a flag under one lock. A thread's uses are a chain: a call within another is an
// error, so that no thread waits for itself.
// SPDX-License-Identifier: Apache-2.0
#include "turns.hpp"

#include <new>

#include "octet/error.hpp"

namespace octet::python {

thread_local const turns::use *turns::innermost_ = nullptr;

turns::use::use(turns &owner, bool is_change) : owner_(owner), is_change_(is_change), outer_(innermost_) {
    for (const use *u = innermost_; u; u = u->outer_)
        if (&u->owner_ == &owner)
            throw error(status::invalid_arguments,
                        "the network is in use by this thread: its `progress` cannot call or change it");
    innermost_ = this;
}

turns::use::~use() { innermost_ = outer_; }

/// In the child of a fork. What this thread does with the network, it goes on to do there.
void turns::forget_other_threads() {
    const use *own = innermost_;
    while (own && &own->owner_ != this)
        own = own->outer_;
    calls_ = own && !own->is_change_ ? 1 : 0;
    is_changing_ = own && own->is_change_;
    waiting_changes_ = 0;
    new (&changed_) std::condition_variable;
}

turns::call::call(turns &owner) : use(owner, false) {
    std::unique_lock<std::mutex> lock(owner_.mutex_);
    owner_.changed_.wait(lock, [&] { return !owner_.is_changing_ && owner_.waiting_changes_ == 0; });
    owner_.calls_++;
}

turns::call::~call() {
    const std::lock_guard<std::mutex> lock(owner_.mutex_);
    if (--owner_.calls_ == 0)
        owner_.changed_.notify_all();
}

turns::change::change(turns &owner) : use(owner, true) {
    std::unique_lock<std::mutex> lock(owner_.mutex_);
    owner_.waiting_changes_++;
    owner_.changed_.wait(lock, [&] { return !owner_.is_changing_ && owner_.calls_ == 0; });
    owner_.waiting_changes_--;
    owner_.is_changing_ = true;
}

turns::change::~change() {
    const std::lock_guard<std::mutex> lock(owner_.mutex_);
    owner_.is_changing_ = false;
    owner_.changed_.notify_all();
}

} // namespace octet::python
