#include "network.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>

namespace octet::python {
namespace {

const model::tensor &tensor_at(const network &net, int index) {
    return net.get_graph().tensors[static_cast<std::size_t>(index)];
}

bool has_state(const network &net) {
    const auto &tensors = net.get_graph().tensors;
    return std::any_of(tensors.begin(), tensors.end(), [](const model::tensor &t) { return t.is_variable; });
}

/// A tensor's elements as they lie in memory, row-major over its dimensions.
py::array copy_of(const tensor_view &t) {
    py::array a = empty(t.data_type(), t.dims());
    const memory::desc d = t.get_memory().get_desc();
    if (d == desc_of(a, "tensor")) {
        std::memcpy(a.mutable_data(), t.data(), t.size_in_bytes());
        return a;
    }
    const memory plain = memory_of(a, memory::desc(d.dims(), t.data_type(), memory::dims()));
    primitive_attr attr;
    if (t.data_type() != data_type::f32)
        attr.set_requantization(requantization_rule::none);
    reorder(t.get_memory(), plain, attr).execute(stream(plain.get_engine()), t.get_memory(), plain);
    return a;
}

py::object scalar_or_none(const std::vector<float> &v) {
    return v.size() == 1 ? py::object(py::float_(v[0])) : py::object(py::none());
}

py::dict info_of(const tensor_view &t) {
    py::dict info;
    info["name"] = t.name();
    info["shape"] = py::tuple(py::cast(t.dims()));
    info["dtype"] = dtype_of(t.data_type());
    const model::quantization &q = t.quantization();
    info["scale"] = scalar_or_none(q.scales);
    info["zero_point"] =
        q.zero_points.size() == 1 ? py::object(py::int_(q.zero_points[0])) : py::object(py::none());
    info["scales"] = q.scales;
    info["zero_points"] = q.zero_points;
    return info;
}

py::list infos(const network &net, bool is_input) {
    py::list all;
    for (std::size_t i = 0; i < (is_input ? net.input_count() : net.output_count()); i++)
        all.append(info_of(is_input ? net.input(i) : net.output(i)));
    return all;
}

/// Names of a node's tensors.
std::vector<std::string> names_of(const network &net, const std::vector<int> &tensors) {
    std::vector<std::string> names;
    for (const int t : tensors)
        if (t >= 0)
            names.push_back(tensor_at(net, t).name);
    return names;
}

py::list nodes_of(const network &net) {
    py::list all;
    const auto &nodes = net.get_graph().nodes;
    for (std::size_t i = 0; i < nodes.size(); i++) {
        py::dict node;
        node["number"] = model::node_number(net.get_graph(), i);
        node["op"] = model::operator_text(nodes[i]);
        node["inputs"] = names_of(net, nodes[i].inputs);
        node["outputs"] = names_of(net, nodes[i].outputs);
        node["shape"] = nodes[i].outputs.empty()
                            ? py::tuple()
                            : py::tuple(py::cast(tensor_at(net, nodes[i].outputs[0]).dims));
        node["implementation"] = net.implementation(i);
        node["explanation"] = net.explain(i);
        all.append(node);
    }
    return all;
}

} // namespace

/// A context for the time of a call.
class python_network::lease {
public:
    explicit lease(python_network &owner) : owner_(owner), context_(owner.take()) {}
    ~lease() { owner_.give_back(context_); }
    network &operator*() const { return *context_; }
    network *operator->() const { return context_; }

private:
    python_network &owner_;
    network *context_;
};

python_network::python_network(network first) {
    contexts_.push_back(std::make_unique<network>(std::move(first)));
    free_.push_back(contexts_.front().get());
    has_state_ = has_state(get());
    find_ports();
    const network_options &o = get().options();
    sizes_ = {o.batch, o.shapes, o.dimensions};
}

void python_network::find_ports() {
    const auto port_of = [](const tensor_view &t) {
        return port{t.name(), t.dims(), t.data_type(), t.size_in_bytes(), t.quantization().is_set()};
    };
    input_ports_.clear();
    output_ports_.clear();
    for (std::size_t i = 0; i < get().input_count(); i++)
        input_ports_.push_back(port_of(get().input(i)));
    for (std::size_t i = 0; i < get().output_count(); i++)
        output_ports_.push_back(port_of(get().output(i)));
}

network *python_network::take() {
    const py::gil_scoped_release release;
    std::unique_lock<std::mutex> lock(mutex_);
    if (has_state_)
        change_.wait(lock, [&] { return !free_.empty(); });
    if (free_.empty()) {
        contexts_.push_back(std::make_unique<network>(get().new_context()));
        contexts_.back()->resize(sizes_);
        free_.push_back(contexts_.back().get());
    }
    network *context = free_.back();
    free_.pop_back();
    running_++;
    return context;
}

void python_network::give_back(network *context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(context);
    running_--;
    change_.notify_all();
}

void python_network::resize(dim_t batch, const std::map<std::string, memory::dims> &shapes,
                            const std::map<std::string, dim_t> &dimensions) {
    const py::gil_scoped_release release;
    std::unique_lock<std::mutex> lock(mutex_);
    change_.wait(lock, [&] { return running_ == 0; });
    const network_sizes sizes = {batch, shapes, dimensions};
    get().resize(sizes);
    sizes_ = sizes;
    find_ports();
    contexts_.resize(1);
    free_ = {contexts_.front().get()};
}

void python_network::reset_state() {
    const py::gil_scoped_release release;
    std::unique_lock<std::mutex> lock(mutex_);
    change_.wait(lock, [&] { return running_ == 0; });
    get().reset_state();
}

/// One input as elements of its type, or as float32 where it holds codes that stand for reals.
py::array python_network::prepared(std::size_t i, const py::handle &given) const {
    const port &input = input_ports_[i];
    const py::array values = array_of(given, input.name);
    if (!std::equal(input.dims.begin(), input.dims.end(), values.shape(), values.shape() + values.ndim()))
        throw py::value_error(input_text(i) + " has shape " + model::to_text(dims_of(values)) +
                              ", allowed is " + model::to_text(input.dims) +
                              " (Network.resize takes other sizes)");
    const bool is_real = input.is_scaled && values.dtype().kind() == 'f';
    return elements_as(values, is_real ? data_type::f32 : input.type, input.name);
}

void python_network::save(const std::string &path) {
    const py::gil_scoped_release release;
    std::unique_lock<std::mutex> lock(mutex_);
    change_.wait(lock, [&] { return running_ == 0; });
    get().save(path);
}

python_network::inputs python_network::inputs_of(const py::args &values, const py::kwargs &named) const {
    const std::size_t count = input_ports_.size();
    if (values.size() > count)
        throw py::type_error("the network takes " + std::to_string(count) + " inputs, " +
                             std::to_string(values.size()) + " are given");
    inputs given(count);
    std::vector<bool> is_given(count);
    const auto give = [&](std::size_t i, const py::handle &value) {
        if (is_given[i])
            throw py::type_error(input_text(i) + " is given twice");
        given[i] = prepared(i, value);
        is_given[i] = true;
    };
    for (std::size_t i = 0; i < values.size(); i++)
        give(i, values[i]);
    for (const auto &[name, value] : named) {
        const auto word = py::cast<std::string>(name);
        const auto found = std::find_if(input_ports_.begin(), input_ports_.end(),
                                        [&](const port &p) { return p.name == word; });
        if (found == input_ports_.end())
            contexts_.front()->input(word); // throws, with what there is
        give(static_cast<std::size_t>(found - input_ports_.begin()), value);
    }
    for (std::size_t i = 0; i < count; i++)
        if (!is_given[i])
            throw py::type_error(input_text(i) + " is missing");
    return given;
}

/// Floats that stand for codes are converted into the network's buffer, others are read where they are.
void python_network::set_inputs(network &net, const inputs &given) const {
    for (std::size_t i = 0; i < given.size(); i++)
        if (input_ports_[i].is_scaled && given[i].dtype().kind() == 'f')
            net.input(i).copy_from(static_cast<const float *>(given[i].data()),
                                   static_cast<std::size_t>(given[i].size()));
        else
            net.bind_input(i, given[i].data(), input_ports_[i].bytes);
}

namespace {

/// The caller's arrays must not be seen by later runs.
class bound_arrays {
public:
    explicit bound_arrays(network &net) : net_(net) {}
    ~bound_arrays() {
        for (std::size_t i = 0; i < net_.input_count(); i++)
            net_.bind_input(i, nullptr, 0);
        for (std::size_t i = 0; i < net_.output_count(); i++)
            net_.bind_output(i, nullptr, 0);
    }

private:
    network &net_;
};

} // namespace

py::dict python_network::last_inputs() const {
    py::dict named;
    for (std::size_t i = 0; i < last_.size(); i++)
        named[py::str(get().input(i).name())] = last_[i];
    return named;
}

std::vector<py::array> python_network::execute(const inputs &given) {
    last_ = given;
    const lease net(*this);
    const bound_arrays unbind(*net);
    set_inputs(*net, given);
    std::vector<py::array> outputs;
    for (std::size_t i = 0; i < output_ports_.size(); i++) {
        outputs.push_back(empty(output_ports_[i].type, output_ports_[i].dims));
        net->bind_output(i, outputs.back().mutable_data(), output_ports_[i].bytes);
    }
    {
        const py::gil_scoped_release release;
        net->run();
    }
    bool wants_reals = false;
    for (std::size_t i = 0; i < given.size(); i++)
        wants_reals = wants_reals || (input_ports_[i].is_scaled && given[i].dtype().kind() == 'f');
    for (std::size_t i = 0; wants_reals && i < outputs.size(); i++)
        if (output_ports_[i].is_scaled) {
            const std::vector<float> reals = net->output(i).as<float>();
            outputs[i] = empty(data_type::f32, output_ports_[i].dims);
            std::memcpy(outputs[i].mutable_data(), reals.data(), reals.size() * sizeof(float));
        }
    return outputs;
}

py::object python_network::call(const py::args &values, const py::kwargs &named) {
    std::vector<py::array> outputs = execute(inputs_of(values, named));
    if (outputs.size() == 1)
        return outputs[0];
    return py::tuple(py::cast(outputs));
}

py::dict python_network::run(const py::dict &feeds, const std::vector<std::string> &wanted) {
    const std::vector<py::array> outputs = execute(inputs_of(py::args(), py::kwargs(feeds)));
    py::dict result;
    for (std::size_t i = 0; i < outputs.size(); i++) {
        const std::string &name = output_ports_[i].name;
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
            result[py::str(name)] = outputs[i];
    }
    for (const std::string &name : wanted)
        get().output(name); // throws, with what there is
    return result;
}

py::dict python_network::trace(const py::dict &feeds) {
    const inputs given = inputs_of(py::args(), py::kwargs(feeds));
    const lease net(*this);
    const bound_arrays unbind(*net);
    set_inputs(*net, given);
    py::dict result;
    const model::graph &g = net->get_graph();
    net->run([&](std::size_t node, double) {
        for (const int t : g.nodes[node].outputs)
            if (t >= 0 && net->get_memory(t).get_data_handle())
                result[py::str(tensor_at(*net, t).name)] = copy_of(net->tensor(t));
    });
    return result;
}

std::vector<double> python_network::profile(const py::dict &feeds, int repeat) {
    const inputs given = inputs_of(py::args(), py::kwargs(feeds));
    const lease net(*this);
    const bound_arrays unbind(*net);
    set_inputs(*net, given);
    std::vector<std::vector<double>> times(net->get_graph().nodes.size());
    {
        const py::gil_scoped_release release;
        net->run(); // wakes threads, warms caches
        for (int r = 0; r < repeat; r++)
            net->run([&](std::size_t node, double seconds) { times[node].push_back(seconds); });
    }
    std::vector<double> medians;
    for (std::vector<double> &t : times) {
        std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
        medians.push_back(t.empty() ? 0 : t[t.size() / 2]);
    }
    return medians;
}

double python_network::seconds_per_run(int repeat) {
    const lease net(*this);
    const py::gil_scoped_release release;
    const auto begin = std::chrono::steady_clock::now();
    for (int r = 0; r < repeat; r++)
        net->run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / repeat;
}

void bind_network(py::module_ &m) {
    const auto make =
        [](const py::object &source, dim_t batch, int threads, const std::string &rule, bool fusion,
           const std::map<std::string, memory::dims> &shapes, const std::map<std::string, dim_t> &dimensions,
           const std::function<void(double, const std::string &)> &progress, std::size_t memory_limit) {
            network_options o;
            o.batch = batch;
            o.threads = threads;
            o.rule = requantization_rule_from_string(rule.c_str());
            o.fusion = fusion;
            o.shapes = shapes;
            o.dimensions = dimensions;
            o.progress = progress;
            o.memory_limit = memory_limit;
            if (py::isinstance<py::bytes>(source)) {
                const auto bytes = py::cast<std::string_view>(source);
                return std::make_unique<python_network>(network(bytes.data(), bytes.size(), "bytes", o));
            }
            const auto path = py::cast<std::string>(py::module_::import("os").attr("fspath")(source));
            const py::gil_scoped_release release;
            return std::make_unique<python_network>(network(path, o));
        };
    py::class_<python_network>(m, "Network")
        .def(py::init(make), py::arg("model"), py::kw_only(), py::arg("batch") = 0, py::arg("threads") = 0,
             py::arg("rule") = "automatic", py::arg("fusion") = true,
             py::arg("shapes") = std::map<std::string, memory::dims>(),
             py::arg("dimensions") = std::map<std::string, dim_t>(), py::arg("progress") = py::none(),
             py::arg("memory_limit") = 0)
        .def("__call__", &python_network::call)
        .def("run", &python_network::run, py::arg("feeds"), py::arg("outputs") = std::vector<std::string>())
        .def("trace", &python_network::trace, py::arg("feeds"))
        .def("_profile", &python_network::profile, py::arg("feeds"), py::arg("repeat"))
        .def("resize", &python_network::resize, py::kw_only(), py::arg("batch") = 0,
             py::arg("shapes") = std::map<std::string, memory::dims>(),
             py::arg("dimensions") = std::map<std::string, dim_t>())
        .def("reset_state", &python_network::reset_state)
        .def(
            "save",
            [](python_network &n, const py::object &path) {
                n.save(py::cast<std::string>(py::module_::import("os").attr("fspath")(path)));
            },
            py::arg("path"),
            "Writes it in its present sizes to a file from which octet.Network makes it in milliseconds, on "
            "machines with\n"
            "this instruction set and with this version of the library. Keep the model.")
        .def("_seconds_per_run", &python_network::seconds_per_run, py::arg("repeat"))
        .def_property_readonly("_inputs", [](const python_network &n) { return infos(n.get(), true); })
        .def_property_readonly("_outputs", [](const python_network &n) { return infos(n.get(), false); })
        .def_property_readonly("_nodes", [](const python_network &n) { return nodes_of(n.get()); })
        .def_property_readonly("last_inputs", &python_network::last_inputs,
                               "Inputs of the call that began last, by name.")
        .def_property_readonly(
            "framework", [](const python_network &n) { return n.get().get_graph().framework; },
            "Whose operators the file has: \"tflite\" or \"onnx\".")
        .def_property_readonly(
            "threads", [](const python_network &n) { return n.get().options().threads; },
            "Of this network; 0: as octet.set_num_threads says.")
        .def_property_readonly(
            "buffer_bytes", [](const python_network &n) { return n.get().buffer_bytes().first; },
            "What a context takes for the tensors between operators.");
}

} // namespace octet::python
