#pragma once

// A client's attributes are the real library's objects; they are read through its public getters.

#include <string>

#include "dnnl/problem.hpp"

namespace octet::interop {

/// The attributes in Octet's words. Throws `refusal` for what Octet lacks.
octet::primitive_attr to_octet(dnnl_primitive_kind_t kind, const_dnnl_primitive_attr_t attr);

/// Appends bytes to `key` that are equal for equal attributes.
void append_key(std::string &key, const_dnnl_primitive_attr_t attr);
/// The same for a tensor.
void append_key(std::string &key, const dnnl_memory_desc_t &md);

} // namespace octet::interop
