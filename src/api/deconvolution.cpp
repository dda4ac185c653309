// The front of deconvolution. Its shapes are those of the convolution that leads back from dst to src, so
// they are checked by the same code with the direction turned.
//
// This file also chooses the layout of weights for `any`: a deconvolution is computed as one convolution per
// remainder of the output position modulo the strides ("parts", common/layout/layout.hpp), and parts of
// different remainders have different taps. So weights are packed apart, one kernel per part.
// SPDX-License-Identifier: Apache-2.0
#include "octet/deconvolution.hpp"

#include "api/accumulating.hpp"
#include "api/convolution_shapes.hpp"
#include "api/runtime_sizes.hpp"
#include "common/deconvolution_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "deconvolution";

constexpr auto parameters = [](auto &d, const auto &visit) { visit_convolution(d, visit, d.dst, d.src); };

primitive_desc_ptr make(const deconvolution_forward::desc &d, const request &r) {
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, algorithm::deconvolution_direct, algorithm::deconvolution_direct,
                          "deconvolution_direct");
        deconvolution_problem p{convolution_shapes(operation, direction::transposed, d)};
        const packed_kind packing =
            p.weights_have_groups ? packed_kind::grouped_deconvolution : packed_kind::deconvolution;
        if (p.weights.format_kind == format_kind::any) {
            p.weights = packed_in_parts(p);
            size_in_bytes(p.weights); // throws on overflow
        }
        resolve_layouts({operation, packing}, p.src, p.weights, p.dst);

        attribute_support support{operation};
        support.weights_channel_mask = p.weights_have_groups ? 3 : 1;
        if (p.src.data_type == data_type::u8) // the older scheme
            support.tflite_derivation = scale_derivation::tflite_f32prod;
        support.real_scales_are_f32 = true;
        return finish_accumulating(r, support, p, d.bias.data, parameter_text(d, parameters));
    });
}

} // namespace

const described_operation &deconvolution_operation() {
    static const described_operation row = described(
        {operation,
         {{"deconvolution",
           "deconvolution src:u8:1x64x7x7:nhwc weights:s8:64x64x2x2:any dst:u8:1x64x14x14:nhwc strides:2x2"}},
         tensor_roles::channels,
         ties_sizes},
        deconvolution_forward::desc(prop_kind::forward_inference, algorithm::deconvolution_direct,
                                    memory::desc(), memory::desc(), memory::desc(), memory::desc(), {}, {},
                                    {}, {}),
        parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

impl::primitive_desc_ptr check(const deconvolution_forward::desc &d, const primitive_attr &attr,
                               const engine &e, bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
