// A function per family of operations, where more than a line is needed; `translate` at the end is the table.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/translate.hpp"

#include <algorithm>

#include "onednn/convert.hpp"
#include "onednn/names.hpp"

namespace octet::onednn {
namespace {

/// The descriptor of the request as its own type.
template <typename Desc> const Desc &as(const request &r) { return *static_cast<const Desc *>(r.op_desc); }

/// The one engine that Octet has.
engine cpu() { return engine(engine::kind::cpu, 0); }

/// oneDNN's lists of spatial sizes are as long as the rank allows.
memory::dims spatial(const dnnl_dims_t values, const dnnl_memory_desc_t &tensor) {
    return memory::dims(values, values + std::max(tensor.ndims - 2, 0));
}

normalization_flags flags_of(unsigned flags) { return static_cast<normalization_flags>(flags); }

/// The primitive descriptor of an operation. Its descriptor is given in braces, which are read from left to
/// right, so that the first wrong parameter is the one that is named.
template <typename Op> primitive_desc made(const typename Op::desc &d, const primitive_attr &attr) {
    return typename Op::primitive_desc(d, attr, cpu());
}

template <typename Op> primitive_desc windows(const dnnl_convolution_desc_t &d, const primitive_attr &attr) {
    return made<Op>({prop_of(d.prop_kind), algorithm_of(d.alg_kind), desc_of(d.src_desc, "src"),
                     desc_of(d.weights_desc, "weights"), desc_of(d.bias_desc, "bias"),
                     desc_of(d.dst_desc, "dst"), spatial(d.strides, d.src_desc),
                     spatial(d.dilates, d.src_desc), spatial(d.padding[0], d.src_desc),
                     spatial(d.padding[1], d.src_desc)},
                    attr);
}

template <typename Desc>
primitive_desc pooling(const Desc &d, const dnnl_dims_t &dilation, const primitive_attr &attr) {
    return made<pooling_forward>({prop_of(d.prop_kind), algorithm_of(d.alg_kind), desc_of(d.src_desc, "src"),
                                  desc_of(d.dst_desc, "dst"), spatial(d.strides, d.src_desc),
                                  spatial(d.kernel, d.src_desc), spatial(dilation, d.src_desc),
                                  spatial(d.padding[0], d.src_desc), spatial(d.padding[1], d.src_desc)},
                                 attr);
}

/// oneDNN computes a logarithm as logsoftmax does, whichever operation asks for it.
primitive_desc softmax(const dnnl_softmax_v2_desc_t &d, const primitive_attr &attr) {
    const prop_kind prop = prop_of(d.prop_kind);
    const algorithm alg = algorithm_of(d.alg_kind);
    const memory::desc src = desc_of(d.src_desc, "src"), dst = desc_of(d.dst_desc, "dst");
    return alg == algorithm::softmax_log ? made<logsoftmax_forward>({prop, src, dst, d.softmax_axis}, attr)
                                         : made<softmax_forward>({prop, alg, src, dst, d.softmax_axis}, attr);
}

primitive_desc resampling(const dnnl_resampling_desc_t &d, const primitive_attr &attr) {
    const prop_kind prop = prop_of(d.prop_kind);
    const algorithm alg = algorithm_of(d.alg_kind);
    const memory::desc src = desc_of(d.src_desc, "src"), dst = desc_of(d.dst_desc, "dst");
    const std::vector<float> factors(d.factors, d.factors + std::max(d.src_desc.ndims - 2, 0));
    if (dst.is_zero())
        return made<resampling_forward>({prop, alg, factors, src}, attr);
    return has_factors_of_sizes(d) ? made<resampling_forward>({prop, alg, src, dst}, attr)
                                   : made<resampling_forward>({prop, alg, factors, src, dst}, attr);
}

/// Blocked layouts, and more dimensions than Octet's, as plain views of the same elements; masks would not fit those.
primitive_desc reorder_of(const request &r, const primitive_attr &attr) {
    const dnnl_memory_desc_t &src = *r.srcs[0], &dst = *r.dst;
    plain_pair tensors;
    if (is_blocked(src) || is_blocked(dst) || src.ndims > max_ndims) {
        int mask = attr.output_scales().mask;
        for (const auto &[arg, zero_points] : attr.zero_points())
            mask |= zero_points.mask;
        if (mask != 0 || attr.get_post_ops().len() > 0)
            refuse(status::unimplemented,
                   "reorder: masks and post-ops with blocked layouts or more than 6 dimensions");
        tensors = plain_views(src, dst);
    } else {
        tensors = {desc_of(src, "src"), desc_of(dst, "dst")};
    }
    return reorder::primitive_desc(cpu(), tensors.src, cpu(), tensors.dst, attr);
}

std::vector<memory::desc> sources(const request &r) {
    std::vector<memory::desc> srcs;
    for (const dnnl_memory_desc_t *md : r.srcs)
        srcs.push_back(desc_of(*md, "src"));
    return srcs;
}

/// Without a destination it has the first source's layout.
primitive_desc concat_of(const request &r, const primitive_attr &attr) {
    using pd = concat::primitive_desc;
    const std::vector<memory::desc> srcs = sources(r);
    return r.dst ? pd(desc_of(*r.dst, "dst"), r.concat_dimension, srcs, cpu(), attr)
                 : pd(r.concat_dimension, srcs, cpu(), attr);
}

primitive_desc sum_of(const request &r, const primitive_attr &attr) {
    using pd = sum::primitive_desc;
    const std::vector<memory::desc> srcs = sources(r);
    const std::vector<float> scales(r.scales, r.scales + srcs.size());
    return r.dst ? pd(desc_of(*r.dst, "dst"), scales, srcs, cpu(), attr) : pd(scales, srcs, cpu(), attr);
}

primitive_desc rnn_of(const dnnl_rnn_desc_t &d, const primitive_attr &attr) {
    const rnn_desc described{prop_of(d.prop_kind),
                             algorithm_of(d.cell_kind),
                             static_cast<rnn_direction>(d.direction), // the numbers are the same
                             desc_of(d.src_layer_desc, "src_layer"),
                             desc_of(d.src_iter_desc, "src_iter"),
                             desc_of(d.src_iter_c_desc, "src_iter_c"),
                             desc_of(d.weights_layer_desc, "weights_layer"),
                             desc_of(d.weights_iter_desc, "weights_iter"),
                             desc_of(d.weights_peephole_desc, "weights_peephole"),
                             desc_of(d.weights_projection_desc, "weights_projection"),
                             desc_of(d.bias_desc, "bias"),
                             desc_of(d.dst_layer_desc, "dst_layer"),
                             desc_of(d.dst_iter_desc, "dst_iter"),
                             desc_of(d.dst_iter_c_desc, "dst_iter_c"),
                             d.cell_kind == dnnl_vanilla_rnn ? algorithm_of(d.activation_kind)
                                                             : algorithm::undef,
                             d.alpha,
                             d.beta};
    return primitive_desc_of<rnn_desc>(described, attr, cpu());
}

} // namespace

bool has_factors_of_sizes(const dnnl_resampling_desc_t &d) {
    for (int i = 2; i < d.src_desc.ndims; i++)
        if (d.factors[i - 2] !=
            static_cast<float>(d.dst_desc.dims[i]) / static_cast<float>(d.src_desc.dims[i]))
            return false;
    return true;
}

primitive_desc translate(const request &r, const primitive_attr &attr) {
    switch (r.kind) {
    case dnnl_convolution:
        return windows<convolution_forward>(as<dnnl_convolution_desc_t>(r), attr);
    case dnnl_deconvolution:
        return windows<deconvolution_forward>(as<dnnl_deconvolution_desc_t>(r), attr);
    case dnnl_inner_product: {
        const auto &d = as<dnnl_inner_product_desc_t>(r);
        return made<inner_product_forward>({prop_of(d.prop_kind), desc_of(d.src_desc, "src"),
                                            desc_of(d.weights_desc, "weights"), desc_of(d.bias_desc, "bias"),
                                            desc_of(d.dst_desc, "dst")},
                                           attr);
    }
    case dnnl_matmul: {
        const auto &d = as<dnnl_matmul_desc_t>(r);
        return made<matmul>({desc_of(d.src_desc, "src"), desc_of(d.weights_desc, "weights"),
                             desc_of(d.bias_desc, "bias"), desc_of(d.dst_desc, "dst")},
                            attr);
    }
    case dnnl_pooling:
        return pooling(as<dnnl_pooling_desc_t>(r), dnnl_dims_t{}, attr);
    case dnnl_pooling_v2:
        return pooling(as<dnnl_pooling_v2_desc_t>(r), as<dnnl_pooling_v2_desc_t>(r).dilation, attr);
    case dnnl_eltwise: {
        const auto &d = as<dnnl_eltwise_desc_t>(r);
        return made<eltwise_forward>(
            {prop_of(d.prop_kind), algorithm_of(d.alg_kind), desc_of(d.data_desc, "data"), d.alpha, d.beta},
            attr);
    }
    case dnnl_softmax: {
        const auto &d = as<dnnl_softmax_desc_t>(r);
        return made<softmax_forward>({prop_of(d.prop_kind), desc_of(d.data_desc, "data"), d.softmax_axis},
                                     attr);
    }
    case dnnl_logsoftmax: {
        const auto &d = as<dnnl_softmax_desc_t>(r);
        return made<logsoftmax_forward>({prop_of(d.prop_kind), desc_of(d.data_desc, "data"), d.softmax_axis},
                                        attr);
    }
    case dnnl_softmax_v2:
        return softmax(as<dnnl_softmax_v2_desc_t>(r), attr);
    case dnnl_lrn: {
        const auto &d = as<dnnl_lrn_desc_t>(r);
        return made<lrn_forward>({prop_of(d.prop_kind), algorithm_of(d.alg_kind),
                                  desc_of(d.data_desc, "data"), d.local_size, d.lrn_alpha, d.lrn_beta,
                                  d.lrn_k},
                                 attr);
    }
    case dnnl_shuffle: {
        const auto &d = as<dnnl_shuffle_desc_t>(r);
        return made<shuffle_forward>(
            {prop_of(d.prop_kind), desc_of(d.data_desc, "data"), d.axis, static_cast<int>(d.group_size)},
            attr);
    }
    case dnnl_prelu: {
        const auto &d = as<dnnl_prelu_desc_t>(r);
        return made<prelu_forward>(
            {prop_of(d.prop_kind), desc_of(d.data_desc, "data"), desc_of(d.weights_desc, "weights")}, attr);
    }
    case dnnl_binary: {
        const auto &d = as<dnnl_binary_desc_t>(r);
        return made<binary>({algorithm_of(d.alg_kind), desc_of(d.src_desc[0], "src0"),
                             desc_of(d.src_desc[1], "src1"), desc_of(d.dst_desc, "dst")},
                            attr);
    }
    case dnnl_resampling:
        return resampling(as<dnnl_resampling_desc_t>(r), attr);
    case dnnl_reduction: {
        const auto &d = as<dnnl_reduction_desc_t>(r);
        return made<reduction>(
            {algorithm_of(d.alg_kind), desc_of(d.src_desc, "src"), desc_of(d.dst_desc, "dst"), d.p, d.eps},
            attr);
    }
    case dnnl_batch_normalization: {
        const auto &d = as<dnnl_batch_normalization_desc_t>(r);
        return made<batch_normalization_forward>(
            {prop_of(d.prop_kind), desc_of(d.data_desc, "data"), d.batch_norm_epsilon, flags_of(d.flags)},
            attr);
    }
    case dnnl_layer_normalization: {
        const auto &d = as<dnnl_layer_normalization_desc_t>(r);
        return made<layer_normalization_forward>({prop_of(d.prop_kind), desc_of(d.data_desc, "data"),
                                                  desc_of(d.stat_desc, "stat"), d.layer_norm_epsilon,
                                                  flags_of(d.flags)},
                                                 attr);
    }
    case dnnl_rnn:
        return rnn_of(as<dnnl_rnn_desc_t>(r), attr);
    case dnnl_reorder:
        return reorder_of(r, attr);
    case dnnl_concat:
        return concat_of(r, attr);
    case dnnl_sum:
        return sum_of(r, attr);
    default:
        refuse(status::unimplemented, std::string(name_of(prim_kind_names(), r.kind, "unknown")) +
                                          ": an operation of oneDNN that Octet does not have");
    }
}

} // namespace octet::onednn
