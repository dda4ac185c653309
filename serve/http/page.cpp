// The bytes of the page, which CMake makes of serve/page/index.html.
// SPDX-License-Identifier: Apache-2.0
#include "http/page.hpp"

namespace octet::serve {
namespace {

constexpr unsigned char bytes[] = {
#include "page.inl"
};

} // namespace

std::string_view page() { return {reinterpret_cast<const char *>(bytes), sizeof bytes}; }

} // namespace octet::serve
