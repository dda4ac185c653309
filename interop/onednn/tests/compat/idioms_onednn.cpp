// The idioms against oneDNN's own header; declarations in advance, as clients have them.
// SPDX-License-Identifier: Apache-2.0
namespace dnnl {
struct memory;
struct engine;
struct primitive_attr;
} // namespace dnnl

#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>

#define PEER onednn
#include "idioms.inl"
