#pragma once // SPDX-License-Identifier: Apache-2.0

// A problem that Octet takes, as both sides see it: oneDNN's descriptors for queries, Octet's primitive
// descriptor to run. Immutable once made, shared by descriptors, primitives and the cache of requests.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "octet/compat/dnnl_types.h"

#include "octet/fork_guard.hpp"
#include "octet/octet.hpp"
#include "onednn/op_descs.hpp"

namespace octet::onednn {

/// An execution argument of a problem that is taken.
struct taken_argument {
    int arg;
    dnnl_memory_desc_t md; ///< as the client gave it, with `any` replaced
};

/// An execution of which Octet's primitive is one of the steps.
class foreign_step {
public:
    virtual ~foreign_step() = default;
    virtual dnnl_status_t execute(const octet::primitive &own, dnnl_stream_t stream, int count,
                                  const dnnl_exec_arg_t *args) const = 0;
};

struct problem {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    std::vector<char> op_desc;            ///< a copy, empty for reorder, sum, concat
    dnnl_primitive_attr_t attr = nullptr; ///< a copy; it belongs to the library behind
    dnnl_engine_t engine = nullptr, dst_engine = nullptr;
    octet::primitive_desc pd;
    std::vector<taken_argument> tensors; ///< arguments of Octet's execution, attributes included
    /// Arguments whose sizes come with the execution, in the client's memory objects.
    std::vector<int> open_args;
    int inputs = 0, outputs = 0; ///< tensors that an execution reads and writes
    std::string info;            ///< "octet:…"

    /// A reorder between packed weights and what only the real library reads; null for everything else.
    std::shared_ptr<const foreign_step> foreign;

    /// `r` is what the client asked for. `settled` has layouts where that leaves them open and Octet would
    /// choose others than oneDNN; `pd` is made of it.
    problem(const request &r, const request &settled, const octet::primitive_desc &pd);
    problem(const problem &) = delete;
    problem &operator=(const problem &) = delete;
    ~problem();

    /// The primitive, made at the first call.
    octet::primitive code() const;

    const dnnl_memory_desc_t *tensor(int arg) const; ///< null if there is none

private:
    mutable std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    mutable octet::primitive code_;
};

} // namespace octet::onednn
