#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of batch and layer normalization: members of their descriptors, tensors of statistics.

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// The tensors and parameters of a batch or layer normalization.
struct OCTET_API normalization_desc {
    prop_kind prop;            ///< forward; forward_training also writes the statistics
    memory::desc src;          ///< the values
    memory::desc dst;          ///< the normalized values
    float epsilon;             ///< added to the variance, 0 and above
    normalization_flags flags; ///< operands that there are, and whether statistics are arguments
};

/// The primitive descriptor of a batch or layer normalization that `Desc` describes.
template <typename Desc> struct normalization_primitive_desc : public primitive_desc_of<Desc> {
    using primitive_desc_of<Desc>::primitive_desc_of;
    normalization_primitive_desc() = default; ///< an empty one
    /// oneDNN 3.x: descriptor and primitive descriptor in one call.
    normalization_primitive_desc(const engine &e, prop_kind prop, const memory::desc &src,
                                 const memory::desc &dst, float epsilon, normalization_flags flags,
                                 const primitive_attr &attr = {}, bool allow_empty = false)
        : primitive_desc_of<Desc>(Desc(normalization_desc{prop, src, dst, epsilon, flags}), attr, e,
                                  allow_empty) {}
    /// The tensors of mean and variance; zero descriptors if they are not arguments.
    ///@{
    memory::desc mean_desc() const { return this->arg_desc(OCTET_ARG_MEAN); }
    memory::desc variance_desc() const { return this->arg_desc(OCTET_ARG_VARIANCE); }
    ///@}
};

} // namespace v0
} // namespace octet
