// octet.Network's base class in the compiled module, and what it tells about a network as Python's objects.
// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"
#include <pybind11/functional.h>

namespace octet::python {
namespace {

const std::string &name_at(const network &net, int index) {
    return net.get_graph().tensors[static_cast<std::size_t>(index)].name;
}

py::object scalar_or_none(const std::vector<float> &v) {
    return v.size() == 1 ? py::object(py::float_(v[0])) : py::object(py::none());
}

/// Names of a node's tensors.
std::vector<std::string> names_of(const network &net, const std::vector<int> &tensors) {
    std::vector<std::string> names;
    for (const int t : tensors)
        if (t >= 0)
            names.push_back(name_at(net, t));
    return names;
}

} // namespace

std::vector<python_network::node_info> python_network::nodes_of(const network &net) {
    const model::graph &g = net.get_graph();
    std::vector<node_info> nodes;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const model::node &n = g.nodes[i];
        nodes.push_back(
            {model::node_number(g, i), model::operator_text(n), names_of(net, n.inputs),
             names_of(net, n.outputs),
             n.outputs.empty() ? memory::dims() : g.tensors[static_cast<std::size_t>(n.outputs[0])].dims,
             net.implementation(i), net.explain(i)});
    }
    return nodes;
}

py::list python_network::nodes() {
    open_description();
    std::vector<node_info> nodes;
    {
        const py::gil_scoped_release release;
        const turns::call turn(turns_);
        nodes = nodes_of(first_);
    }
    return infos(nodes);
}

py::list python_network::infos(const std::vector<node_info> &nodes) {
    py::list all;
    for (const node_info &info : nodes) {
        py::dict node;
        node["number"] = info.number;
        node["op"] = info.op;
        node["inputs"] = info.inputs;
        node["outputs"] = info.outputs;
        node["shape"] = py::tuple(py::cast(info.shape));
        node["implementation"] = info.implementation;
        node["explanation"] = info.explanation;
        all.append(node);
    }
    return all;
}

py::list python_network::infos(const std::vector<port> &ports) {
    py::list all;
    for (const port &p : ports) {
        const model::quantization &q = p.quantization;
        py::dict info;
        info["name"] = p.name;
        info["shape"] = py::tuple(py::cast(p.dims));
        py::tuple axes(p.axes.size());
        for (std::size_t d = 0; d < p.axes.size(); d++)
            axes[d] = p.is_open(d) ? py::object(py::str(p.axes[d])) : py::object(py::none());
        info["axes"] = axes;
        info["dtype"] = p.type == data_type::undef ? py::object(py::none()) : py::object(dtype_of(p.type));
        info["scale"] = scalar_or_none(q.scales);
        info["zero_point"] =
            q.zero_points.size() == 1 ? py::object(py::int_(q.zero_points[0])) : py::object(py::none());
        info["scales"] = q.scales;
        info["zero_points"] = q.zero_points;
        all.append(info);
    }
    return all;
}

py::dict python_network::sizes() const {
    py::dict named;
    named["batch"] = description_->sizes.batch;
    named["shapes"] = description_->sizes.shapes;
    named["dimensions"] = description_->sizes.dimensions;
    return named;
}

void bind_network(py::module_ &m) {
    const auto make =
        [](const py::object &source, dim_t batch, int threads, const std::string &rule, bool fusion,
           const std::map<std::string, memory::dims> &shapes, const std::map<std::string, dim_t> &dimensions,
           const std::function<void(double, const std::string &)> &progress, std::size_t memory_limit,
           const std::string &profile, bool rows_alike, const std::string &nbits) {
            network_options o;
            o.batch = batch;
            o.threads = threads;
            o.rule = requantization_rule_from_string(rule.c_str());
            o.fusion = fusion;
            o.shapes = shapes;
            o.dimensions = dimensions;
            o.progress = progress;
            o.memory_limit = memory_limit;
            o.profile = profile;
            o.rows_alike = rows_alike;
            o.nbits = nbits;
            if (py::isinstance<py::bytes>(source)) {
                const auto bytes = py::cast<std::string_view>(source);
                return std::make_unique<python_network>(network(bytes.data(), bytes.size(), "bytes", o));
            }
            const auto path = py::cast<std::string>(py::module_::import("os").attr("fspath")(source));
            const py::gil_scoped_release release;
            return std::make_unique<python_network>(network(path, o));
        };
    py::options docs;
    docs.disable_function_signatures(); // octet/network.py has them
    py::class_<python_network>(m, "Network")
        .def(py::init(make), py::arg("model"), py::kw_only(), py::arg("batch") = 0, py::arg("threads") = 0,
             py::arg("rule") = "automatic", py::arg("fusion") = true,
             py::arg("shapes") = std::map<std::string, memory::dims>(),
             py::arg("dimensions") = std::map<std::string, dim_t>(), py::arg("progress") = py::none(),
             py::arg("memory_limit") = 0, py::arg("profile") = "", py::arg("rows_alike") = false,
             py::arg("nbits") = "onnxruntime")
        .def("__call__", &python_network::call,
             "__call__($self, /, *values, **feeds)\n--\n\n"
             "Runs it: one array, or a tuple where there are several outputs.\n\n"
             "- values: the inputs in their order\n"
             "- feeds: the inputs by name")
        .def("run", &python_network::run, py::arg("feeds"), py::arg("outputs") = std::vector<std::string>())
        .def("_trace", &python_network::trace, py::arg("feeds"))
        .def("_profile", &python_network::profile, py::arg("feeds"), py::arg("repeat"))
        .def(
            "resize",
            [](python_network &n, dim_t batch, const std::map<std::string, memory::dims> &shapes,
               const std::map<std::string, dim_t> &dimensions) {
                n.resize({batch, shapes, dimensions});
            },
            py::kw_only(), py::arg("batch") = 0, py::arg("shapes") = std::map<std::string, memory::dims>(),
            py::arg("dimensions") = std::map<std::string, dim_t>())
        .def("reset_state", &python_network::reset_state)
        .def("close", &python_network::close)
        .def(
            "save",
            [](python_network &n, const py::object &path) {
                n.save(py::cast<std::string>(py::module_::import("os").attr("fspath")(path)));
            },
            py::arg("path"))
        .def("_seconds_per_run", &python_network::seconds_per_run, py::arg("repeat"))
        .def_property_readonly("_inputs", &python_network::inputs)
        .def_property_readonly("_outputs", &python_network::outputs)
        .def_property_readonly("_nodes", &python_network::nodes)
        .def_property_readonly("_sizes", &python_network::sizes)
        .def_property_readonly("last_inputs", &python_network::last_inputs,
                               "Inputs of the call that began last, by name.")
        .def_property_readonly("framework", &python_network::framework,
                               "Whose operators the file has: \"tflite\" or \"onnx\".")
        .def_property_readonly("threads", &python_network::threads,
                               "Of this network; 0: as octet.set_num_threads says.")
        .def_property_readonly("buffer_bytes", &python_network::buffer_bytes,
                               "What a context takes for the tensors between operators.");
}

} // namespace octet::python
