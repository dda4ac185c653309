#pragma once // SPDX-License-Identifier: Apache-2.0

// The one translation of oneDNN's operations to Octet's, for clients that are compiled against Octet's header
// and for those that liboctet_dnnl stands in front of.

#include "octet/octet.hpp"
#include "onednn/op_descs.hpp"

namespace octet::onednn {

/// Octet's primitive descriptor of a request, by the request's kind. Its attributes are given in Octet's words; the
/// handles in the request are not looked at. Throws octet::error: `unimplemented` for what Octet lacks, by name.
primitive_desc translate(const request &r, const primitive_attr &attr);

/// True if the factors are those that oneDNN fills in from the sizes, and so say nothing of their own.
bool has_factors_of_sizes(const dnnl_resampling_desc_t &d);

} // namespace octet::onednn
