// Copies are reorders with rule none, so codes move as they are; a view is no copy at all. What a padding fills in
// is written once, when the network is made.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/view_transpose_pad.hpp"

#include <algorithm>

#include "network/graph/element_map.hpp"

namespace octet::model {
namespace {

/// A permutation here names the source of each output dimension, Octet's the destination of each input
/// dimension.
std::vector<int> inverse(const std::vector<std::int64_t> &permutation, std::size_t rank) {
    std::vector<int> result(rank, -1);
    for (std::size_t i = 0; i < permutation.size(); i++) {
        const std::int64_t from = permutation[i];
        if (from >= 0 && from < static_cast<std::int64_t>(rank))
            result[static_cast<std::size_t>(from)] = static_cast<int>(i);
    }
    if (permutation.size() != rank || std::count(result.begin(), result.end(), -1) != 0)
        refuse("this is not a permutation of " + std::to_string(rank) + " dimensions");
    return result;
}

} // namespace

const tensor &any_input(const lowering &l, std::size_t i) {
    return l.input(i, {data_type::f32, data_type::s32, data_type::s16, data_type::s8, data_type::u8});
}

primitive_attr copy_attr(data_type type) {
    primitive_attr attr;
    if (type != data_type::f32)
        attr.set_requantization(requantization_rule::none);
    return attr;
}

void add_copy(primitive_step &s, const buffer &src, const buffer &dst) {
    s.add(reorder_desc(src, dst, copy_attr(src.get_desc().data_type())),
          {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
}

void need_output_dims(const lowering &l, const memory::dims &expected) {
    if (l.output().dims != expected)
        refuse("the output has dimensions " + to_text(l.output().dims) +
               ", but the inputs and attributes give " + to_text(expected));
}

std::unique_ptr<step> make_view(const lowering &l) {
    const tensor &src = any_input(l, 0), &dst = l.output({src.type});
    if (element_count(src.dims) != element_count(dst.dims))
        refuse("input " + to_text(src.dims) + " and output " + to_text(dst.dims) +
               " differ in their number of elements");
    l.alias_output_to_input(0);
    return std::make_unique<view_step>();
}

std::unique_ptr<step> make_transpose(const lowering &l, const std::vector<std::int64_t> &permutation) {
    const tensor &src = any_input(l, 0), &dst = l.output({src.type});
    const std::size_t rank = src.dims.size();
    const std::vector<int> destination = inverse(permutation, rank);
    memory::dims dims(rank);
    for (std::size_t i = 0; i < rank; i++)
        dims[static_cast<std::size_t>(destination[i])] = src.dims[i];
    need_output_dims(l, dims);
    auto result = std::make_unique<primitive_step>();
    add_copy(*result, l.input_buffer(0, dense_desc(src).permute_axes(destination)),
             l.output_buffer(dense_desc(dst)));
    return result;
}

std::vector<std::uint8_t> given_padding(const lowering &l, const tensor &dst) {
    if (!l.has_input(2))
        return {};
    const tensor &value = l.input(2, {dst.type});
    if (!value.is_constant || element_count(value.dims) != 1)
        refuse_as_unimplemented("input 2 ('" + value.name + "') is not one constant value");
    return value.data.copy();
}

std::unique_ptr<step> make_padding(const lowering &l, const memory::dims &before, const memory::dims &after,
                                   const std::vector<std::uint8_t> &element) {
    const tensor &src = any_input(l, 0), &dst = l.output({src.type});
    need_output_dims(l, padded(src.dims, before, after));
    l.fill_output(element); // once: running writes only the inside
    auto result = std::make_unique<primitive_step>();
    add_copy(*result, l.input_buffer(0), l.output_buffer(dense_desc(dst).submemory_desc(src.dims, before)));
    return result;
}

} // namespace octet::model
