// The front of products whose source is quantized while they run: which scales of weights an order of operations
// asks for, and in what shape. Values that come with the execution are checked there (common/weight_values.cpp).
// SPDX-License-Identifier: Apache-2.0
#include "api/dynamic_matmul.hpp"

#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"
#include "cpu/group_products/drive.hpp"
#include "cpu/machine/isa.hpp"

namespace octet::impl {

namespace {

constexpr const char *operation = "matmul";

/// Everything else that changes numbers is refused: the order of operations says what happens to them.
void reject_other_attributes(const primitive_attr &attr) {
    const auto only_weights = [](const char *what, const auto &by_argument) {
        for (const auto &[arg, values] : by_argument)
            if (arg != OCTET_ARG_WEIGHTS)
                throw_invalid(operation, ": ", what, " of ", argument_name(arg),
                              " with set_source_quantization, allowed: of weights",
                              arg == OCTET_ARG_SRC ? " (the quantizer chooses those of src)" : "");
    };
    only_weights("scales", attr.scales());
    only_weights("zero points", attr.zero_points());
    if (attr.output_scales().is_set() || attr.rule() != requantization_rule::automatic ||
        !attr.input_multipliers().empty())
        throw_invalid(operation, ": set_output_scales, set_requantization or set_input_multiplier with ",
                      "set_source_quantization, allowed: set_scales of weights and set_combination");
}

combination order_of(const primitive_attr &attr, bool has_groups) {
    if (const std::optional<combination> given = attr.get_combination())
        return *given;
    const source_quantization &q = *attr.get_source_quantization();
    if (q.by != source_quantizer::dynamic)
        throw_invalid(
            operation, ": quantizer ", to_string(q.by),
            " without set_combination, which says in what order its library combines sums and scales");
    return has_groups || q.span == source_span::group ? combination::dynamic_group : combination::dynamic_row;
}

void check_order(const dynamic_matmul_problem &p, bool has_groups) {
    constexpr dim_t longest = 32768; // its sums of codes stay below 2^31
    if (p.group > longest)
        throw_unimplemented(operation, ": ", p.group, " elements of K share a scale, implemented: up to ",
                            longest);
    const combination_facts &facts = facts_of(p.order);
    const char *order = to_string(p.order);
    if (facts.has_offsets)
        throw_unimplemented(operation, ": combination ", order,
                            ", whose weights have offsets, implemented: others");
    if (has_groups && !facts.has_groups)
        throw_invalid(operation, ": scales of groups of ", p.group, " with combination ", order,
                      ", allowed: one for each column");
    if (facts.unit > 1 && (p.group % facts.unit != 0 || p.k() % p.group != 0 ||
                           (facts.longest != 0 && p.group > facts.longest)))
        throw_invalid(
            operation, ": groups of ", p.group, " of K = ", p.k(), " with combination ", order,
            ", allowed: ", facts.longest == 0 ? text("multiples of ", facts.unit) : text(facts.longest),
            " that divide K");
    if (p.source_has_groups() ? !facts.takes_source_groups : !facts.takes_other_spans)
        throw_invalid(operation, ": span ", to_string(p.source.span), " of the source with combination ",
                      order, ", allowed: ", facts.takes_other_spans ? "row, tensor" : "group");
}

struct groups_of_weights {
    dim_t length;
    bool are_given;
};

/// The elements of K that share a scale, as set_scales has them.
groups_of_weights groups_of(const char *operation, const char *what, int mask, const memory::dims &groups,
                            const memory_desc &weights) {
    const int of_column = 1 << (weights.ndims - 1), of_k = 1 << (weights.ndims - 2);
    const dim_t k = weights.dims[weights.ndims - 2];
    if (mask != 0 && mask != of_column && mask != (of_column | of_k))
        throw_invalid(operation, ": mask of ", what, " is ", mask, ", allowed: 0, ", of_column,
                      " (columns), ", of_column | of_k, " (groups of K and columns)");
    if ((mask & of_k) == 0) {
        if (!groups.empty() && (groups[0] != 1 || groups[1] != 1))
            throw_invalid(operation, ": ", what, " have groups ", joined(groups.data(), groups.size()),
                          " with mask ", mask, ", allowed: mask ", of_column | of_k);
        return {std::max<dim_t>(k, 1), false};
    }
    const dim_t length = groups.empty() ? 1 : groups[0];
    if ((!groups.empty() && groups[1] != 1) || length > std::max<dim_t>(k, 1))
        throw_invalid(operation, ": ", what, " have groups ", joined(groups.data(), groups.size()),
                      " for dims ", dims_text(weights), ", allowed: 1 to ", k, " of K, 1 of N");
    return {length, true};
}

template <typename T>
weight_values lower_values(const char *operation, const char *what, int arg, const masked_values<T> &given,
                           const memory_desc &weights) {
    const int of_column = 1 << (weights.ndims - 1);
    weight_values v;
    v.arg = arg;
    v.is_set = given.is_set();
    v.has_columns = (given.mask & of_column) != 0;
    const dim_t k = weights.dims[weights.ndims - 2], n = weights.dims[weights.ndims - 1];
    v.groups =
        div_up(std::max<dim_t>(k, 1), groups_of(operation, what, given.mask, given.groups, weights).length);
    if (given.runtime) {
        v.type = given.type != data_type::undef ? given.type
                 : std::is_same_v<T, float>     ? data_type::f32
                                                : data_type::s32;
        return v;
    }
    v.values.assign(given.values.begin(), given.values.end());
    if (v.is_set && static_cast<dim_t>(v.values.size()) != v.count(n))
        throw_invalid(operation, ": ", v.values.size(), " ", what, " with mask ", given.mask, " for dims ",
                      dims_text(weights), ", allowed: ", v.count(n));
    if constexpr (std::is_same_v<T, float>)
        check_scales(operation, what, v.values.data(), v.values.size(), scale_signs::not_negative);
    else
        check_weight_zero_points(operation, what, v.values.data(), v.values.size(), weights.data_type);
    return v;
}

/// Fills scales, zero points and the length of groups. `arg`: the tensor that attributes name.
template <typename Problem>
bool lower_weight_values(const char *operation, const primitive_attr &attr, int arg, const char *tensor,
                         Problem &p) {
    const auto scales = attr.scales().find(arg);
    if (scales == attr.scales().end())
        throw_invalid(operation, ": no scales of ", tensor, ", allowed: set_scales(", argument_to_string(arg),
                      ", …)");
    const std::string scales_text = text("scales of ", tensor),
                      zero_points_text = text("zero points of ", tensor);
    const groups_of_weights groups =
        groups_of(operation, scales_text.c_str(), scales->second.mask, scales->second.groups, p.weights);
    p.group = groups.length;
    p.scales =
        lower_values(operation, scales_text.c_str(), OCTET_ARG_ATTR_SCALES | arg, scales->second, p.weights);
    const auto zero_points = attr.zero_points().find(arg);
    if (zero_points == attr.zero_points().end())
        return groups.are_given;
    p.zero_points = lower_values(operation, zero_points_text.c_str(), OCTET_ARG_ATTR_ZERO_POINTS | arg,
                                 zero_points->second, p.weights);
    if (p.zero_points.groups != 1 && p.zero_points.groups != p.scales.groups)
        throw_invalid(operation, ": ", p.zero_points.groups, " groups of zero points and ", p.scales.groups,
                      " of scales, allowed: as many, or no groups of zero points");
    return groups.are_given;
}

memory_desc column_bias(const memory_desc &given, const memory_desc &dst) {
    memory_desc bias = given;
    check_descriptor(operation, "bias", bias);
    if (bias.ndims == 0)
        return {};
    require_type(operation, "bias of a product with set_source_quantization", bias, {data_type::f32});
    if (bias.format_kind == format_kind::any)
        set_row_major(bias);
    require_plain(operation, "bias", bias);
    const int last = dst.ndims - 1;
    if (bias.ndims != dst.ndims || bias.dims[last] != dst.dims[last] || element_count(bias) != dst.dims[last])
        throw_invalid(operation, ": bias has dims ", dims_text(bias),
                      " with set_source_quantization, allowed: the N of dst and 1 in all other dimensions");
    if (bias.dims[last] > 1 && bias.strides[last] != 1)
        throw_unimplemented(operation, ": bias is ", memory::desc(bias).to_string(),
                            " with set_source_quantization, implemented: without gaps");
    return bias;
}

void check_shapes(const dynamic_matmul_problem &p) {
    require_type(operation, "src of a product with set_source_quantization", p.src,
                 {data_type::f32, data_type::f16, data_type::bf16});
    require_type(operation, "weights of float src", p.weights,
                 {data_type::s8, data_type::u8, data_type::s4, data_type::u4});
    require_type(operation, "dst of a product with set_source_quantization", p.dst,
                 {data_type::f32, data_type::f16, data_type::bf16});
    for (int d = 0; d < p.weights.ndims - 2; d++)
        if (p.weights.dims[d] != 1)
            throw_unimplemented(operation, ": weights have dims ", dims_text(p.weights),
                                " with set_source_quantization, implemented: 1 in all but the last two");
    if (shares_bytes(p.weights.data_type) && p.k() % 2 != 0)
        throw_invalid(operation, ": K is ", p.k(), " with weights of type ", to_string(p.weights.data_type),
                      ", allowed: even");
    if (p.k() == 0)
        throw_unimplemented(operation, ": K is 0 with set_source_quantization, implemented: from 1 up");
}

bool is_own(combination order) {
    return order == combination::dynamic_row || order == combination::dynamic_group;
}

/// Columns of codes that share bytes begin with whole ones.
void set_k_innermost(memory_desc &w) {
    set_row_major(w);
    w.strides[w.ndims - 2] = 1;
    w.strides[w.ndims - 1] = w.dims[w.ndims - 2];
}

/// What `any` stands for: packed beside scales or for a static product where a kernel reads them so.
memory_desc chosen_weights(const dynamic_matmul_problem &p) {
    memory_desc w = p.weights;
    w.format_kind = format_kind::any;
    if (is_own(p.order) && w.ndims == 2)
        set_packed_with_scales(w, p.group, p.zero_points.is_set, groups::packs_sums(p, machine_in_use()));
    else if (!facts_of(p.order).has_groups && is_code(w.data_type))
        set_packed(w, packed_kind::matmul, false);
    else
        set_k_innermost(w);
    return w;
}

void resolve_weights(dynamic_matmul_problem &p) {
    memory_desc &w = p.weights;
    const memory_desc chosen = chosen_weights(p);
    if (w.format_kind == format_kind::any) {
        w = chosen;
        size_in_bytes(w); // throws on overflow
    }
    p.has_stored_values = is_packed_with_scales(w);
    if (w.format_kind != format_kind::plain && memory::desc(w) != memory::desc(chosen))
        throw_invalid(operation, ": weights have layout ", layout_name(w), ", allowed: plain layouts, any, ",
                      layout_name(chosen));
}

} // namespace

primitive_desc_ptr make_dynamic_matmul(const request &r, const matmul_problem &shapes,
                                       const memory_desc &bias) {
    const primitive_attr &attr = r.attr;
    dynamic_matmul_problem p;
    p.src = shapes.src;
    p.weights = shapes.weights;
    p.dst = shapes.dst;
    p.source = *attr.get_source_quantization();
    check_shapes(p);
    for (memory_desc *md : {&p.src, &p.dst})
        if (md->format_kind == format_kind::any)
            set_row_major(*md);
    require_plain(operation, "src", p.src);
    require_plain(operation, "dst", p.dst);
    require_no_overlap(operation, p.dst);
    reject_other_attributes(attr);
    const bool has_groups = lower_weight_values(operation, attr, OCTET_ARG_WEIGHTS, "weights", p);
    p.order = order_of(attr, has_groups);
    check_order(p, has_groups);
    resolve_weights(p);
    p.bias = column_bias(bias, p.dst);
    p.out_stage.rule = unchanged(true);
    p.out_stage.dst = p.dst;
    attribute_support support{operation};
    support.sums_f32 = true;
    p.out_stage.post_ops = lower_post_ops(support, attr, p.dst);

    tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_WEIGHTS, &p.weights}, {OCTET_ARG_DST, &p.dst}};
    if (p.bias.ndims != 0)
        tensors[OCTET_ARG_BIAS] = &p.bias;
    return make_primitive_desc(r, tensors, {}, p);
}

