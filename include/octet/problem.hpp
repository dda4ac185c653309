#pragma once // SPDX-License-Identifier: Apache-2.0

#include <string>

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// The primitive descriptor of a problem in the form that `primitive_desc::problem_str` returns and verbose
/// lines contain, for tools that repeat what a program ran:
///
///     convolution src:u8:1x64x56x56:nhwc weights:s8:64x64x3x3:any dst:u8:1x64x56x56:nhwc strides:1x1
///     dilates:0x0 padding_l:1x1 rule:f32 output_scales:2:0.5..0.75 post_op:eltwise_relu:0:0:1
///
/// All tokens in one line, separated by spaces; after the operation's name their order is free. A whole line
/// of verbose mode is accepted as well. doc/verbose.md describes every token.
///
/// `problem_str` of the result is the text again. More than 8 values of one mask are kept in it as
/// "lowest..highest" only; read back, they are spread evenly between the two: the same problem with other
/// numbers.
///
/// Throws `invalid_arguments` naming the token that is wrong and what is allowed, and what the operation's
/// own primitive descriptor throws. With `allow_empty`, a problem that no implementation takes gives an empty
/// one.
OCTET_API primitive_desc primitive_desc_from_string(const std::string &problem, const engine &e,
                                                    bool allow_empty = false);

} // namespace v0
} // namespace octet
