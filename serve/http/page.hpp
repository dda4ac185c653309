#pragma once // SPDX-License-Identifier: Apache-2.0

// The page that browsers get at "/".

#include <string_view>

namespace octet::serve {

/// The page at "/": serve/page/index.html, which is a part of the program.
std::string_view page();

} // namespace octet::serve
