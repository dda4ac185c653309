#pragma once // SPDX-License-Identifier: Apache-2.0

// A problem that Octet takes, as both sides see it: oneDNN's descriptors for queries, Octet's primitive descriptor to run.
// Immutable once made, shared by descriptors, primitives and the cache of requests.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "octet/compat/dnnl_types.h"

#include "octet/octet.hpp"
#include "onednn/op_descs.hpp"

namespace octet::onednn {

/// An execution argument of a problem that is taken.
struct taken_argument {
    int arg;
    dnnl_memory_desc_t md; ///< as the client gave it, with `any` replaced
};

class foreign_step;

struct problem {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    std::vector<char> op_desc;            ///< a copy, empty for reorder, sum, concat
    dnnl_primitive_attr_t attr = nullptr; ///< a copy, the real library's
    dnnl_engine_t engine = nullptr, dst_engine = nullptr;
    std::vector<taken_argument> tensors; ///< without those of attributes
    int inputs = 0;                      ///< of an execution, with those of post-ops
    octet::primitive_desc pd;
    std::vector<int> args; ///< that Octet wants at execution
    std::string info;      ///< "octet:…"

    /// Arguments whose sizes come with the execution, in the client's memory objects.
    std::vector<int> open_args;

    /// A reorder between packed weights and what only the real library reads; null for everything else.
    std::shared_ptr<const foreign_step> foreign;

    problem() = default;
    problem(const problem &) = delete;
    problem &operator=(const problem &) = delete;
    ~problem();

    /// The primitive, made at the first call.
    octet::primitive code() const;

    const dnnl_memory_desc_t *tensor(int arg) const; ///< null if there is none

private:
    mutable std::mutex mutex_;
    mutable octet::primitive code_;
};

} // namespace octet::onednn
