// The front of concat. Joining tensors of one scale moves bytes; with different scales each source is
// requantized on the way. Both are what a reorder does, so a concat is lowered to one reorder per source,
// into its part of the destination; `part_of` chooses each one's arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "octet/concat.hpp"

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/concat_problem.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "concat";
constexpr int max_sources = OCTET_ARG_MULTIPLE_SRC;
constexpr std::initializer_list<data_type> types = {data_type::f32, data_type::bf16, data_type::f16,
                                                    data_type::s32, data_type::s16,  data_type::s8,
                                                    data_type::u8};

/// Scale and zero point of one tensor, both 1 and 0 by default.
struct parameters {
    float scale = 1.f;
    std::int32_t zero_point = 0;
    bool operator==(const parameters &o) const { return scale == o.scale && zero_point == o.zero_point; }
};

parameters parameters_of(const primitive_attr &attr, int arg) {
    parameters q{tensor_scale(operation, attr, arg, 1.f), 0};
    const auto found = attr.zero_points().find(arg);
    if (found == attr.zero_points().end())
        return q;
    if (found->second.runtime || found->second.mask != 0)
        throw_unimplemented(operation, ": ", argument_name(arg),
                            " zero points with a mask or given at execution; implemented: one, at creation");
    q.zero_point = found->second.values[0];
    return q;
}

/// The destination without a descriptor of the user's: as the first source.
memory_desc joined_desc(int dimension, const std::vector<memory::desc> &srcs) {
    if (srcs.empty())
        throw_invalid(operation, ": no sources, allowed: 1 to ", max_sources);
    for (const memory::desc &src : srcs)
        check_descriptor(operation, "src", src.data);
    memory_desc dst = srcs.front().data;
    if (dimension < 0 || dimension >= dst.ndims)
        throw_invalid(operation, ": dimension is ", dimension, ", allowed: 0 to ", dst.ndims - 1);
    memory::dims dims = srcs.front().dims();
    dims[dimension] = 0;
    for (const memory::desc &src : srcs)
        dims[dimension] += src.get_ndims() == dst.ndims ? src.data.dims[dimension] : 0;
    if (dst.format_kind != format_kind::plain)
        return memory::desc(dims, dst.data_type, format_tag::any).data;
    // Dense, with the dimensions in the first source's order.
    memory::dims strides(dims.size());
    dim_t stride = 1;
    std::vector<bool> is_placed(dims.size(), false);
    for (int placed = 0; placed < dst.ndims; placed++) {
        int next = -1;
        for (int d = dst.ndims - 1; d >= 0; d--)
            if (!is_placed[d] && (next < 0 || dst.strides[d] < dst.strides[next]))
                next = d;
        is_placed[next] = true;
        strides[next] = stride;
        stride *= std::max<dim_t>(dims[next], 1);
    }
    return memory::desc(dims, dst.data_type, strides).data;
}

void check_shapes(const memory_desc &dst, int dimension, const std::vector<memory_desc> &srcs) {
    dim_t joined = 0;
    for (std::size_t i = 0; i < srcs.size(); i++) {
        const std::string name = text("src", i);
        require_tensor(operation, name.c_str(), srcs[i], dst.ndims, dst.ndims);
        memory_desc expected = dst;
        expected.dims[dimension] = srcs[i].dims[dimension];
        if (!same_dims(srcs[i], expected))
            throw_invalid(operation, ": ", name, " has dims ", dims_text(srcs[i]), ", dst ", dims_text(dst),
                          ", allowed: equal but for dimension ", dimension);
        joined += srcs[i].dims[dimension];
    }
    if (joined != dst.dims[dimension])
        throw_invalid(operation, ": the sources have ", joined, " elements along dimension ", dimension,
                      ", dst ", dst.dims[dimension]);
}

bool is_of_codes(requantization_rule rule) { return is_ort(rule) || is_tflite(rule) || is_snps_caffe(rule); }

/// The conversion of one source: octet/concat.hpp.
reorder_problem part_of(const memory_desc &src, const memory_desc &dst_part, requantization_rule rule,
                        const parameters &from, const parameters &to) {
    reorder_problem part;
    part.src = src;
    part.dst = part.out_stage.dst = dst_part;
    part.out_stage.fused_sum = false;
    const bool converts = is_integer(src.data_type) != is_integer(dst_part.data_type);
    if (src.data_type == dst_part.data_type && from == to) {
        part.out_stage.rule = unchanged(!is_integer(src.data_type));
        return part;
    }
    if (!is_of_codes(rule)) {
        part.out_stage.rule =
            converts || from.scale != 1.f || src.data_type == data_type::f32 ? unchanged(true) : rule;
        if (from.scale != 1.f)
            part.out_stage.output_scales = {0, {from.scale}, false};
        return part;
    }
    part.out_stage.rule = rule;
    part.concatenates = is_tflite(rule);
    part.src_scales = {0, {from.scale}, false};
    part.dst_scales = {0, {to.scale}, false};
    if (from.zero_point != 0)
        part.src_zero_points.values = {0, {from.zero_point}, false};
    if (to.zero_point != 0)
        part.out_stage.dst_zero_points = {0, {to.zero_point}, false};
    return part;
}

