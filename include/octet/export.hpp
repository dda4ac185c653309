#pragma once // SPDX-License-Identifier: Apache-2.0

/// The compiler's part in every public header: the language version, and which symbols are exported.

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "Octet needs C++17: compile with -std=c++17 or later"
#endif

/// Marks what the shared library exports; everything else is hidden.
#if defined(__GNUC__)
#define OCTET_API __attribute__((visibility("default")))
#else
#define OCTET_API
#endif
