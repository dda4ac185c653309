// Reorder, sum and concat: the operations without an operation descriptor.

#include <algorithm>

#include "dnnl/descriptors.hpp"
#include "dnnl/packed_descriptor.hpp"
#include "dnnl/translate.hpp"
#include "dnnl/two_step_reorder.hpp"

namespace octet::interop {
namespace {

std::vector<octet::memory::desc> sources(const request &r) {
    std::vector<octet::memory::desc> srcs;
    for (const dnnl_memory_desc_t *md : r.srcs) {
        if (md->format_kind == dnnl_format_kind_any)
            throw refusal("a source with layout any");
        srcs.push_back(to_octet(*md));
    }
    return srcs;
}

/// The destination of sum and concat. Without one, the library chooses: the first source's type and layout.
dnnl_memory_desc_t destination(const request &r, const octet::memory::desc &first, dim_t joined) {
    dnnl_memory_desc_t md = r.dst ? *r.dst : *r.srcs[0];
    if (!r.dst) {
        md.format_kind = dnnl_format_kind_any;
        if (r.kind == dnnl_concat)
            md.dims[r.concat_dimension] = joined;
    }
    return with_layout(md, laid_out_like(to_octet(md), first));
}

void set_tensors(const request &r, const dnnl_memory_desc_t &dst, problem &p) {
    for (std::size_t i = 0; i < r.srcs.size(); i++)
        p.tensors.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), *r.srcs[i]});
    p.tensors.push_back({DNNL_ARG_DST, dst});
}

/// Output scales that are all 1 and nothing else: codes move as they are. PyTorch packs weights so.
bool only_moves(const octet::memory::desc &src, const octet::memory::desc &dst,
                const octet::primitive_attr &attr) {
    const std::vector<float> &scales = attr.output_scales().values;
    return src.get_data_type() == dst.get_data_type() &&
           octet::memory::data_type_size(src.get_data_type()) == 1 && !attr.output_scales().runtime &&
           attr.zero_points().empty() && attr.get_post_ops().len() == 0 &&
           std::all_of(scales.begin(), scales.end(), [](float scale) { return scale == 1.f; });
}

} // namespace

namespace {

/// Between layouts that Octet knows.
void translate_direct(const request &r, const octet::primitive_attr &attr, problem &p) {
    const octet::memory::desc src = to_octet(*r.srcs[0]), dst = to_octet(*r.dst);
    p.pd = octet::reorder::primitive_desc(octet_engine(), src, octet_engine(), dst,
                                          only_moves(src, dst, attr) ? octet::primitive_attr() : attr);
    p.tensors = {{DNNL_ARG_FROM, *r.srcs[0]}, {DNNL_ARG_TO, *r.dst}};
}

} // namespace

void translate_reorder(const request &r, const octet::primitive_attr &attr, problem &p) {
    const bool from_packed = is_packed(*r.srcs[0]), to_packed = is_packed(*r.dst);
    if (from_packed == to_packed) {
        translate_direct(r, attr, p);
        if (p.pd.impl_info_str() == "ref" && !from_packed)
            throw refusal("no generated code for it: " + p.pd.problem_str());
        return;
    }
    try {
        translate_direct(r, attr, p);
    } catch (const refusal &) {
        translate_two_steps(r, p);
    }
}

void translate_sum(const request &r, const octet::primitive_attr &attr, problem &p) {
    const std::vector<octet::memory::desc> srcs = sources(r);
    const dnnl_memory_desc_t dst = destination(r, srcs[0], 0);
    p.pd = octet::sum::primitive_desc(to_octet(dst), {r.scales, r.scales + r.srcs.size()}, srcs,
                                      octet_engine(), attr);
    set_tensors(r, dst, p);
}

void translate_concat(const request &r, const octet::primitive_attr &attr, problem &p) {
    const std::vector<octet::memory::desc> srcs = sources(r);
    if (r.concat_dimension < 0 || r.concat_dimension >= srcs[0].get_ndims())
        throw refusal("a dimension that the tensors don't have");
    dim_t joined = 0;
    for (const dnnl_memory_desc_t *md : r.srcs)
        joined += md->dims[r.concat_dimension];
    const dnnl_memory_desc_t dst = destination(r, srcs[0], joined);
    p.pd = octet::concat::primitive_desc(to_octet(dst), r.concat_dimension, srcs, octet_engine(), attr);
    set_tensors(r, dst, p);
}

} // namespace octet::interop
