// Operations with weights: an object holds weights that are packed at their first use, functions take it or an array.
// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

// Products with weights, which may be packed once: convolution, deconvolution, inner product, matmul.

#include <pybind11/stl.h>

#include <mutex>
#include <numeric>

#include "operand.hpp"

namespace octet::python {
namespace {

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

/// Dense copy of the bias, as one dimension.
std::optional<operand> bias_of(const py::object &bias) {
    if (bias.is_none())
        return {};
    py::array given = array_of(bias, "bias");
    if (given.dtype().kind() == 'i' && given.itemsize() == sizeof(std::int64_t))
        given = elements_as(given, data_type::s32, "bias");
    const operand b(given, "bias");
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
        sizes.push_back(
            positions(x.array.shape(d), before[i] + after[i], w.array.shape(d), dilations[i], strides[i]));
        dilates.push_back(dilations[i] - 1);
    }
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x), a);
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
    const operand y = result(result_type(dtype, x, a), sizes, is_channels_last(x), a);
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
    const operand y = result(result_type(dtype, x, a), {x.array.shape(0), w.array.shape(0)}, false, a);
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
    const operand y = result(result_type(dtype, x, a), sizes, false, a);
    std::optional<operand> b = bias_of(bias);
    if (b) {
        dims shape(rank, 1);
        shape.back() = b->array.shape(0);
        b->desc = b->desc.reshape(shape);
    }
    const matmul::primitive_desc pd({x.desc, any_layout(w.desc), desc_of(b), y.desc}, a.attr, cpu);
    return run_product(pd, x, w, w.get_memory(), b, y, a);
}

} // namespace

void bind_products(py::module_ &m) {
    py::class_<weights>(
        m, "Weights",
        "Weights that are packed once, for the operations that they are given to again and again.")
        .def(py::init<py::object>(), py::arg("w"))
        .def("__copy__", [](const py::object &self) { return self; }) // they never change
        .def("__deepcopy__", [](const py::object &self, const py::dict &) { return self; })
        .def("__reduce__",
             [](const py::object &self) {
                 return py::make_tuple(py::type::of(self), py::make_tuple(self.attr("array")));
             })
        .def("__repr__",
             [](const weights &w) {
                 return py::str("octet.Weights(shape={}, dtype={})")
                     .format(py::tuple(py::cast(dims_of(w.array()))), w.array().dtype());
             })
        .def_property_readonly("array", &weights::array, "As they were given.");
    m.def("convolution", convolution);
    m.def("deconvolution", deconvolution);
    m.def("inner_product", inner_product);
    m.def("matmul", matrix_product);
}

} // namespace octet::python
