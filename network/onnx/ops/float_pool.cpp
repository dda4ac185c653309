// ONNX Runtime's poolings of floats whose order no primitive has (loops/pooling.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "loops/pooling.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/shapes/images.hpp"

namespace octet::model {
namespace {

using loops::pooling;
using loops::pooling_order;

class pooling_step final : public loop_step {
public:
    pooling_step(const lowering &l, const pooled_images &p, pooling kind, loops::pooled_axes axes,
                 pooling_order order)
        : src_(l.input_buffer(0, p.src)), dst_(l.output_buffer(p.dst)),
          planes_(p.src.dims()[0] * p.src.dims()[1]), loop_(kind, axes, order) {
        if (p.src.dims()[0] != p.dst.dims()[0] || p.src.dims()[1] != p.dst.dims()[1])
            refuse("input " + to_text(p.src.dims()) + " and output " + to_text(p.dst.dims()) +
                   " differ in images");
        constexpr dim_t most_columns = loops::pooling_loop::most_columns;
        if (const dim_t reach = axes[2].reach();
            order == pooling_order::rows_first && (reach > most_columns || axes[2].padded > most_columns))
            refuse("windows reach " + std::to_string(reach) + " columns; allowed are up to " +
                   std::to_string(most_columns));
    }

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), planes_, m.at<float>(dst_));
    }
    std::string explain() const override { return "a plain loop over windows"; }

private:
    buffer src_, dst_;
    dim_t planes_;
    loops::pooling_loop loop_;
};

loops::pooled_axes axes_of(const lowering &l, const pooled_images &p, bool counts_padding) {
    if (l.integer("channels_last", 0) != 0)
        refuse_as_unimplemented("attribute 'channels_last' is 1, allowed is 0 for floats");
    const memory::dims in = p.src.dims(), out = p.dst.dims();
    loops::pooled_axes axes;
    axes.fill(loops::pooled_axis_of(1, 1, 1, 1, 1, 0, 0, counts_padding));
    dim_t memory = 1;
    for (std::size_t i = p.kernel.size(); i-- > 0;) {
        loops::pooled_axis &a = axes[3 - p.kernel.size() + i];
        a = loops::pooled_axis_of(in[2 + i], out[2 + i], p.kernel[i], p.g.strides[i], p.g.dilates[i] + 1,
                                  p.g.padding_l[i], p.g.padding_r[i], counts_padding);
        a.memory = memory;
        memory *= in[2 + i];
    }
    return axes;
}

} // namespace

std::unique_ptr<step> make_average_loop(const lowering &l, const pooled_images &p, bool counts_padding) {
    loops::pooled_axes axes = axes_of(l, p, counts_padding);
    const bool has_vectors = l.marks().pools_by_vectors;
    const pooling_order order =
        has_vectors ? loops::vector_order(axes, p.src.dims().size()) : pooling_order::in_order;
    return std::make_unique<pooling_step>(l, p, pooling::averages, std::move(axes), order);
}

std::unique_ptr<step> make_maximum_loop(const lowering &l, const pooled_images &p) {
    loops::pooled_axes axes = axes_of(l, p, false);
    const std::size_t rank = p.src.dims().size();
    if (rank == 4 && p.src.dims()[1] % channels_of_block == 0)
        return std::make_unique<pooling_step>(l, p, pooling::maxima_of_blocks, std::move(axes),
                                              pooling_order::in_order);
    const bool is_dilated = std::any_of(axes.begin(), axes.end(), // also of a single tap
                                        [](const loops::pooled_axis &a) { return a.step != 1; });
    const pooling_order order =
        is_dilated ? pooling_order::from_first_element : loops::vector_order(axes, rank);
    return std::make_unique<pooling_step>(l, p, pooling::maxima, std::move(axes), order);
}

} // namespace octet::model
