#pragma once

namespace octet::tools {

/// What the reference implementation computes on this machine, and why generated code refuses it.
void print_reference();

} // namespace octet::tools
