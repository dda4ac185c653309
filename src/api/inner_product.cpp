// The front of the inner product. It becomes a convolution whose kernel covers the whole image and therefore
// has one output position: no implementation knows inner products, and both share one packed layout.
// SPDX-License-Identifier: Apache-2.0
#include "octet/inner_product.hpp"

#include "api/accumulating.hpp"
#include "api/dynamic_matmul.hpp"
#include "api/runtime_sizes.hpp"
#include "common/convolution_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "inner_product";

/// A convolution whose kernel covers the image.
convolution_problem shapes_of(const inner_product_forward::desc &d) {
    convolution_problem p;
    p.src = d.src.data;
    p.weights = d.weights.data;
    p.dst = d.dst.data;
    require_tensor(operation, "src", p.src, 2, 5);
    require_tensor(operation, "weights", p.weights, p.src.ndims, p.src.ndims);
    require_tensor(operation, "dst", p.dst, 2, 2);
    p.spatial_ndims = p.src.ndims - 2;
    p.is_inner_product = true;
    p.mb = p.src.dims[0];
    p.oc = p.weights.dims[0];
    p.ic = p.weights.dims[1];
    if (p.dst.dims[0] != p.mb)
        throw_invalid(operation, ": batch of src is ", p.mb, ", of dst ", p.dst.dims[0]);
    if (p.dst.dims[1] != p.oc)
        throw_invalid(operation, ": dst has ", p.dst.dims[1], " channels, weights ", p.oc);
    for (int i = 1; i < p.src.ndims; i++)
        if (p.src.dims[i] != p.weights.dims[i])
            throw_invalid(operation, ": dimension ", i, " of src is ", p.src.dims[i], ", of weights ",
                          p.weights.dims[i]);
    for (int i = 0; i < p.spatial_ndims; i++)
        p.in[3 - p.spatial_ndims + i] = p.kernel[3 - p.spatial_ndims + i] = p.src.dims[2 + i];
    return p;
}

primitive_desc_ptr make(const inner_product_forward::desc &d, const request &given) {
    request r = given;
    r.is_of_dynamic_source = r.attr.get_source_quantization().has_value();
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        convolution_problem p = shapes_of(d);
        if (r.is_of_dynamic_source)
            return make_dynamic_inner_product(r, p, d.bias.data);
        resolve_layouts({operation, packed_kind::convolution}, p.src, p.weights, p.dst);
        attribute_support support{operation};
        support.weights_channel_mask = 1;
        support.tflite_derivation = scale_derivation::tflite_f32prod;
        return finish_accumulating(r, support, p, d.bias.data, {});
    });
}

} // namespace

const described_operation &inner_product_operation() {
    static const described_operation row = described(
        {operation,
         {{"inner product", "inner_product src:u8:1x256:nc weights:s8:64x256:any dst:u8:1x64:nc"}},
         tensor_roles::channels,
         ties_sizes},
        inner_product_forward::desc(prop_kind::forward_inference, {}, {}, {}, {}), no_parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

inner_product_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &weights,
                                  const memory::desc &bias, const memory::desc &dst)
    : prop(prop), src(src), weights(weights), bias(bias), dst(dst) {}
inner_product_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &weights,
                                  const memory::desc &dst)
    : desc(prop, src, weights, memory::desc(), dst) {}

impl::primitive_desc_ptr check(const inner_product_forward::desc &d, const primitive_attr &attr,
                               const engine &e, bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
