// A function for each operation without weights: arguments are checked as NumPy users expect, then a primitive is made and run.
// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <pybind11/stl.h>

#include "operand.hpp"

namespace octet::python {
namespace {

py::array reshaped(const py::array &y, const dims &shape) {
    if (dims_of(y) == shape)
        return y;
    return py::module_::import("numpy").attr("reshape")(y, py::cast(shape));
}

py::array reordered(const py::object &x_, const py::object &dtype, const py::object &axis,
                    const py::dict &options) {
    const operand x(x_, "x");
    const int mask = axis.is_none() ? 0 : 1 << axis_of(py::cast<int>(axis), x.desc.get_ndims());
    const attributes a = attributes_of(options, {mask, mask, mask});
    const operand y = result(type_of(dtype, "dtype"), x.desc.dims(), is_channels_last(x), a);
    const reorder::primitive_desc pd(cpu, x.desc, cpu, y.desc, a.attr);
    execute(primitive(pd), {{OCTET_ARG_FROM, x.get_memory()}, {OCTET_ARG_TO, y.get_memory()}}, a);
    return reshaped(y.array, dims_of(x.array));
}

py::array pooling(const std::string &kind, const py::object &x_, const py::object &kernel_,
                  const py::object &stride, const py::object &padding, const py::object &dilation,
                  const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    need_rank(x, "x", 3, 5);
    const std::size_t sides = static_cast<std::size_t>(x.array.ndim()) - 2;
    const dims kernel = per_side(kernel_, sides, "kernel"),
               strides = stride.is_none() ? kernel : per_side(stride, sides, "stride"),
               dilations = per_side(dilation, sides, "dilation");
    const auto [before, after] = padding_of(padding, sides);
    const attributes a = attributes_of(options, {});
    dims sizes = {x.array.shape(0), x.array.shape(1)}, dilates;
    for (std::size_t i = 0; i < sides; i++) {
        sizes.push_back(positions(x.array.shape(static_cast<py::ssize_t>(i) + 2), before[i] + after[i],
                                  kernel[i], dilations[i], strides[i]));
        dilates.push_back(dilations[i] - 1);
    }
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x), a);
    const pooling_forward::primitive_desc pd({prop_kind::forward_inference, algorithm_of("pooling_", kind),
                                              x.desc, y.desc, strides, kernel, dilates, before, after},
                                             a.attr, cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return y.array;
}

py::array eltwise(const std::string &kind, const py::object &x_, float alpha, float beta,
                  const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    const attributes a = attributes_of(options, {});
    const operand y = result(result_type(dtype, x, a), x.desc.dims(), is_channels_last(x), a);
    const eltwise_forward::primitive_desc pd(
        {prop_kind::forward_inference, algorithm_of("eltwise_", kind), x.desc, y.desc, alpha, beta}, a.attr,
        cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return reshaped(y.array, dims_of(x.array));
}

/// As NumPy broadcasts: leading dimensions of 1.
operand of_rank(const operand &o, int rank, const char *who) {
    dims shape = o.desc.dims();
    shape.insert(shape.begin(), static_cast<std::size_t>(rank - o.desc.get_ndims()), 1);
    return operand(reshaped(o.array, shape), who);
}

py::array binary_operation(const std::string &kind, const py::object &x_, const py::object &x1_,
                           const py::object &dtype, const py::dict &options) {
    operand x(x_, "x"), x1(x1_, "y");
    const bool is_scalar = x.array.ndim() == 0 && x1.array.ndim() == 0;
    const int rank = std::max(x.desc.get_ndims(), x1.desc.get_ndims());
    x = of_rank(x, rank, "x");
    x1 = of_rank(x1, rank, "y");
    const attributes a = attributes_of(options, {});
    dims sizes = x.desc.dims();
    for (std::size_t d = 0; d < sizes.size(); d++)
        sizes[d] = std::max(sizes[d], x1.desc.dims()[d]);
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x), a);
    const binary::primitive_desc pd({algorithm_of("binary_", kind), x.desc, x1.desc, y.desc}, a.attr, cpu);
    execute(primitive(pd),
            {{OCTET_ARG_SRC_0, x.get_memory()},
             {OCTET_ARG_SRC_1, x1.get_memory()},
             {OCTET_ARG_DST, y.get_memory()}},
            a);
    return is_scalar ? reshaped(y.array, {}) : y.array;
}