void check_rule(requantization_rule rule, const primitive_attr &attr, const memory_desc &dst,
                const std::vector<memory_desc> &srcs) {
    const bool is_quantized = is_of_codes(rule), is_none = operators_of(rule) == operators::integers;
    require_operators(operation, rule,
                      {operators::integers, operators::reals, operators::onnxruntime, operators::tflite,
                       operators::snps_caffe});
    if (attr.get_post_ops().len() != 0 || attr.output_scales().is_set() || attr.multipliers().is_set() ||
        attr.real_scales().is_set())
        throw_invalid(operation, ": post-ops, output scales or multipliers, allowed: scales and zero points");
    if (!is_quantized) {
        if (!attr.zero_points().empty() || attr.scales().count(OCTET_ARG_DST))
            throw_invalid(operation, ": zero points or a scale of DST with rule ", to_string(rule),
                          ", allowed with ort_f32, tflite_*, caffe_double_round");
        if (is_none && !attr.scales().empty())
            throw_invalid(operation, ": rule none takes no scales");
        return;
    }
    require_type(operation, "dst", dst, {data_type::s8, data_type::u8});
    for (const memory_desc &src : srcs)
        require_type(operation, "src", src, {data_type::s8, data_type::u8});
}

requantization_rule rule_of(const primitive_attr &attr) {
    if (attr.rule() != requantization_rule::automatic)
        return attr.rule();
    return unchanged(!attr.scales().empty());
}

struct description {
    memory::desc dst;
    bool is_dst_given;
    int dimension;
    std::vector<memory::desc> srcs;
};

constexpr auto parameters = [](auto &d, const auto &visit) { visit("axis", d.dimension); };

primitive_desc_ptr make(const description &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        const int dimension = d.dimension;
        memory_desc dst = d.is_dst_given ? d.dst.data : joined_desc(dimension, d.srcs);
        if (d.srcs.empty() || d.srcs.size() > max_sources)
            throw_invalid(operation, ": ", d.srcs.size(), " sources, allowed: 1 to ", max_sources);
        require_tensor(operation, "dst", dst, 1, max_ndims);
        require_type(operation, "dst", dst, types);
        if (dimension < 0 || dimension >= dst.ndims)
            throw_invalid(operation, ": dimension is ", dimension, ", allowed: 0 to ", dst.ndims - 1);
        resolve_activation_layout(dst);
        std::vector<memory_desc> srcs;
        for (const memory::desc &src : d.srcs) {
            srcs.push_back(src.data);
            require_tensor(operation, "src", srcs.back(), dst.ndims, dst.ndims);
            require_type(operation, "src", srcs.back(), types);
            resolve_activation_layout(srcs.back());
        }
        check_shapes(dst, dimension, srcs);
        require_plain(operation, "dst", dst);
        for (const memory_desc &src : srcs)
            require_plain(operation, "src", src);
        require_no_overlap(operation, dst);
        tensor_map tensors{{OCTET_ARG_DST, &dst}};
        for (std::size_t i = 0; i < srcs.size(); i++)
            tensors[OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i)] = &srcs[i];
        reject_unknown_arguments(attribute_support{operation}, attr, tensors);
        const requantization_rule rule = rule_of(attr);
        check_rule(rule, attr, dst, srcs);

        concat_problem p;
        memory::dims offsets(dst.ndims, 0);
        for (std::size_t i = 0; i < srcs.size(); i++) {
            const memory::desc part = memory::desc(dst).submemory_desc(memory::desc(srcs[i]).dims(), offsets);
            p.parts.push_back(part_of(srcs[i], part.data, rule,
                                      parameters_of(attr, OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i)),
                                      parameters_of(attr, OCTET_ARG_DST)));
            offsets[dimension] += srcs[i].dims[dimension];
        }
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &concat_operation() {
    static const described_operation row = described(
        {operation,
         {{"concat",
           "concat src0:s8:1x64x14x14:nhwc src1:s8:1x64x14x14:nhwc dst:s8:1x128x14x14:nhwc axis:1"}},
         tensor_roles::by_rank,
         has_numbered_sources},
        description{{}, true, 1, {}}, parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

using concat_pd = concat::primitive_desc;

concat_pd::primitive_desc(const memory::desc &dst, int dimension, const std::vector<memory::desc> &srcs,
                          const engine &e, const primitive_attr &attr, bool allow_empty)
    : primitive_desc_base(impl::make_at_any_size(impl::description{dst, true, dimension, srcs},
                                                 {impl::operation, attr, e, allow_empty}, impl::make)) {}
concat_pd::primitive_desc(int dimension, const std::vector<memory::desc> &srcs, const engine &e,
                          const primitive_attr &attr, bool allow_empty)
    : primitive_desc_base(impl::make_at_any_size(impl::description{{}, false, dimension, srcs},
                                                 {impl::operation, attr, e, allow_empty}, impl::make)) {}
concat_pd::primitive_desc(const engine &e, const memory::desc &dst, int dimension,
                          const std::vector<memory::desc> &srcs, const primitive_attr &attr, bool allow_empty)
    : primitive_desc(dst, dimension, srcs, e, attr, allow_empty) {}
concat_pd::primitive_desc(const engine &e, int dimension, const std::vector<memory::desc> &srcs,
                          const primitive_attr &attr, bool allow_empty)
    : primitive_desc(dimension, srcs, e, attr, allow_empty) {}

} // namespace v0
} // namespace octet
