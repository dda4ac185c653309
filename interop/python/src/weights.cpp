// A list of layouts, since few primitives share weights; the lock is for calls of several threads.
// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include "operand.hpp"

namespace octet::python {

weights::weights(const py::object &w) : array_(operand(w, "w").array) {}

memory weights::packed(const memory &plain, const memory::desc &chosen, const weight_values *values) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const weight_values *stored = has_values(chosen) ? values : nullptr;
    for (const packing &p : packed_)
        if (p.from == plain.get_desc() && p.to.get_desc() == chosen &&
            (!stored || (p.values && p.values->equals(*stored))))
            return p.to;
    packed_.push_back({plain.get_desc(),
                       stored ? std::optional<weight_values>(stored->copied()) : std::nullopt,
                       packed_codes(array_, plain, chosen, values)});
    return packed_.back().to;
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
