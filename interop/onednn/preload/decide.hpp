#pragma once // SPDX-License-Identifier: Apache-2.0

// The decision about a request: Octet's, the real library's, or an error. What was decided is remembered, because clients make
// the same primitives again and again (PyTorch does for every batch size it meets).

#include <memory>
#include <string>

#include "onednn/preload/problem.hpp"

namespace octet::onednn {

struct decision {
    std::shared_ptr<const problem> taken; ///< null: not Octet's
    dnnl_status_t refusal = dnnl_success; ///< of what may not go to the real library either
    std::string reason;                   ///< why it is not Octet's

    bool is_handed_on() const { return !taken && refusal == dnnl_success; }
};

/// Decides about a request that the real library could understand. Throws nothing.
decision decide(const request &r) noexcept;

/// False if everything goes to the real library: OCTET_DNNL=off, or a library of another version.
bool may_take();

/// The status that a client gets for an exception in flight, which is told.
dnnl_status_t status_of_exception(const char *where) noexcept;

} // namespace octet::onednn