/// Slopes are broadcast like NumPy's arrays; a vector has one per channel.
py::array prelu(const py::object &x_, const py::object &w_, const py::object &dtype,
                const py::dict &options) {
    const operand x(x_, "x");
    operand w(w_, "w");
    const int rank = x.desc.get_ndims();
    if (w.desc.get_ndims() > rank)
        throw py::value_error("w has " + std::to_string(w.desc.get_ndims()) + " dimensions, allowed: up to " +
                              std::to_string(rank));
    if (w.array.ndim() == 1 && w.array.size() > 1 && rank > 1) {
        dims shape(static_cast<std::size_t>(rank), 1);
        shape[1] = w.array.shape(0);
        w = operand(reshaped(w.array, shape), "w");
    } else {
        w = of_rank(w, rank, "w");
    }
    const attributes a = attributes_of(options, {});
    const operand y = result(result_type(dtype, x, a), x.desc.dims(), is_channels_last(x), a);
    const prelu_forward::primitive_desc pd({prop_kind::forward_inference, x.desc, w.desc, y.desc}, a.attr,
                                           cpu);
    execute(primitive(pd),
            {{OCTET_ARG_SRC, x.get_memory()},
             {OCTET_ARG_WEIGHTS, w.get_memory()},
             {OCTET_ARG_DST, y.get_memory()}},
            a);
    return reshaped(y.array, dims_of(x.array));
}

/// What normalizations take besides x: f32, with as many elements as there are statistics or channels.
class norm_arguments {
public:
    normalization_flags flags = normalization_flags::none;
    std::unordered_map<int, memory> args;

    void add(const py::object &values, const char *who, int arg, const dims &shape,
             normalization_flags flag) {
        if (values.is_none())
            return;
        const py::array given = elements_as(array_of(values, who), data_type::f32, who);
        if (dims_of(given) != shape)
            throw py::value_error(std::string(who) + " has shape " + text(dims_of(given)) +
                                  ", allowed: " + text(shape));
        kept_.push_back(given);
        args[arg] = memory_of(given, desc_of(given, who));
        flags = flags | flag;
    }

private:
    static std::string text(const dims &shape) {
        return py::cast<std::string>(py::str(py::tuple(py::cast(shape))));
    }
    std::vector<py::array> kept_;
};

py::array batch_normalization(const py::object &x_, const py::object &mean, const py::object &variance,
                              const py::object &scale, const py::object &shift, float epsilon, bool relu,
                              const py::dict &options) {
    const operand x(x_, "x");
    need_rank(x, "x", 2, 5);
    const dims channels = {x.array.shape(1)};
    norm_arguments more;
    more.add(mean, "mean", OCTET_ARG_MEAN, channels, normalization_flags::use_global_stats);
    more.add(variance, "variance", OCTET_ARG_VARIANCE, channels, normalization_flags::use_global_stats);
    more.add(scale, "scale", OCTET_ARG_SCALE, channels, normalization_flags::use_scale);
    more.add(shift, "shift", OCTET_ARG_SHIFT, channels, normalization_flags::use_shift);
    if (relu)
        more.flags = more.flags | normalization_flags::fuse_norm_relu;
    const attributes a = attributes_of(options, {});
    const operand y = result(x.desc.data_type(), x.desc.dims(), is_channels_last(x), a);
    const batch_normalization_forward::primitive_desc pd(
        {prop_kind::forward_inference, x.desc, y.desc, epsilon, more.flags}, a.attr, cpu);
    more.args[OCTET_ARG_SRC] = x.get_memory();
    more.args[OCTET_ARG_DST] = y.get_memory();
    execute(primitive(pd), more.args, a);
    return y.array;
}

