// Finds OpenMP's functions in the process and gives Octet a pool that calls them.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/threads.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "octet/settings.hpp"
#include "onednn/preload/real_library.hpp"

namespace octet::onednn {
namespace {

/// The functions that GCC's code calls for a parallel region; LLVM's and Intel's runtimes have them, too.
struct openmp {
    void (*parallel)(void (*body)(void *), void *data, unsigned threads, unsigned flags);
    int (*max_threads)();
    int (*in_parallel)();
    int (*thread)();
    int (*threads)();

    bool is_complete() const { return parallel && max_threads && in_parallel && thread && threads; }
};

template <typename Function> void look_up(Function &function, const char *name) {
    // The search goes through the dependencies of the real library, wherever they are loaded.
    function = reinterpret_cast<Function>(dlsym(real().handle, name));
}

const openmp &runtime() {
    static const openmp found = [] {
        openmp omp{};
        look_up(omp.parallel, "GOMP_parallel");
        look_up(omp.max_threads, "omp_get_max_threads");
        look_up(omp.in_parallel, "omp_in_parallel");
        look_up(omp.thread, "omp_get_thread_num");
        look_up(omp.threads, "omp_get_num_threads");
        return omp;
    }();
    return found;
}

/// OpenMP's workers do not survive a fork, and a child that waits for them hangs. A child that is forked
/// before there are any, as servers do, has a pool of its own.
std::atomic<bool> has_workers{false}, has_lost_workers{false};

/// oneDNN's rule: all threads of the calling thread's setting, one inside of a parallel region.
int openmp_threads(void *) {
    return has_lost_workers || runtime().in_parallel() ? 1 : runtime().max_threads();
}

struct loop {
    int count;
    void (*task)(void *arg, int index);
    void *arg;

    /// The body that each thread of the region runs; there may be fewer than asked for.
    static void run(void *data) {
        const loop &self = *static_cast<const loop *>(data);
        for (int i = runtime().thread(); i < self.count; i += runtime().threads())
            self.task(self.arg, i);
    }
};

void openmp_run(void *, int count, void (*task)(void *arg, int index), void *arg) {
    has_workers = true;
    loop all{count, task, arg};
    runtime().parallel(loop::run, &all, static_cast<unsigned>(count), 0);
}

int one_thread(void *) { return 1; }
void run_in_turn(void *, int count, void (*task)(void *arg, int index), void *arg) {
    for (int i = 0; i < count; i++)
        task(arg, i);
}

} // namespace

void use_clients_threads() {
    switch (real().cpu_runtime) {
    case DNNL_RUNTIME_OMP:
        if (!runtime().is_complete())
            return; // oneTBB's threads then
        pthread_atfork(nullptr, nullptr, [] { has_lost_workers = has_workers.load(); });
        octet::set_thread_pool({openmp_threads, openmp_run, nullptr});
        return;
    case DNNL_RUNTIME_TBB:
        return; // the caller's arena, as oneDNN does
    default:    // sequential, or a pool that only the client knows
        octet::set_thread_pool({one_thread, run_in_turn, nullptr});
    }
}

} // namespace octet::onednn
