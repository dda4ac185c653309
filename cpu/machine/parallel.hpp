#pragma once

// Threads. workers.hpp says which runtime they are of.

#include <cstdint>
#include <type_traits>

namespace octet::impl {

/// The body of a loop, by reference: unlike std::function it never allocates, so that executing does not
/// either.
class range_body {
public:
    template <typename Body, typename = std::enable_if_t<!std::is_same_v<std::decay_t<Body>, range_body>>>
    range_body(const Body &body)
        : body_(&body), call_([](const void *b, std::int64_t begin, std::int64_t end) {
              (*static_cast<const Body *>(b))(begin, end);
          }) {}
    void operator()(std::int64_t begin, std::int64_t end) const { call_(body_, begin, end); }

private:
    const void *body_;
    void (*call_)(const void *, std::int64_t, std::int64_t);
};

/// Calls body(begin, end) for disjoint ranges that cover [0, count), each at least `grain` long where
/// possible, in the caller's arena or on `get_num_threads()` threads. Sequential in the calling thread for
/// one thread or one range.
void parallel_for(std::int64_t count, std::int64_t grain, range_body body);

/// What a parallel_for of this thread costs beside its work, in cycles: measured once for what runs it now (the
/// runtime, its threads awake in a phase, the caller's pool).
std::int64_t fork_cycles();

/// While it exists, every parallel_for of this thread is sequential: for kernels within a range of another.
class sequential_scope {
public:
    sequential_scope();
    ~sequential_scope();
    sequential_scope(const sequential_scope &) = delete;
    sequential_scope &operator=(const sequential_scope &) = delete;

private:
    const bool before_;
};

} // namespace octet::impl
