// octet._octet: what the Python package is made of. Errors of the library become Python's own kinds with the library's
// sentences.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "network.hpp"
#include "octet/version.hpp"
#include "operations.hpp"

namespace octet::python {
namespace {

void bind_settings(py::module_ &m) {
    m.def("set_num_threads", set_num_threads, py::arg("threads"),
          "Threads of operations, and of networks that have no number of their own; 0: one per core.");
    m.def("get_num_threads", get_num_threads, "Threads that set_num_threads or OCTET_NUM_THREADS asked for.");
    m.def(
        "set_max_cpu_isa", [](const std::string &name) { set_max_cpu_isa(cpu_isa_from_string(name)); },
        py::arg("isa"), "Highest instruction set for what is made from now on. Results do not depend on it.");
    m.def(
        "available_isas",
        [] {
            std::vector<std::string> names;
            for (const cpu_isa level : get_available_cpu_isas())
                names.push_back(to_string(level));
            return names;
        },
        "Instruction sets that this machine has and Octet uses, the lowest first.");
    m.def(
        "effective_isa", [] { return std::string(to_string(get_effective_cpu_isa())); },
        "The instruction set in use.");
    m.def("set_verbose", set_verbose, py::arg("level"),
          "0: silent; 1: a row of CSV per execution; 2: also per creation and refusal.");
    m.def("supported_operators", supported_operators, py::arg("framework"),
          "Names of the operators that networks of \"tflite\" or \"onnx\" may have.");
    m.def(
        "rules",
        [] {
            std::vector<std::string> names;
            for (const requantization_rule rule : all_requantization_rules())
                names.push_back(to_string(rule));
            return names;
        },
        "Names of the contracts by which sums become codes.");
    m.def(
        "quantize_multiplier",
        [](double real, const std::string &rule) {
            const fixed_point_multiplier f = from_double(requantization_rule_from_string(rule.c_str()), real);
            return py::make_tuple(f.multiplier, f.shift);
        },
        py::arg("real"), py::arg("rule") = "tflite_2step",
        "(multiplier, shift) of a real factor, as the rule's framework derives them.");
}

} // namespace

PYBIND11_MODULE(_octet, m) {
    m.attr("__version__") = OCTET_VERSION_STRING;
    static py::exception<error> unsupported(m, "UnsupportedError", PyExc_RuntimeError);
    py::register_exception_translator([](std::exception_ptr p) {
        try {
            if (p)
                std::rethrow_exception(p);
        } catch (const error &e) {
            if (e.status == status::unimplemented)
                unsupported(e.what());
            else
                PyErr_SetString(e.status == status::out_of_memory       ? PyExc_MemoryError
                                : e.status == status::invalid_arguments ? PyExc_ValueError
                                                                        : PyExc_RuntimeError,
                                e.what());
        }
    });
    bind_network(m);
    bind_products(m);
    bind_operations(m);
    bind_settings(m);
}

} // namespace octet::python