primitive_desc_ptr make_packing_with_scales(const request &r, const memory_desc &src,
                                            const memory_desc &dst) {
    constexpr const char *reorder = "reorder";
    packing_problem p;
    p.weights = src;
    p.packed = dst;
    if (src.format_kind != format_kind::plain || src.data_type != dst.data_type)
        throw_unimplemented(reorder, ": src is ", memory::desc(src).to_string(), " and dst ",
                            memory::desc(dst).to_string(),
                            ", implemented: the type of dst in a plain layout");
    if (r.attr.get_post_ops().len() != 0 || r.attr.output_scales().is_set() ||
        r.attr.rule() != requantization_rule::automatic || r.attr.scales().count(OCTET_ARG_DST) != 0 ||
        r.attr.zero_points().count(OCTET_ARG_DST) != 0)
        throw_invalid(reorder, ": dst is ", memory::desc(dst).to_string(),
                      ", whose codes do not change, allowed: scales and zero points of src");
    if (src.dims[0] == 0)
        throw_unimplemented(reorder, ": src has dims ", dims_text(src), ", implemented: K from 1 up");
    lower_weight_values(reorder, r.attr, OCTET_ARG_SRC, "src", p);
    memory_desc expected = dst;
    set_packed_with_scales(expected, p.group, p.zero_points.is_set, dst.packed_steps[1] != 1);
    if (memory::desc(expected) != memory::desc(dst))
        throw_invalid(reorder, ": dst has layout ", layout_name(dst),
                      ", allowed with these scales and zero points: ", layout_name(expected));
    return make_primitive_desc(r, {{OCTET_ARG_SRC, &p.weights}, {OCTET_ARG_DST, &p.packed}}, {}, p);
}

} // namespace octet::impl
