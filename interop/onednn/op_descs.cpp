// A function for each of oneDNN's descriptors shows what it has; who asks for tensors and who for parameters
// are its visitors.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/op_descs.hpp"

#include <algorithm>
#include <utility>

#include "onednn/names.hpp"

namespace octet::onednn {
namespace {

/// Collects the tensors of a request. Training has no names here, only places.
class tensor_list {
public:
    void add(int arg, const dnnl_memory_desc_t &md) {
        if (md.ndims != 0)
            list_.push_back({arg, &md});
    }
    /// Source and destination in one.
    void add_data(const dnnl_memory_desc_t &md) {
        add(DNNL_ARG_SRC, md);
        add(DNNL_ARG_DST, md);
    }
    template <typename... Descs> void add_unnamed(const Descs &...mds) { (add(0, mds), ...); }
    template <typename... Values> void parameters(const Values &...) {}
    template <typename... Lists> void sizes(const dnnl_memory_desc_t &, const Lists &...) {}
    std::vector<named_tensor> take() { return std::move(list_); }

private:
    std::vector<named_tensor> list_;
};

/// Collects bytes of all else that decides.
class parameter_bytes {
public:
    explicit parameter_bytes(std::string &bytes) : bytes_(bytes) {}
    void add(int, const dnnl_memory_desc_t &) {}
    void add_data(const dnnl_memory_desc_t &) {}
    template <typename... Descs> void add_unnamed(const Descs &...) {}
    template <typename... Values> void parameters(const Values &...values) {
        (bytes_.append(reinterpret_cast<const char *>(&values), sizeof values), ...);
    }
    /// Lists with a value for each spatial dimension.
    template <typename... Lists> void sizes(const dnnl_memory_desc_t &tensor, const Lists &...lists) {
        const auto spatial = static_cast<std::size_t>(std::max(tensor.ndims - 2, 0));
        (bytes_.append(reinterpret_cast<const char *>(lists), spatial * sizeof *lists), ...);
    }

private:
    std::string &bytes_;
};

// A function per descriptor shows a visitor its tensors, each with the argument that it is, and its
// parameters. Of operations that Octet lacks only the tensors.

template <typename V, typename Desc> void describe_products(V &v, const Desc &d) {
    v.add(DNNL_ARG_SRC, d.src_desc);
    v.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    v.add(DNNL_ARG_BIAS, d.bias_desc);
    v.add(DNNL_ARG_DST, d.dst_desc);
}
template <typename V, typename Desc> void describe_gradients(V &v, const Desc &d) {
    v.add_unnamed(d.diff_src_desc, d.diff_weights_desc, d.diff_bias_desc, d.diff_dst_desc);
}
template <typename V> void describe(V &v, const dnnl_convolution_desc_t &d) {
    describe_products(v, d);
    describe_gradients(v, d);
    v.parameters(d.prop_kind, d.alg_kind);
    v.sizes(d.src_desc, d.strides, d.dilates, d.padding[0], d.padding[1]);
}
template <typename V> void describe(V &v, const dnnl_inner_product_desc_t &d) {
    describe_products(v, d);
    describe_gradients(v, d);
    v.parameters(d.prop_kind);
}
template <typename V> void describe(V &v, const dnnl_matmul_desc_t &d) { describe_products(v, d); }
template <typename V> void describe(V &v, const dnnl_shuffle_desc_t &d) {
    v.add_data(d.data_desc);
    v.parameters(d.prop_kind, d.axis, d.group_size);
}
template <typename V> void describe(V &v, const dnnl_eltwise_desc_t &d) {
    v.add_data(d.data_desc);
    v.add_unnamed(d.diff_data_desc);
    v.parameters(d.prop_kind, d.alg_kind, d.alpha, d.beta);
}
template <typename V> void describe(V &v, const dnnl_softmax_desc_t &d) { // logsoftmax too
    v.add_data(d.data_desc);
    v.add_unnamed(d.diff_desc);
    v.parameters(d.prop_kind, d.softmax_axis);
}
/// Source, destination and their gradients.
template <typename V, typename Desc> void describe_images(V &v, const Desc &d) {
    v.add(DNNL_ARG_SRC, d.src_desc);
    v.add(DNNL_ARG_DST, d.dst_desc);
    v.add_unnamed(d.diff_src_desc, d.diff_dst_desc);
    v.parameters(d.prop_kind, d.alg_kind);
}
template <typename V> void describe(V &v, const dnnl_softmax_v2_desc_t &d) {
    describe_images(v, d);
    v.parameters(d.softmax_axis);
}
template <typename V> void describe(V &v, const dnnl_pooling_desc_t &d) {
    describe_images(v, d);
    v.sizes(d.src_desc, d.strides, d.kernel, d.padding[0], d.padding[1]);
}
template <typename V> void describe(V &v, const dnnl_pooling_v2_desc_t &d) {
    describe_images(v, d);
    v.sizes(d.src_desc, d.strides, d.kernel, d.padding[0], d.padding[1], d.dilation);
}
template <typename V> void describe(V &v, const dnnl_resampling_desc_t &d) {
    describe_images(v, d);
    v.sizes(d.src_desc, d.factors);
}
template <typename V> void describe(V &v, const dnnl_prelu_desc_t &d) {
    v.add_data(d.data_desc);
    v.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    v.add_unnamed(d.diff_data_desc, d.diff_weights_desc);
    v.parameters(d.prop_kind);
}
template <typename V> void describe(V &v, const dnnl_lrn_desc_t &d) {
    v.add_data(d.data_desc);
    v.add_unnamed(d.diff_data_desc);
    v.parameters(d.prop_kind, d.alg_kind, d.local_size, d.lrn_alpha, d.lrn_beta, d.lrn_k);
}
template <typename V> void describe(V &v, const dnnl_batch_normalization_desc_t &d) {
    v.add_data(d.data_desc);
    v.add_unnamed(d.diff_data_desc, d.data_scaleshift_desc, d.diff_data_scaleshift_desc, d.stat_desc);
    v.parameters(d.prop_kind, d.batch_norm_epsilon, d.flags);
}
template <typename V> void describe(V &v, const dnnl_layer_normalization_desc_t &d) {
    v.add_data(d.data_desc);
    v.add(DNNL_ARG_MEAN, d.stat_desc);
    v.add(DNNL_ARG_VARIANCE, d.stat_desc);
    v.add_unnamed(d.diff_data_desc, d.data_scaleshift_desc, d.diff_data_scaleshift_desc);
    v.parameters(d.prop_kind, d.layer_norm_epsilon, d.flags);
}
template <typename V> void describe(V &v, const dnnl_binary_desc_t &d) {
    v.add(DNNL_ARG_SRC_0, d.src_desc[0]);
    v.add(DNNL_ARG_SRC_1, d.src_desc[1]);
    v.add(DNNL_ARG_DST, d.dst_desc);
    v.parameters(d.alg_kind);
}
template <typename V> void describe(V &v, const dnnl_reduction_desc_t &d) {
    v.add(DNNL_ARG_SRC, d.src_desc);
    v.add(DNNL_ARG_DST, d.dst_desc);
    v.parameters(d.alg_kind, d.p, d.eps);
}
template <typename V> void describe(V &v, const dnnl_rnn_desc_t &d) {
    v.add(DNNL_ARG_SRC_LAYER, d.src_layer_desc);
    v.add(DNNL_ARG_SRC_ITER, d.src_iter_desc);
    v.add(DNNL_ARG_SRC_ITER_C, d.src_iter_c_desc);
    v.add(DNNL_ARG_WEIGHTS_LAYER, d.weights_layer_desc);
    v.add(DNNL_ARG_WEIGHTS_ITER, d.weights_iter_desc);
    v.add(DNNL_ARG_WEIGHTS_PEEPHOLE, d.weights_peephole_desc);
    v.add(DNNL_ARG_WEIGHTS_PROJECTION, d.weights_projection_desc);
    v.add(DNNL_ARG_BIAS, d.bias_desc);
    v.add(DNNL_ARG_DST_LAYER, d.dst_layer_desc);
    v.add(DNNL_ARG_DST_ITER, d.dst_iter_desc);
    v.add(DNNL_ARG_DST_ITER_C, d.dst_iter_c_desc);
    v.add_unnamed(d.diff_src_layer_desc, d.diff_src_iter_desc, d.diff_src_iter_c_desc,
                  d.diff_weights_layer_desc, d.diff_weights_iter_desc, d.diff_bias_desc,
                  d.diff_dst_layer_desc, d.diff_dst_iter_desc, d.diff_dst_iter_c_desc,
                  d.diff_weights_peephole_desc, d.diff_weights_projection_desc);
    v.parameters(d.prop_kind, d.cell_kind, d.direction, d.activation_kind, d.alpha, d.beta);
}

// Kinds that have a descriptor, each with the type that it has.
// clang-format off
#define OCTET_DESCRIBED(described) \
    described(convolution, convolution) described(deconvolution, convolution)                              \
    described(inner_product, inner_product) described(matmul, matmul) described(shuffle, shuffle)          \
    described(eltwise, eltwise) described(softmax, softmax) described(logsoftmax, softmax)                 \
    described(softmax_v2, softmax_v2) described(pooling, pooling) described(pooling_v2, pooling_v2)        \
    described(resampling, resampling) described(prelu, prelu) described(lrn, lrn)                          \
    described(batch_normalization, batch_normalization)                                                    \
    described(layer_normalization, layer_normalization) described(binary, binary)                          \
    described(reduction, reduction) described(rnn, rnn)
// clang-format on

/// Calls visit(descriptor) with the type that belongs to the kind; `otherwise` for a kind without descriptor.
template <typename Result, typename Visit>
Result visit_op_desc(dnnl_primitive_kind_t kind, const void *op_desc, Result otherwise, Visit visit) {
#define DESCRIBED(name, type)                                                                                \
    if (kind == dnnl_##name)                                                                                 \
        return visit(static_cast<const dnnl_##type##_desc_t *>(op_desc));
    OCTET_DESCRIBED(DESCRIBED)
#undef DESCRIBED
    return otherwise;
}

/// Whether training or inference is asked for, where the descriptor says it.
template <typename Desc> auto direction(const Desc &d, int) -> decltype(d.prop_kind) { return d.prop_kind; }
template <typename Desc> dnnl_prop_kind_t direction(const Desc &, long) { return dnnl_prop_kind_undef; }

template <typename Desc> auto source(const Desc &d) -> decltype(&d.data_desc) { return &d.data_desc; }
template <typename Desc> auto source(const Desc &d) -> decltype(&d.src_desc) { return &d.src_desc; }
const dnnl_memory_desc_t *source(const dnnl_binary_desc_t &d) { return &d.src_desc[0]; }
const dnnl_memory_desc_t *source(const dnnl_rnn_desc_t &d) { return &d.src_layer_desc; }

} // namespace

dnnl_primitive_kind_t kind_of(const_dnnl_op_desc_t op_desc) {
    return op_desc ? *static_cast<const dnnl_primitive_kind_t *>(op_desc) : dnnl_undefined_primitive;
}

std::size_t size_of_op_desc(dnnl_primitive_kind_t kind) {
    return visit_op_desc(kind, nullptr, std::size_t{0}, [](const auto *d) { return sizeof *d; });
}

std::vector<char> copy_of_op_desc(const request &r) {
    const char *bytes = static_cast<const char *>(r.op_desc);
    return bytes ? std::vector<char>(bytes, bytes + size_of_op_desc(r.kind)) : std::vector<char>();
}

dnnl_query_t op_desc_query(dnnl_primitive_kind_t kind) {
#define DESCRIBED(name, type)                                                                                \
    if (kind == dnnl_##name)                                                                                 \
        return dnnl_query_##name##_d;
    OCTET_DESCRIBED(DESCRIBED)
#undef DESCRIBED
    return dnnl_query_undef;
}

dnnl_prop_kind_t prop_kind_of(dnnl_primitive_kind_t kind, const_dnnl_op_desc_t op_desc) {
    if (!op_desc)
        return dnnl_prop_kind_undef;
    return visit_op_desc(kind, op_desc, dnnl_prop_kind_undef, [](const auto *d) { return direction(*d, 0); });
}

std::vector<named_tensor> tensors_of(const request &r) {
    tensor_list list;
    if (r.op_desc) {
        visit_op_desc(r.kind, r.op_desc, 0, [&](const auto *d) {
            describe(list, *d);
            return 0;
        });
        return list.take();
    }
    const int first = r.kind == dnnl_reorder ? DNNL_ARG_FROM : DNNL_ARG_MULTIPLE_SRC;
    for (std::size_t i = 0; i < r.srcs.size(); i++)
        list.add(first + static_cast<int>(i), *r.srcs[i]);
    if (r.dst)
        list.add(DNNL_ARG_DST, *r.dst);
    return list.take();
}

void append_parameters(std::string &bytes, const request &r) {
    parameter_bytes parameters(bytes);
    if (r.op_desc)
        visit_op_desc(r.kind, r.op_desc, 0, [&](const auto *d) {
            describe(parameters, *d);
            return 0;
        });
    parameters.parameters(r.concat_dimension);
    if (r.scales)
        bytes.append(reinterpret_cast<const char *>(r.scales), sizeof(float) * r.srcs.size());
}

const dnnl_memory_desc_t &src_of(const request &r) {
    const dnnl_memory_desc_t *none = nullptr;
    return *visit_op_desc(r.kind, r.op_desc, none, [](const auto *d) { return source(*d); });
}

std::string text_of(const request &r) {
    std::string text = name_of(prim_kind_names(), r.kind, "unknown");
    for (const named_tensor &tensor : tensors_of(r)) {
        text += std::string(" ") + (tensor.arg == DNNL_ARG_DST       ? "dst:"
                                    : tensor.arg == DNNL_ARG_WEIGHTS ? "weights:"
                                    : tensor.arg == DNNL_ARG_BIAS    ? "bias:"
                                    : tensor.arg == 0                ? ""
                                                                     : "src:");
        text += name_of(dt_names(), tensor.md->data_type, "unknown");
        for (int d = 0; d < tensor.md->ndims; d++)
            text += (d ? "x" : ":") +
                    (tensor.md->dims[d] == DNNL_RUNTIME_DIM_VAL ? "*" : std::to_string(tensor.md->dims[d]));
    }
    return text;
}

} // namespace octet::onednn
