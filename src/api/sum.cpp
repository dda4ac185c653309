// The front of sum: any number of tensors, each with a scale. oneDNN's arithmetic is f32; SNPS-Caffe's adds
// two tensors with integer multipliers, whose derivation (`lower_snps`) fixes the last bit of every result.
// SPDX-License-Identifier: Apache-2.0
#include "octet/sum.hpp"

#include <algorithm>
#include <cmath>

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/requantize.hpp"
#include "common/sum_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "sum";
constexpr int max_sources = OCTET_ARG_MULTIPLE_SRC;

int source_arg(std::size_t i) { return OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i); }

void check_sources(const std::vector<float> &scales, const std::vector<memory::desc> &srcs) {
    if (srcs.empty() || srcs.size() > max_sources)
        throw_invalid(operation, ": ", srcs.size(), " sources, allowed: 1 to ", max_sources);
    if (scales.size() != srcs.size())
        throw_invalid(operation, ": ", scales.size(), " scales for ", srcs.size(),
                      " sources, allowed: one each");
    for (std::size_t i = 0; i < scales.size(); i++)
        if (!std::isfinite(scales[i]))
            throw_invalid(operation, ": scale ", i, " is ", scales[i], ", allowed: finite");
}

sum_problem shapes_of(const memory_desc &dst, const std::vector<float> &scales,
                      const std::vector<memory::desc> &srcs) {
    check_sources(scales, srcs);
    sum_problem p;
    p.dst = dst;
    p.scales = scales;
    for (const memory::desc &src : srcs) {
        p.srcs.push_back(src.data);
        resolve_elementwise(operation, p.srcs.back(), p.dst);
    }
    return p;
}

/// SNPS-Caffe: ratios doubled together until one reaches 2^21, then rounded half away.
void lower_snps(sum_problem &p, const primitive_attr &attr) {
    if (p.srcs.size() != 2)
        throw_unimplemented(operation, ": ", p.srcs.size(),
                            " sources with rule caffe_double_round, implemented: 2");
    for (const memory_desc &src : p.srcs)
        require_type(operation, "src", src, {data_type::s8, data_type::u8});
    const float dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
    std::vector<float> ratios;
    for (const float scale : p.scales) {
        ratios.push_back(scale / dst_scale);
        if (!(ratios.back() > 0.f && ratios.back() < 0x1p8f))
            throw_invalid(operation, ": a scale is ", ratios.back(),
                          " times the destination's, allowed with caffe_double_round: above 0, below 2^8");
    }
    int shift = 0;
    while (std::max(ratios[0], ratios[1]) < 0x1p21f && shift < 62) {
        for (float &ratio : ratios)
            ratio *= 2.f;
        shift++;
    }
    for (const float ratio : ratios)
        p.multipliers.push_back({static_cast<std::int32_t>(round_half_away(ratio)), shift, 0});
    p.out_stage.dst_scales = {};
}

struct description {
    memory::desc dst;
    std::vector<float> scales;
    std::vector<memory::desc> srcs;
};

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit.list("factors", d.scales, '/', d.srcs.size(), 1.f);
};

primitive_desc_ptr make(const description &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        sum_problem p = shapes_of(d.dst.data, d.scales, d.srcs);
        attribute_support support{operation};
        support.accumulates = false;
        tensor_map tensors{{OCTET_ARG_DST, &p.dst}};
        for (std::size_t i = 0; i < p.srcs.size(); i++)
            tensors[source_arg(i)] = &p.srcs[i];
        reject_unknown_arguments(support, attr, tensors);
        for (std::size_t i = 0; i < p.srcs.size(); i++)
            p.src_zero_points.push_back(tensor_zero_point(support, attr, source_arg(i), p.srcs[i]));
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        p.out_stage.rule = elementwise_rule(attr, p.out_stage.rule);
        if (attr.output_scales().is_set())
            throw_invalid(operation, ": output scales, allowed: a scale per source");
        require_operators(operation, p.out_stage.rule, {operators::reals, operators::snps_caffe});
        if (is_snps_caffe(p.out_stage.rule))
            lower_snps(p, attr);
        else if (!attr.scales().empty())
            throw_invalid(operation, ": per-argument scales with rule f32, allowed: the scales of the sum");
        for (const zero_points &z : p.src_zero_points)
            if (z.values.is_set() && p.multipliers.empty())
                throw_invalid(operation,
                              ": zero points of sources with rule f32, allowed with caffe_double_round");
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

memory_desc first_of(const std::vector<memory::desc> &srcs) {
    return srcs.empty() ? memory_desc() : srcs.front().data;
}

} // namespace

const described_operation &sum_operation() {
    static const described_operation row =
        described({operation,
                   {{"sum", "sum src0:s8:1x64x14x14:nhwc src1:s8:1x64x14x14:nhwc dst:s8:1x64x14x14:nhwc"}},
                   tensor_roles::by_rank,
                   has_numbered_sources | in_place},
                  description{}, parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

using sum_pd = sum::primitive_desc;

sum_pd::primitive_desc(const memory::desc &dst, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const engine &e, const primitive_attr &attr,
                       bool allow_empty)
    : primitive_desc_base(impl::make_at_any_size(impl::description{dst, scales, srcs},
                                                 {impl::operation, attr, e, allow_empty}, impl::make)) {}
sum_pd::primitive_desc(const std::vector<float> &scales, const std::vector<memory::desc> &srcs,
                       const engine &e, const primitive_attr &attr, bool allow_empty)
    : primitive_desc(impl::first_of(srcs), scales, srcs, e, attr, allow_empty) {}
sum_pd::primitive_desc(const engine &e, const memory::desc &dst, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr, bool allow_empty)
    : primitive_desc(dst, scales, srcs, e, attr, allow_empty) {}
sum_pd::primitive_desc(const engine &e, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr, bool allow_empty)
    : primitive_desc(scales, srcs, e, attr, allow_empty) {}

} // namespace v0
} // namespace octet
