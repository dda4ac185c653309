#pragma once // SPDX-License-Identifier: Apache-2.0

// Tensors of oneDNN's clients as Octet's: what oneDNN has beyond Octet is a refusal, and the request goes to
// the real library.

#include <stdexcept>

#include "octet/compat/dnnl_types.h"
#include "octet/octet.hpp"

namespace octet::onednn {

static_assert(DNNL_RUNTIME_DIM_VAL == OCTET_RUNTIME_DIM_VAL);

/// Why a request falls back to oneDNN. A sentence for people.
struct refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

bool is_8_bit(const dnnl_memory_desc_t &md);
/// Throws `refusal` unless it is f32, bf16, s32, s8, u8 or `undef`.
octet::data_type to_octet(dnnl_data_type_t type);

/// oneDNN's tensor in Octet; the zero descriptor for an absent one. Throws `refusal` for blocked, padded and
/// compensated layouts, more than 6 dimensions, sizes of 0 and types that Octet lacks. Sizes that come with
/// the execution have the same number in both.
octet::memory::desc to_octet(const dnnl_memory_desc_t &md);
/// The layout of `like` for a tensor of other sizes or type, dense: what oneDNN makes of `any` behind an operation that
/// keeps layouts.
octet::memory::desc laid_out_like(const octet::memory::desc &md, const octet::memory::desc &like);

} // namespace octet::onednn