py::array layer_normalization(const py::object &x_, const py::object &scale, const py::object &shift,
                              float epsilon, const py::object &mean, const py::object &variance,
                              const py::dict &options) {
    const operand x(x_, "x");
    need_rank(x, "x", 2, 6);
    if (mean.is_none() != variance.is_none())
        throw py::type_error("mean and variance are given one without the other");
    dims rows = x.desc.dims();
    const dims channels = {rows.back()};
    rows.pop_back();
    norm_arguments more;
    more.add(mean, "mean", OCTET_ARG_MEAN, rows, normalization_flags::use_global_stats);
    more.add(variance, "variance", OCTET_ARG_VARIANCE, rows, normalization_flags::use_global_stats);
    more.add(scale, "scale", OCTET_ARG_SCALE, channels, normalization_flags::use_scale);
    more.add(shift, "shift", OCTET_ARG_SHIFT, channels, normalization_flags::use_shift);
    const attributes a = attributes_of(options, {});
    const operand y = result(x.desc.data_type(), x.desc.dims(), false, a);
    const layer_normalization_forward::primitive_desc pd(
        {prop_kind::forward_inference, x.desc, y.desc, memory::desc(), epsilon, more.flags}, a.attr, cpu);
    more.args[OCTET_ARG_SRC] = x.get_memory();
    more.args[OCTET_ARG_DST] = y.get_memory();
    execute(primitive(pd), more.args, a);
    return y.array;
}

py::array softmax(const py::object &x_, int axis, bool is_log, const py::object &dtype,
                  const py::dict &options) {
    const operand x(x_, "x");
    const attributes a = attributes_of(options, {});
    const operand y = result(result_type(dtype, x, a), x.desc.dims(), is_channels_last(x), a);
    const softmax_forward::primitive_desc pd({prop_kind::forward_inference,
                                              is_log ? algorithm::softmax_log : algorithm::softmax_accurate,
                                              x.desc, y.desc, axis_of(axis, x.desc.get_ndims())},
                                             a.attr, cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return y.array;
}

/// Tensors of a list, which an operation takes as OCTET_ARG_MULTIPLE_SRC + i.
struct sources {
    std::vector<operand> operands;
    std::vector<memory::desc> descs;
    std::unordered_map<int, memory> args;

    explicit sources(const py::list &xs) {
        for (const py::handle x : xs) {
            const int i = static_cast<int>(descs.size());
            operands.emplace_back(x, "x" + std::to_string(i));
            descs.push_back(operands.back().desc);
            args[OCTET_ARG_MULTIPLE_SRC + i] = operands.back().get_memory();
            if (descs[0].get_ndims() != descs.back().get_ndims())
                throw py::value_error("x" + std::to_string(i) + " has " +
                                      std::to_string(descs.back().get_ndims()) + " dimensions, the first " +
                                      std::to_string(descs[0].get_ndims()));
        }
        if (descs.empty())
            throw py::value_error("xs is empty, allowed: 1 to 1024 arrays");
    }
    const operand &first() const { return operands[0]; }
};

py::array concatenation(const py::list &xs, int axis, const py::object &dtype, const py::dict &options) {
    sources from(xs);
    const int along = axis_of(axis, from.descs[0].get_ndims());
    const attributes a = attributes_of(options, {}, from.descs.size());
    dims sizes = from.descs[0].dims();
    sizes[static_cast<std::size_t>(along)] = 0;
    for (const memory::desc &d : from.descs)
        sizes[static_cast<std::size_t>(along)] += d.dims()[static_cast<std::size_t>(along)];
    const data_type type = dtype.is_none() ? from.descs[0].data_type() : type_of(dtype, "dtype");
    const operand y = result(type, sizes, is_channels_last(from.first()), a);
    const concat::primitive_desc pd(y.desc, along, from.descs, cpu, a.attr);
    from.args[OCTET_ARG_DST] = y.get_memory();
    execute(primitive(pd), from.args, a);
    return y.array;
}

py::array summed(const py::list &xs, const std::vector<float> &scales, const py::object &dtype,
                 const py::dict &options) {
    sources from(xs);
    const attributes a = attributes_of(options, {}, from.descs.size());
    const operand y =
        result(result_type(dtype, from.first(), a), from.descs[0].dims(), is_channels_last(from.first()), a);
    const sum::primitive_desc pd(y.desc, scales.empty() ? std::vector<float>(from.descs.size(), 1.f) : scales,
                                 from.descs, cpu, a.attr);
    from.args[OCTET_ARG_DST] = y.get_memory();
    execute(primitive(pd), from.args, a);
    return reshaped(y.array, dims_of(from.first().array));
}

py::array resampling(const std::string &kind, const py::object &x_, const py::object &size_,
                     const std::string &coordinates, const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    need_rank(x, "x", 3, 5);
    const dims size = per_side(size_, static_cast<std::size_t>(x.array.ndim()) - 2, "size");
    dims sizes = {x.array.shape(0), x.array.shape(1)};
    sizes.insert(sizes.end(), size.begin(), size.end());
    std::optional<resampling_coordinates> how;
    for (int i = 0; i < 4; i++)
        if (coordinates == to_string(static_cast<resampling_coordinates>(i)))
            how = static_cast<resampling_coordinates>(i);
    if (!how)
        throw py::value_error("coordinates is '" + coordinates +
                              "', allowed: half_pixel, asymmetric, align_corners, align_corners_half_pixel");
    const attributes a = attributes_of(options, {});
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x), a);
    const resampling_forward::primitive_desc pd(
        {prop_kind::forward_inference, algorithm_of("resampling_", kind), x.desc, y.desc, *how}, a.attr, cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return y.array;
}

