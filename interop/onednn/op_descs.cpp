// A function for each of oneDNN's descriptors puts its tensors into a list, each with the argument that it is.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/op_descs.hpp"

#include "onednn/names.hpp"

namespace octet::onednn {
namespace {

/// The list of a request's tensors while it grows. Training has no names here, only places.
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
    std::vector<named_tensor> take() { return std::move(list_); }

private:
    std::vector<named_tensor> list_;
};

template <typename Desc> void collect_products(tensor_list &list, const Desc &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    list.add(DNNL_ARG_BIAS, d.bias_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
}
template <typename Desc> void collect_gradients(tensor_list &list, const Desc &d) {
    list.add_unnamed(d.diff_src_desc, d.diff_weights_desc, d.diff_bias_desc, d.diff_dst_desc);
}
void collect(tensor_list &list, const dnnl_convolution_desc_t &d) {
    collect_products(list, d);
    collect_gradients(list, d);
}
void collect(tensor_list &list, const dnnl_inner_product_desc_t &d) {
    collect_products(list, d);
    collect_gradients(list, d);
}
void collect(tensor_list &list, const dnnl_matmul_desc_t &d) { collect_products(list, d); }
void collect(tensor_list &list, const dnnl_shuffle_desc_t &d) { list.add_unnamed(d.data_desc); }
void collect(tensor_list &list, const dnnl_eltwise_desc_t &d) {
    list.add_data(d.data_desc);
    list.add_unnamed(d.diff_data_desc);
}
void collect(tensor_list &list, const dnnl_softmax_desc_t &d) { // logsoftmax too
    list.add_data(d.data_desc);
    list.add_unnamed(d.diff_desc);
}
void collect(tensor_list &list, const dnnl_softmax_v2_desc_t &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
    list.add_unnamed(d.diff_src_desc, d.diff_dst_desc);
}
template <typename Desc> void collect_windows(tensor_list &list, const Desc &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
    list.add_unnamed(d.diff_src_desc, d.diff_dst_desc);
}
void collect(tensor_list &list, const dnnl_pooling_desc_t &d) { collect_windows(list, d); }
void collect(tensor_list &list, const dnnl_pooling_v2_desc_t &d) { collect_windows(list, d); }
void collect(tensor_list &list, const dnnl_resampling_desc_t &d) { collect_windows(list, d); }
void collect(tensor_list &list, const dnnl_prelu_desc_t &d) {
    list.add_data(d.data_desc);
    list.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    list.add_unnamed(d.diff_data_desc, d.diff_weights_desc);
}
void collect(tensor_list &list, const dnnl_lrn_desc_t &d) { list.add_unnamed(d.data_desc, d.diff_data_desc); }
void collect(tensor_list &list, const dnnl_batch_normalization_desc_t &d) {
    list.add_data(d.data_desc);
    list.add_unnamed(d.diff_data_desc, d.data_scaleshift_desc, d.diff_data_scaleshift_desc, d.stat_desc);
}
void collect(tensor_list &list, const dnnl_layer_normalization_desc_t &d) {
    list.add_data(d.data_desc);
    list.add(DNNL_ARG_MEAN, d.stat_desc);
    list.add(DNNL_ARG_VARIANCE, d.stat_desc);
    list.add_unnamed(d.diff_data_desc, d.data_scaleshift_desc, d.diff_data_scaleshift_desc);
}
void collect(tensor_list &list, const dnnl_binary_desc_t &d) {
    list.add(DNNL_ARG_SRC_0, d.src_desc[0]);
    list.add(DNNL_ARG_SRC_1, d.src_desc[1]);
    list.add(DNNL_ARG_DST, d.dst_desc);
}
void collect(tensor_list &list, const dnnl_reduction_desc_t &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
}
void collect(tensor_list &list, const dnnl_rnn_desc_t &d) {
    list.add_unnamed(d.src_layer_desc, d.src_iter_desc, d.src_iter_c_desc, d.weights_layer_desc,
                     d.weights_iter_desc, d.bias_desc, d.dst_layer_desc, d.dst_iter_desc, d.dst_iter_c_desc,
                     d.weights_peephole_desc, d.weights_projection_desc);
    list.add_unnamed(d.diff_src_layer_desc, d.diff_src_iter_desc, d.diff_src_iter_c_desc,
                     d.diff_weights_layer_desc, d.diff_weights_iter_desc, d.diff_bias_desc,
                     d.diff_dst_layer_desc, d.diff_dst_iter_desc, d.diff_dst_iter_c_desc,
                     d.diff_weights_peephole_desc, d.diff_weights_projection_desc);
}

/// Calls visit(descriptor) with the type that belongs to the kind; `otherwise` for a kind without descriptor.
template <typename Result, typename Visit>
Result visit_op_desc(dnnl_primitive_kind_t kind, const void *op_desc, Result otherwise, Visit visit) {
    switch (kind) {
    case dnnl_convolution:
    case dnnl_deconvolution:
        return visit(static_cast<const dnnl_convolution_desc_t *>(op_desc));
    case dnnl_inner_product:
        return visit(static_cast<const dnnl_inner_product_desc_t *>(op_desc));
    case dnnl_matmul:
        return visit(static_cast<const dnnl_matmul_desc_t *>(op_desc));
    case dnnl_shuffle:
        return visit(static_cast<const dnnl_shuffle_desc_t *>(op_desc));
    case dnnl_eltwise:
        return visit(static_cast<const dnnl_eltwise_desc_t *>(op_desc));
    case dnnl_softmax:
    case dnnl_logsoftmax:
        return visit(static_cast<const dnnl_softmax_desc_t *>(op_desc));
    case dnnl_softmax_v2:
        return visit(static_cast<const dnnl_softmax_v2_desc_t *>(op_desc));
    case dnnl_pooling:
        return visit(static_cast<const dnnl_pooling_desc_t *>(op_desc));
    case dnnl_pooling_v2:
        return visit(static_cast<const dnnl_pooling_v2_desc_t *>(op_desc));
    case dnnl_resampling:
        return visit(static_cast<const dnnl_resampling_desc_t *>(op_desc));
    case dnnl_prelu:
        return visit(static_cast<const dnnl_prelu_desc_t *>(op_desc));
    case dnnl_lrn:
        return visit(static_cast<const dnnl_lrn_desc_t *>(op_desc));
    case dnnl_batch_normalization:
        return visit(static_cast<const dnnl_batch_normalization_desc_t *>(op_desc));
    case dnnl_layer_normalization:
        return visit(static_cast<const dnnl_layer_normalization_desc_t *>(op_desc));
    case dnnl_binary:
        return visit(static_cast<const dnnl_binary_desc_t *>(op_desc));
    case dnnl_reduction:
        return visit(static_cast<const dnnl_reduction_desc_t *>(op_desc));
    case dnnl_rnn:
        return visit(static_cast<const dnnl_rnn_desc_t *>(op_desc));
    default:
        return otherwise;
    }
}

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

dnnl_prop_kind_t prop_kind_of(dnnl_primitive_kind_t kind, const_dnnl_op_desc_t op_desc) {
    if (!op_desc || kind == dnnl_matmul || kind == dnnl_binary || kind == dnnl_reduction)
        return dnnl_prop_kind_undef;
    return static_cast<const dnnl_prop_kind_t *>(op_desc)[1];
}

std::vector<named_tensor> tensors_of(const request &r) {
    tensor_list list;
    if (r.op_desc) {
        visit_op_desc(r.kind, r.op_desc, 0, [&](const auto *d) {
            collect(list, *d);
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
