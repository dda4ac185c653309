#include "operations.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "attributes.hpp"

namespace octet::python {
namespace {

using dims = memory::dims;

const engine cpu(engine::kind::cpu, 0);

/// An array with the descriptor of its strides; copied where a descriptor cannot say them (negative, overlapping).
struct operand {
    py::array array;
    memory::desc desc;

    operand(const py::handle &object, const std::string &who) : array(array_of(object, who)) {
        if (!is_plain())
            array = py::module_::import("numpy").attr("ascontiguousarray")(array);
        dims strides;
        for (py::ssize_t i = 0; i < array.ndim(); i++)
            strides.push_back(array.strides(i) / array.itemsize());
        const data_type type = type_of(array.dtype(), who);
        const dims sizes = dims_of(array);
        desc = sizes.empty() ? memory::desc({1}, type, dims()) : memory::desc(sizes, type, strides);
    }

    memory get_memory() const { return memory_of(array, desc); }

private:
    /// Every element at a place of its own, at multiples of its size.
    bool is_plain() const {
        std::vector<py::ssize_t> order(static_cast<std::size_t>(array.ndim()));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](py::ssize_t a, py::ssize_t b) { return array.strides(a) < array.strides(b); });
        py::ssize_t next = array.itemsize();
        for (const py::ssize_t d : order) {
            if (array.shape(d) == 0 || array.strides(d) % array.itemsize() != 0)
                return false;
            if (array.shape(d) > 1 && array.strides(d) < next)
                return false;
            if (array.shape(d) > 1)
                next = array.strides(d) * array.shape(d);
        }
        return reinterpret_cast<std::uintptr_t>(array.data()) %
                   static_cast<std::uintptr_t>(array.itemsize()) ==
               0;
    }
};

bool is_channels_last(const operand &x) {
    return x.array.ndim() > 2 && x.array.shape(1) > 1 && x.array.strides(1) == x.array.itemsize();
}

/// An array for results, in the memory order of `like` if that is channels-last.
operand result(data_type type, const dims &sizes, bool channels_last) {
    if (!channels_last || sizes.size() < 3)
        return {empty(type, sizes), "y"};
    dims moved = sizes; // batch, pixels, channels
    moved.erase(moved.begin() + 1);
    moved.push_back(sizes[1]);
    return {py::module_::import("numpy").attr("moveaxis")(empty(type, moved), -1, 1), "y"};
}

/// Weights that are used again, with the layouts that primitives chose for them so far.
class weights {
public:
    explicit weights(const py::object &w) : array_(operand(w, "w").array) {}

    const py::array &array() const { return array_; }

    memory packed(const memory &plain, const memory::desc &chosen) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto &[from, to] : packed_)
            if (from == plain.get_desc() && to.get_desc() == chosen)
                return to;
        packed_.emplace_back(plain.get_desc(), reordered(plain, chosen));
        return packed_.back().second;
    }

    static memory reordered(const memory &plain, const memory::desc &chosen) {
        const memory m(chosen, cpu);
        reorder(plain, m).execute(stream(cpu), plain, m);
        return m;
    }

private:
    const py::array array_;
    std::mutex mutex_;
    std::vector<std::pair<memory::desc, memory>> packed_;
};

/// The argument w: an array, or `weights`.
struct weights_operand : operand {
    weights *kept = nullptr;

    explicit weights_operand(const py::object &w) : operand(array_in(w), "w") {
        if (py::isinstance<weights>(w))
            kept = &py::cast<weights &>(w);
    }

    /// In the layout that a primitive chose.
    memory packed(const memory &plain, const memory::desc &chosen) const {
        if (plain.get_desc() == chosen)
            return plain;
        return kept ? kept->packed(plain, chosen) : weights::reordered(plain, chosen);
    }

private:
    static py::object array_in(const py::object &w) {
        return py::isinstance<weights>(w) ? py::cast<weights &>(w).array() : w;
    }
};

void execute(const primitive &p, std::unordered_map<int, memory> args, const attributes &a) {
    args.insert(a.args.begin(), a.args.end());
    const py::gil_scoped_release release;
    p.execute(stream(cpu), args);
}

/// The type of results: as asked for, or that of the input (s32 behind rule none).
data_type result_type(const py::object &asked, const operand &x, const attributes &a) {
    if (!asked.is_none())
        return type_of(asked, "dtype");
    return a.attr.rule() == requantization_rule::none ? data_type::s32 : x.desc.data_type();
}

