// A table pairs NumPy's types with Octet's; conversions ask it.
// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <array>

namespace octet::python {

const engine cpu(engine::kind::cpu, 0);

namespace {

/// NumPy's type numbers are compared, since making and comparing dtypes takes longer than a small network.
struct pair {
    data_type type;
    const char *name;
    int number;
};
const std::array<pair, 6> &pairs() {
    const auto row = [](data_type type, const char *name) { return pair{type, name, py::dtype(name).num()}; };
    static const std::array<pair, 6> rows = {row(data_type::f32, "float32"), row(data_type::s8, "int8"),
                                             row(data_type::u8, "uint8"),    row(data_type::s32, "int32"),
                                             row(data_type::s16, "int16"),   row(data_type::f16, "float16")};
    return rows;
}

bool is_native(const py::dtype &dtype) { return dtype.byteorder() == '=' || dtype.byteorder() == '|'; }

const pair &pair_of(data_type type) {
    for (const pair &p : pairs())
        if (p.type == type)
            return p;
    throw py::type_error(std::string("NumPy has no type for ") + to_string(type));
}

std::string names() {
    std::string all;
    for (const pair &p : pairs())
        all += std::string(all.empty() ? "" : ", ") + p.name;
    return all;
}

std::string text(const py::handle &object) { return py::cast<std::string>(py::str(object)); }

bool is_integer(char kind) { return kind == 'i' || kind == 'u' || kind == 'b'; }

/// All elements have to be in the range of an integer type.
void need_range(const py::array &values, const py::dtype &wanted, const std::string &who) {
    if (values.size() == 0)
        return;
    const py::object limits = py::module_::import("numpy").attr("iinfo")(wanted);
    const py::object lowest = limits.attr("min"), highest = limits.attr("max"), least = values.attr("min")(),
                     largest = values.attr("max")();
    if (least < lowest || largest > highest)
        throw py::value_error(who + " has the number " + text(least < lowest ? least : largest) +
                              ", allowed for " + text(wanted) + ": " + text(lowest) + " to " + text(highest));
}

/// C-contiguous, at an address that is a multiple of the element's size.
bool is_dense(const py::array &values) {
    constexpr int wanted = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    return (values.flags() & wanted) == wanted;
}

} // namespace

py::dtype dtype_of(data_type type) { return py::dtype(pair_of(type).number); }

data_type type_of(const py::dtype &dtype, const std::string &who) {
    for (const pair &p : pairs())
        if (dtype.num() == p.number && is_native(dtype))
            return p.type;
    throw py::type_error(who + " is " + text(dtype) + ", allowed: " + names());
}

data_type type_of(const py::object &dtype, const std::string &who) {
    try {
        return type_of(py::dtype::from_args(dtype), who);
    } catch (const py::error_already_set &) { // NumPy knows no such type
        throw py::type_error(who + " is " + py::cast<std::string>(py::repr(dtype)) + ", allowed: " + names());
    }
}

py::array array_of(const py::handle &object, const std::string &who) {
    if (py::isinstance<py::array>(object))
        return py::reinterpret_borrow<py::array>(object);
    if (!py::hasattr(object, "__array__") && py::hasattr(object, "__dlpack__"))
        return py::module_::import("numpy").attr("from_dlpack")(object);
    py::array a = py::array::ensure(object);
    if (!a) {
        PyErr_Clear();
        throw py::type_error(who + " is no array");
    }
    if (std::string("OUSV").find(a.dtype().kind()) != std::string::npos)
        throw py::type_error(who + " is " + py::cast<std::string>(py::type::of(object).attr("__name__")) +
                             ", allowed: an array of numbers");
    return a;
}

py::array elements_as(const py::array &values, data_type type, const std::string &who) {
    const py::dtype given = values.dtype();
    const bool is_same = given.num() == pair_of(type).number && is_native(given);
    if (is_same && is_dense(values))
        return values;
    const py::dtype wanted = dtype_of(type);
    if (!is_same) {
        const bool both_integers = is_integer(given.kind()) && is_integer(wanted.kind());
        const bool becomes_real = wanted.kind() == 'f' && (given.kind() == 'f' || is_integer(given.kind()));
        if (!both_integers && !becomes_real)
            throw py::type_error(who + " is " + text(given) + ", allowed: " + text(wanted));
        if (both_integers)
            need_range(values, wanted, who);
    }
    return dense(values, wanted);
}

py::array dense(const py::array &values, const py::dtype &dtype) {
    return py::module_::import("numpy").attr("require")(values, dtype, "CA");
}

memory::dims dims_of(const py::array &a) { return {a.shape(), a.shape() + a.ndim()}; }

memory::desc desc_of(const py::array &a, const std::string &who) {
    const memory::dims dims = dims_of(a);
    return memory::desc(dims.empty() ? memory::dims{1} : dims, type_of(a.dtype(), who), memory::dims());
}

memory memory_of(const py::array &a, const memory::desc &d) {
    return memory(d, engine(engine::kind::cpu, 0), const_cast<void *>(a.data()));
}

py::array empty(data_type type, const memory::dims &dims) {
    return py::array(dtype_of(type), std::vector<py::ssize_t>(dims.begin(), dims.end()));
}

} // namespace octet::python
