// A chain with a depthwise convolution is cut there. What stands before it belongs to the convolution, whose dst is
// the intermediate; what stands behind it belongs to the depthwise convolution. Both are made by the front of
// convolution, and their kernels run one after the other.
// SPDX-License-Identifier: Apache-2.0
#include "api/depthwise_post_op.hpp"

#include <algorithm>
#include <utility>

#include "api/attributes/post_op_tensors.hpp"
#include "common/text.hpp"
#include "cpu/compose/depthwise_behind.hpp"
#include "cpu/machine/isa.hpp"
#include "cpu/stream/nest.hpp"

namespace octet::impl {

namespace {

constexpr const char *operation = "convolution";

using names_of_arguments = std::vector<std::pair<int, int>>;

/// The chain in its parts.
struct cut_chain {
    post_ops before, behind;
    post_op::depthwise between;
    names_of_arguments operands; ///< of `behind`: in its own chain, in the whole one
};

cut_chain cut(const post_ops &whole) {
    cut_chain parts;
    bool is_behind = false;
    for (int i = 0; i < whole.len(); i++) {
        const post_op_entry &entry = whole.entries()[static_cast<std::size_t>(i)];
        if (const post_op::depthwise *found = depthwise_of(entry)) {
            if (is_behind)
                throw_unimplemented(operation, ": post-op ", i,
                                    ": a second depthwise convolution, allowed: one");
            parts.between = *found;
            is_behind = true;
        } else {
            post_ops &part = is_behind ? parts.behind : parts.before;
            const int own = operand_of(entry, part.len()), fused = operand_of(entry, i);
            if (facts_of(entry).reads_dst)
                throw_unimplemented(operation, ": post-op ", i, ": ", facts_of(entry).name,
                                    ", which reads dst, in a chain with a depthwise convolution");
            if (weights_mask_of(entry).value_or(0) & ~(1 << 1))
                throw_unimplemented(operation, ": post-op ", i, ": mask ", *weights_mask_of(entry),
                                    " in a chain with a depthwise convolution, implemented: 0 and 2");
            if (is_behind && own != 0)
                parts.operands.emplace_back(own, fused);
            post_op_tensors::append(part, entry);
        }
    }
    return parts;
}

void check_attributes(const request &r) {
    if (r.is_trial)
        throw_unimplemented(operation, ": sizes that are given at execution, with a depthwise post-op");
    const primitive_attr &attr = r.attr;
    if (attr.rule() != requantization_rule::automatic && attr.rule() != requantization_rule::f32)
        throw_unimplemented(operation, ": rule ", to_string(attr.rule()),
                            " with a depthwise post-op, implemented: f32");
    if (!attr.scales().empty())
        throw_unimplemented(operation,
                            ": set_scales with a depthwise post-op, implemented: set_output_scales");
    if (attr.zero_points().count(OCTET_ARG_DST))
        throw_unimplemented(operation, ": zero points of dst with a depthwise post-op");
}

void check_types(const post_op::depthwise &op, data_type intermediate) {
    const bool is_of_codes = op.weights == data_type::s8;
    if (!is_of_codes && op.weights != data_type::f32)
        throw_unimplemented(operation, ": weights of the depthwise post-op have type ", to_string(op.weights),
                            ", implemented: s8, f32");
    const bool fits = is_of_codes ? intermediate == data_type::u8 || intermediate == data_type::s8
                                  : intermediate == data_type::f32;
    if (!fits)
        throw_unimplemented(operation, ": dst, the source of the depthwise post-op, has type ",
                            to_string(intermediate), ", implemented with weights of ", to_string(op.weights),
                            ": ", is_of_codes ? "u8, s8" : "f32");
}

/// dst, and the padding behind the intermediate, which may be negative.
struct extents {
    memory::dims dst, padding_r;
};

extents extents_of(const post_op::depthwise &op, const memory_desc &between) {
    extents e{{between.dims[0], between.dims[1]}, {}};
    for (int d = 2; d < between.ndims; d++) {
        e.dst.push_back((between.dims[d] + op.stride - 1) / op.stride);
        e.padding_r.push_back((e.dst.back() - 1) * op.stride + op.kernel - between.dims[d] - op.padding);
    }
    return e;
}

/// The depthwise convolution of the intermediate, whose order of dimensions dst gets.
convolution_forward::desc description_of(const post_op::depthwise &op, const memory::desc &between,
                                         prop_kind prop) {
    const auto spatial = static_cast<std::size_t>(between.get_ndims() - 2);
    const dim_t channels = between.data.dims[1];
    const extents e = extents_of(op, between.data);
    memory::dims weights{channels, 1, 1};
    weights.insert(weights.end(), spatial, op.kernel);
    memory::desc dst(e.dst, op.dst, format_tag::any);
    dst.data.format_kind = format_kind::plain;
    dst.data = stream::dense_in_order_of(between.data, dst.data);
    const memory::desc bias =
        op.bias == data_type::undef ? memory::desc() : memory::desc({channels}, op.bias, format_tag::x);
    return {prop,
            algorithm::convolution_direct,
            between,
            memory::desc(weights, op.weights, format_tag::any),
            bias,
            dst,
            memory::dims(spatial, op.stride),
            memory::dims(spatial, op.padding),
            e.padding_r};
}

/// The fused tensors, of the two operations' arguments.
std::map<int, memory::desc> fused_tensors(const primitive_description &first,
                                          const primitive_description &second) {
    std::map<int, memory::desc> tensors;
    for (const int arg : {OCTET_ARG_SRC, OCTET_ARG_WEIGHTS, OCTET_ARG_BIAS}) {
        if (const auto found = first.args.find(arg); found != first.args.end())
            tensors[arg] = found->second;
        if (const auto found = second.args.find(arg); found != second.args.end() && arg != OCTET_ARG_SRC)
            tensors[OCTET_ARG_ATTR_POST_OP_DW | arg] = found->second;
    }
    tensors[OCTET_ARG_DST] = second.args.at(OCTET_ARG_DST);
    return tensors;
}

} // namespace

bool has_depthwise(const primitive_attr &attr) {
    const auto &entries = attr.get_post_ops().entries();
    return std::any_of(entries.begin(), entries.end(), depthwise_of);
}

primitive_desc_ptr
make_with_depthwise(const convolution_forward::desc &d, const request &r, const std::string &parameters,
                    primitive_desc_ptr (*front)(const convolution_forward::desc &, const request &)) {
    check_attributes(r);
    const cut_chain chain = cut(r.attr.get_post_ops());
    check_types(chain.between, d.dst.data.data_type);
    primitive_attr own = r.attr, behind;
    own.set_post_ops(chain.before);
    behind.set_output_scales(chain.between.scales.mask, chain.between.scales.values);
    behind.set_post_ops(chain.behind);
    const primitive_desc_ptr first = front(d, {operation, own, r.where, false, true});
    const memory::desc between = first->is->args.at(OCTET_ARG_DST);
    const primitive_desc_ptr second =
        front(description_of(chain.between, between, d.prop), {operation, behind, r.where, false, true});

    names_of_arguments names = chain.operands;
    for (const int arg : {OCTET_ARG_WEIGHTS, OCTET_ARG_BIAS})
        names.emplace_back(arg, OCTET_ARG_ATTR_POST_OP_DW | arg);
    const std::string name = first->is->implementation + "+" + second->is->implementation;
    chosen_implementation chosen;
    chosen.name = name.c_str();
    chosen.create = [first, second, names, bytes = between.get_size()] {
        return depthwise_behind(first->create(), second->create(), bytes, names);
    };
    chosen.here = machine_in_use();
    chosen.described_dst = between;
    const std::map<int, memory::desc> fused = fused_tensors(*first->is, *second->is);
    tensor_map tensors;
    for (const auto &[arg, md] : fused)
        tensors[arg] = &md.data;
    return make_primitive_desc(r, tensors, parameters, std::move(chosen));
}

} // namespace octet::impl
