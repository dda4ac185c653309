#pragma once // SPDX-License-Identifier: Apache-2.0

// The product of a case whose source is quantized while it runs, by the primitive.

#include "check/dynamic_operands.hpp"

namespace octet::vectors {

/// {rows, columns}, by a matmul with `order` and weights in the layout of its choice; `bias`: empty, or one for each
/// column. The source `x` is that of the case, of which parameters and codes are not looked at.
std::vector<float> product_by_primitive(combination order, const std::vector<float> &x,
                                        const dynamic_source &source, const dynamic_weights &w,
                                        const std::vector<float> &bias);

} // namespace octet::vectors
