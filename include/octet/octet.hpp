#pragma once // SPDX-License-Identifier: Apache-2.0

/// Octet's primitives: bit-exact int8 inference on x86, with everything that their creation and execution
/// needs. Networks have headers of their own (network.hpp, graph.hpp, contract.hpp, profile.hpp), and so has
/// C (octet.h).

#include "octet/batch_normalization.hpp"
#include "octet/binary.hpp"
#include "octet/concat.hpp"
#include "octet/convolution.hpp"
#include "octet/deconvolution.hpp"
#include "octet/eltwise.hpp"
#include "octet/engine.hpp"
#include "octet/error.hpp"
#include "octet/float_environment.hpp"
#include "octet/inner_product.hpp"
#include "octet/layer_normalization.hpp"
#include "octet/matmul.hpp"
#include "octet/memory.hpp"
#include "octet/pooling.hpp"
#include "octet/prelu.hpp"
#include "octet/primitive.hpp"
#include "octet/primitive_attr.hpp"
#include "octet/primitive_cache.hpp"
#include "octet/problem.hpp"
#include "octet/reduction.hpp"
#include "octet/reorder.hpp"
#include "octet/requantization.hpp"
#include "octet/resampling.hpp"
#include "octet/settings.hpp"
#include "octet/softmax.hpp"
#include "octet/sum.hpp"
#include "octet/types.hpp"
#include "octet/version.hpp"
