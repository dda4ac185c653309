// A float ConvTranspose in ONNX Runtime's order: what each pixel gives to each tap is a product of matrices, with a column for every
// output channel and tap; outputs add up what they get, the first tap first, and the bias last. Where an image is one pixel, the
// product is one of a vector and a matrix, which ONNX Runtime sums up in other orders.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/ops/onnx/float_conv.hpp"
#include "network/ops/onnx/float_loops.hpp"
#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

namespace octet::model {
namespace {

/// Sizes along up to three dimensions; a dimension that is lacking has the size 1.
struct deconvolution_geometry {
    struct axis {
        dim_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
        /// Where a tap of a pixel goes; -1: outside.
        dim_t place(dim_t i, dim_t tap) const {
            const dim_t o = i * stride + tap * dilation - pad;
            return o >= 0 && o < out ? o : -1;
        }
    };
    axis axes[3];
    dim_t images = 0, channels = 0, outputs = 0, groups = 1; ///< channels and outputs of each group

    dim_t pixels() const { return axes[0].in * axes[1].in * axes[2].in; }
    dim_t image_size() const { return axes[0].out * axes[1].out * axes[2].out; }
    dim_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
    dim_t columns() const { return outputs * taps(); }
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
        g.axes[3 - n + i] = {x.dims[i + 2], y.dims[i + 2], w.dims[i + 2], strides[i], dilations[i], pads[i]};
    return g;
}

/// How what pixels give to taps is summed up.
enum class product_order { matrices, weights_by_pixel, pixel_by_weights };

/// Whether ONNX Runtime transposes the weights ahead, so that they are a matrix with a row for each column here.
bool are_transposed_ahead(const lowering &l, const deconvolution_geometry &g) {
    return l.input(conv_weights).is_constant && l.integer(dequantized_matrix, 0) == 0 && g.columns() > 1;
}

product_order order_of(const lowering &l, const deconvolution_geometry &g) {
    if (g.pixels() > 1)
        return product_order::matrices;
    return are_transposed_ahead(l, g) ? product_order::weights_by_pixel : product_order::pixel_by_weights;
}

class deconvolution_step final : public step {
public:
    deconvolution_step(const lowering &l, const deconvolution_geometry &g, buffer given)
        : g_(g), order_(order_of(l, g)), given_(std::move(given)), dst_(l.output_buffer()) {
        if (order_ != product_order::matrices) {
            src_ = l.input_buffer(0);
            weights_ = l.input_buffer(conv_weights);
        }
        if (!l.has_input(conv_bias))
            return;
        bias_ = l.input_buffer(conv_bias);
        if (element_count(l.input(conv_bias, {data_type::f32}).dims) != g.groups * g.outputs)
            refuse("the bias has dimensions " + to_text(l.input(conv_bias).dims) +
                   ", allowed is one value for each of " + std::to_string(g.groups * g.outputs) +
                   " channels");
    }

    product_order order() const { return order_; }
    primitive_step &products() { return products_; }
    primitive_step &followers() { return followers_; }
    void make_primitives() override {
        products_.make_primitives();
        followers_.make_primitives();
    }
    void prepare() const override {
        products_.prepare();
        followers_.prepare();
    }
    void run(const stream &s, const run_memory &m) const override {
        if (order_ == product_order::matrices)
            products_.run(s, m);
        else
            multiply_vectors(m);
        add_up(m);
        followers_.run(s, m);
    }
    std::string implementation() const override {
        return order_ == product_order::matrices ? products_.implementation() + " + loop" : "loop";
    }
    std::string explain() const override {
        return (order_ == product_order::matrices ? products_.explain()
                                                  : "a plain loop multiplies a vector and a matrix") +
               "\na plain loop adds up what each output gets";
    }

private:
    void multiply_vectors(const run_memory &m) const {
        const dim_t columns = g_.columns();
        for (dim_t part = 0; part < g_.images * g_.groups; part++) {
            const float *const x = m.at<float>(*src_) + part * g_.channels, *const w =
                                                                                m.at<float>(*weights_) +
                                                                                part % g_.groups *
                                                                                    g_.channels * columns;
            float *const y = m.at<float>(given_) + part * columns;
            if (order_ == product_order::pixel_by_weights)
                multiply_row(x, w, columns, g_.channels, y, columns, true);
            else
                multiply_column_by_transposed(w, x, g_.channels, y, columns);
        }
    }

