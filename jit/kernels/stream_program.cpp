// Names of programs.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/stream_program.hpp"

#include <iterator>

#include "common/text.hpp"

namespace octet::impl::jit {

/// "u8+s32c": types of the sources; c where one element serves a row.
std::string name_of(const std::vector<stream_source> &sources) {
    std::string name;
    for (const stream_source &s : sources)
        name += text(name.empty() ? "" : "+", to_string(s.type), s.is_constant_in_row ? "c" : "");
    return name;
}

/// "load.subtract_s32.to_f32": its steps.
std::string name_of(const stream_program &program) {
    constexpr const char *names[] = {"load",
                                     "to_f32",
                                     "to_s32",
                                     "convert_to_s32",
                                     "subtract_s32",
                                     "subtract_s16",
                                     "multiply_s32",
                                     "scale_code",
                                     "shift_left",
                                     "divide_by_pot",
                                     "shift_right_up",
                                     "requantize",
                                     "subtract",
                                     "add",
                                     "multiply",
                                     "multiply_add",
                                     "multiply_add_symmetric",
                                     "divide",
                                     "divide_in_range",
                                     "round_half_away",
                                     "eltwise",
                                     "code_table",
                                     "binary",
                                     "add_pair",
                                     "subtract_pair",
                                     "multiply_pair",
                                     "multiply_pair_s16",
                                     "code_sum_pair",
                                     "code_sum_away_pair",
                                     "multiply_high_pair",
                                     "divide_by_pot_pair",
                                     "multiply_add_pair",
                                     "prelu"};
    static_assert(std::size(names) == static_cast<std::size_t>(stream_op::prelu) + 1);
    std::string name;
    for (const stream_step &s : program)
        name += text(name.empty() ? "" : ".", names[static_cast<int>(s.op)]);
    return name;
}

} // namespace octet::impl::jit
