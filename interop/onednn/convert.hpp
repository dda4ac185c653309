#pragma once // SPDX-License-Identifier: Apache-2.0

// Between oneDNN's enumerators and descriptors and Octet's. Towards Octet, what it does not have is refused by name.

#include <string>

#include "octet/compat/dnnl_types.h"
#include "octet/octet.hpp"

namespace octet::onednn {

[[noreturn]] inline void refuse(status s, const std::string &sentence) { throw error(s, sentence); }

data_type type_of(dnnl_data_type_t type);
dnnl_data_type_t type_of(data_type type);

/// Octet has no backward pass.
prop_kind prop_of(dnnl_prop_kind_t prop);

algorithm algorithm_of(dnnl_alg_kind_t alg);
dnnl_alg_kind_t algorithm_of(algorithm alg);

primitive_kind kind_of(dnnl_primitive_kind_t kind);
dnnl_primitive_kind_t kind_of(primitive_kind kind);

/// `name` begins the sentence of a refusal.
memory::desc desc_of(const dnnl_memory_desc_t &md, const char *name);
dnnl_memory_desc_t desc_of(const memory::desc &md);

/// The zero descriptor and a null pointer say that there is no such tensor.
inline memory::desc desc_of(const dnnl_memory_desc_t *md, const char *name) {
    return md == nullptr ? memory::desc() : desc_of(*md, name);
}

inline bool is_blocked(const dnnl_memory_desc_t &md) {
    return md.format_kind == dnnl_blocked && md.format_desc.blocking.inner_nblks > 0;
}

/// The blocked tensor as one without blocks, with a dimension for each block; needs dimensions that are whole blocks.
/// Dimensions that lie in one another in both tensors are joined, so that more than Octet's 6 may fit.
struct plain_pair {
    memory::desc src, dst;
};
plain_pair plain_views(const dnnl_memory_desc_t &src, const dnnl_memory_desc_t &dst);

} // namespace octet::onednn
