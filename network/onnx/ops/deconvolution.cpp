// A float ConvTranspose in ONNX Runtime's order: what each pixel gives to each tap is a product of matrices,
// with a column for every output channel and tap; outputs add up what they get, the first tap first, and the
// bias last. Where an image is one pixel, the product is one of a vector and a matrix, which ONNX Runtime
// sums up in other orders.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/parallel.hpp"
#include "loops/plane_products.hpp"
#include "loops/vector_products.hpp"
#include "loops/windows.hpp"
#include "network/onnx/ops/float_conv.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/images.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// A pixel gives to what the window of a convolution with its number meets in the result.
struct deconvolution_geometry {
    loops::window_axes windows;
    dim_t images = 0, channels = 0, outputs = 0, groups = 1; ///< channels and outputs of each group

    dim_t parts() const { return images * groups; }
    dim_t pixels() const { return windows.outputs(); }
    dim_t columns() const { return outputs * windows.taps(); }
};

/// The shape function has found the paddings.
deconvolution_geometry geometry_of(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &w = l.input(conv_weights, {data_type::f32}),
                 &y = l.output({data_type::f32});
    deconvolution_geometry g;
    g.groups = l.integer("group", 1);
    if (x.dims.size() < 3 || x.dims.size() > 5 || w.dims.size() != x.dims.size() ||
        y.dims.size() != x.dims.size() || g.groups < 1 || x.dims[1] % g.groups != 0 ||
        w.dims[0] != x.dims[1] || y.dims[0] != x.dims[0] || y.dims[1] != w.dims[1] * g.groups)
        refuse("input " + to_text(x.dims) + " and weights " + to_text(w.dims) +
               " are no transposed convolution of 1 to 3 dimensions");
    const std::size_t n = x.dims.size() - 2;
    const memory::dims ones(n, 1), strides = l.integers("strides", ones),
                                   dilations = l.integers("dilations", ones),
                                   pads = l.integers("pads", memory::dims(2 * n, 0));
    if (strides.size() != n || dilations.size() != n || pads.size() != 2 * n)
        refuse("attributes 'strides', 'dilations' and 'pads' are not those of " + to_text(x.dims));
    g.images = x.dims[0];
    g.channels = x.dims[1] / g.groups;
    g.outputs = w.dims[1];
    for (std::size_t i = 0; i < n; i++)
        g.windows.axes[3 - n + i] = {y.dims[i + 2], x.dims[i + 2], w.dims[i + 2],
                                     strides[i],    dilations[i],  pads[i]};
    return g;
}

/// How what pixels give to taps is summed up.
enum class product_order { matrices, weights_by_pixel, pixel_by_weights };

/// Whether ONNX Runtime transposes the weights ahead, so that they are a matrix with a row for each column here.
bool are_transposed_ahead(const lowering &l, const deconvolution_geometry &g) {
    return l.input(conv_weights).is_constant && !l.marks().has_dequantized && g.columns() > 1;
}

product_order order_of(const lowering &l, const deconvolution_geometry &g) {
    if (g.pixels() > 1)
        return product_order::matrices;
    return are_transposed_ahead(l, g) ? product_order::weights_by_pixel : product_order::pixel_by_weights;
}

/// Whether each column of the products has its weights side by side.
bool has_rows(const lowering &l, const deconvolution_geometry &g) {
    return l.input(conv_weights).is_constant && order_of(l, g) == product_order::matrices;
}

buffer weights_of(const lowering &l, const deconvolution_geometry &g) {
    if (!has_rows(l, g))
        return l.input_buffer(conv_weights);
    const memory::dims dims = {g.groups, g.channels, g.columns()};
    return l.packed_input(
        conv_weights, memory::desc(dims, data_type::f32, format_tag::abc),
        memory::desc(dims, data_type::f32, memory::dims{g.channels * g.columns(), 1, g.channels}));
}

