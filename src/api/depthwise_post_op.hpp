#pragma once // SPDX-License-Identifier: Apache-2.0

// Convolutions whose chain of post-ops has a depthwise convolution.

#include "api/front.hpp"
#include "octet/convolution.hpp"

namespace octet::impl {

bool has_depthwise(const primitive_attr &attr);

/// The front of such a convolution; `front` is that of one without.
primitive_desc_ptr
make_with_depthwise(const convolution_forward::desc &d, const request &r, const std::string &parameters,
                    primitive_desc_ptr (*front)(const convolution_forward::desc &, const request &));

} // namespace octet::impl
