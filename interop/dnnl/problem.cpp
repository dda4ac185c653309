#include "dnnl/problem.hpp"

#include "dnnl/real_library.hpp"

namespace octet::interop {

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

octet::primitive problem::code(dim_t rows) const {
    constexpr std::size_t kept = 64; // a client with more row counts than that has no steady state
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = code_by_rows_.find(rows);
    if (found != code_by_rows_.end())
        return found->second;
    if (code_by_rows_.size() >= kept)
        code_by_rows_.clear();
    return code_by_rows_[rows] = octet::primitive(with_rows(rows));
}

const dnnl_memory_desc_t *problem::tensor(int arg) const {
    for (const taken_argument &tensor : tensors)
        if (tensor.arg == arg)
            return &tensor.md;
    return nullptr;
}

} // namespace octet::interop
