// A team that is lent to one thread, and dismissed when its work is done.
// SPDX-License-Identifier: Apache-2.0
#include "octet/thread_loan.hpp"

#include <atomic>
#include <thread>

#include "cpu/machine/workers.hpp"
#include "octet/float_environment.hpp"

namespace octet {
inline namespace v0 {

struct thread_loan::state {
    enum class stage { before, works, done };

    explicit state(int threads) : lent(threads) {}
    impl::workers::lent_team lent;
    std::atomic<stage> now{stage::before};
};

thread_loan::thread_loan(int threads) : state_(std::make_unique<state>(threads)) {}
thread_loan::~thread_loan() = default;
bool thread_loan::is_used() const { return state_->lent.is_used(); }

void thread_loan::run(const std::function<void()> &work) {
    using stage = state::stage;
    struct ending {
        state &s;
        ~ending() {
            s.lent.give_back();
            s.now.store(stage::done, std::memory_order_release);
        }
    } const at_the_end{*state_};
    state_->lent.take();
    state_->now.store(stage::works, std::memory_order_release);
    work();
}

void thread_loan::serve() {
    using stage = state::stage;
    while (state_->now.load(std::memory_order_acquire) == stage::before)
        std::this_thread::yield(); // the borrower is on its way
    const default_float_environment environment;
    while (state_->now.load(std::memory_order_acquire) == stage::works && state_->lent.serve())
        ;
}

} // namespace v0
} // namespace octet
