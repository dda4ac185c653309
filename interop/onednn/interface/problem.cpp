// A problem owns what the library behind made for it, and finds descriptors of tensors by argument.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/interface/problem.hpp"

#include <algorithm>

#include "onednn/convert.hpp"
#include "onednn/interface/behind.hpp"

namespace octet::onednn {
namespace {

bool has_open_sizes(const octet::memory_desc &md) {
    const auto is_open = [](dim_t size) { return size == OCTET_RUNTIME_DIM_VAL; };
    return std::any_of(md.dims, md.dims + md.ndims, is_open) ||
           (md.format_kind == octet::format_kind::plain &&
            std::any_of(md.strides, md.strides + md.ndims, is_open));
}

bool is_output(int arg) { return arg >= DNNL_ARG_DST_0 && arg <= DNNL_ARG_DST_2; }

/// True for the tensors that an execution reads: all but results and the values of attributes.
bool is_input(int arg) {
    const bool is_of_post_op = arg >= DNNL_ARG_ATTR_POST_OP_DW && arg < DNNL_ARG_ATTR_INPUT_SCALES;
    const bool is_source = arg >= DNNL_ARG_MULTIPLE_SRC && arg < DNNL_ARG_MULTIPLE_DST;
    return (!is_output(arg) && arg < DNNL_ARG_WORKSPACE) || is_source || is_of_post_op;
}

/// False for the dst that the client described where a depthwise convolution follows.
bool has_shape_of(const dnnl_memory_desc_t &md, const octet::memory_desc &own) {
    return std::equal(md.dims, md.dims + md.ndims, own.dims) && type_of(md.data_type) == own.data_type;
}

/// Of a tensor that the client did not describe, as the weights of a depthwise post-op: packed ones as if it had
/// left the layout open.
dnnl_memory_desc_t description_of(const octet::memory::desc &own) {
    if (own.get_format_kind() != octet::format_kind::packed)
        return desc_of(own);
    return with_layout(desc_of(octet::memory::desc(own.dims(), own.get_data_type(), octet::format_tag::any)),
                       own);
}

dnnl_primitive_attr_t copy_of(const_dnnl_primitive_attr_t attr) {
    dnnl_primitive_attr_t copy = nullptr;
    const dnnl_status_t made =
        attr ? behind().dnnl_primitive_attr_clone(&copy, attr) : behind().dnnl_primitive_attr_create(&copy);
    if (made != dnnl_success)
        throw std::bad_alloc();
    return copy;
}

} // namespace

problem::problem(const request &r, const request &settled, const octet::primitive_desc &made)
    : kind(r.kind == dnnl_logsoftmax ? dnnl_softmax : r.kind), // as in oneDNN
      op_desc(copy_of_op_desc(r)), engine(r.engine), dst_engine(r.dst_engine ? r.dst_engine : r.engine),
      pd(made), info(std::string("octet:") + pd.impl_info_str()) {
    const std::vector<named_tensor> given = tensors_of(settled);
    for (const int arg : pd.args()) {
        const auto client =
            std::find_if(given.begin(), given.end(), [&](const named_tensor &t) { return t.arg == arg; });
        const octet::memory::desc own = pd.arg_desc(arg);
        const bool is_given = client != given.end() && has_shape_of(*client->md, own.data);
        tensors.push_back({arg, is_given ? with_layout(*client->md, own) : description_of(own)});
        if (has_open_sizes(own.data))
            open_args.push_back(arg);
        inputs += is_input(arg);
        outputs += is_output(arg);
    }
    attr = copy_of(r.attr);
}

problem::~problem() { behind().dnnl_primitive_attr_destroy(attr); }

octet::primitive problem::code() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!code_)
        code_ = octet::primitive(pd);
    return code_;
}

const dnnl_memory_desc_t *problem::tensor(int arg) const {
    for (const taken_argument &tensor : tensors)
        if (tensor.arg == arg)
            return &tensor.md;
    return nullptr;
}

} // namespace octet::onednn
