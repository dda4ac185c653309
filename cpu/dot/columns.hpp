#pragma once

// What a dot kernel needs to know of its columns besides weights: the planes of the epilogue, and the
// accumulators to start with, into which bias and zero points are folded. What the attributes know is
// computed once, the rest for each execution.

#include <cstdint>
#include <vector>

#include "cpu/dot/plan.hpp"
#include "cpu/machine/aligned.hpp"

namespace octet::impl {

class dot_columns {
public:
    dot_columns(const dot_geometry &g, const jit::epilogue_plan &epilogue,
                const std::vector<line_range> &ranges);

    /// Planes of all column blocks; valid until the calling thread's next execution.
    const std::uint32_t *params(const arguments &args) const;

    /// bias - zs Σw + K zs zw for [range of kernel lines][column]: with the row sums, Σ (s - zs)(w - zw)
    /// without zero points in the reduction. `src_zp` is that of the bytes that the kernel reads. Valid as
    /// `params`.
    const std::int32_t *initial(const arguments &args, const std::int8_t *weights, std::int32_t src_zp) const;

    dim_t block_words() const { return epilogue_.planes().count * jit::columns_per_block; }
    /// Columns of all stored groups, padded to whole blocks: values of one range in `initial`.
    dim_t padded_columns() const { return geometry_.packed.groups * geometry_.packed.line_sums(); }
    std::size_t size_bytes() const { return constants_.size() * sizeof constants_[0]; }

private:
    dim_t first_channel(dim_t group) const { return geometry_.groups > 1 ? group * geometry_.packed.o : 0; }
    std::int32_t weights_zero_point(const std::int32_t *zero_points, dim_t channel) const;
    void fill_weights_zero_points(const arguments &args, std::uint32_t *params) const;
    void add_bias(const arguments &args, std::int32_t *initial) const;
    void subtract_zero_points(const arguments &args, const std::int8_t *weights, std::int32_t src_zp,
                              const line_range &range, std::int32_t *initial) const;

    const dot_geometry &geometry_;
    const jit::epilogue_plan &epilogue_;
    const std::vector<line_range> &ranges_;
    aligned_vector<std::uint32_t> constants_; ///< planes as far as known at creation
    aligned_vector<std::int32_t> zeros_;      ///< initial values where there is nothing to fold
    const bool has_bias_, has_argument_planes_;
};

} // namespace octet::impl