/// One value, or one per side.
dims per_side(const py::object &value, std::size_t sides, const std::string &who) {
    dims values;
    if (py::isinstance<py::int_>(value) || py::hasattr(value, "__index__"))
        values.assign(sides, py::cast<dim_t>(value));
    else
        values = py::cast<dims>(value);
    if (values.size() != sides)
        throw py::value_error(who + " has " + std::to_string(values.size()) + " values, allowed: 1 or " +
                              std::to_string(sides));
    return values;
}

/// Padding: one value, one per side, or {before, after} per side.
std::pair<dims, dims> padding_of(const py::object &value, std::size_t sides) {
    if (py::isinstance<py::sequence>(value) && py::len(value) == sides && sides > 0 &&
        py::isinstance<py::sequence>(py::cast<py::sequence>(value)[0])) {
        dims before, after;
        for (const py::handle side : value) {
            const auto both = py::cast<std::pair<dim_t, dim_t>>(side);
            before.push_back(both.first);
            after.push_back(both.second);
        }
        return {before, after};
    }
    const dims same = per_side(value, sides, "padding");
    return {same, same};
}

/// Dense copy of the bias, as one dimension.
std::optional<operand> bias_of(const py::object &bias) {
    if (bias.is_none())
        return {};
    const operand b(bias, "bias");
    if (b.array.ndim() != 1)
        throw py::value_error("bias has " + std::to_string(b.array.ndim()) + " dimensions, allowed: 1");
    return operand(py::module_::import("numpy").attr("ascontiguousarray")(b.array), "bias");
}

memory::desc desc_of(const std::optional<operand> &o) { return o ? o->desc : memory::desc(); }

memory::desc any_layout(const memory::desc &d) {
    return memory::desc(d.dims(), d.data_type(), format_tag::any);
}

/// O, I, pixels with groups: G, O/G, I, pixels.
memory::desc grouped(const memory::desc &w, dim_t groups) {
    if (groups == 1)
        return w;
    dims sizes = w.dims(), strides = w.get_strides();
    if (groups < 1 || sizes.at(0) % groups != 0)
        throw py::value_error("groups is " + std::to_string(groups) + ", allowed: a divisor of the " +
                              std::to_string(sizes.at(0)) + " output channels");
    sizes[0] /= groups;
    sizes.insert(sizes.begin(), groups);
    strides.insert(strides.begin(), sizes[1] * strides[0]);
    return memory::desc(sizes, w.data_type(), strides);
}

void need_rank(const operand &o, const char *who, std::size_t lowest, std::size_t highest) {
    const auto rank = static_cast<std::size_t>(o.array.ndim());
    if (rank < lowest || rank > highest)
        throw py::value_error(std::string(who) + " has " + std::to_string(rank) + " dimensions, allowed: " +
                              std::to_string(lowest) + " to " + std::to_string(highest));
}

py::array run_product(const primitive_desc_base &pd, const operand &x, const weights_operand &w,
                      const memory &plain, const std::optional<operand> &b, const operand &y,
                      const attributes &a) {
    std::unordered_map<int, memory> args = {{OCTET_ARG_SRC, x.get_memory()},
                                            {OCTET_ARG_WEIGHTS, w.packed(plain, pd.weights_desc())},
                                            {OCTET_ARG_DST, y.get_memory()}};
    if (b)
        args[OCTET_ARG_BIAS] = b->get_memory();
    execute(primitive(pd), args, a);
    return y.array;
}

