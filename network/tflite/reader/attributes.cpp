// One function per table of options in the schema. Enumerators become their names, so that an unknown one can be
// named where the operator is lowered.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/reader/attributes.hpp"

namespace octet::model {
namespace {

namespace format = octet::tflite;
using attributes = std::map<std::string, attribute>;

attribute integer(std::int64_t value) { return value; }

attribute enumerator(const char *name, const char *kind, int value) {
    return *name ? std::string(name) : kind + ("(" + std::to_string(value) + ")");
}
attribute padding(format::Padding p) { return enumerator(format::EnumNamePadding(p), "PADDING", p); }
attribute mirror(format::MirrorPadMode m) { return enumerator(format::EnumNameMirrorPadMode(m), "MODE", m); }
attribute activation(format::ActivationFunctionType a) {
    return enumerator(format::EnumNameActivationFunctionType(a), "ACTIVATION", a);
}
attribute weights_format(format::FullyConnectedOptionsWeightsFormat f) {
    return enumerator(format::EnumNameFullyConnectedOptionsWeightsFormat(f), "FORMAT", f);
}
attribute integers(const flatbuffers::Vector<std::int32_t> *v) {
    // More entries than a tensor has dimensions can only be refused, so one more than that is enough to keep.
    std::vector<std::int64_t> values;
    for (flatbuffers::uoffset_t i = 0; v && i < v->size() && i <= max_ndims; i++)
        values.push_back(v->Get(i));
    return values;
}

/// Padding, strides and activation of everything that slides a window.
template <typename Options> attributes window(const Options &o) {
    return {{"padding", padding(o.padding())},
            {"stride_h", integer(o.stride_h())},
            {"stride_w", integer(o.stride_w())},
            {"activation", activation(o.fused_activation_function())}};
}

template <typename Options> attributes dilated_window(const Options &o) {
    attributes a = window(o);
    a["dilation_h"] = integer(o.dilation_h_factor());
    a["dilation_w"] = integer(o.dilation_w_factor());
    return a;
}

attributes of(const format::Conv2DOptions &o) { return dilated_window(o); }

attributes of(const format::DepthwiseConv2DOptions &o) {
    attributes a = dilated_window(o);
    a["depth_multiplier"] = integer(o.depth_multiplier());
    return a;
}

attributes of(const format::Pool2DOptions &o) {
    attributes a = window(o);
    a["filter_h"] = integer(o.filter_height());
    a["filter_w"] = integer(o.filter_width());
    return a;
}

attributes of(const format::FullyConnectedOptions &o) {
    return {{"activation", activation(o.fused_activation_function())},
            {"keep_num_dims", integer(o.keep_num_dims())},
            {"asymmetric_quantize_inputs", integer(o.asymmetric_quantize_inputs())},
            {"weights_format", weights_format(o.weights_format())}};
}

attributes of(const format::SVDFOptions &o) {
    return {{"rank", integer(o.rank())}, {"activation", activation(o.fused_activation_function())}};
}

attributes of(const format::UnidirectionalSequenceLSTMOptions &o) {
    return {{"activation", activation(o.fused_activation_function())},
            {"cell_clip", o.cell_clip()},
            {"proj_clip", o.proj_clip()},
            {"time_major", integer(o.time_major())},
            {"diagonal_recurrent_tensors", integer(o.diagonal_recurrent_tensors())}};
}

attributes of(const format::BatchMatMulOptions &o) {
    return {{"adj_x", integer(o.adj_x())},
            {"adj_y", integer(o.adj_y())},
            {"asymmetric_quantize_inputs", integer(o.asymmetric_quantize_inputs())}};
}

attributes of(const format::ConcatenationOptions &o) {
    return {{"axis", integer(o.axis())}, {"activation", activation(o.fused_activation_function())}};
}

template <typename Options> attributes activation_of(const Options &o) {
    return {{"activation", activation(o.fused_activation_function())}};
}
attributes of(const format::AddOptions &o) { return activation_of(o); }
attributes of(const format::SubOptions &o) { return activation_of(o); }
attributes of(const format::MulOptions &o) { return activation_of(o); }
attributes of(const format::L2NormOptions &o) { return activation_of(o); }

template <typename Options> attributes coordinates_of(const Options &o) {
    return {{"align_corners", integer(o.align_corners())},
            {"half_pixel_centers", integer(o.half_pixel_centers())}};
}
attributes of(const format::ResizeBilinearOptions &o) { return coordinates_of(o); }
attributes of(const format::ResizeNearestNeighborOptions &o) { return coordinates_of(o); }

attributes of(const format::StridedSliceOptions &o) {
    return {{"begin_mask", integer(o.begin_mask())},
            {"end_mask", integer(o.end_mask())},
            {"ellipsis_mask", integer(o.ellipsis_mask())},
            {"new_axis_mask", integer(o.new_axis_mask())},
            {"shrink_axis_mask", integer(o.shrink_axis_mask())},
            {"offset", integer(o.offset())}};
}
attributes of(const format::GatherOptions &o) {
    return {{"axis", integer(o.axis())}, {"batch_dims", integer(o.batch_dims())}};
}
attributes of(const format::PackOptions &o) { return {{"axis", integer(o.axis())}}; }
attributes of(const format::UnpackOptions &o) { return {{"axis", integer(o.axis())}}; }
attributes of(const format::MirrorPadOptions &o) { return {{"mode", mirror(o.mode())}}; }
attributes of(const format::DepthToSpaceOptions &o) { return {{"block_size", integer(o.block_size())}}; }
attributes of(const format::SpaceToDepthOptions &o) { return {{"block_size", integer(o.block_size())}}; }

attributes of(const format::TransposeConvOptions &o) { return window(o); }
attributes of(const format::LeakyReluOptions &o) { return {{"alpha", o.alpha()}}; }
attributes of(const format::SoftmaxOptions &o) { return {{"beta", o.beta()}}; }
attributes of(const format::ReducerOptions &o) { return {{"keep_dims", integer(o.keep_dims())}}; }
attributes of(const format::ReshapeOptions &o) { return {{"new_shape", integers(o.new_shape())}}; }
attributes of(const format::SqueezeOptions &o) { return {{"squeeze_dims", integers(o.squeeze_dims())}}; }

/// The attributes of a node's options, if they are of one of the tables.
template <typename... Options> attributes read_as_one_of(const format::Operator &source) {
    attributes result;
    const auto read = [&](const auto *options) {
        if (options)
            result = of(*options);
    };
    (read(source.builtin_options_as<Options>()), ...);
    return result;
}

} // namespace

attributes read_attributes(const format::Operator &source) {
    using namespace format;
    return read_as_one_of<Conv2DOptions, DepthwiseConv2DOptions, Pool2DOptions, FullyConnectedOptions,
                          SVDFOptions, UnidirectionalSequenceLSTMOptions, BatchMatMulOptions,
                          ConcatenationOptions, AddOptions, SubOptions, L2NormOptions, MulOptions,
                          ResizeBilinearOptions, ResizeNearestNeighborOptions, TransposeConvOptions,
                          LeakyReluOptions, SoftmaxOptions, ReducerOptions, ReshapeOptions, SqueezeOptions,
                          StridedSliceOptions, GatherOptions, PackOptions, UnpackOptions, MirrorPadOptions,
                          DepthToSpaceOptions, SpaceToDepthOptions>(source);
}

} // namespace octet::model
