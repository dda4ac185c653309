#pragma once // SPDX-License-Identifier: Apache-2.0

// Settings of the whole process: instruction sets, threads, the primitive cache, diagnostics. None of them
// changes a byte of any result. Environment variables set the same before the first call.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// Instruction-set levels, in ascending order. The last lines are oneDNN's spellings.
enum class cpu_isa {
    ref,
    avx2,
    avx_vnni,
    avx512_core,
    avx512_vnni,
    avx512_amx,
    avx2_vnni = avx_vnni,
    avx512_core_vnni = avx512_vnni,
    avx512_core_amx = avx512_amx,
    all = avx512_amx
};

/// Highest level of this machine, and the level in use (capped by OCTET_MAX_CPU_ISA or `set_max_cpu_isa`).
/// Where the system doesn't let generated code run, the only level is `ref`. avx512_amx needs the system's
/// permission to use tile registers; it is asked for where the CPU has them and the cap allows the level, and
/// without it the level is absent. With it, Linux refuses signal stacks of 8 KiB, which many programs have,
/// in the whole process.
///@{
OCTET_API cpu_isa get_machine_cpu_isa();
OCTET_API cpu_isa get_effective_cpu_isa();
///@}
/// Every level that this machine can run, in ascending order (avx512_core does not imply avx_vnni).
OCTET_API std::vector<cpu_isa> get_available_cpu_isas();
/// Returns why a level that the CPU has and the cap allows is absent, as `octet info` and verbose mode tell
/// it; empty if none is.
OCTET_API std::string get_cpu_isa_refusal();
/// Caps the level of primitives created from now on; levels that the machine lacks are not used whatever the
/// cap. Environment: OCTET_MAX_CPU_ISA.
OCTET_API void set_max_cpu_isa(cpu_isa level);
/// "avx512_vnni", …
OCTET_API const char *to_string(cpu_isa level);
/// Throws `invalid_arguments` and lists the names for an unknown one.
OCTET_API cpu_isa cpu_isa_from_string(const std::string &name);

/// Threads used by `execute`: 0 (default) takes the caller's arena, but no more than the affinity mask and
/// the cgroup's CPU quota allow; 1 runs in the calling thread. A count above the CPUs divides the work as
/// asked, on up to 256 threads (a tbb::global_control of the process stays in force). The division is part of
/// a primitive's plan: set the count before primitives are created. Environment: OCTET_NUM_THREADS.
///@{
OCTET_API void set_num_threads(int threads);
OCTET_API int get_num_threads();
///@}

/// While it exists, creation and execution in this thread use `threads` threads instead of what holds for the
/// process: networks and requests of one process can differ. 0 changes nothing. Scopes nest; a pool of the
/// caller's (`set_thread_pool`) stays in force.
class OCTET_API num_threads_scope {
public:
    /// Throws `invalid_arguments` for a count that `set_num_threads` refuses.
    explicit num_threads_scope(int threads);
    ~num_threads_scope(); ///< the count from before holds again
    num_threads_scope(const num_threads_scope &) = delete;
    num_threads_scope &operator=(const num_threads_scope &) = delete;

private:
    int before_;
};

/// While it exists, threads that take part in this thread's executions stay awake for the next one: they wait
/// for it spinning, after 20 us yielding to others, and go back to sleep after 1 ms without one. Starting a
/// primitive's threads then costs less than a microsecond instead of several, and primitives created
/// meanwhile use several threads for less work. For a sequence of executions; `octet::network` does it
/// itself. Scopes nest, and threads may each have one. Waiting threads count as busy; there are never more of
/// them than `get_num_threads()`, the caller included. On a pool of the caller's (`set_thread_pool`) it does
/// nothing.
class OCTET_API parallel_phase {
public:
    parallel_phase();
    ~parallel_phase();
    parallel_phase(const parallel_phase &) = delete;
    parallel_phase &operator=(const parallel_phase &) = delete;
};

/// Threads of the caller's own that loops may run on instead of oneTBB's: a program that has an OpenMP pool,
/// say, does not want a second set of workers next to it. `context` is passed through.
struct thread_pool {
    /// Number of threads that the calling thread may use now, itself included; 1 inside a task.
    int (*threads)(void *context) = nullptr;
    /// Calls task(arg, 0) … task(arg, count - 1) on up to `threads` threads and returns when all are done.
    /// Tasks do not throw, and do not wait for each other.
    void (*run)(void *context, int count, void (*task)(void *arg, int index), void *arg) = nullptr;
    void *context = nullptr; ///< the pool's own
};
/// Runs loops on `pool` from now on; a default-constructed one means oneTBB again. Replaces the count of
/// `set_num_threads`, which is ignored meanwhile. Set it before primitives are created; the functions are
/// called from any thread that executes. Throws `invalid_arguments` for a pool with one function only.
OCTET_API void set_thread_pool(const thread_pool &pool);

/// 0 silent; 1 one line per execution on stdout; 2 creation and refusals too. Environment: OCTET_VERBOSE.
///@{
OCTET_API void set_verbose(int level);
OCTET_API int get_verbose();
///@}

/// Takes one row of verbose mode, without the end of line. Rows come one at a time, from whichever thread
/// runs the primitive; the function may not throw, nor call the library.
using log_function = std::function<void(const std::string &row)>;
/// Sends verbose rows to `target` instead of standard output, for those who embed the library; an empty
/// function sends them to standard output again. Each new target gets the table's head first
/// (doc/verbose.md).
OCTET_API void set_log(log_function target);

/// Bound of the primitive cache in bytes; 0 disables it. Environment: OCTET_PRIMITIVE_CACHE_CAPACITY.
///@{
OCTET_API void set_primitive_cache_capacity(std::size_t bytes);
OCTET_API std::size_t get_primitive_cache_capacity();
///@}

/// Directory that gets a file with the machine code of each kernel generated from now on (for
/// `objdump -D -b binary -m i386:x86-64`); empty for none. Environment: OCTET_JIT_DUMP.
OCTET_API void set_jit_dump(const std::string &directory);
/// "perf" names kernels generated from now on in perf's symbol map /tmp/perf-PID.map; empty for none.
/// Environment: OCTET_JIT_PROFILE.
OCTET_API void set_jit_profile(const std::string &profiler);

/// "0.1.0"
OCTET_API const char *version();
/// Returns the version of the results' bytes: 1 and more. Whatever has the same one has the same bytes, on every
/// CPU, for everything that both can compute; it is raised when a byte of any contract changes (CHANGELOG.md
/// says which). OCTET_NUMERICS_VERSION is that of the headers.
OCTET_API int numerics_version();

} // namespace v0
} // namespace octet