py::array convolution(const py::object &x_, const py::object &w_, const py::object &bias,
                      const py::object &stride, const py::object &padding, const py::object &dilation,
                      dim_t groups, const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    const weights_operand w(w_);
    need_rank(x, "x", 3, 5);
    need_rank(w, "w", static_cast<std::size_t>(x.array.ndim()), static_cast<std::size_t>(x.array.ndim()));
    const std::size_t sides = static_cast<std::size_t>(x.array.ndim()) - 2;
    const dims strides = per_side(stride, sides, "stride"), dilations = per_side(dilation, sides, "dilation");
    const auto [before, after] = padding_of(padding, sides);
    const attributes a = attributes_of(options, {1 << 1, groups == 1 ? 1 << 0 : (1 << 0) + (1 << 1), 1 << 1});
    dims sizes = {x.array.shape(0), w.array.shape(0)}, dilates;
    for (std::size_t i = 0; i < sides; i++) {
        const auto d = static_cast<py::ssize_t>(i) + 2;
        const dim_t extent = (w.array.shape(d) - 1) * dilations[i] + 1;
        if (strides[i] < 1)
            throw py::value_error("stride is " + std::to_string(strides[i]) + ", allowed: 1 or more");
        sizes.push_back((x.array.shape(d) + before[i] + after[i] - extent) / strides[i] + 1);
        dilates.push_back(dilations[i] - 1);
    }
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x));
    const std::optional<operand> b = bias_of(bias);
    const memory::desc plain = grouped(w.desc, groups);
    const convolution_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::convolution_direct,
                                                  x.desc, any_layout(plain), desc_of(b), y.desc, strides,
                                                  dilates, before, after},
                                                 a.attr, cpu);
    return run_product(pd, x, w, memory_of(w.array, plain), b, y, a);
}

/// Weights I, O/G, pixels, as PyTorch has them.
py::array deconvolution(const py::object &x_, const py::object &w_, const py::object &bias,
                        const py::object &stride, const py::object &padding, const py::object &output_padding,
                        const py::object &dilation, dim_t groups, const py::object &dtype,
                        const py::dict &options) {
    const operand x(x_, "x");
    const weights_operand w(w_);
    need_rank(x, "x", 3, 5);
    need_rank(w, "w", static_cast<std::size_t>(x.array.ndim()), static_cast<std::size_t>(x.array.ndim()));
    const std::size_t sides = static_cast<std::size_t>(x.array.ndim()) - 2;
    const dims strides = per_side(stride, sides, "stride"), dilations = per_side(dilation, sides, "dilation"),
               extra = per_side(output_padding, sides, "output_padding");
    auto [before, after] = padding_of(padding, sides);
    const attributes a = attributes_of(options, {1 << 1, groups == 1 ? 1 << 0 : (1 << 0) + (1 << 1), 1 << 1});
    dims sizes = {x.array.shape(0), w.array.shape(1) * groups}, dilates;
    for (std::size_t i = 0; i < sides; i++) {
        const auto d = static_cast<py::ssize_t>(i) + 2;
        after[i] -= extra[i];
        sizes.push_back((x.array.shape(d) - 1) * strides[i] + (w.array.shape(d) - 1) * dilations[i] + 1 -
                        before[i] - after[i]);
        dilates.push_back(dilations[i] - 1);
    }
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x));
    const std::optional<operand> b = bias_of(bias);
    const memory::desc by_input = grouped(w.desc, groups); // {G,} I/G, O/G, pixels
    std::vector<int> order(static_cast<std::size_t>(by_input.get_ndims()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[groups == 1 ? 0 : 1], order[groups == 1 ? 1 : 2]);
    const memory::desc plain = by_input.permute_axes(order);
    const deconvolution_forward::primitive_desc pd(
        {prop_kind::forward_inference, algorithm::deconvolution_direct, x.desc, any_layout(plain), desc_of(b),
         y.desc, strides, dilates, before, after},
        a.attr, cpu);
    return run_product(pd, x, w, memory_of(w.array, plain), b, y, a);
}

py::array inner_product(const py::object &x_, const py::object &w_, const py::object &bias,
                        const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    const weights_operand w(w_);
    need_rank(x, "x", 2, 5);
    need_rank(w, "w", static_cast<std::size_t>(x.array.ndim()), static_cast<std::size_t>(x.array.ndim()));
    const attributes a = attributes_of(options, {1 << 1, 1 << 0, 1 << 1});
    const operand y = result(result_type(dtype, x, a), {x.array.shape(0), w.array.shape(0)}, false);
    const std::optional<operand> b = bias_of(bias);
    const inner_product_forward::primitive_desc pd(
        {prop_kind::forward_inference, x.desc, any_layout(w.desc), desc_of(b), y.desc}, a.attr, cpu);
    return run_product(pd, x, w, w.get_memory(), b, y, a);
}

