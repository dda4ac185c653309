#pragma once // SPDX-License-Identifier: Apache-2.0

// Reorders between packed weights and a layout or type that only the real library knows: over a plain copy,
// of which each of the two makes or reads its side. Attributes belong to the real library's step.

#include <memory>

#include "onednn/interface/problem.hpp"

namespace octet::onednn {

/// The real library's step, and both with a client's arguments.
class two_step_reorder : public foreign_step {
public:
    /// Throws `refusal` if the real library doesn't take it. `is_first`: it makes the plain copy.
    two_step_reorder(const request &r, const dnnl_memory_desc_t &plain, bool is_first);
    ~two_step_reorder() override;
    two_step_reorder(const two_step_reorder &) = delete;
    two_step_reorder &operator=(const two_step_reorder &) = delete;

    dnnl_status_t execute(const octet::primitive &packing, dnnl_stream_t stream, int count,
                          const dnnl_exec_arg_t *args) const override;

private:
    dnnl_engine_t engine_;
    dnnl_memory_desc_t plain_;
    bool is_first_;
    dnnl_primitive_t reorder_ = nullptr;
};

/// Octet's step of such a reorder; the real library's is put into `foreign`.
octet::primitive_desc translate_two_steps(const request &r, std::shared_ptr<const foreign_step> &foreign);

} // namespace octet::onednn
