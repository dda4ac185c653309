#pragma once

#include "octet/settings.hpp"

namespace octet::impl {

/// True if the machine has the level and the cap allows it.
bool isa_is_usable(cpu_isa level);

} // namespace octet::impl
