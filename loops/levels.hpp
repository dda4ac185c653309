#pragma once // SPDX-License-Identifier: Apache-2.0

// The one dispatch of loops on instruction-set levels. It asks for the level that is set (octet/settings.hpp), never
// the CPU, so that a cap holds for loops as it does for generated code. Ask when a step is made, not when it runs, as a
// primitive's level is chosen then. All forms of a loop give the same bytes.

#include <initializer_list>

#include "octet/settings.hpp"

namespace octet::loops {

/// Levels are ascending, and each has the instructions of those below it. But AVX-VNNI is an extension of
/// AVX2 for CPUs without AVX-512: levels above lack it.
constexpr bool includes(cpu_isa level, cpu_isa needed) {
    return level == needed || (level > needed && needed != cpu_isa::avx_vnni);
}

/// Code (a function, or a pointer to a table of them), and the level whose instructions it needs.
template <typename Code> struct form {
    cpu_isa level;
    Code code;
};

/// The last form that the level in use can run; they ascend, and the first one, for `ref`, needs nothing.
template <typename Code> Code fastest(std::initializer_list<form<Code>> forms) {
    const cpu_isa level = get_effective_cpu_isa();
    Code code = forms.begin()->code;
    for (const form<Code> &f : forms)
        if (includes(level, f.level))
            code = f.code;
    return code;
}

/// In front of a loop that `compiled_for_level` compiles: part of each form, so that it has the form's instructions.
#define OCTET_LOOP __attribute__((always_inline)) inline

/// A loop in plain C++, which the compiler makes vectors of, as it is compiled without AVX2 and with it.
template <auto Loop> struct compiled;
template <typename Result, typename... Args, Result (*Loop)(Args...)> struct compiled<Loop> {
    static Result anywhere(Args... args) { return Loop(args...); }
#if defined(__x86_64__)
    __attribute__((target("avx2,fma"))) static Result with_avx2(Args... args) { return Loop(args...); }
#endif
};

/// The form of an OCTET_LOOP for the level in use.
template <auto Loop> auto compiled_for_level() {
#if defined(__x86_64__)
    return fastest<decltype(&compiled<Loop>::anywhere)>(
        {{cpu_isa::ref, compiled<Loop>::anywhere}, {cpu_isa::avx2, compiled<Loop>::with_avx2}});
#else
    return &compiled<Loop>::anywhere;
#endif
}

} // namespace octet::loops
