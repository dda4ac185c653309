// A problem owns what the real library made for it, and finds descriptors of tensors by argument.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/problem.hpp"

#include "onednn/preload/real_library.hpp"

namespace octet::onednn {

problem::~problem() {
    if (attr)
        real().dnnl_primitive_attr_destroy(attr);
}

octet::primitive problem::code() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!code_)
        code_ = octet::primitive(pd);
    return code_;
}

const dnnl_memory_desc_t *problem::tensor(int arg) const {
    for (const taken_argument &tensor : tensors)
        if (tensor.arg == arg)
            return &tensor.md;
    return nullptr;
}

} // namespace octet::onednn
