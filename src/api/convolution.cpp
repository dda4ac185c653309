// The front of convolution: the algorithm and layouts here, shapes in convolution_shapes (a deconvolution has
// the same), scales, bias and zero points in accumulating.cpp (every operation that sums products has them).
//
// Two decisions belong to convolution alone. `any` for depthwise weights is answered with a layout by patches
// of taps, because a row of the dense layout would have one useful weight in four; patches depend on stride
// and dilation, so the layout is chosen here, where they are known. And taps of a kernel row may join the
// reduction ("fused width") only where they are neighbours in memory, that is at dilation 1.
// SPDX-License-Identifier: Apache-2.0
#include "octet/convolution.hpp"

#include "api/accumulating.hpp"
#include "api/convolution_shapes.hpp"
#include "api/depthwise_post_op.hpp"
#include "api/runtime_sizes.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "convolution";

constexpr auto parameters = [](auto &d, const auto &visit) { visit_convolution(d, visit, d.src, d.dst); };

primitive_desc_ptr make(const convolution_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        if (has_depthwise(r.attr))
            return make_with_depthwise(d, r, parameter_text(d, parameters), make);
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, algorithm::convolution_direct, algorithm::convolution_auto,
                          "convolution_direct, convolution_auto");
        convolution_problem p = convolution_shapes(operation, direction::forward, d);
        const packed_kind packing =
            p.weights_have_groups ? packed_kind::grouped_convolution : packed_kind::convolution;
        const bool has_patches =
            p.weights_have_groups && p.groups > 1 && p.ic == 1 && p.spatial_ndims < 3 && !p.sums_f32();
        const tap_patches patches = has_patches ? patches_of(p) : tap_patches{};
        resolve_layouts({operation, packing, p.dilation[2] == 1, patches}, p.src, p.weights, p.dst);

        attribute_support support{operation};
        support.weights_channel_mask = p.weights_have_groups ? 3 : 1;
        if (p.src.data_type == data_type::u8) // the older scheme
            support.tflite_derivation = scale_derivation::tflite_f32prod;
        return finish_accumulating(r, support, p, d.bias.data, parameter_text(d, parameters));
    });
}

} // namespace

const described_operation &convolution_operation() {
    static const described_operation row = described(
        {operation,
         {{"convolution", "convolution src:u8:1x64x14x14:nhwc weights:s8:64x64x3x3:any "
                          "dst:u8:1x64x14x14:nhwc padding_l:1x1"},
          {"depthwise convolution", "convolution src:u8:1x64x14x14:nhwc weights:s8:64x1x1x3x3:any "
                                    "dst:u8:1x64x14x14:nhwc padding_l:1x1"}},
         tensor_roles::channels,
         ties_sizes},
        convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, memory::desc(),
                                  memory::desc(), memory::desc(), memory::desc(), {}, {}, {}, {}),
        parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

convolution_desc::convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                   const memory::desc &weights, const memory::desc &bias,
                                   const memory::desc &dst, const memory::dims &strides,
                                   const memory::dims &dilates, const memory::dims &padding_l,
                                   const memory::dims &padding_r, padding_kind)
    : prop(prop), alg(alg), src(src), weights(weights), bias(bias), dst(dst), strides(strides),
      dilates(dilates), padding_l(padding_l), padding_r(padding_r) {}
convolution_desc::convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                   const memory::desc &weights, const memory::desc &bias,
                                   const memory::desc &dst, const memory::dims &strides,
                                   const memory::dims &padding_l, const memory::dims &padding_r, padding_kind)
    : convolution_desc(prop, alg, src, weights, bias, dst, strides, memory::dims(strides.size(), 0),
                       padding_l, padding_r) {}
convolution_desc::convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                   const memory::desc &weights, const memory::desc &dst,
                                   const memory::dims &strides, const memory::dims &dilates,
                                   const memory::dims &padding_l, const memory::dims &padding_r, padding_kind)
    : convolution_desc(prop, alg, src, weights, memory::desc(), dst, strides, dilates, padding_l, padding_r) {
}
convolution_desc::convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src,
                                   const memory::desc &weights, const memory::desc &dst,
                                   const memory::dims &strides, const memory::dims &padding_l,
                                   const memory::dims &padding_r, padding_kind)
    : convolution_desc(prop, alg, src, weights, memory::desc(), dst, strides, padding_l, padding_r) {}

impl::primitive_desc_ptr check(const convolution_forward::desc &d, const primitive_attr &attr,
                               const engine &e, bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

convolution_forward::primitive_desc::range
convolution_forward::primitive_desc::accumulator_range(const memory &weights) const {
    if (weights.get_desc() != weights_desc())
        impl::throw_invalid("accumulator_range: weights are ", weights.get_desc().to_string(),
                            ", allowed: ", weights_desc().to_string());
    return impl::accumulator_range(src_desc().data, weights, get_primitive_attr(),
                                   arg_desc(OCTET_ARG_DST).data.dims[1]);
}

} // namespace v0
} // namespace octet
