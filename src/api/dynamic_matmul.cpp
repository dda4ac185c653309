// The front of products whose source is quantized while they run: which scales of weights an order of operations
// asks for, and in what shape. Values that come with the execution are checked there
// (common/dynamic_matmul_problem.cpp).
// SPDX-License-Identifier: Apache-2.0
#include "api/dynamic_matmul.hpp"

#include "api/dynamic_weights.hpp"
#include "api/lowering.hpp"
#include "api/tensors/format_tag.hpp"
#include "api/tensors/memory_desc_checks.hpp"
#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/rules.hpp"
#include "common/text.hpp"
#include "cpu/group_products/drive.hpp"
#include "cpu/machine/isa.hpp"

namespace octet::impl {

namespace {

/// Everything else that changes numbers is refused: the order of operations says what happens to them.
void reject_other_attributes(const char *operation, const primitive_attr &attr, data_type dst) {
    const bool has_codes = is_code(dst);
    const auto check = [&](const char *what, const auto &by_argument) {
        for (const auto &[arg, values] : by_argument)
            if (arg != OCTET_ARG_WEIGHTS && (arg != OCTET_ARG_DST || !has_codes))
                throw_invalid(operation, ": ", what, " of ", argument_name(arg),
                              " with set_source_quantization, allowed: of weights",
                              has_codes              ? ", dst"
                              : arg == OCTET_ARG_DST ? text(", of dst s8 or u8 (it is ", to_string(dst), ")")
                                                     : std::string(),
                              arg == OCTET_ARG_SRC ? " (the quantizer chooses those of src)" : "");
    };
    check("scales", attr.scales());
    check("zero points", attr.zero_points());
    if (attr.output_scales().is_set() || attr.rule() != requantization_rule::automatic ||
        !attr.input_multipliers().empty())
        throw_invalid(operation, ": set_output_scales, set_requantization or set_input_multiplier with ",
                      "set_source_quantization, allowed: set_scales and set_combination");
}

combination order_of(const char *operation, const primitive_attr &attr, bool has_groups) {
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
    const char *operation = p.operation;
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

/// The bias in dst's rank, {1, …, N}. An inner product's has one dimension.
memory_desc column_bias(const char *operation, const memory_desc &given, const memory_desc &dst, int ndims) {
    memory_desc bias = given;
    check_descriptor(operation, "bias", bias);
    if (bias.ndims == 0)
        return {};
    require_type(operation, "bias of a product with set_source_quantization", bias, {data_type::f32});
    if (bias.format_kind == format_kind::any)
        set_row_major(bias);
    require_plain(operation, "bias", bias);
    const dim_t n = dst.dims[dst.ndims - 1];
    if (bias.ndims != ndims || bias.dims[ndims - 1] != n || element_count(bias) != n)
        throw_invalid(operation, ": bias has dims ", dims_text(bias),
                      " with set_source_quantization, allowed: the N of dst and 1 in all other dimensions",
                      ndims == 1 ? ", of which there are none" : "");
    if (n > 1 && bias.strides[ndims - 1] != 1)
        throw_unimplemented(operation, ": bias is ", memory::desc(bias).to_string(),
                            " with set_source_quantization, implemented: without gaps");
    return bias;
}
memory_desc in_rank_of(const memory_desc &dst, memory_desc bias) {
    if (bias.ndims == 0 || bias.ndims == dst.ndims)
        return bias;
    bias.dims[1] = bias.dims[0];
    bias.strides[1] = bias.strides[0];
    bias.dims[0] = 1;
    bias.ndims = dst.ndims;
    return bias;
}

void check_shapes(const dynamic_matmul_problem &p) {
    const char *operation = p.operation;
    require_type(operation, "src of a product with set_source_quantization", p.src,
                 {data_type::f32, data_type::f16, data_type::bf16});
    require_type(operation, "weights of float src", p.weights,
                 {data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::u2});
    require_type(operation, "dst of a product with set_source_quantization", p.dst,
                 {data_type::f32, data_type::f16, data_type::bf16, data_type::s8, data_type::u8});
    for (int d = 0; d < p.weights.ndims - 2; d++)
        if (p.weights.dims[d] != 1)
            throw_unimplemented(operation, ": weights have dims ", dims_text(p.weights),
                                " with set_source_quantization, implemented: 1 in all but the last two");
    if (p.k() % elements_per_byte(p.weights.data_type) != 0)
        throw_invalid(operation, ": K is ", p.k(), " with weights of type ", to_string(p.weights.data_type),
                      ", allowed: ", p.weights.data_type == data_type::u2 ? "multiples of 4" : "even");
    if (p.k() == 0)
        throw_unimplemented(operation, ": K is 0 with set_source_quantization, implemented: from 1 up");
}

/// Post-ops, then codes as oneDNN 3 makes them of a dst with a scale and a zero point.
void lower_out_stage(const primitive_attr &attr, dynamic_matmul_problem &p) {
    attribute_support support{p.operation};
    support.sums_f32 = true;
    support.dst_channel_mask = 1 << (p.dst.ndims - 1);
    p.out_stage.dst = p.dst;
    p.out_stage.rule = is_code(p.dst.data_type) ? requantization_rule::f32_v3 : unchanged(true);
    if (const auto scales = attr.scales().find(OCTET_ARG_DST); scales != attr.scales().end()) {
        p.out_stage.dst_scales = scales->second;
        check_masked(support, "dst scales", p.out_stage.dst_scales, p.dst);
    }
    p.out_stage.dst_zero_points = lower_zero_points(support, attr, OCTET_ARG_DST, p.dst).values;
    p.out_stage.post_ops = lower_post_ops(support, attr, p.dst);
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

/// What `any` stands for: packed beside scales or for a static product where a kernel reads them so. A static
/// product has its own order of channels and positions.
memory_desc chosen_weights(const dynamic_matmul_problem &p, bool has_positions) {
    memory_desc w = p.weights;
    w.format_kind = format_kind::any;
    if (is_own(p.order) && w.ndims == 2)
        set_packed_with_scales(w, p.group, p.zero_points.is_set, groups::packs_sums(p, machine_in_use()));
    else if (!facts_of(p.order).has_groups && is_code(w.data_type) && !has_positions)
        set_packed(w, packed_kind::matmul, false);
    else
        set_k_innermost(w);
    return w;
}

/// Resolves `any`; other packed layouts than its are refused.
void resolve_weights(dynamic_matmul_problem &p, bool has_positions) {
    memory_desc &w = p.weights;
    const memory_desc chosen = chosen_weights(p, has_positions);
    if (w.format_kind == format_kind::any) {
        w = chosen;
        size_in_bytes(w); // throws on overflow
    }
    p.has_stored_values = is_packed_with_scales(w);
    if (w.format_kind != format_kind::plain && memory::desc(w) != memory::desc(chosen))
        throw_invalid(p.operation, ": weights have layout ", layout_name(w),
                      ", allowed: plain layouts, any, ", layout_name(chosen));
}

/// The tensors of the operation, whose layouts may be open, beside the problem's matrices.
struct product_tensors {
    memory_desc src, weights, bias, dst;
    bool has_columns_first; ///< weights {N, K…}
};

primitive_desc_ptr make_product(const request &r, dynamic_matmul_problem &p, product_tensors t) {
    const char *operation = p.operation = r.operation;
    const primitive_attr &attr = r.attr;
    p.source = *attr.get_source_quantization();
    p.prefetched_bytes = attr.get_prefetched_bytes();
    for (memory_desc *md : {&t.src, &t.dst})
        if (md->format_kind == format_kind::any)
            set_row_major(*md);
    require_plain(operation, "src", t.src);
    require_plain(operation, "dst", t.dst);
    require_no_overlap(operation, t.dst);
    p.src = t.has_columns_first ? matrix_of_rows(operation, "src", t.src) : t.src;
    p.weights = t.has_columns_first ? matrix_of_columns(operation, t.weights) : t.weights;
    p.dst = t.dst;
    check_shapes(p);
    reject_other_attributes(operation, attr, p.dst.data_type);
    const lowered_weights w =
        lower_weight_values(attr, {operation, "weights", OCTET_ARG_WEIGHTS, t.weights, t.has_columns_first});
    p.scales = w.scales;
    p.zero_points = w.zero_points;
    p.group = w.group;
    p.order = order_of(operation, attr, w.has_groups);
    check_order(p, w.has_groups);
    const bool is_open = t.weights.format_kind == format_kind::any;
    resolve_weights(p, t.has_columns_first && t.weights.ndims > 2);
    if (is_open)
        t.weights = t.has_columns_first ? columns_of_matrix(p.weights, t.weights) : p.weights;
    t.bias = column_bias(operation, t.bias, p.dst, t.has_columns_first ? 1 : p.dst.ndims);
    p.bias = in_rank_of(p.dst, t.bias);
    lower_out_stage(attr, p);

    tensor_map tensors{{OCTET_ARG_SRC, &t.src}, {OCTET_ARG_WEIGHTS, &t.weights}, {OCTET_ARG_DST, &t.dst}};
    if (t.bias.ndims != 0)
        tensors[OCTET_ARG_BIAS] = &t.bias;
    return make_primitive_desc(r, tensors, {}, p);
}

} // namespace

primitive_desc_ptr make_dynamic_matmul(const request &r, const matmul_problem &shapes,
                                       const memory_desc &bias) {
    dynamic_matmul_problem p;
    return make_product(r, p, {shapes.src, shapes.weights, bias, shapes.dst, false});
}

primitive_desc_ptr make_dynamic_inner_product(const request &r, const convolution_problem &shapes,
                                              const memory_desc &bias) {
    dynamic_matmul_problem p;
    return make_product(r, p, {shapes.src, shapes.weights, bias, shapes.dst, true});
}

primitive_desc_ptr make_packing_with_scales(const request &r, const memory_desc &src,
                                            const memory_desc &dst) {
    constexpr const char *reorder = "reorder";
    if (src.format_kind != format_kind::plain || src.data_type != dst.data_type)
        throw_unimplemented(reorder, ": src is ", memory::desc(src).to_string(), " and dst ",
                            memory::desc(dst).to_string(),
                            ", implemented: the type of dst in a plain layout");
    if (r.attr.get_post_ops().len() != 0 || r.attr.output_scales().is_set() ||
        r.attr.rule() != requantization_rule::automatic || r.attr.scales().count(OCTET_ARG_DST) != 0 ||
        r.attr.zero_points().count(OCTET_ARG_DST) != 0)
        throw_invalid(reorder, ": dst is ", memory::desc(dst).to_string(),
                      ", whose codes do not change, allowed: scales and zero points of src");
    packing_problem p;
    const bool by_columns = has_columns_first(dst);
    p.weights = by_columns ? matrix_of_columns(reorder, src) : src;
    p.packed = by_columns ? matrix_of_columns(reorder, dst) : dst;
    if (p.weights.dims[0] == 0)
        throw_unimplemented(reorder, ": src has dims ", dims_text(src), ", implemented: K from 1 up");
    const lowered_weights w = lower_weight_values(r.attr, {reorder, "src", OCTET_ARG_SRC, src, by_columns});
    p.group = w.group;
    p.scales = w.scales;
    p.zero_points = w.zero_points;
    memory_desc expected = dst;
    set_packed_with_scales(expected, p.group, p.zero_points.is_set, has_packed_sums(dst));
    set_columns_first(expected, by_columns);
    if (memory::desc(expected) != memory::desc(dst))
        throw_invalid(reorder, ": dst has layout ", layout_name(dst),
                      ", allowed with these scales and zero points: ", layout_name(expected));
    return make_primitive_desc(r, {{OCTET_ARG_SRC, &src}, {OCTET_ARG_DST, &dst}}, {}, p);
}

} // namespace octet::impl
