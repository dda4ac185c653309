// octet._octet: what the Python package is made of. Errors of the library become Python's own kinds with the library's
// sentences.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string_view>

#include "matching.hpp"
#include "network.hpp"
#include "octet/profile.hpp"
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
        "refused_nodes",
        [](const py::object &model) {
            const auto path = py::cast<std::string>(py::module_::import("os").attr("fspath")(model));
            std::vector<std::pair<int, std::string>> nodes;
            for (const refused_node &n : refused_nodes(path))
                if (n.is_certain)
                    nodes.emplace_back(n.number, n.reason);
            return nodes;
        },
        py::arg("model"),
        "(number, reason) of each node for which octet.Network would refuse a file; none: it runs.");
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
        "profiles",
        [] {
            std::vector<std::string> names;
            for (const profile &p : all_profiles())
                names.push_back(p.name);
            return names;
        },
        "Names of the runtimes whose bytes networks can give (`profile` of octet.Network) and of libraries.");
    m.def(
        "quantize_multiplier",
        [](double real, const std::string &rule) {
            const fixed_point_multiplier f = from_double(requantization_rule_from_string(rule.c_str()), real);
            return py::make_tuple(f.multiplier, f.shift);
        },
        py::arg("real"), py::arg("rule") = "tflite_2step",
        "(multiplier, shift) of a real factor, as the rule's framework derives them.");
}

/// The library's sentences name C++'s functions and arguments; here are Python's. The first that fits counts.
constexpr std::pair<std::string_view, std::string_view> terms[] = {
    {"multipliers, pass them to set_requantization", "multiplier and shift, or scale"},
    {"real scales, pass them to set_requantization", "scale"},
    {"pass multipliers to set_requantization, see from_double",
     "pass multiplier and shift, see quantize_multiplier"},
    {"multipliers of set_requantization and set_input_multiplier(WEIGHTS)",
     "multiplier, shift, w_multiplier and w_shift"},
    {"multipliers of set_requantization", "multiplier and shift"},
    {"set_scales of src, weights and dst", "x_scale, w_scale and y_scale"},
    {"set_scales of SRC and DST", "x_scale and y_scale"},
    {"scales of SRC_0, SRC_1 and DST", "x_scale, x1_scale and y_scale"},
    {"set_scales(OCTET_ARG_DST, …)", "y_scale"},
    {"both set_output_scales and set_scales are used",
     "both scale and x_scale, w_scale or y_scale are given"},
    {"set_output_scales: ", ""},
    {"set_output_scales", "scale"},
    {"set_requantization", "rule"},
    {"set_zero_points", "zero_point"},
    {"set_scales: ", ""},
    {"set_scales", "scale"},
    {"OCTET_ARG_VARIANCE", "variance"},
    {"OCTET_ARG_WEIGHTS", "w"},
    {"OCTET_ARG_SRC_1", "y"},
    {"OCTET_ARG_MEAN", "mean"},
    {"OCTET_ARG_BIAS", "bias"},
    {"OCTET_ARG_SRC", "x"},
    {"OCTET_ARG_DST", "the result"},
    {"num_threads_scope: ", ""},
    {"resize of the input or the network", "a call with an array, or resize,"},
};

std::string in_terms_of_python(std::string text) {
    for (std::size_t at = 0; at < text.size(); at++)
        for (const auto &[from, to] : terms)
            if (text.compare(at, from.size(), from) == 0) {
                text.replace(at, from.size(), to);
                at += to.size() - 1; // the loop goes on behind it, also behind nothing
                break;
            }
    return text;
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
    bind_operations(m);
    bind_settings(m);
    bind_matching(m);
}

} // namespace octet::python
