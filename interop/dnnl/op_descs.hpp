#pragma once

// oneDNN's operation descriptors, which a client passes as `const void *`: their kind, their size, and every tensor in them.
// Complete, not only for what Octet takes: no primitive of the real library may get weights that Octet has packed. Its
// reference kernels read any layout as a blocked one, which gives garbage or a crash, so the refusal is made here.

#include "dnnl/problem.hpp"

namespace octet::interop {

/// The kind of an operation descriptor; undefined_primitive for null.
dnnl_primitive_kind_t kind_of(const_dnnl_op_desc_t op_desc);
/// "convolution", …
const char *name_of(dnnl_primitive_kind_t kind);
/// Bytes of the descriptor; 0 for a kind that has none.
std::size_t size_of_op_desc(dnnl_primitive_kind_t kind);

/// Every tensor of a request that is not absent. Arguments are those of the forward pass; backward and recurrent
/// operations, which are never taken, have others where there is no name.
std::vector<named_tensor> tensors_of(const request &r);

/// True if a tensor of the request, of its post-ops included, is packed by Octet.
bool has_packed_tensor(const request &r);

/// "u8 1x64x56x56", for people.
std::string text_of(const request &r);

} // namespace octet::interop
