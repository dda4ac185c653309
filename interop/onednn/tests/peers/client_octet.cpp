// One of two clients that run the same problem: client.inl, compiled against Octet's oneDNN names.
// SPDX-License-Identifier: Apache-2.0
#include "octet/compat/dnnl.hpp"
#include "octet/compat/dnnl_debug.h"

#define PEER octet
#include "client.inl"
#include "rnn_client.inl"
