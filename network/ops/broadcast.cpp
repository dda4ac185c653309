// One nest of loops over the result's dimensions, whose innermost runs a function on a row of elements.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/broadcast.hpp"

#include <cstring>

#include "network/graph/index_walk.hpp"

namespace octet::model {
namespace {

class walk final : public loop_step {
public:
    walk(const lowering &l, std::vector<walked_operand> operands, row_function f)
        : dst_(l.output_buffer()), dims_(l.output().dims), operands_(std::move(operands)), function_(f) {
        const auto pointers = static_cast<dim_t>((operands_.size() + 1) * sizeof(const void *));
        rows_of_ = l.scratch(memory::desc({pointers}, data_type::u8, format_tag::x));
        if (dims_.empty()) {
            dims_ = {1};
            for (walked_operand &o : operands_)
                o.strides = {0};
        }
        for (const walked_operand &o : operands_) {
            sizes_.push_back(static_cast<dim_t>(memory::data_type_size(o.where.get_desc().data_type())));
            inner_strides_.push_back(o.strides.back());
        }
        rows_ = element_count({dims_.begin(), dims_.end() - 1});
        dst_size_ = static_cast<dim_t>(memory::data_type_size(dst_.get_desc().data_type()));
    }

    void run(const stream &, const run_memory &m) const override {
        const std::size_t inner = dims_.size() - 1, count = operands_.size();
        const auto rows_of = m.at<const void *>(rows_of_);
        rows_of[count] = nullptr;
        stack_index at(inner);
        auto *y = m.at<std::uint8_t>(dst_);
        for (std::int64_t r = 0; r < rows_; r++, y += dims_[inner] * dst_size_) {
            for (std::size_t k = 0; k < count; k++) {
                const dim_t place = operands_[k].first + offset_at(at, operands_[k].strides);
                rows_of[k] = m.at<std::uint8_t>(operands_[k].where) + place * sizes_[k];
            }
            function_(y, rows_of, inner_strides_.data(), dims_[inner]);
            next_index(at, dims_);
        }
    }

    std::string explain() const override { return "a plain loop over " + to_text(dims_) + " elements"; }

private:
    buffer dst_, rows_of_; ///< where the rows of the operands begin, and null
    memory::dims dims_;
    std::vector<walked_operand> operands_;
    row_function function_;
    std::vector<dim_t> sizes_, inner_strides_;
    std::int64_t rows_;
    dim_t dst_size_;
};

template <typename T> void copy_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    if (strides[0] == 1) {
        std::memcpy(y, operands[0], static_cast<std::size_t>(count) * sizeof(T));
        return;
    }
    for (dim_t i = 0; i < count; i++)
        static_cast<T *>(y)[i] = static_cast<const T *>(operands[0])[i * strides[0]];
}

} // namespace

std::unique_ptr<step> broadcast_step(const lowering &l, std::vector<walked_operand> operands,
                                     row_function f) {
    return std::make_unique<walk>(l, std::move(operands), f);
}

row_function copying(std::size_t element_bytes) {
    return element_bytes == 1   ? copy_row<std::uint8_t>
           : element_bytes == 2 ? copy_row<std::uint16_t>
                                : copy_row<std::uint32_t>;
}

} // namespace octet::model
