// Octet takes of oneDNN's what it does as oneDNN does, and faster: forward passes of 8-bit sources. What it
// could do beyond that for a client of its own header falls back to it. Tensors whose layout the library
// shall choose get oneDNN's choice, then the translation that both doors share makes Octet's primitive
// descriptor.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/take.hpp"

#include <algorithm>

#include "onednn/packed_descriptor.hpp"
#include "onednn/preload/attributes.hpp"
#include "onednn/preload/descriptors.hpp"
#include "onednn/preload/real_library.hpp"
#include "onednn/preload/two_step_reorder.hpp"
#include "onednn/translate.hpp"

namespace octet::onednn {
namespace {

/// The descriptor of the request as its own type.
template <typename Desc> const Desc &as(const request &r) { return *static_cast<const Desc *>(r.op_desc); }

/// Octet takes unsigned weights, oneDNN doesn't: nobody expects them.
void require_types(const dnnl_memory_desc_t &weights) {
    if (weights.data_type != dnnl_s8)
        throw refusal("weights that are not s8");
}

void require_rank(const dnnl_memory_desc_t &src) {
    if (src.ndims < 3 || src.ndims > 5)
        throw refusal("a rank of src that is none of 3, 4, 5");
}

/// pooling and pooling_v2 begin alike.
void check_pooling(const dnnl_pooling_desc_t &d) {
    require_rank(d.src_desc);
    if (d.prop_kind == dnnl_forward_training && d.alg_kind == dnnl_pooling_max)
        throw refusal("a workspace for the backward pass");
}

/// oneDNN refuses other cells in int8.
void check_rnn(const dnnl_rnn_desc_t &d) {
    if (d.weights_peephole_desc.ndims != 0 ||
        (d.cell_kind != dnnl_vanilla_lstm && d.cell_kind != dnnl_vanilla_gru))
        throw refusal("a cell that oneDNN does not have in int8");
}

/// Refuses what Octet could do, but not as oneDNN does.
void check(const request &r) {
    switch (r.kind) {
    case dnnl_convolution:
    case dnnl_deconvolution:
        require_types(as<dnnl_convolution_desc_t>(r).weights_desc);
        return require_rank(as<dnnl_convolution_desc_t>(r).src_desc);
    case dnnl_inner_product:
        return require_types(as<dnnl_inner_product_desc_t>(r).weights_desc);
    case dnnl_matmul:
        return require_types(as<dnnl_matmul_desc_t>(r).weights_desc);
    case dnnl_pooling:
    case dnnl_pooling_v2:
        return check_pooling(as<dnnl_pooling_desc_t>(r));
    case dnnl_resampling:
        if (!has_factors_of_sizes(as<dnnl_resampling_desc_t>(r)))
            throw refusal("factors that are not the ratio of sizes");
        return;
    case dnnl_rnn:
        return check_rnn(as<dnnl_rnn_desc_t>(r));
    case dnnl_concat:
        if (r.concat_dimension < 0 || r.concat_dimension >= r.srcs[0]->ndims)
            throw refusal("a dimension that the tensors don't have");
        return;
    default:
        return;
    }
}

/// Products and recurrent networks choose layouts by themselves, reorders never; all others keep that of their
/// source, as in oneDNN.
bool keeps_layout(dnnl_primitive_kind_t kind) {
    return kind != dnnl_convolution && kind != dnnl_deconvolution && kind != dnnl_inner_product &&
           kind != dnnl_matmul && kind != dnnl_rnn && kind != dnnl_reorder;
}

/// A copy of a request in which tensors with layout `any` have what oneDNN would make of it, where Octet
/// makes something else.
class settled_request {
public:
    explicit settled_request(const request &r) : r_(r), op_desc_(copy_of_op_desc(r)) {
        if (r.op_desc)
            r_.op_desc = op_desc_.data();
        if (keeps_layout(r.kind))
            settle();
    }
    settled_request(const settled_request &) = delete;
    settled_request &operator=(const settled_request &) = delete;

    const request &get() const { return r_; }

private:
    void settle() {
        const bool has_dst = r_.op_desc || r_.dst;
        dst_ = has_dst ? dnnl_memory_desc_t{} : *r_.srcs[0];
        if (r_.dst)
            dst_ = *r_.dst;
        if (!has_dst) {
            dst_.format_kind = dnnl_format_kind_any;
            if (r_.kind == dnnl_concat) {
                dst_.dims[r_.concat_dimension] = 0;
                for (const dnnl_memory_desc_t *md : r_.srcs)
                    dst_.dims[r_.concat_dimension] += md->dims[r_.concat_dimension];
            }
        }
        if (!r_.op_desc)
            r_.dst = &dst_;
        const std::vector<named_tensor> tensors = tensors_of(r_);
        const octet::memory::desc first = to_octet(*tensors[0].md);
        for (const named_tensor &tensor : tensors) {
            if (tensor.md->format_kind != dnnl_format_kind_any)
                continue;
            const bool is_src = tensor.arg == DNNL_ARG_SRC || tensor.arg >= DNNL_ARG_MULTIPLE_SRC;
            if (is_src)
                throw refusal("a source with layout any");
            const octet::memory::desc chosen = laid_out_like(to_octet(*tensor.md), first);
            if (chosen.get_format_kind() != octet::format_kind::any) // it lies in op_desc_, or is dst_
                *const_cast<dnnl_memory_desc_t *>(tensor.md) = with_layout(*tensor.md, chosen);
        }
    }

