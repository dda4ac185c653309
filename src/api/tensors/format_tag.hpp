#pragma once // SPDX-License-Identifier: Apache-2.0

// Layouts by their names: tags as the user spells them, packed layouts, strides. Every layout of every tensor has
// a text of its own, which tensor_from_text.hpp reads back.

#include <string>

#include "octet/memory.hpp"

namespace octet::impl {

/// Letters from outermost to innermost, e.g. "acdb"; empty for undef and any.
std::string letters_of(format_tag tag);

/// Strides of a dense tensor in this layout. Throws `invalid_arguments` for a tag of another rank.
void set_layout(memory_desc &md, format_tag tag);

/// The vocabulary that spells a tag: acdb is `nhwc` for activations, `ohwi` for weights.
enum class spelling { letters, activations, weights, grouped_weights };

/// The name of a tag, "strides_5x1" and "strides_5x1@12" (an offset) for other plain layouts, "any", "undef", and
/// "packed_convolution-g4-w3-p2.1.1.2.1-s1.2.2": the kind and what is not the default of packed_groups, _width,
/// _patches and _steps. Without a role channels-last layouts are spelled as activations.
std::string layout_name(const memory_desc &md, spelling names);
std::string layout_name(const memory_desc &md);

/// Whether there is a format tag of this name, in any spelling; sets it.
bool find_tag(const std::string &name, format_tag &found);

/// "16x1x3x3", * for a size that comes with the execution; nothing for no dimensions.
std::string joined(const dim_t *values, std::size_t n, char separator = 'x');

/// "u8:1x64x56x56:nhwc". `tensor_from_text` reads it.
std::string tensor_text(const memory_desc &md, spelling names);

} // namespace octet::impl
