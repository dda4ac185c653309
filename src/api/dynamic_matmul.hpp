#pragma once // SPDX-License-Identifier: Apache-2.0

// The front of products whose source is quantized while they run, and of the reorder that packs their weights.

#include "api/front.hpp"
#include "common/convolution_problem.hpp"
#include "common/dynamic_matmul_problem.hpp"
#include "common/matmul_problem.hpp"

namespace octet::impl {

/// `shapes` are checked; layouts may be open. An inner product is a product with weights {N, K…}.
///@{
primitive_desc_ptr make_dynamic_matmul(const request &r, const matmul_problem &shapes,
                                       const memory_desc &bias);
primitive_desc_ptr make_dynamic_inner_product(const request &r, const convolution_problem &shapes,
                                              const memory_desc &bias);
///@}

/// Weights {K, N} or {N, K…}, whose scales and zero points are those of src, beside them.
primitive_desc_ptr make_packing_with_scales(const request &r, const memory_desc &src, const memory_desc &dst);

} // namespace octet::impl
