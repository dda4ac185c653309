#pragma once // SPDX-License-Identifier: Apache-2.0

// Reorders between packed weights and a layout or type that only the real library knows: over a plain copy, of which each of
// the two makes or reads its side. Attributes belong to the real library's step.

#include <memory>

#include "onednn/preload/problem.hpp"

namespace octet::onednn {

/// The real library's step.
class foreign_step {
public:
    /// Throws `refusal` if the real library doesn't take it. `is_first`: it makes the plain copy.
    foreign_step(const request &r, const dnnl_memory_desc_t &plain, bool is_first);
    ~foreign_step();
    foreign_step(const foreign_step &) = delete;
    foreign_step &operator=(const foreign_step &) = delete;

    /// Both steps, with a client's arguments; `packing` is Octet's.
    dnnl_status_t execute(const octet::primitive &packing, dnnl_stream_t stream, int count,
                          const dnnl_exec_arg_t *args) const;

private:
    dnnl_engine_t engine_;
    dnnl_memory_desc_t plain_;
    bool is_first_;
    dnnl_primitive_t reorder_ = nullptr;
};

/// The steps of such a reorder.
void translate_two_steps(const request &r, problem &p);

} // namespace octet::onednn