py::array matrix_product(const py::object &x_, const py::object &w_, const py::object &bias,
                         const py::object &dtype, const py::dict &options) {
    const operand x(x_, "x");
    const weights_operand w(w_);
    need_rank(x, "x", 2, 12);
    need_rank(w, "w", static_cast<std::size_t>(x.array.ndim()), static_cast<std::size_t>(x.array.ndim()));
    const auto rank = static_cast<std::size_t>(x.array.ndim());
    const int columns = 1 << (rank - 1);
    const attributes a = attributes_of(options, {1 << (rank - 2), columns, columns});
    dims sizes = dims_of(x.array);
    for (std::size_t d = 0; d + 2 < rank; d++)
        sizes[d] = std::max(sizes[d], static_cast<dim_t>(w.array.shape(static_cast<py::ssize_t>(d))));
    sizes.back() = w.array.shape(w.array.ndim() - 1);
    const operand y = result(result_type(dtype, x, a), sizes, false);
    std::optional<operand> b = bias_of(bias);
    if (b) {
        dims shape(rank, 1);
        shape.back() = b->array.shape(0);
        b->desc = b->desc.reshape(shape);
    }
    const matmul::primitive_desc pd({x.desc, any_layout(w.desc), desc_of(b), y.desc}, a.attr, cpu);
    return run_product(pd, x, w, w.get_memory(), b, y, a);
}

py::array reordered(const py::object &x_, const py::object &dtype, const py::object &axis,
                    const py::dict &options) {
    const operand x(x_, "x");
    const int mask = axis.is_none() ? 0 : 1 << py::cast<int>(axis);
    const attributes a = attributes_of(options, {mask, mask, mask});
    const operand y = result(type_of(dtype, "dtype"), x.desc.dims(), is_channels_last(x));
    const reorder::primitive_desc pd(cpu, x.desc, cpu, y.desc, a.attr);
    execute(primitive(pd), {{OCTET_ARG_FROM, x.get_memory()}, {OCTET_ARG_TO, y.get_memory()}}, a);
    return py::module_::import("numpy").attr("reshape")(y.array, py::cast(dims_of(x.array)));
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
        if (strides[i] < 1)
            throw py::value_error("stride is " + std::to_string(strides[i]) + ", allowed: 1 or more");
        const dim_t extent = (kernel[i] - 1) * dilations[i] + 1;
        sizes.push_back((x.array.shape(static_cast<py::ssize_t>(i) + 2) + before[i] + after[i] - extent) /
                            strides[i] +
                        1);
        dilates.push_back(dilations[i] - 1);
    }
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x));
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
    const operand y = result(result_type(dtype, x, a), x.desc.dims(), is_channels_last(x));
    const eltwise_forward::primitive_desc pd(
        {prop_kind::forward_inference, algorithm_of("eltwise_", kind), x.desc, y.desc, alpha, beta}, a.attr,
        cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return py::module_::import("numpy").attr("reshape")(y.array, py::cast(dims_of(x.array)));
}

py::array binary_operation(const std::string &kind, const py::object &x_, const py::object &x1_,
                           const py::object &dtype, const py::dict &options) {
    operand x(x_, "x"), x1(x1_, "x1");
    const py::module_ numpy = py::module_::import("numpy");
    const auto rank = std::max(x.desc.get_ndims(), x1.desc.get_ndims());
    const auto padded = [&](const operand &o) { // leading dimensions of 1, as NumPy broadcasts
        dims shape = o.desc.dims();
        shape.insert(shape.begin(), static_cast<std::size_t>(rank - o.desc.get_ndims()), 1);
        return operand(numpy.attr("reshape")(o.array, py::cast(shape)), "x");
    };
    x = padded(x);
    x1 = padded(x1);
    const attributes a = attributes_of(options, {});
    dims sizes = x.desc.dims();
    for (std::size_t d = 0; d < sizes.size(); d++)
        sizes[d] = std::max(sizes[d], x1.desc.dims()[d]);
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x));
    const binary::primitive_desc pd({algorithm_of("binary_", kind), x.desc, x1.desc, y.desc}, a.attr, cpu);
    execute(primitive(pd),
            {{OCTET_ARG_SRC_0, x.get_memory()},
             {OCTET_ARG_SRC_1, x1.get_memory()},
             {OCTET_ARG_DST, y.get_memory()}},
            a);
    return y.array;
}

