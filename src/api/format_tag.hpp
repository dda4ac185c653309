#pragma once

// Plain layouts by name. A tag is nothing but the order of the dimensions from outermost to innermost,
// written in letters, so strides follow from the letters and one table serves both directions; nchw and the
// other names of roles are aliases of it (octet/types.hpp).

#include <string>

#include "octet/memory.hpp"

namespace octet::impl {

/// Dimension letters from outermost to innermost, e.g. "acdb"; empty for undef and any.
std::string letters_of(format_tag tag);

/// Strides of a dense tensor in this layout. Throws `invalid_arguments` for a tag of another rank.
void set_layout(memory_desc &md, format_tag tag);

/// "acdb"-like letters of a dense plain layout, "strided" for others, "any", "packed", "undef".
std::string layout_name(const memory_desc &md);

} // namespace octet::impl
