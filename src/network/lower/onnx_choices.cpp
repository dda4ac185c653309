// Operators that take elements from where others, or the shape functions, say: Gather, Slice, Split, Concat, Expand, Where.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/lower/broadcast.hpp"
#include "network/lower/choosing.hpp"
#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"

namespace octet::model {
namespace {

std::size_t axis_of(const lowering &l, std::size_t rank) { return axis_among(l.integer("axis", 0), rank); }

template <typename T>
void choose_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++) {
        const std::size_t chosen =
            static_cast<const std::uint8_t *>(operands[0])[i * strides[0]] != 0 ? 1 : 2;
        static_cast<T *>(y)[i] = static_cast<const T *>(operands[chosen])[i * strides[chosen]];
    }
}

/// ONNX Runtime puts zeros where an operand is not chosen, and takes the first operand where it is no zero, otherwise the second; but
/// the second first where it is one number for a row. So a -0 of that which comes first becomes +0.
template <bool second_is_first>
void choose_float_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    const auto *is_first = static_cast<const std::uint8_t *>(operands[0]);
    const auto *a = static_cast<const float *>(operands[1]), *b = static_cast<const float *>(operands[2]);
    for (dim_t i = 0; i < count; i++) {
        const bool takes_first = is_first[i * strides[0]] != 0;
        const float value = takes_first ? a[i * strides[1]] : b[i * strides[2]];
        static_cast<float *>(y)[i] = value == 0.f && takes_first != second_is_first ? 0.f : value;
    }
}

/// Whether inputs 0 and 2 of Where are one number each for a row: an element along the innermost dimension that is none of 1.
bool has_one_second(const lowering &l) {
    const memory::dims &y = l.output().dims;
    const memory::dims of_choice = broadcast_strides(l.input(0).dims, y),
                       of_second = broadcast_strides(l.input(2).dims, y);
    for (std::size_t d = y.size(); d-- > 0;)
        if (y[d] != 1)
            return of_choice[d] == 0 && of_second[d] == 0;
    return false;
}

walked_operand broadcast_operand(const lowering &l, std::size_t i) {
    return {l.input_buffer(i), broadcast_strides(l.input(i).dims, l.output().dims)};
}

} // namespace

std::unique_ptr<step> lower_gather(const lowering &l) {
    return make_gather(l, axis_of(l, any_input(l, 0).dims.size()));
}

/// `begin` and `stride` are the shape function's.
std::unique_ptr<step> lower_slice(const lowering &l) {
    return make_slice(l, l.integers("begin", {}), l.integers("stride", {}), l.output().dims);
}

std::unique_ptr<step> lower_split(const lowering &l) {
    return make_split(l, 0, axis_of(l, any_input(l, 0).dims.size()), false);
}

std::unique_ptr<step> lower_concat(const lowering &l) {
    const tensor &first = any_input(l, 0), &y = l.output({first.type});
    const std::size_t axis = axis_of(l, y.dims.size());
    arguments args{{OCTET_ARG_DST, l.output_buffer()}};
    std::vector<memory::desc> srcs;
    for (std::size_t i = 0; i < l.input_count(); i++) {
        if (element_count(l.input(i, {first.type}).dims) == 0)
            continue;
        const int arg = OCTET_ARG_MULTIPLE_SRC + static_cast<int>(srcs.size());
        args[arg] = l.input_buffer(i);
        srcs.push_back(args[arg].get_desc());
    }
    return one_step(concat::primitive_desc(l.output_buffer().get_desc(), static_cast<int>(axis), srcs,
                                           l.get_engine(), copy_attr(first.type)),
                    args);
}

std::unique_ptr<step> lower_expand(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    if (element_count(x.dims) == element_count(y.dims))
        return make_view(l);
    return broadcast_step(l, {broadcast_operand(l, 0)}, copying(memory::data_type_size(y.type)));
}

std::unique_ptr<step> lower_where(const lowering &l) {
    l.input(0, {data_type::u8});
    const tensor &x = any_input(l, 1);
    l.input(2, {x.type});
    l.output({x.type});
    const std::size_t size = memory::data_type_size(x.type);
    const row_function f = x.type == data_type::f32
                               ? (has_one_second(l) ? choose_float_row<true> : choose_float_row<false>)
                           : size == 1 ? choose_row<std::uint8_t>
                           : size == 2 ? choose_row<std::uint16_t>
                                       : choose_row<std::uint32_t>;
    return broadcast_step(l, {broadcast_operand(l, 0), broadcast_operand(l, 1), broadcast_operand(l, 2)}, f);
}

} // namespace octet::model
