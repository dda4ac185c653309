// The contract finder (tools/match) as a class of Python: probes out, outputs in, a verdict as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "matching.hpp"

#include <cstring>
#include <pybind11/numpy.h>

#include "arrays.hpp"
#include "match/finder.hpp"

namespace octet::python {
namespace {

py::array array_from(const match::values &v) {
    py::array a = empty(v.type, v.dims);
    std::memcpy(a.mutable_data(), v.bytes.data(), v.bytes.size());
    return a;
}

match::values values_from(const py::handle &object, const std::string &who) {
    const py::array given = array_of(object, who);
    const data_type type = type_of(given.dtype(), who);
    const py::array a = elements_as(given, type, who);
    match::values v{who, type, dims_of(a), {}, false};
    v.bytes.resize(static_cast<std::size_t>(a.nbytes()));
    std::memcpy(v.bytes.data(), a.data(), v.bytes.size());
    return v;
}

py::list list_from(const match::inputs &all) {
    py::list arrays;
    for (const match::values &v : all)
        arrays.append(array_from(v));
    return arrays;
}

/// Probes that `propose` or `judge` gave before, perhaps several in a row: types and rows are the subject's.
match::inputs inputs_from(const match::subject &s, const py::list &arrays) {
    match::inputs all;
    for (std::size_t i = 0; i < s.pool.size(); i++) {
        match::values v = values_from(arrays[i], s.pool[i].name);
        v.is_shared = s.pool[i].is_shared;
        all.push_back(std::move(v));
    }
    return all;
}

} // namespace

void bind_matching(py::module_ &m) {
    py::class_<match::subject>(m, "_MatchSubject")
        .def(py::init([](const std::string &text) {
                 return match::make_subject(match::parse_description(text, "description"));
             }),
             py::arg("text"))
        .def_static("from_model", [](const std::string &path) { return match::make_subject(path); })
        .def_property_readonly("shared",
                               [](const match::subject &s) {
                                   py::list shared;
                                   for (const match::values &v : s.pool)
                                       shared.append(v.is_shared);
                                   return shared;
                               })
        .def("propose", [](const match::subject &s,
                           std::size_t outputs) { return list_from(match::propose(s, outputs)); })
        .def("judge", [](const match::subject &s, const py::list &probes, const py::object &outputs) {
            const match::inputs given = inputs_from(s, probes);
            const match::verdict v = match::judge(s, given, values_from(outputs, "outputs"));
            return py::make_tuple(match::to_json_text(v, s), match::to_text(v, s), list_from(v.separating));
        });
}

} // namespace octet::python
