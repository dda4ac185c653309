// The source of each image becomes codes, a convolution gives exact sums, and a loop combines them with scales. The
// images of a batch follow each other, so an image's result does not depend on those beside it.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/ops/hybrid_convolution.hpp"

#include <limits>

#include "loops/image_products.hpp"
#include "network/tflite/ops/operators.hpp"

namespace octet::model {
namespace {

constexpr std::size_t filter_input = 1;

class hybrid_convolution_step final : public step {
public:
    struct parts {
        dim_t images, source, results; ///< elements of an image
        buffer src, codes, zero_point, scratch, sums, dst;
        std::optional<buffer> bias;
        std::vector<float> scales;
    };

    hybrid_convolution_step(const loops::image_codes &quantize, const loops::pixel_results_loop &combine,
                            primitive_step product, parts p)
        : quantize_(quantize), combine_(combine), product_(std::move(product)), p_(std::move(p)) {}

    void make_primitives() override { product_.make_primitives(); }
    void prepare() const override { product_.prepare(); }
    void run(const stream &s, const run_memory &m) const override {
        for (dim_t i = 0; i < p_.images; i++) {
            const loops::image_parameters q = quantize_.run(
                m.at<float>(p_.src) + i * p_.source, m.at<std::int8_t>(p_.codes), m.at<float>(p_.scratch));
            *m.at<std::int32_t>(p_.zero_point) = q.zero_point;
            product_.run(s, m);
            combine_.run(m.at<std::int32_t>(p_.sums), q.scale, p_.scales.data(),
                         p_.bias ? m.at<float>(*p_.bias) : nullptr, m.at<float>(p_.dst) + i * p_.results);
        }
    }
    std::string implementation() const override { return "loop + " + product_.implementation(); }
    std::string explain() const override {
        return "codes of " + std::to_string(p_.source) + " elements with one scale, for each of " +
               std::to_string(p_.images) + " images, by a plain loop\n" + product_.explain() +
               "\n  then scales, by a plain loop";
    }

private:
    loops::image_codes quantize_;
    loops::pixel_results_loop combine_;
    primitive_step product_;
    parts p_;
};

memory::desc one_image(const tensor &t, data_type type) {
    return {{1, t.dims[3], t.dims[1], t.dims[2]}, type, format_tag::nhwc};
}

/// The exact product of an image of codes.
struct image_product {
    primitive_desc_base plan;
    memory::desc weights; ///< as the file has them
    int channel_axis = 0;
    std::size_t src_input = 0, bias_input = 2;
};

primitive_attr attr_of_sums() {
    primitive_attr attr;
    attr.set_requantization(requantization_rule::none);
    attr.set_zero_points_mask(OCTET_ARG_SRC, 0);
    return attr;
}

image_product plan_convolution(const lowering &l) {
    const tensor &src = l.input(0, {data_type::f32}), &w = l.input(filter_input),
                 &y = l.output({data_type::f32});
    const convolution_weights filter =
        l.get_node().op == "CONV_2D" ? conv_2d_weights(src, w) : depthwise_weights(l, src, w);
    const window rows = make_window(l, 'h', src.dims[1], filter.kernel_h),
                 columns = make_window(l, 'w', src.dims[2], filter.kernel_w);
    need_output_dims(l, {src.dims[0], rows.positions, columns.positions, filter.channels});
    const convolution_forward::desc d(
        inference, algorithm::convolution_direct, one_image(src, data_type::s8),
        planned_weights(filter.desc, w), memory::desc(), one_image(y, data_type::s32),
        {rows.stride, columns.stride}, {rows.dilation - 1, columns.dilation - 1},
        {rows.padding_l, columns.padding_l}, {rows.padding_r, columns.padding_r});
    return {convolution_forward::primitive_desc(d, attr_of_sums(), l.get_engine()), filter.desc,
            filter.channel_axis};
}

image_product plan_deconvolution(const lowering &l) {
    const tensor &src = l.input(2, {data_type::f32}), &w = l.input(filter_input, {data_type::s8}),
                 &y = l.output({data_type::f32});
    const deconvolution_shape shape = transpose_conv_shape(l);
    const deconvolution_forward::desc d(inference, algorithm::deconvolution_direct,
                                        one_image(src, data_type::s8), planned_weights(shape.weights, w),
                                        memory::desc(), one_image(y, data_type::s32), shape.strides,
                                        shape.padding_l, shape.padding_r);
    return {deconvolution_forward::primitive_desc(d, attr_of_sums(), l.get_engine()), shape.weights, 0, 2, 3};
}

} // namespace

std::unique_ptr<step> hybrid_convolution(const lowering &l, const source_quantization &q, combination order) {
    const image_product product =
        l.get_node().op == "TRANSPOSE_CONV" ? plan_deconvolution(l) : plan_convolution(l);
    const tensor &src = l.input(product.src_input), &w = l.input(filter_input), &y = l.result();
    const dim_t channels = y.dims[3], pixels = y.dims[1] * y.dims[2],
                source = src.dims[1] * src.dims[2] * src.dims[3];
    check_hybrid_weights(w, channels, product.channel_axis);
    const loops::image_codes quantize(q, source);
    const real_interval range = interval_of_activation(l.text("activation", "NONE"));
    const loops::pixel_results_loop combine(
        {order, pixels, channels, w.quant.scales.size() == 1, range.low, range.high});
    const auto scratch = [&](dim_t count, data_type type) {
        return l.scratch(memory::desc({count}, type, format_tag::x));
    };
    hybrid_convolution_step::parts p;
    p.images = src.dims[0];
    p.source = source;
    p.results = pixels * channels;
    p.src = l.input_buffer(product.src_input);
    p.codes = l.scratch(one_image(src, data_type::s8));
    p.zero_point = scratch(1, data_type::s32);
    p.scratch = scratch(quantize.scratch_size(), data_type::f32);
    p.sums = l.scratch(one_image(y, data_type::s32));
    p.dst = l.output_buffer();
    p.scales = w.quant.scales;
    if (l.has_input(product.bias_input)) {
        const tensor &b = l.input(product.bias_input, {data_type::f32});
        if (element_count(b.dims) != channels)
            refuse("the bias ('" + b.name + "') has dimensions " + to_text(b.dims) + ", allowed is " +
                   std::to_string(channels));
        p.bias = l.input_buffer(product.bias_input);
    }
    primitive_step sums;
    sums.add(product.plan, {{OCTET_ARG_SRC, p.codes},
                            {OCTET_ARG_WEIGHTS, packed_weights_of(l, filter_input, product.weights,
                                                                  product.plan.weights_desc())},
                            {OCTET_ARG_DST, p.sums},
                            {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC, p.zero_point}});
    return std::make_unique<hybrid_convolution_step>(quantize, combine, std::move(sums), std::move(p));
}

} // namespace octet::model
