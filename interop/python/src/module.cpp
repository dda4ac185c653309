// octet._octet: what the Python package is made of. Errors of the library become Python's own kinds with the library's
// sentences.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>

#include "decoder.hpp"
#include "matching.hpp"
#include "network.hpp"
#include "octet/profile.hpp"
#include "octet/version.hpp"
#include "operations.hpp"
#include "sentences.hpp"

namespace octet::python {
namespace {

/// Behind the functions of the same names in octet's modules, which say what they do.
void bind_settings(py::module_ &m) {
    m.def("set_num_threads", set_num_threads, py::arg("threads"));
    m.def("get_num_threads", get_num_threads);
    m.def(
        "set_max_cpu_isa", [](const std::string &name) { set_max_cpu_isa(cpu_isa_from_string(name)); },
        py::arg("isa"));
    m.def("available_isas", [] {
        std::vector<std::string> names;
        for (const cpu_isa level : get_available_cpu_isas())
            names.push_back(to_string(level));
        return names;
    });
    m.def("effective_isa", [] { return std::string(to_string(get_effective_cpu_isa())); });
    m.def("set_verbose", set_verbose, py::arg("level"));
    m.def("supported_operators", supported_operators, py::arg("framework"));
    m.def(
        "refused_nodes",
        [](const py::object &model) {
            const auto path = py::cast<std::string>(py::module_::import("os").attr("fspath")(model));
            std::vector<std::pair<int, std::string>> nodes;
            for (const refused_node &n : refused_nodes(path))
                if (n.is_certain)
                    nodes.emplace_back(n.number, n.reason);
            return nodes;
        },
        py::arg("model"));
    m.def("rules", [] {
        std::vector<std::string> names;
        for (const requantization_rule rule : all_requantization_rules())
            names.push_back(to_string(rule));
        return names;
    });
    m.def("profiles", [] {
        std::vector<std::string> names;
        for (const profile &p : all_profiles())
            names.push_back(p.name);
        return names;
    });
    m.def(
        "quantize_multiplier",
        [](double real, const std::string &rule) {
            const fixed_point_multiplier f = from_double(requantization_rule_from_string(rule.c_str()), real);
            return py::make_tuple(f.multiplier, f.shift);
        },
        py::arg("real"), py::arg("rule") = "tflite_2step");
}

} // namespace

PYBIND11_MODULE(_octet, m) {
    m.attr("__version__") = OCTET_VERSION_STRING;
    m.attr("__numerics_version__") = numerics_version();
    static py::exception<error> unsupported(m, "UnsupportedError", PyExc_RuntimeError);
    py::register_exception_translator([](std::exception_ptr p) {
        try {
            if (p)
                std::rethrow_exception(p);
        } catch (const error &e) {
            const std::string sentence = in_terms_of_python(e.what());
            if (e.status == status::unimplemented)
                unsupported(sentence.c_str());
            else
                PyErr_SetString(e.status == status::out_of_memory       ? PyExc_MemoryError
                                : e.status == status::invalid_arguments ? PyExc_ValueError
                                                                        : PyExc_RuntimeError,
                                sentence.c_str());
        }
    });
    bind_network(m);
    bind_decoder(m);
    bind_operations(m);
    bind_settings(m);
    bind_matching(m);
}

} // namespace octet::python