    request r_;
    std::vector<char> op_desc_;
    dnnl_memory_desc_t dst_; ///< the destination of sum and concat
};

/// Output scales that are all 1 and nothing else: codes move as they are. PyTorch packs weights so.
bool only_moves(const request &r, const octet::primitive_attr &attr) {
    const std::vector<float> &scales = attr.output_scales().values;
    return r.srcs[0]->data_type == r.dst->data_type && is_8_bit(*r.dst) && !attr.output_scales().runtime &&
           attr.zero_points().empty() && attr.get_post_ops().len() == 0 &&
           std::all_of(scales.begin(), scales.end(), [](float scale) { return scale == 1.f; });
}

/// oneDNN has depthwise convolutions behind windows of one element alone.
void check_depthwise(const request &r, const octet::primitive_desc &pd) {
    constexpr int weights = DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS;
    if (r.kind != dnnl_convolution || pd.arg_desc(weights).is_zero())
        return;
    const dnnl_convolution_desc_t &d = as<dnnl_convolution_desc_t>(r);
    for (int i = 2; i < d.src_desc.ndims; i++)
        if (d.weights_desc.dims[d.weights_desc.ndims - d.src_desc.ndims + i] != 1)
            throw refusal("a depthwise convolution behind windows of several elements");
}

/// Throws for a tensor that Octet can't have.
void check_tensors(const request &r) {
    for (const named_tensor &tensor : tensors_of(r))
        if (tensor.arg != 0)
            to_octet(*tensor.md);
}

/// Between packed weights and a layout that Octet has not, the reorder goes over a plain copy.
octet::primitive_desc translate_reorder(const request &r, const octet::primitive_attr &attr,
                                        std::shared_ptr<const foreign_step> &foreign) {
    try {
        check_tensors(r);
    } catch (const refusal &) {
        if (is_packed(*r.srcs[0]) == is_packed(*r.dst))
            throw;
        return translate_two_steps(r, foreign);
    }
    return translate(r, only_moves(r, attr) ? octet::primitive_attr() : attr);
}

std::shared_ptr<problem> translate_operation(const request &r, const octet::primitive_attr &attr) {
    check(r);
    const settled_request settled(r);
    std::shared_ptr<const foreign_step> foreign;
    octet::primitive_desc pd;
    if (r.kind == dnnl_reorder) {
        pd = translate_reorder(r, attr, foreign);
    } else {
        check_tensors(settled.get());
        pd = translate(settled.get(), attr);
        check_depthwise(r, pd);
    }
    auto p = std::make_shared<problem>(r, settled.get(), pd);
    p->foreign = foreign;
    return p;
}

} // namespace

bool is_candidate(const request &r) {
    switch (r.kind) {
    case dnnl_convolution:
    case dnnl_deconvolution:
    case dnnl_inner_product:
    case dnnl_matmul:
    case dnnl_pooling:
    case dnnl_pooling_v2:
    case dnnl_binary:
    case dnnl_eltwise:
    case dnnl_softmax:
    case dnnl_logsoftmax:
    case dnnl_softmax_v2:
    case dnnl_shuffle:
    case dnnl_resampling:
    case dnnl_prelu:
    case dnnl_rnn:
        return is_8_bit(src_of(r));
    case dnnl_reorder:
        return is_8_bit(*r.srcs[0]) || is_packed(*r.dst);
    case dnnl_sum:
    case dnnl_concat:
        return std::all_of(r.srcs.begin(), r.srcs.end(),
                           [](const dnnl_memory_desc_t *md) { return is_8_bit(*md); });
    default:
        return false;
    }
}

std::shared_ptr<const problem> take(const request &r) {
    const std::shared_ptr<problem> p = translate_operation(r, to_octet(r.kind, r.attr));
    // The reference is slower than oneDNN's portable code; but weights that Octet has packed can go nowhere else.
    if (std::string_view(p->pd.impl_info_str()) == "ref" && !has_packed_tensor(r))
        throw refusal("no generated code for it: " + p->pd.problem_str());
    return p;
}

} // namespace octet::onednn
