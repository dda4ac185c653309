// Arrays become memory without a copy where they can; execution releases Python's lock.
// SPDX-License-Identifier: Apache-2.0
#include "operand.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace octet::python {

operand::operand(const py::handle &object, const std::string &who) : array(array_of(object, who)) {
    if (array.dtype().kind() == 'f' && array.itemsize() == sizeof(double))
        array = elements_as(array, data_type::f32, who); // NumPy's default, which networks round, too
    if (!is_plain())
        array = dense(array, array.dtype());
    constexpr py::ssize_t most_dims = 6;
    if (array.ndim() > most_dims)
        throw py::value_error(who + " has " + std::to_string(array.ndim()) + " dimensions, allowed: up to " +
                              std::to_string(most_dims));
    dims strides;
    for (py::ssize_t i = 0; i < array.ndim(); i++) // a dimension with one element may have one below 0
        strides.push_back(std::max<py::ssize_t>(array.strides(i), 0) / array.itemsize());
    const data_type type = type_of(array.dtype(), who);
    const dims sizes = dims_of(array);
    if (sizes.empty())
        desc = memory::desc({1}, type, dims());
    else
        desc = memory::desc(sizes, type, array.size() == 0 ? dims() : strides);
}

/// Every element at a place of its own, at multiples of its size.
bool operand::is_plain() const {
    constexpr int dense = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    if ((array.flags() & dense) == dense && array.size() > 0)
        return true;
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
    return reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::uintptr_t>(array.itemsize()) ==
           0;
}

bool is_channels_last(const operand &x) {
    return x.array.ndim() > 2 && x.array.shape(1) > 1 && x.array.strides(1) == x.array.itemsize();
}

namespace {

/// Without contents.
operand uninitialized(data_type type, const dims &sizes, bool channels_last) {
    if (!channels_last || sizes.size() < 3)
        return {empty(type, sizes), "y"};
    std::vector<py::ssize_t> strides(sizes.size());
    py::ssize_t next = static_cast<py::ssize_t>(memory::data_type_size(type));
    const auto add = [&](std::size_t d) {
        strides[d] = next;
        next *= sizes[d];
    };
    add(1);
    for (std::size_t d = sizes.size(); d-- > 2;)
        add(d);
    add(0);
    return {py::array(dtype_of(type), std::vector<py::ssize_t>(sizes.begin(), sizes.end()), strides), "y"};
}

/// The slopes of a prelu are the only operand of a post-op whose size the result decides.
void need_as_many(const memory::desc &given, const memory::desc &allowed) {
    if (given == allowed || given.reshape(allowed.dims(), true) == allowed)
        return;
    dim_t count = 1;
    for (const dim_t size : allowed.dims())
        count *= size;
    throw py::value_error("post_ops: prelu has slopes of shape " +
                          py::cast<std::string>(py::str(py::tuple(py::cast(given.dims())))) + ", allowed: " +
                          (count > 1 ? "1 or " : "") + std::to_string(count) + " in dimension 1");
}

} // namespace

operand result(data_type type, const dims &sizes, bool channels_last, const attributes &a) {
    operand y = uninitialized(type, sizes, channels_last);
    if (a.begins_as) {
        const operand begin(*a.begins_as, "post_ops: sum");
        if (begin.desc.data_type() != type || begin.desc.dims() != y.desc.dims())
            throw py::value_error("post_ops: sum has an array of other shape or dtype than the result");
        py::module_::import("numpy").attr("copyto")(y.array, begin.array);
    }
    return y;
}

void execute(const primitive &p, std::vector<primitive::argument> args, const attributes &a) {
    for (const auto &[arg, tensor] : a.args) {
        need_as_many(tensor.get_desc(), p.get_primitive_desc().arg_desc(arg));
        args.push_back({arg, tensor.get_data_handle()});
    }
    const py::gil_scoped_release release;
    p.execute(stream(cpu), args.data(), args.size());
}

data_type result_type(const py::object &asked, const operand &x, const attributes &a) {
    if (!asked.is_none())
        return type_of(asked, "dtype");
    return a.attr.rule() == requantization_rule::none ? data_type::s32 : x.desc.data_type();
}

int axis_of(int axis, int rank) {
    if (axis < -rank || axis >= rank)
        throw py::value_error("axis is " + std::to_string(axis) + ", allowed: " + std::to_string(-rank) +
                              " to " + std::to_string(rank - 1));
    return axis < 0 ? axis + rank : axis;
}

} // namespace octet::python
