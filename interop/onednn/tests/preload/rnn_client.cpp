// The client of recurrent networks, compiled against oneDNN.
// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.hpp>

#define PEER onednn
#include "rnn_client.inl"
