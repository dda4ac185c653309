#pragma once // SPDX-License-Identifier: Apache-2.0

// Two functions of the real library whose parameters differ between versions, as words of a register (many.cpp).

#include <cstdint>

#include "octet/compat/dnnl_types.h"

namespace octet::onednn {

using word = std::uintptr_t;

dnnl_status_t real_concat_primitive_desc_create(dnnl_primitive_desc_t *result, word a, word b, word c, word d,
                                                word e, word f);
dnnl_status_t real_sum_primitive_desc_create(dnnl_primitive_desc_t *result, word a, word b, word c, word d,
                                             word e, word f);

} // namespace octet::onednn
