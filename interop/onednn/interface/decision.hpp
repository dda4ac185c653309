#pragma once // SPDX-License-Identifier: Apache-2.0

// The decision who serves a request: Octet, the library behind (behind.hpp), or nobody. In liboctet Octet
// serves all (library/nothing_behind.cpp), in liboctet_dnnl preload/decide.cpp decides.

#include <memory>
#include <string>

#include "onednn/interface/problem.hpp"

namespace octet::onednn {

struct decision {
    std::shared_ptr<const problem> taken; ///< null: not Octet's
    /// Status of a request that must not go to the library behind either.
    dnnl_status_t refusal = dnnl_success;
    std::string reason; ///< why it is not Octet's

    bool falls_back() const { return !taken && refusal == dnnl_success; }
};

/// Decides about a request that the library behind could understand. Throws nothing.
decision decide(const request &r) noexcept;

/// False if everything goes to the library behind: OCTET_DNNL=off, or a library of another version.
bool may_take();

/// Gives the client what was taken, or the refusal.
dnnl_status_t answer(const decision &made, dnnl_primitive_desc_t *result) noexcept;

} // namespace octet::onednn
