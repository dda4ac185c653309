#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of convolution, inner product and matmul: types, layouts, zero points, bias and the final
// assembly.

#include "api/front.hpp"
#include "octet/convolution.hpp"

namespace octet::impl {

struct weights_packing {
    const char *operation;
    packed_kind kind;
    bool may_fuse_width = false;
    tap_patches patches{}; ///< patches of depthwise weights; size 0: none
};

/// Checks types and layouts; resolves `any`: activations channels-last, weights packed.
void resolve_layouts(const weights_packing &packing, memory_desc &src, memory_desc &weights,
                     memory_desc &dst);

/// Bias as dims {OC}, in dst's rank: broadcast over everything but dimension 1.
memory_desc channel_bias(const char *operation, const memory_desc &bias, const memory_desc &dst);

/// Fills zero points and epilogue of the problem and makes the primitive descriptor. `bias` as the user gave
/// it.
template <typename Problem>
primitive_desc_ptr finish_accumulating(const request &r, attribute_support support, Problem &problem,
                                       const memory_desc &bias, const std::string &parameters);

/// Worst case of Σ (s - zs) * (w - zw) over all sources of src's type, per output channel, partial sums
/// included.
convolution_forward::primitive_desc::range accumulator_range(const memory_desc &src, const memory &weights,
                                                             const primitive_attr &attr,
                                                             dim_t output_channels);

} // namespace octet::impl
