#pragma once // SPDX-License-Identifier: Apache-2.0

// Tensors of dst's layout that post-ops read, in one execution.

#include <cstdint>

#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl {

class full_tensors {
public:
    full_tensors(const jit::epilogue_plan &epilogue, const arguments &args)
        : count_(static_cast<int>(epilogue.source().post_ops.size())) {
        for (int i = 0; i < count_; i++) {
            first_[i] = nullptr;
            if (!epilogue.reads_full_tensor(i))
                continue;
            const post_op_entry &entry = epilogue.source().post_ops[static_cast<std::size_t>(i)];
            const memory_desc &md = *src1_of(entry);
            size_[i] = static_cast<dim_t>(memory::data_type_size(md.data_type));
            first_[i] = args.get<const std::uint8_t>(operand_of(entry, i)) + md.offset0 * size_[i];
        }
    }

    /// to[i] = where post-op i finds this element of dst; null where it reads no such tensor.
    void find(dim_t element, const void **to) const {
        for (int i = 0; i < count_; i++)
            to[i] = first_[i] ? first_[i] + element * size_[i] : nullptr;
    }

private:
    const int count_;
    const std::uint8_t *first_[max_post_ops];
    dim_t size_[max_post_ops];
};

} // namespace octet::impl
