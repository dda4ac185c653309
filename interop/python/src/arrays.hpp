#pragma once // SPDX-License-Identifier: Apache-2.0

// NumPy's arrays as Octet's memory and back. What NumPy users expect: views are taken as they are, other layouts and
// types that lose nothing are converted, everything else is a TypeError or ValueError that says what is allowed.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "octet/octet.hpp"

namespace octet::python {

namespace py = pybind11;

using dims = memory::dims;

extern const engine cpu;

/// "int8" <-> s8, …
py::dtype dtype_of(data_type type);
/// Throws TypeError for a type that Octet lacks; `who` names the argument.
data_type type_of(const py::dtype &dtype, const std::string &who);
/// From a name, a dtype or a scalar type ("int8", np.int8).
data_type type_of(const py::object &dtype, const std::string &who);

/// Whatever has elements: arrays, scalars, lists, buffers, DLPack's tensors.
py::array array_of(const py::handle &object, const std::string &who);

/// Returns the elements as `type` in row-major order, without a copy where they are so. Integers must fit,
/// float64 rounds.
py::array elements_as(const py::array &values, data_type type, const std::string &who);

/// An array's elements as `dtype` in row-major order, at an address that is a multiple of their size; without
/// a copy where they are. (NumPy's ascontiguousarray keeps any address.)
py::array dense(const py::array &values, const py::dtype &dtype);

/// Dimensions of an array.
memory::dims dims_of(const py::array &a);
/// Dense row-major descriptor of an array.
memory::desc desc_of(const py::array &a, const std::string &who);
/// The array's own bytes.
memory memory_of(const py::array &a, const memory::desc &d);

/// An array without contents.
py::array empty(data_type type, const memory::dims &dims);

} // namespace octet::python
