// ONNX's operators that move elements: views, Transpose, Pad. `infer_shapes` has read their shapes,
// permutations and paddings, whether they came as attributes or as inputs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"
#include "network/lower/rearranging.hpp"

namespace octet::model {
namespace {

/// The padded element: input 2, or zero.
std::vector<std::uint8_t> pad_element(const lowering &l, const tensor &dst) {
    std::vector<std::uint8_t> element = given_padding(l, dst);
    if (!element.empty())
        return element;
    element.resize(memory::data_type_size(dst.type));
    if (l.has_attribute("value") && dst.type == data_type::f32) { // operator sets before 11
        const float value = l.real("value");
        std::memcpy(element.data(), &value, sizeof value);
    }
    return element;
}

} // namespace

std::unique_ptr<step> lower_view(const lowering &l) { return make_view(l); }

std::unique_ptr<step> lower_dropout(const lowering &l) {
    need_only_outputs(l, {});
    if (l.has_input(2)) {
        const tensor &trains = l.input(2, {data_type::u8});
        if (!trains.is_constant || trains.data.size() != 1 || trains.data[0] != 0)
            refuse_as_unimplemented("input 2 ('" + trains.name + "') is not constant false: training");
    }
    return make_view(l);
}

std::unique_ptr<step> lower_layout(const lowering &l) {
    auto result = std::make_unique<primitive_step>();
    add_copy(*result, l.input_buffer(0), l.output_buffer());
    return result;
}

std::unique_ptr<step> lower_onnx_transpose(const lowering &l) {
    return make_transpose(l, l.integers("perm", {}));
}

std::unique_ptr<step> lower_onnx_pad(const lowering &l) {
    const std::string mode = l.text("mode", "constant");
    const std::vector<std::int64_t> pads = l.integers("pads", {});
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
    const memory::dims before(pads.begin(), middle), after(middle, pads.end());
    if (mode != "constant")
        return make_any_padding(l, before, after, mode, {});
    const bool cuts = std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p < 0; });
    const std::vector<std::uint8_t> element = pad_element(l, l.output());
    return cuts ? make_any_padding(l, before, after, mode, element) : make_padding(l, before, after, element);
}

} // namespace octet::model
