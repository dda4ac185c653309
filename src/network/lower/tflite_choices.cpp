// TFLite's operators that take parts of tensors: SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, UNPACK, GATHER, and
// that say where they are: ARG_MAX, ARG_MIN.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/strided_slice.hpp"
#include "network/lower/choosing.hpp"
#include "network/lower/tflite.hpp"

namespace octet::model {
namespace {

std::size_t constant_axis(const lowering &l, std::size_t input, std::size_t rank) {
    const std::vector<std::int64_t> axes = l.constant_integers(input);
    if (axes.size() != 1)
        refuse("the axis has " + std::to_string(axes.size()) + " values, allowed is 1");
    return axis_among(axes[0], rank);
}

} // namespace

/// A size of -1 takes what is left.
std::unique_ptr<step> lower_tflite_slice(const lowering &l) {
    const memory::dims &x = any_input(l, 0).dims;
    const std::vector<std::int64_t> begin = l.constant_integers(1);
    std::vector<std::int64_t> sizes = l.constant_integers(2);
    for (std::size_t i = 0; i < sizes.size() && i < begin.size() && i < x.size(); i++)
        if (sizes[i] == -1)
            sizes[i] = x[i] - begin[i];
    need_output_dims(l, sizes);
    return make_slice(l, begin, memory::dims(x.size(), 1), sizes);
}

std::unique_ptr<step> lower_strided_slice(const lowering &l) {
    if (l.integer("offset", 0) != 0)
        refuse_as_unimplemented("ends relative to begins ('offset') are not supported");
    const auto mask = [&](const char *name) { return l.integer(name, 0); };
    const strided_slice s = strided_slice_of(any_input(l, 0).dims, l.constant_integers(1),
                                             l.constant_integers(2), l.constant_integers(3),
                                             {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"),
                                              mask("new_axis_mask"), mask("shrink_axis_mask")});
    need_output_dims(l, s.result);
    return make_slice(l, s.begin, s.stride, s.sizes);
}

std::unique_ptr<step> lower_tflite_split(const lowering &l) {
    constexpr std::size_t axis = 0, value = 1;
    return make_split(l, value, constant_axis(l, axis, any_input(l, value).dims.size()), false);
}

std::unique_ptr<step> lower_split_v(const lowering &l) {
    constexpr std::size_t value = 0, axis = 2;
    return make_split(l, value, constant_axis(l, axis, any_input(l, value).dims.size()), false);
}

std::unique_ptr<step> lower_unpack(const lowering &l) {
    return make_split(l, 0, axis_among(l.integer("axis"), any_input(l, 0).dims.size()), true);
}

std::unique_ptr<step> lower_tflite_gather(const lowering &l) {
    if (l.integer("batch_dims", 0) != 0)
        refuse_as_unimplemented("attribute 'batch_dims' is " + std::to_string(l.integer("batch_dims")) +
                                ", supported is 0");
    return make_gather(l, axis_among(l.integer("axis"), any_input(l, 0).dims.size()));
}

std::unique_ptr<step> lower_tflite_arg_max(const lowering &l) {
    return make_arg_extreme(l, constant_axis(l, 1, l.input(0).dims.size()), {false, false});
}

std::unique_ptr<step> lower_tflite_arg_min(const lowering &l) {
    return make_arg_extreme(l, constant_axis(l, 1, l.input(0).dims.size()), {true, false});
}

} // namespace octet::model
