#pragma once // SPDX-License-Identifier: Apache-2.0

// Helpers for chains of post-ops: read and replace the descriptors of their tensors, whose sizes count like
// those of the operation's own tensors; append an entry of any kind.

#include "common/post_ops.hpp"

namespace octet::impl {

struct post_op_tensors {
    /// Calls f(argument, src1) for each.
    template <typename F> static void for_each(const post_ops &ops, const F &f) {
        for (std::size_t i = 0; i < ops.entries_.size(); i++)
            if (const memory_desc *src1 = src1_of(ops.entries_[i]))
                f(operand_of(ops.entries_[i], static_cast<int>(i)), *src1);
    }
    /// The attributes with f(argument, src1) in place of each.
    template <typename F> static primitive_attr replaced(const primitive_attr &attr, const F &f) {
        post_ops ops = attr.get_post_ops();
        for (std::size_t i = 0; i < ops.entries_.size(); i++)
            if (memory_desc *src1 = src1_of(ops.entries_[i]))
                *src1 = f(operand_of(ops.entries_[i], static_cast<int>(i)), *src1).data;
        primitive_attr result = attr;
        result.set_post_ops(ops);
        return result;
    }
    /// With the checks and messages of the `append_` of its name.
    static void append(post_ops &ops, post_op_entry entry) { ops.append(std::move(entry)); }
};

} // namespace octet::impl