    void add_up(const run_memory &m) const {
        const dim_t size = g_.image_size(), columns = g_.columns(), taps = g_.taps();
        float *y = m.at<float>(dst_);
        for (dim_t n = 0; n < g_.images; n++)
            for (dim_t group = 0; group < g_.groups; group++) {
                const float *const given =
                    m.at<float>(given_) + (n * g_.groups + group) * g_.pixels() * columns;
                for (dim_t o = 0; o < g_.outputs; o++, y += size) {
                    std::fill(y, y + size, 0.f);
                    scatter(given + o * taps, columns, y);
                    for (dim_t i = 0; bias_ && i < size; i++)
                        y[i] += m.at<float>(*bias_)[group * g_.outputs + o];
                }
            }
    }

    void scatter(const float *given, dim_t columns, float *y) const {
        const auto &a = g_.axes;
        for_positions(a[0].kernel, a[1].kernel, a[2].kernel, [&](const dim_t *tap) {
            const float *from = given++;
            for_positions(a[0].in, a[1].in, a[2].in, [&](const dim_t *i) {
                const dim_t z = a[0].place(i[0], tap[0]), h = a[1].place(i[1], tap[1]),
                            w = a[2].place(i[2], tap[2]);
                if (z >= 0 && h >= 0 && w >= 0)
                    y[(z * a[1].out + h) * a[2].out + w] += *from;
                from += columns;
            });
        });
    }

    deconvolution_geometry g_;
    product_order order_;
    buffer given_, dst_;
    std::optional<buffer> src_, weights_, bias_;
    primitive_step products_, followers_;
};

std::unique_ptr<step> lower_float_conv_transpose(const lowering &l) {
    const deconvolution_geometry g = geometry_of(l);
    const dim_t pixels = g.pixels(), columns = g.columns(),
                block = float_reduction_block(g.channels, pixels, !are_transposed_ahead(l, g));
    const memory::desc given({g.images * g.groups * pixels, columns}, data_type::f32, format_tag::ab),
        matrix({g.groups * g.channels, columns}, data_type::f32, format_tag::ab);
    const buffer products = l.scratch(given);
    auto result = std::make_unique<deconvolution_step>(l, g, products);
    const memory::desc image({pixels, g.images * g.groups * g.channels}, data_type::f32,
                             memory::dims{1, pixels}); // a column for each channel
    const dim_t parts = result->order() == product_order::matrices ? g.images * g.groups : 0;
    for (dim_t part = 0; part < parts; part++)
        for (dim_t first = 0; first < g.channels; first += block) {
            const dim_t size = std::min(block, g.channels - first);
            const memory::desc a = image.submemory_desc({pixels, size}, {0, part * g.channels + first}),
                               b = matrix.submemory_desc({size, columns},
                                                         {part % g.groups * g.channels + first, 0}),
                               d = given.submemory_desc({pixels, columns}, {part * pixels, 0});
            primitive_attr attr;
            if (first > 0) {
                post_ops ops;
                ops.append_sum(1.f);
                attr.set_post_ops(ops);
            }
            const matmul::primitive_desc pd({a, planned_weights(b, l.input(conv_weights)), d}, attr,
                                            l.get_engine());
            result->products().add(pd,
                                   {{OCTET_ARG_SRC, l.input_buffer(0, a)},
                                    {OCTET_ARG_WEIGHTS, l.packed_input(conv_weights, b, pd.weights_desc())},
                                    {OCTET_ARG_DST, products.seen_through(d)}});
        }
    if (!l.get_node().fused.empty())
        add_followers(result->followers(), l, dense_desc(l.output()));
    return result;
}

using namespace row_words;

constexpr row onnx_deconvolution_rows[] = {
    row("ConvTranspose", {2, 3}, lower_float_conv_transpose, shape::conv_transpose, rows::windows)
        .sizes(flow::windows),
};

} // namespace

operator_rows onnx_deconvolution_operators() { return onnx_deconvolution_rows; }

} // namespace octet::model
