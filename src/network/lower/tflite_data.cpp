// TFLite's operators that move codes and compute nothing: RESHAPE and its kin, TRANSPOSE, PAD, CONCATENATION.

#include <algorithm>
#include <cstring>

#include "network/lower/moving.hpp"
#include "network/lower/tflite.hpp"

namespace octet::model {
namespace {

/// {before, after} of each dimension, from PAD's constant [rank, 2] tensor.
struct paddings {
    memory::dims before, after;
};

paddings read_paddings(const lowering &l, std::size_t rank) {
    const std::vector<std::int64_t> values = l.constant_integers(1);
    if (values.size() != 2 * rank)
        refuse("the paddings have " + std::to_string(values.size()) + " values, " + std::to_string(rank) +
               " dimensions need " + std::to_string(2 * rank));
    paddings result;
    for (std::size_t i = 0; i < values.size(); i++) {
        if (values[i] < 0)
            refuse("a padding is " + std::to_string(values[i]) + ", allowed is 0 or more");
        (i % 2 == 0 ? result.before : result.after).push_back(values[i]);
    }
    return result;
}

/// The bytes of one padded element: PADV2's constant, else the code of 0.
std::vector<std::uint8_t> pad_element(const lowering &l, const tensor &dst) {
    const std::size_t bytes = memory::data_type_size(dst.type);
    if (l.has_input(2)) {
        const tensor &value = l.input(2, {dst.type});
        if (!value.is_constant || element_count(value.dims) != 1)
            refuse_as_unimplemented("input 2 ('" + value.name + "') is not one constant value");
        need_equal_quantization(value, dst, "the pad value and the output");
        return value.data.copy();
    }
    const std::int32_t code = dst.quant.is_set() ? per_tensor(dst, "the output").zero_point : 0;
    std::vector<std::uint8_t> element(bytes);
    std::memcpy(element.data(), &code, bytes); // little-endian: the low bytes; 0 is also f32's zero
    return element;
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
    const tensor &first = any_input(l, 0), &dst = l.output({first.type});
    const auto rank = static_cast<std::int64_t>(dst.dims.size());
    const std::int64_t given = l.integer("axis"), axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank)
        refuse("axis " + std::to_string(given) + " is outside the " + std::to_string(rank) +
               " dimensions of the output");
    if (l.text("activation", "NONE") != "NONE")
        refuse_as_unimplemented("a fused activation is not supported");

    const auto joined = static_cast<std::size_t>(axis);
    auto result = std::make_unique<primitive_step>();
    memory::dims offsets(dst.dims.size(), 0);
    for (std::size_t i = 0; i < l.input_count(); i++) {
        const tensor &src = any_input(l, i);
        need_equal_quantization(src, dst, "input " + std::to_string(i) + " and the output");
        memory::dims expected = dst.dims;
        if (src.dims.size() == expected.size())
            expected[joined] = src.dims[joined];
        if (src.dims != expected || offsets[joined] + expected[joined] > dst.dims[joined])
            refuse("input " + std::to_string(i) + " (" + to_text(src.dims) + ") does not fit into output " +
                   to_text(dst.dims) + " at " + std::to_string(offsets[joined]));
        add_copy(*result, l.input_buffer(i),
                 l.output_buffer(dense_desc(dst).submemory_desc(src.dims, offsets)));
        offsets[joined] += src.dims[joined];
    }
    if (offsets[joined] != dst.dims[joined])
        refuse("the inputs fill " + std::to_string(offsets[joined]) + " of the output's " +
               std::to_string(dst.dims[joined]) + " along axis " + std::to_string(axis));
    return result;
}

} // namespace octet::model
