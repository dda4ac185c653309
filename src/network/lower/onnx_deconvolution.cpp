// ConvTranspose on floats: a deconvolution. Its order of sums is the primitive's.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/onnx.hpp"

namespace octet::model {
namespace {

/// C x M/group x kernel as {[group,] M/group, C/group, kernel}.
memory::desc deconvolution_weights(const tensor &w, std::int64_t groups) {
    const dim_t inputs = w.dims[0] / groups, outputs = w.dims[1];
    memory::dims dims{outputs, inputs}, strides;
    dims.insert(dims.end(), w.dims.begin() + 2, w.dims.end());
    const dim_t taps = element_count({w.dims.begin() + 2, w.dims.end()});
    strides = {taps, outputs * taps};
    for (dim_t stride = taps; strides.size() < dims.size();) {
        stride /= dims[strides.size()];
        strides.push_back(stride);
    }
    if (groups > 1) {
        dims.insert(dims.begin(), groups);
        strides.insert(strides.begin(), inputs * outputs * taps);
    }
    return memory::desc(dims, w.type, strides);
}

} // namespace

/// The shape function has found the paddings.
std::unique_ptr<step> lower_float_conv_transpose(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &w = l.input(1, {data_type::f32}),
                 &y = l.output({data_type::f32});
    const std::int64_t groups = l.integer("group", 1);
    if (x.dims.size() < 3 || x.dims.size() > 5 || w.dims.size() != x.dims.size() ||
        y.dims.size() != x.dims.size() || groups < 1 || x.dims[1] % groups != 0 || w.dims[0] != x.dims[1])
        refuse("input " + to_text(x.dims) + " and weights " + to_text(w.dims) +
               " are no transposed convolution of 1 to 3 dimensions");
    const std::size_t n = x.dims.size() - 2;
    const memory::dims ones(n, 1), strides = l.integers("strides", ones),
                                   dilations = l.integers("dilations", ones),
                                   pads = l.integers("pads", memory::dims(2 * n, 0));
    if (strides.size() != n || dilations.size() != n || pads.size() != 2 * n)
        refuse("attributes 'strides', 'dilations' and 'pads' are not those of " + to_text(x.dims));
    memory::dims dilates, before, after;
    for (std::size_t i = 0; i < n; i++) {
        dilates.push_back(dilations[i] - 1);
        before.push_back(pads[i]);
        // Behind what output_padding adds, less is cut off.
        after.push_back((x.dims[i + 2] - 1) * strides[i] + (w.dims[i + 2] - 1) * dilations[i] + 1 - pads[i] -
                        y.dims[i + 2]);
    }
    const memory::desc src = dense_desc(x), dst = dense_desc(y), weights = deconvolution_weights(w, groups);
    memory::desc bias;
    if (l.has_input(2))
        bias = dense_desc(l.input(2, {data_type::f32}));
    const deconvolution_forward::desc d(prop_kind::forward_inference, algorithm::deconvolution_direct, src,
                                        planned_weights(weights, w), bias, dst, strides, dilates, before,
                                        after);
    const deconvolution_forward::primitive_desc pd(d, primitive_attr(), l.get_engine());
    arguments args = {{OCTET_ARG_SRC, l.input_buffer(0)},
                      {OCTET_ARG_WEIGHTS, l.packed_input(1, weights, pd.weights_desc())},
                      {OCTET_ARG_DST, l.output_buffer()}};
    if (!bias.is_zero())
        args[OCTET_ARG_BIAS] = l.input_buffer(2);
    return one_step(pd, args);
}

} // namespace octet::model
