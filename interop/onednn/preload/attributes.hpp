#pragma once // SPDX-License-Identifier: Apache-2.0

// A client's attributes are the real library's objects; they are read through its public getters.

#include <string>

#include "onednn/interface/problem.hpp"

namespace octet::onednn {

/// The attributes in Octet's words. Throws `refusal` for what Octet lacks.
octet::primitive_attr to_octet(dnnl_primitive_kind_t kind, const_dnnl_primitive_attr_t attr);

/// True if a tensor of the request, of its post-ops included, is packed by Octet: then only Octet can read
/// it. Reference kernels of the real library take any layout for a blocked one, which gives garbage or a
/// crash, so the refusal is made here.
bool has_packed_tensor(const request &r);

/// Appends bytes to `key` that are equal for equal attributes.
void append_key(std::string &key, const_dnnl_primitive_attr_t attr);
/// Appends a tensor to a key.
void append_key(std::string &key, const dnnl_memory_desc_t &md);

/// True if oneDNN's own tests have replaced functions of gates in it (test_functions.cpp).
bool has_test_functions(const_dnnl_primitive_attr_t attr);

} // namespace octet::onednn