py::array reduced(const std::string &kind, const py::object &x_, const std::vector<int> &axes, bool keep_dims,
                  float p, float epsilon, const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    const attributes a = attributes_of(options, {});
    const int rank = x.desc.get_ndims();
    dims sizes = x.desc.dims(), kept;
    std::vector<bool> is_reduced(sizes.size(), axes.empty());
    for (const int axis : axes)
        is_reduced[static_cast<std::size_t>(axis_of(axis, rank))] = true;
    for (std::size_t d = 0; d < sizes.size(); d++) {
        if (is_reduced[d])
            sizes[d] = 1;
        if (!is_reduced[d] || keep_dims)
            kept.push_back(sizes[d]);
    }
    const operand y = result(result_type(dtype, x, a), sizes, false, a);
    const reduction::primitive_desc pd({algorithm_of("reduction_", kind), x.desc, y.desc, p, epsilon}, a.attr,
                                       cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return reshaped(y.array, kept);
}

/// Memory of others as an array: bytes at `address`, which `owner` keeps.
py::array codes_at(std::uintptr_t address, const std::vector<py::ssize_t> &shape,
                   const std::vector<py::ssize_t> &strides, const py::object &owner) {
    return py::array(dtype_of(data_type::u8), shape, strides, reinterpret_cast<const void *>(address), owner);
}

} // namespace

void bind_operations(py::module_ &m) {
    m.def("codes_at", codes_at);
    m.def("reorder", reordered);
    m.def("pooling", pooling);
    m.def("eltwise", eltwise);
    m.def("binary", binary_operation);
    m.def("prelu", prelu);
    m.def("batch_normalization", batch_normalization);
    m.def("layer_normalization", layer_normalization);
    m.def("softmax", softmax);
    m.def("concat", concatenation);
    m.def("sum", summed);
    m.def("resampling", resampling);
    m.def("reduction", reduced);
}

} // namespace octet::python
