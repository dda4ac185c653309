#pragma once

/// Marks what the shared library exports; everything else is hidden.
#if defined(__GNUC__)
#define OCTET_API __attribute__((visibility("default")))
#else
#define OCTET_API
#endif
