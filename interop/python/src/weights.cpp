// A list of layouts, since few primitives share weights; the lock is for calls of several threads.
// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include "operand.hpp"

namespace octet::python {

weights::weights(const py::object &w) : array_(operand(w, "w").array) {}

memory weights::packed(const memory &plain, const memory::desc &chosen) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto &[from, to] : packed_)
        if (from == plain.get_desc() && to.get_desc() == chosen)
            return to;
    packed_.emplace_back(plain.get_desc(), reordered(plain, chosen));
    return packed_.back().second;
}

memory weights::reordered(const memory &plain, const memory::desc &chosen) {
    memory m(chosen, cpu);
    reorder(plain, m).execute(stream(cpu), plain, m);
    return m;
}

void bind_weights(py::module_ &m) {
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
}

} // namespace octet::python
