#pragma once // SPDX-License-Identifier: Apache-2.0

// Requests of clients, with oneDNN's operation descriptors, which they pass as `const void *`: their kind,
// their size, and every tensor in them. Complete, not only for what Octet has: liboctet_dnnl must find
// weights that Octet has packed in any of them.

#include <string>
#include <vector>

#include "octet/compat/dnnl_types.h"

namespace octet::onednn {

/// A client's request: an operation descriptor, or the parameters of a reorder, sum or concat, which have no
/// descriptor. Points to the client's own.
struct request {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    const void *op_desc = nullptr; ///< null for reorder, sum, concat
    const_dnnl_primitive_attr_t attr = nullptr;
    dnnl_engine_t engine = nullptr, dst_engine = nullptr;
    // reorder (one source), sum, concat; dst is null if the library shall choose it
    std::vector<const dnnl_memory_desc_t *> srcs;
    const dnnl_memory_desc_t *dst = nullptr;
    const float *scales = nullptr;
    int concat_dimension = 0;
};

/// A tensor of a request, by execution argument.
struct named_tensor {
    int arg;
    const dnnl_memory_desc_t *md;
};

/// The kind of an operation descriptor; undefined_primitive for null.
dnnl_primitive_kind_t kind_of(const_dnnl_op_desc_t op_desc);
/// Bytes of the descriptor; 0 for a kind that has none.
std::size_t size_of_op_desc(dnnl_primitive_kind_t kind);
/// The descriptor's bytes; none for a request without one.
std::vector<char> copy_of_op_desc(const request &r);
/// The query that asks for the descriptor of an operation; `undef` for one without.
dnnl_query_t op_desc_query(dnnl_primitive_kind_t kind);
/// Forward or backward, which follows the kind in all descriptors but those of a few operations: `undef` for these.
dnnl_prop_kind_t prop_kind_of(dnnl_primitive_kind_t kind, const_dnnl_op_desc_t op_desc);

/// Every tensor of a request that is not absent, the source first. Those of backward passes and of operations
/// that Octet lacks have argument 0.
std::vector<named_tensor> tensors_of(const request &r);

/// Appends bytes that are equal for equal parameters: what an operation has besides tensors and attributes.
void append_parameters(std::string &bytes, const request &r);

/// The (first) source of an operation with a descriptor; its kind must have one.
const dnnl_memory_desc_t &src_of(const request &r);

/// "convolution src:u8:1x64x56x56 …", for people.
std::string text_of(const request &r);

} // namespace octet::onednn
