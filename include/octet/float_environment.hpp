#pragma once // SPDX-License-Identifier: Apache-2.0

// Float arithmetic here is a sequence of IEEE operations in the default environment: round to nearest even,
// denormals kept, nothing trapped. A caller may live in another one (start-up code of -ffast-math flushes
// denormals, fesetround, feenableexcept), and threads of a pool in any: without this, bytes would depend on
// who computes them. So every call of this library that computes, and every task of its parallel loops, sets
// its own. Users need it only for arithmetic of their own that has to match, such as scales.

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace octet {
inline namespace v0 {

#if defined(__x86_64__)

/// While it exists, this thread computes in the default environment; then the caller's returns, with its
/// sticky flags as they were. Nearly all callers live in the default environment and have raised the flags
/// that a kernel raises, so the register is read, which costs little, and written only where it has to
/// change.
class default_float_environment {
public:
    /// Saves the caller's environment and sets the default one.
    default_float_environment() : before_(_mm_getcsr()) {
        if ((before_ & ~sticky_flags) != mxcsr_default)
            _mm_setcsr(mxcsr_default);
    }
    /// Restores the caller's.
    ~default_float_environment() {
        if (_mm_getcsr() != before_)
            _mm_setcsr(before_);
    }
    default_float_environment(const default_float_environment &) = delete;
    default_float_environment &operator=(const default_float_environment &) = delete;

private:
    /// The value that the psABI asks for: all exceptions masked, rounding to nearest, neither FTZ nor DAZ.
    static constexpr unsigned mxcsr_default = 0x1f80, sticky_flags = 0x3f;
    const unsigned before_;
};

#else

/// The same with the standard's means, where the default environment is the one that programs begin with.
class default_float_environment {
public:
    default_float_environment() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~default_float_environment() { std::fesetenv(&before_); }
    default_float_environment(const default_float_environment &) = delete;
    default_float_environment &operator=(const default_float_environment &) = delete;

private:
    std::fenv_t before_;
};

#endif

} // namespace v0
} // namespace octet