py::array softmax(const py::object &x_, int axis, bool is_log, const py::object &dtype,
                  const py::dict &options) {
    const operand x(x_, "x");
    const attributes a = attributes_of(options, {});
    const operand y = result(result_type(dtype, x, a), x.desc.dims(), is_channels_last(x));
    const softmax_forward::primitive_desc pd({prop_kind::forward_inference,
                                              is_log ? algorithm::softmax_log : algorithm::softmax_accurate,
                                              x.desc, y.desc, axis < 0 ? axis + x.desc.get_ndims() : axis},
                                             a.attr, cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return y.array;
}

py::array concatenation(const py::list &xs, int axis, const py::dict &options) {
    std::vector<operand> sources;
    for (const py::handle x : xs)
        sources.emplace_back(x, "x" + std::to_string(sources.size()));
    if (sources.empty())
        throw py::value_error("xs is empty");
    const int rank = sources[0].desc.get_ndims(), along = axis < 0 ? axis + rank : axis;
    if (along < 0 || along >= rank)
        throw py::value_error("axis is " + std::to_string(axis) + ", allowed: " + std::to_string(-rank) +
                              " to " + std::to_string(rank - 1));
    const attributes a = attributes_of(options, {});
    dims sizes = sources[0].desc.dims();
    std::vector<memory::desc> descs;
    std::unordered_map<int, memory> args;
    sizes[static_cast<std::size_t>(along)] = 0;
    for (const operand &x : sources) {
        if (x.desc.get_ndims() != rank)
            throw py::value_error("x" + std::to_string(descs.size()) + " has " +
                                  std::to_string(x.desc.get_ndims()) + " dimensions, the first " +
                                  std::to_string(rank));
        sizes[static_cast<std::size_t>(along)] += x.desc.dims()[static_cast<std::size_t>(along)];
        args[OCTET_ARG_MULTIPLE_SRC + static_cast<int>(descs.size())] = x.get_memory();
        descs.push_back(x.desc);
    }
    const operand y = result(sources[0].desc.data_type(), sizes, is_channels_last(sources[0]));
    const concat::primitive_desc pd(y.desc, along, descs, cpu, a.attr);
    args[OCTET_ARG_DST] = y.get_memory();
    execute(primitive(pd), args, a);
    return y.array;
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
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x));
    const resampling_forward::primitive_desc pd(
        {prop_kind::forward_inference, algorithm_of("resampling_", kind), x.desc, y.desc, *how}, a.attr, cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return y.array;
}

py::array reduced(const std::string &kind, const py::object &x_, const std::vector<int> &axes, bool keep_dims,
                  const py::dict &options) {
    const operand x(x_, "x");
    const attributes a = attributes_of(options, {});
    const int rank = x.desc.get_ndims();
    dims sizes = x.desc.dims(), kept;
    std::vector<bool> is_reduced(sizes.size(), axes.empty());
    for (const int axis : axes) {
        if (axis < -rank || axis >= rank)
            throw py::value_error("axis is " + std::to_string(axis) + ", allowed: " + std::to_string(-rank) +
                                  " to " + std::to_string(rank - 1));
        is_reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    for (std::size_t d = 0; d < sizes.size(); d++) {
        if (is_reduced[d])
            sizes[d] = 1;
        if (!is_reduced[d] || keep_dims)
            kept.push_back(sizes[d]);
    }
    const operand y = result(x.desc.data_type(), sizes, false);
    const reduction::primitive_desc pd({algorithm_of("reduction_", kind), x.desc, y.desc, 0.f, 0.f}, a.attr,
                                       cpu);
    execute(primitive(pd), {{OCTET_ARG_SRC, x.get_memory()}, {OCTET_ARG_DST, y.get_memory()}}, a);
    return py::module_::import("numpy").attr("reshape")(y.array, py::cast(kept));
}

} // namespace

void bind_operations(py::module_ &m) {
    py::class_<weights>(
        m, "Weights",
        "Weights that are packed once, for the operations that they are given to again and again.")
        .def(py::init<py::object>(), py::arg("w"))
        .def_property_readonly("array", &weights::array, "As they were given.");
    m.def("convolution", convolution);
    m.def("deconvolution", deconvolution);
    m.def("inner_product", inner_product);
    m.def("matmul", matrix_product);
    m.def("reorder", reordered);
    m.def("pooling", pooling);
    m.def("eltwise", eltwise);
    m.def("binary", binary_operation);
    m.def("softmax", softmax);
    m.def("concat", concatenation);
    m.def("resampling", resampling);
    m.def("reduction", reduced);
}

} // namespace octet::python
