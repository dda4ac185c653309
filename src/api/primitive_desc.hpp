#pragma once

// What stands behind primitive_desc and primitive, and how an operation's front builds it.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/key.hpp"
#include "api/lowering.hpp"
#include "cpu/registry.hpp"
#include "octet/primitive.hpp"

namespace octet::impl {

struct primitive_desc_data {
    std::string operation; ///< "convolution"
    primitive_attr attr;
    std::map<int, memory::desc> args; ///< every execution argument with its descriptor
    std::string shape;                ///< "mb1_ic64oc64_ih56oh56kh3sh1dh0ph1"
    std::string implementation;
    std::vector<std::string> refusals;
    std::string key; ///< equal keys execute equally
    std::function<std::shared_ptr<const kernel>()> create;

    std::string to_string() const;
};

struct primitive_data {
    std::shared_ptr<const primitive_desc_data> desc;
    std::shared_ptr<const kernel> code;
};

/// The common end of every front: picks an implementation for the checked problem. Null if nobody takes it
/// and `allow_empty` is set; else throws `unimplemented` with all reasons.
template <typename Problem>
std::shared_ptr<const primitive_desc_data> make_primitive_desc(std::shared_ptr<primitive_desc_data> data,
                                                               const Problem &problem, bool allow_empty);

/// Runs a front. With `allow_empty`, a request that can't be served gives null instead of an error.
std::shared_ptr<const primitive_desc_data>
guarded(bool allow_empty, const std::function<std::shared_ptr<const primitive_desc_data>()> &front);

/// Throws `invalid_arguments` for a null engine.
void require_engine(const char *operation, const engine &e);
/// Throws `unimplemented` unless the tensor's type is one of `allowed`.
void require_type(const char *operation, const char *name, const memory_desc &md,
                  std::initializer_list<data_type> allowed);
/// Throws `invalid_arguments` for a missing tensor, a wrong rank, or a packed layout where only plain ones
/// are allowed.
void require_tensor(const char *operation, const char *name, const memory_desc &md, int min_ndims,
                    int max_ndims);
/// Throws `invalid_arguments` for a destination in which two elements share an address.
void require_no_overlap(const char *operation, const memory_desc &dst);
/// Throws `invalid_arguments` for anything but a forward pass.
void require_forward(const char *operation, prop_kind prop);
/// Resolves `any` to channels-last (or row-major up to two dimensions).
void resolve_activation_layout(memory_desc &md);

} // namespace octet::impl