class deconvolution_step final : public followed_loop {
public:
    deconvolution_step(const lowering &l, const deconvolution_geometry &g)
        : g_(g), order_(order_of(l, g)), src_(l.input_buffer(0)), weights_(weights_of(l, g)),
          given_(
              l.scratch(memory::desc({g.parts() * g.columns() * g.pixels()}, data_type::f32, format_tag::a))),
          dst_(l.output_buffer()) {
        products_.outputs = g.columns();
        products_.inner = g.channels;
        products_.block = float_reduction_block(g.channels, g.pixels(), !are_transposed_ahead(l, g));
        products_.weights_row = has_rows(l, g) ? g.channels : 1;
        products_.weights_step = has_rows(l, g) ? 1 : g.columns();
        products_.result_row = g.pixels();
        for (dim_t c = 0; c < g.channels; c++)
            products_.rows.push_back(c * g.pixels());
        products_.add_columns(0, 0, g.pixels());
        bias_ = bias_of_channels(l, g.groups * g.outputs);
        take_followers(l, dense_desc(l.output()));
    }

    void run(const stream &s, const run_memory &m) const override {
        if (order_ == product_order::matrices)
            products_.run_all(g_.parts(), [&](dim_t part) { return operands_of(m, part); });
        else
            multiply_vectors(m);
        add_up(m);
        run_followers(s, m);
    }

private:
    std::string explain_loop() const override {
        return std::string(order_ == product_order::matrices
                               ? "a loop multiplies weights by planes of pixels"
                               : "a plain loop multiplies a vector and a matrix") +
               ", another adds up what each output gets";
    }

    /// Returns the weights, channels and products of a group of an image.
    loops::plane_products::operands operands_of(const run_memory &m, dim_t part) const {
        return {m.at<float>(weights_) + part % g_.groups * g_.channels * g_.columns(),
                m.at<float>(src_) + part * g_.channels * g_.pixels(), nullptr, nullptr,
                m.at<float>(given_) + part * g_.columns() * g_.pixels()};
    }

    void multiply_vectors(const run_memory &m) const {
        const dim_t columns = g_.columns();
        loops::for_parts(g_.parts(), columns, loops::vector_part, g_.channels,
                         [&](dim_t part, dim_t first, dim_t count) {
                             const loops::plane_products::operands o = operands_of(m, part);
                             if (order_ == product_order::pixel_by_weights)
                                 loops::multiply_row(o.source, o.weights + first, columns, g_.channels,
                                                     o.result + first, count, true);
                             else
                                 loops::multiply_column_by_transposed(o.weights + first, columns, o.source,
                                                                      g_.channels, o.result + first, count);
                         });
    }

    void add_up(const run_memory &m) const {
        const dim_t size = g_.windows.inputs(), given = g_.windows.taps() * g_.pixels();
        loops::parallel_for(g_.parts() * g_.outputs, given + size, [&](dim_t begin, dim_t end) {
            for (dim_t o = begin; o < end; o++) {
                float *const y = m.at<float>(dst_) + o * size;
                std::fill(y, y + size, 0.f);
                loops::scatter_taps(g_.windows, m.at<float>(given_) + o * given, y);
                if (!bias_)
                    continue;
                const float bias = m.at<float>(*bias_)[o % (g_.groups * g_.outputs)];
                for (dim_t i = 0; i < size; i++)
                    y[i] += bias;
            }
        });
    }

    deconvolution_geometry g_;
    product_order order_;
    loops::plane_products products_;
    buffer src_, weights_, given_, dst_; ///< given: for each output channel and tap, a plane of pixels
    std::optional<buffer> bias_;
};

std::unique_ptr<step> lower_float_conv_transpose(const lowering &l) {
    return std::make_unique<deconvolution_step>(l, geometry_of(l));
}

using namespace row_words;

constexpr row onnx_deconvolution_rows[] = {
    row("ConvTranspose", {2, 3}, lower_float_conv_transpose, shape::conv_transpose, rows::windows)
        .sizes(flow::windows),
};

} // namespace

operator_rows onnx_deconvolution_operators() { return onnx_deconvolution_rows; }

} // namespace octet::model
