// TFLite's operators that move codes and compute nothing: RESHAPE and its kin, TRANSPOSE, PAD, CONCATENATION, PACK.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/lower/choosing.hpp"
#include "network/lower/tflite.hpp"

namespace octet::model {
namespace {

/// The bytes of one padded element: PADV2's constant, else the code of 0.
std::vector<std::uint8_t> pad_element(const lowering &l, const tensor &dst) {
    if (l.has_input(2)) {
        const tensor &value = l.input(2, {dst.type});
        if (!value.is_constant || element_count(value.dims) != 1)
            refuse_as_unimplemented("input 2 ('" + value.name + "') is not one constant value");
        need_equal_quantization(value, dst, "the pad value and the output");
        return value.data.copy();
    }
    return code_of_zero(dst);
}

/// Input i under the dimensions that it takes in the output.
using part_dims = memory::dims (*)(const memory::dims &input, std::size_t axis);

/// Copies all inputs one behind the other along an axis of the output.
std::unique_ptr<step> join(const lowering &l, part_dims part_of) {
    const tensor &first = any_input(l, 0), &dst = l.output({first.type});
    const std::size_t axis = axis_among(l.integer("axis"), dst.dims.size());
    auto result = std::make_unique<primitive_step>();
    memory::dims begin(dst.dims.size(), 0);
    for (std::size_t i = 0; i < l.input_count(); i++) {
        const tensor &src = any_input(l, i);
        need_equal_quantization(src, dst, "input " + std::to_string(i) + " and the output");
        const memory::dims part = part_of(src.dims, axis);
        memory::dims expected = dst.dims;
        if (part.size() == expected.size())
            expected[axis] = part[axis];
        if (part != expected || begin[axis] + expected[axis] > dst.dims[axis])
            refuse("input " + std::to_string(i) + " (" + to_text(src.dims) + ") does not fit into output " +
                   to_text(dst.dims) + " at " + std::to_string(begin[axis]));
        add_copy(*result, l.input_buffer(i, memory::desc(part, src.type, memory::dims())),
                 l.output_buffer(dense_desc(dst).submemory_desc(part, begin)));
        begin[axis] += part[axis];
    }
    if (begin[axis] != dst.dims[axis])
        refuse("the inputs fill " + std::to_string(begin[axis]) + " of the output's " +
               std::to_string(dst.dims[axis]) + " along axis " + std::to_string(axis));
    return result;
}

} // namespace

/// Also SQUEEZE and EXPAND_DIMS: the output's dimensions are known, so the inputs that describe them are not
/// read.
std::unique_ptr<step> lower_reshape(const lowering &l) { return make_view(l); }

std::unique_ptr<step> lower_transpose(const lowering &l) { return make_transpose(l, l.constant_integers(1)); }

std::unique_ptr<step> lower_pad(const lowering &l) {
    const tensor &src = any_input(l, 0), &dst = l.output({src.type});
    need_equal_quantization(src, dst, "input and output");
    const paddings p = read_paddings(l, src.dims.size());
    return make_padding(l, p.before, p.after, pad_element(l, dst));
}

std::unique_ptr<step> lower_concatenation(const lowering &l) {
    if (l.text("activation", "NONE") != "NONE")
        refuse_as_unimplemented("a fused activation is not supported");
    return join(l, [](const memory::dims &input, std::size_t) { return input; });
}

/// Inputs are one behind the other along a dimension that they do not have.
std::unique_ptr<step> lower_pack(const lowering &l) {
    return join(l, [](const memory::dims &input, std::size_t axis) {
        memory::dims part = input;
        part.insert(part.begin() + static_cast<std::ptrdiff_t>(std::min(axis, part.size())), 1);
        return part;
    });
}

/// Shapes are known before anything is lowered, unless the file says what they are not.
std::unique_ptr<step> lower_shape(const lowering &l) {
    l.output({data_type::s32});
    refuse("the output (" + to_text(l.output().dims) + ") is not the " +
           std::to_string(l.input(0).dims.size()) + " dimensions of " + to_text(l.input(0).dims));
}

} // namespace octet::model
