// The idioms against Octet's header, under the names that sources for oneDNN include (compat/onednn is an
// include path); declarations in advance, as clients have them.
// SPDX-License-Identifier: Apache-2.0
namespace dnnl {
struct memory;
struct engine;
struct primitive_attr;
} // namespace dnnl

#include "octet/compat/onednn/oneapi/dnnl/dnnl.hpp"
#include "octet/compat/onednn/oneapi/dnnl/dnnl_debug.h"

#define PEER octet
#include "idioms.inl"
