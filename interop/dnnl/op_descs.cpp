#include "dnnl/op_descs.hpp"

#include "dnnl/packed_descriptor.hpp"
#include "dnnl/real_library.hpp"

namespace octet::interop {
namespace {

/// The list of a request's tensors while it grows. Training has no names here, only places.
class tensor_list {
public:
    void add(int arg, const dnnl_memory_desc_t &md) {
        if (md.ndims != 0)
            list_.push_back({arg, &md});
    }
    template <typename... Descs> void add_unnamed(const Descs &...mds) { (add(0, mds), ...); }
    std::vector<named_tensor> take() { return std::move(list_); }

private:
    std::vector<named_tensor> list_;
};

void collect(tensor_list &list, const dnnl_convolution_desc_t &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    list.add(DNNL_ARG_BIAS, d.bias_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
    list.add_unnamed(d.diff_src_desc, d.diff_weights_desc, d.diff_bias_desc, d.diff_dst_desc);
}
void collect(tensor_list &list, const dnnl_inner_product_desc_t &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    list.add(DNNL_ARG_BIAS, d.bias_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
    list.add_unnamed(d.diff_src_desc, d.diff_weights_desc, d.diff_bias_desc, d.diff_dst_desc);
}
void collect(tensor_list &list, const dnnl_matmul_desc_t &d) {
    list.add(DNNL_ARG_SRC, d.src_desc);
    list.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    list.add(DNNL_ARG_BIAS, d.bias_desc);
    list.add(DNNL_ARG_DST, d.dst_desc);
}
void collect(tensor_list &list, const dnnl_shuffle_desc_t &d) { list.add_unnamed(d.data_desc); }
void collect(tensor_list &list, const dnnl_eltwise_desc_t &d) {
    list.add(DNNL_ARG_SRC, d.data_desc);
    list.add_unnamed(d.diff_data_desc);
}
void collect(tensor_list &list, const dnnl_softmax_desc_t &d) { // logsoftmax too
    list.add(DNNL_ARG_SRC, d.data_desc);
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
    list.add(DNNL_ARG_SRC, d.data_desc);
    list.add(DNNL_ARG_WEIGHTS, d.weights_desc);
    list.add_unnamed(d.diff_data_desc, d.diff_weights_desc);
}
void collect(tensor_list &list, const dnnl_lrn_desc_t &d) { list.add_unnamed(d.data_desc, d.diff_data_desc); }
template <typename Desc> void collect_normalization(tensor_list &list, const Desc &d) {
    list.add_unnamed(d.data_desc, d.diff_data_desc, d.data_scaleshift_desc, d.diff_data_scaleshift_desc,
                     d.stat_desc);
}
void collect(tensor_list &list, const dnnl_batch_normalization_desc_t &d) { collect_normalization(list, d); }
void collect(tensor_list &list, const dnnl_layer_normalization_desc_t &d) { collect_normalization(list, d); }
void collect(tensor_list &list, const dnnl_binary_desc_t &d) {
    list.add(DNNL_ARG_SRC_0, d.src_desc[0]);
    list.add(DNNL_ARG_SRC_1, d.src_desc[1]);
    list.add(DNNL_ARG_DST, d.dst_desc);
}
void collect(tensor_list &list, const dnnl_reduction_desc_t &d) { list.add_unnamed(d.src_desc, d.dst_desc); }
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

const char *name_of(dnnl_data_type_t type) {
    constexpr const char *names[] = {"undef", "f16", "bf16", "f32", "s32", "s8", "u8"};
    return static_cast<unsigned>(type) < std::size(names) ? names[type] : "unknown";
}

} // namespace

dnnl_primitive_kind_t kind_of(const_dnnl_op_desc_t op_desc) {
    return op_desc ? *static_cast<const dnnl_primitive_kind_t *>(op_desc) : dnnl_undefined_primitive;
}

const char *name_of(dnnl_primitive_kind_t kind) {
    constexpr const char *names[] = {"undefined",
                                     "reorder",
                                     "shuffle",
                                     "concat",
                                     "sum",
                                     "convolution",
                                     "deconvolution",
                                     "eltwise",
                                     "softmax",
                                     "pooling",
                                     "lrn",
                                     "batch_normalization",
                                     "layer_normalization",
                                     "inner_product",
                                     "rnn",
                                     "gemm",
                                     "binary",
                                     "logsoftmax",
                                     "matmul",
                                     "resampling",
                                     "pooling_v2",
                                     "reduction",
                                     "prelu",
                                     "softmax_v2"};
    return static_cast<unsigned>(kind) < std::size(names) ? names[kind] : "unknown";
}

std::size_t size_of_op_desc(dnnl_primitive_kind_t kind) {
    return visit_op_desc(kind, nullptr, std::size_t{0}, [](const auto *d) { return sizeof *d; });
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

bool has_packed_tensor(const request &r) {
    for (const named_tensor &tensor : tensors_of(r))
        if (is_packed(*tensor.md))
            return true;
    const_dnnl_post_ops_t ops = nullptr;
    if (!r.attr || real().dnnl_primitive_attr_get_post_ops(r.attr, &ops) != dnnl_success)
        return false;
    for (int i = 0; i < real().dnnl_post_ops_len(ops); i++) {
        const dnnl_memory_desc_t *src1 = nullptr;
        if (real().dnnl_post_ops_get_kind(ops, i) == dnnl_binary &&
            real().dnnl_post_ops_get_params_binary(ops, i, nullptr, &src1) == dnnl_success && src1 &&
            is_packed(*src1))
            return true;
    }
    return false;
}

std::string text_of(const request &r) {
    std::string text = name_of(r.kind);
    for (const named_tensor &tensor : tensors_of(r)) {
        text += std::string(" ") + (tensor.arg == DNNL_ARG_DST       ? "dst:"
                                    : tensor.arg == DNNL_ARG_WEIGHTS ? "weights:"
                                    : tensor.arg == DNNL_ARG_BIAS    ? "bias:"
                                    : tensor.arg == 0                ? ""
                                                                     : "src:");
        text += name_of(tensor.md->data_type);
        for (int d = 0; d < tensor.md->ndims; d++)
            text += (d ? "x" : ":") +
                    (tensor.md->dims[d] == DNNL_RUNTIME_DIM_VAL ? "*" : std::to_string(tensor.md->dims[d]));
    }
    return text;
}

} // namespace octet::interop
