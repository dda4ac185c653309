// Threads divide the elements of the result; each walks over its rows, of which the first and the last may be parts.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/broadcast.hpp"

#include <algorithm>
#include <cstring>

#include "loops/parallel.hpp"
#include "network/graph/index_walk.hpp"

namespace octet::model {
namespace {

class walk final : public loop_step {
public:
    walk(const lowering &l, std::vector<walked_operand> operands, row_function f)
        : dst_(l.output_buffer()), dims_(l.output().dims), operands_(std::move(operands)), function_(f) {
        if (dims_.empty()) {
            dims_ = {1};
            for (walked_operand &o : operands_)
                o.strides = {0};
        }
        for (const walked_operand &o : operands_) {
            sizes_.push_back(static_cast<dim_t>(memory::data_type_size(o.where.get_desc().data_type())));
            inner_strides_.push_back(o.strides.back());
        }
        const dim_t count = element_count(dims_);
        parts_ = std::clamp<dim_t>(count / least_part, 1, most_parts);
        part_ = (count + parts_ - 1) / parts_;
        rows_of_ = l.scratch(memory::desc({parts_ * table_bytes()}, data_type::u8, format_tag::x));
        dst_size_ = static_cast<dim_t>(memory::data_type_size(dst_.get_desc().data_type()));
    }

    void run(const stream &, const run_memory &m) const override {
        const dim_t count = element_count(dims_);
        loops::parallel_for(parts_, part_ * static_cast<dim_t>(operands_.size()),
                            [&](dim_t begin, dim_t end) {
                                for (dim_t p = begin; p < end; p++)
                                    run_part(m, p * part_, std::min((p + 1) * part_, count),
                                             reinterpret_cast<const void **>(m.at<std::uint8_t>(rows_of_) +
                                                                             p * table_bytes()));
                            });
    }

    std::string explain() const override { return "a plain loop over " + to_text(dims_) + " elements"; }

private:
    static constexpr dim_t least_part = 1 << 12, most_parts = 64; ///< elements; parts with a table each

    dim_t table_bytes() const { return static_cast<dim_t>((operands_.size() + 1) * sizeof(const void *)); }

    /// Elements `begin` to `end` - 1; `rows_of` has room for where the rows of the operands begin, and null.
    void run_part(const run_memory &m, dim_t begin, dim_t end, const void **rows_of) const {
        const std::size_t operands = operands_.size();
        rows_of[operands] = nullptr;
        for_rows(dims_, begin, end, [&](const stack_index &at, dim_t number, dim_t first, dim_t count) {
            for (std::size_t k = 0; k < operands; k++) {
                const walked_operand &o = operands_[k];
                const dim_t place = o.first + offset_at(at, o.strides) + first * inner_strides_[k];
                rows_of[k] = m.at<std::uint8_t>(o.where) + place * sizes_[k];
            }
            function_(m.at<std::uint8_t>(dst_) + number * dst_size_, rows_of, inner_strides_.data(), count);
        });
    }

    buffer dst_, rows_of_; ///< tables of pointers, one for each part
    memory::dims dims_;
    std::vector<walked_operand> operands_;
    row_function function_;
    std::vector<dim_t> sizes_, inner_strides_;
    dim_t dst_size_, parts_, part_; ///< part_: elements
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
