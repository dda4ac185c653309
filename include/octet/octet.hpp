#pragma once

/// Octet: bit-exact int8 inference primitives for x86. This header includes the whole public API.

#include "octet/binary.hpp"
#include "octet/convolution.hpp"
#include "octet/deconvolution.hpp"
#include "octet/eltwise.hpp"
#include "octet/engine.hpp"
#include "octet/error.hpp"
#include "octet/inner_product.hpp"
#include "octet/matmul.hpp"
#include "octet/memory.hpp"
#include "octet/pooling.hpp"
#include "octet/primitive.hpp"
#include "octet/primitive_attr.hpp"
#include "octet/reorder.hpp"
#include "octet/requantization.hpp"
#include "octet/settings.hpp"
#include "octet/softmax.hpp"
#include "octet/types.hpp"
#include "octet/version.hpp"
