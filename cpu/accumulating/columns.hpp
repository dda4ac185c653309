#pragma once // SPDX-License-Identifier: Apache-2.0

// The data of output columns that a kernel of products reads besides weights: the parameter vectors of the
// epilogue, and the accumulators to start with, into which bias and zero points are folded. The part that
// follows from attributes is computed once. Each thread computes the rest for each execution, because cache
// lines come slowly from a core that has just written them.

#include <cstdint>
#include <vector>

#include "cpu/machine/aligned.hpp"
#include "cpu/weights/weights.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl {

/// Lines of the kernel (taps of equal depth and height).
struct line_range {
    dim_t first = 0, count = 1;
    friend bool operator==(const line_range &a, const line_range &b) {
        return a.first == b.first && a.count == b.count;
    }
};

/// Arguments of one execution, found by the thread that starts it.
struct column_arguments {
    const arguments &all;
    const void *bias; ///< null without one
    const std::int8_t *weights;
    std::int32_t src_zero_point; ///< zero point of the bytes that the kernel reads
};

class columns {
public:
    /// Numbers and initial values are those of the channels that the stored groups have one after the other,
    /// or of the same channels in each group (batches of a matmul). Outlived by what it is given.
    columns(const stored_weights &weights, const jit::epilogue_plan &epilogue,
            const std::vector<line_range> &ranges, bool groups_have_channels, instruction_set isa);

    column_arguments bind(const arguments &args, std::int32_t src_zero_point) const;
    /// False if the epilogue's magic bias does not allow for these biases.
    bool may_start_from_magic_bias(const column_arguments &args) const;

    /// Parameter vectors of all column blocks; valid until the calling thread's next execution.
    const std::uint32_t *params(const column_arguments &args) const;

    /// The epilogue's magic bias and bias - zs Σw + K zs zw for [range of kernel lines][column]: with the row sums,
    /// Σ (s - zs)(w - zw) without zero points in the reduction. Valid as `params`.
    const std::int32_t *initial(const column_arguments &args) const;

    dim_t block_words() const { return epilogue_.params().count * jit::columns_per_block; }
    /// Columns of all stored groups, padded to whole blocks: values of one range in `initial`.
    dim_t padded_columns() const { return packed().groups * packed().line_sums(); }
    std::size_t size_bytes() const { return constants_.size() * sizeof constants_[0]; }

private:
    const packed_geometry &packed() const { return weights_.geometry(); }
    std::int32_t magic_bias() const { return static_cast<std::int32_t>(epilogue_.magic_bias()); }
    dim_t first_channel(dim_t group) const { return groups_have_channels_ ? group * packed().o : 0; }
    void fill_weights_zero_points(const arguments &args, std::uint32_t *params) const;
    template <typename Visit>
    void for_each_bias(const void *bias, dim_t first_channel, dim_t count, const Visit &visit) const;
    void add_bias(const void *bias, std::int32_t *initial) const;
    void subtract_zero_points(const column_arguments &args, const line_range &range,
                              std::int32_t *initial) const;

    const stored_weights &weights_;
    const jit::epilogue_plan &epilogue_;
    const std::vector<line_range> &ranges_;
    aligned_vector<std::uint32_t> constants_; ///< parameter vectors as far as known at creation
    aligned_vector<std::int32_t> initial_;    ///< initial values where there is nothing to fold
    const bool groups_have_channels_, has_bias_, has_argument_params_;
    const instruction_set isa_; ///< for weights that are packed in an execution
};

} // namespace octet::impl
