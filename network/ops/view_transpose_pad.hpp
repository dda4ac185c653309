#pragma once // SPDX-License-Identifier: Apache-2.0

// Steps that move elements and compute nothing, for the operators of every framework.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Input 0, of any type that Octet has; moving bytes needs no quantization.
const tensor &any_input(const lowering &l, std::size_t i);

/// Attributes of a plain copy: integers stay integers.
primitive_attr copy_attr(data_type type);
void add_copy(primitive_step &s, const buffer &src, const buffer &dst);

/// Input 0's buffer under the output's dimensions.
std::unique_ptr<step> make_view(const lowering &l);

/// `permutation` names the source of each output dimension.
std::unique_ptr<step> make_transpose(const lowering &l, const std::vector<std::int64_t> &permutation);

/// The padded element that input 2 gives, one constant of the output's type; empty without that input.
std::vector<std::uint8_t> given_padding(const lowering &l, const tensor &dst);

/// `element`: the bytes of one padded element.
std::unique_ptr<step> make_padding(const lowering &l, const memory::dims &before, const memory::dims &after,
                                   const std::vector<std::uint8_t> &element);

void need_output_dims(const lowering &l, const memory::dims &expected);

} // namespace octet::model
