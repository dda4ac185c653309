// TFLite's RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR on NHWC codes; scale and zero point stay.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

resampling_coordinates coordinates_of(const lowering &l) {
    const bool aligned = l.integer("align_corners", 0) != 0, half = l.integer("half_pixel_centers", 0) != 0;
    if (aligned)
        return half ? resampling_coordinates::align_corners_half_pixel
                    : resampling_coordinates::align_corners;
    return half ? resampling_coordinates::half_pixel : resampling_coordinates::asymmetric;
}

template <algorithm alg> std::unique_ptr<step> resize(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    need_rank(src, "input 0", 4);
    need_equal_quantization(src, dst, "input and output");
    const std::vector<std::int64_t> size = l.constant_integers(1);
    if (size.size() != 2)
        refuse("input 1 has " + std::to_string(size.size()) + " values, allowed are height and width");
    need_output_dims(l, {src.dims[0], size[0], size[1], src.dims[3]});
    primitive_attr attr;
    attr.set_requantization(elementwise_rule(l));
    const resampling_forward::desc d(prop_kind::forward_inference, alg, nhwc_desc(src), nhwc_desc(dst),
                                     coordinates_of(l));
    return one_step(resampling_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, nhwc_desc(src))},
                     {OCTET_ARG_DST, l.output_buffer(nhwc_desc(dst))}});
}

// ---- Shapes, and whether rows of a batch stay apart

void tflite_resize_shape(node_shapes &n) {
    const memory::dims x = tflite_shape::image(n, 0);
    const std::vector<std::int64_t> size = n.constant(1);
    if (size.size() != 2)
        refuse("the size has " + std::to_string(size.size()) + " values, allowed are 2");
    n.set_output_dims({x[0], size[0], size[1], x[3]});
}

using namespace row_words;

constexpr row tflite_resize_rows[] = {
    row("RESIZE_BILINEAR", 2, resize<algorithm::resampling_linear>, tflite_resize_shape, rows::windows),
    row("RESIZE_NEAREST_NEIGHBOR", 2, resize<algorithm::resampling_nearest>, tflite_resize_shape,
        rows::windows),
};

} // namespace

operator_rows tflite_resize_operators() { return tflite_resize_rows; }

} // namespace octet::model
