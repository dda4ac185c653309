#pragma once // SPDX-License-Identifier: Apache-2.0

// Which of the forms that a loop was compiled in runs: the one dispatch on levels that loops of networks
// have. It asks for the level that is set (octet/settings.hpp), never the CPU, so that a cap holds for loops
// as it does for generated code.

#include <initializer_list>

#include "octet/settings.hpp"

namespace octet {
inline namespace v0 {
namespace model {

/// Levels are ascending, and each has the instructions of those below it. But AVX-VNNI is an extension of
/// AVX2 for CPUs without AVX-512: levels above lack it.
constexpr bool includes(cpu_isa level, cpu_isa needed) {
    return level == needed || (level > needed && needed != cpu_isa::avx_vnni);
}

/// Code (a function, or what points to some), and the level whose instructions it needs.
template <typename Code> struct form_of_loop {
    cpu_isa level;
    Code code;
};

/// The last form that the level in use can run; they ascend, and the first one, for `ref`, needs nothing. For
/// the time when a step is made, as a primitive's level is chosen then.
template <typename Code> Code fastest(std::initializer_list<form_of_loop<Code>> forms) {
    const cpu_isa level = get_effective_cpu_isa();
    Code code = forms.begin()->code;
    for (const form_of_loop<Code> &form : forms)
        if (includes(level, form.level))
            code = form.code;
    return code;
}

} // namespace model
} // namespace v0
} // namespace octet
