#include "dnnl/translate.hpp"

#include <algorithm>
#include <iterator>

#include "dnnl/attributes.hpp"
#include "dnnl/descriptors.hpp"
#include "dnnl/op_descs.hpp"
#include "dnnl/packed_descriptor.hpp"
#include "dnnl/real_library.hpp"

namespace octet::interop {
namespace {

/// The descriptor of the request as its own type.
template <typename Desc> const Desc &as(const request &r) { return *static_cast<const Desc *>(r.op_desc); }

dnnl_pooling_v2_desc_t with_dilation(const dnnl_pooling_desc_t &d) {
    dnnl_pooling_v2_desc_t v2 = dnnl_pooling_v2_desc_t();
    v2.prop_kind = d.prop_kind;
    v2.alg_kind = d.alg_kind;
    v2.src_desc = d.src_desc;
    v2.dst_desc = d.dst_desc;
    std::copy(d.strides, d.strides + DNNL_MAX_NDIMS, v2.strides);
    std::copy(d.kernel, d.kernel + DNNL_MAX_NDIMS, v2.kernel);
    for (int side = 0; side < 2; side++)
        std::copy(d.padding[side], d.padding[side] + DNNL_MAX_NDIMS, v2.padding[side]);
    return v2;
}

void translate_operation(const request &r, const octet::primitive_attr &attr, problem &p) {
    switch (r.kind) {
    case dnnl_convolution:
        return translate_convolution(as<dnnl_convolution_desc_t>(r), attr, p);
    case dnnl_deconvolution:
        return translate_deconvolution(as<dnnl_deconvolution_desc_t>(r), attr, p);
    case dnnl_inner_product:
        return translate_inner_product(as<dnnl_inner_product_desc_t>(r), attr, p);
    case dnnl_matmul:
        return translate_matmul(as<dnnl_matmul_desc_t>(r), attr, p);
    case dnnl_pooling:
        return translate_pooling(with_dilation(as<dnnl_pooling_desc_t>(r)), attr, p);
    case dnnl_pooling_v2:
        return translate_pooling(as<dnnl_pooling_v2_desc_t>(r), attr, p);
    case dnnl_binary:
        return translate_binary(as<dnnl_binary_desc_t>(r), attr, p);
    case dnnl_eltwise:
        return translate_eltwise(as<dnnl_eltwise_desc_t>(r), attr, p);
    case dnnl_softmax:
        return translate_softmax(as<dnnl_softmax_desc_t>(r), dnnl_softmax_accurate, attr, p);
    case dnnl_logsoftmax:
        return translate_softmax(as<dnnl_softmax_desc_t>(r), dnnl_softmax_log, attr, p);
    case dnnl_softmax_v2:
        return translate_softmax(as<dnnl_softmax_v2_desc_t>(r), attr, p);
    case dnnl_resampling:
        return translate_resampling(as<dnnl_resampling_desc_t>(r), attr, p);
    case dnnl_prelu:
        return translate_prelu(as<dnnl_prelu_desc_t>(r), attr, p);
    case dnnl_reorder:
        return translate_reorder(r, attr, p);
    case dnnl_sum:
        return translate_sum(r, attr, p);
    case dnnl_concat:
        return translate_concat(r, attr, p);
    default:
        throw refusal("an operation that Octet lacks");
    }
}

bool has_open_sizes(const octet::memory_desc &md) {
    const auto is_open = [](dim_t size) { return size == OCTET_RUNTIME_DIM_VAL; };
    return std::any_of(md.dims, md.dims + md.ndims, is_open) ||
           (md.format_kind == octet::format_kind::plain &&
            std::any_of(md.strides, md.strides + md.ndims, is_open));
}

/// What an execution reads: the tensors but dst, and those of post-ops.
int count_inputs(const problem &p) {
    int count = static_cast<int>(p.tensors.size()) - 1;
    for (const int arg : p.args)
        count += arg >= DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE && arg < DNNL_ARG_ATTR_INPUT_SCALES;
    return count;
}

} // namespace

bool is_candidate(const request &r) {
    const auto has_8_bit_src = [](const auto &d) { return is_8_bit(d.src_desc); };
    switch (r.kind) {
    case dnnl_convolution:
    case dnnl_deconvolution:
        return has_8_bit_src(as<dnnl_convolution_desc_t>(r));
    case dnnl_inner_product:
        return has_8_bit_src(as<dnnl_inner_product_desc_t>(r));
    case dnnl_matmul:
        return has_8_bit_src(as<dnnl_matmul_desc_t>(r));
    case dnnl_pooling:
        return has_8_bit_src(as<dnnl_pooling_desc_t>(r));
    case dnnl_pooling_v2:
        return has_8_bit_src(as<dnnl_pooling_v2_desc_t>(r));
    case dnnl_resampling:
        return has_8_bit_src(as<dnnl_resampling_desc_t>(r));
    case dnnl_softmax_v2:
        return has_8_bit_src(as<dnnl_softmax_v2_desc_t>(r));
    case dnnl_binary:
        return is_8_bit(as<dnnl_binary_desc_t>(r).src_desc[0]);
    case dnnl_eltwise:
        return is_8_bit(as<dnnl_eltwise_desc_t>(r).data_desc);
    case dnnl_softmax:
    case dnnl_logsoftmax:
        return is_8_bit(as<dnnl_softmax_desc_t>(r).data_desc);
    case dnnl_prelu:
        return is_8_bit(as<dnnl_prelu_desc_t>(r).data_desc);
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

std::shared_ptr<const problem> translate(const request &r) {
    auto p = std::make_shared<problem>();
    p->kind = r.kind;
    p->engine = r.engine;
    p->dst_engine = r.dst_engine ? r.dst_engine : r.engine;
    if (r.op_desc) {
        const auto *bytes = static_cast<const char *>(r.op_desc);
        p->op_desc.assign(bytes, bytes + size_of_op_desc(r.kind));
    }
    translate_operation(r, to_octet(r.kind, r.attr), *p);

    // The reference is slower than oneDNN's portable code; but weights that Octet has packed can go nowhere else.
    if (p->pd.impl_info_str() == "ref" && !has_packed_tensor(r) && r.kind != dnnl_reorder)
        throw refusal("no generated code for it: " + p->pd.problem_str());
    if (r.attr)
        real().dnnl_primitive_attr_clone(&p->attr, r.attr);
    else
        real().dnnl_primitive_attr_create(&p->attr);
    p->info = "octet:" + p->pd.impl_info_str();
    p->args = p->pd.args();
    p->args.erase(std::remove(p->args.begin(), p->args.end(), DNNL_ARG_SCRATCHPAD), p->args.end());
    std::copy_if(p->args.begin(), p->args.end(), std::back_inserter(p->open_args),
                 [&](int arg) { return has_open_sizes(p->pd.arg_desc(arg).data); });
    p->inputs = count_inputs(*p);
    return p;
}

} // namespace octet::interop
