// Calls in three parts: inputs are checked against the sizes and arrays for outputs are made, with Python's lock; the
// network runs in a context of its own, without; objects are made of what it gave, with the lock again. `in_context`
// is the middle.
// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>

namespace octet::python {
namespace {

const std::string &name_at(const network &net, int index) {
    return net.get_graph().tensors[static_cast<std::size_t>(index)].name;
}

bool has_state(const network &net) {
    const auto &tensors = net.get_graph().tensors;
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const model::tensor &t) { return t.is_variable && !t.is_constant; });
}

/// Contexts of one network, and sizes of calls that are remembered: as many as plans.
constexpr std::size_t most_contexts = 16;

network_sizes sizes_of(const network_options &o) { return {o.batch, o.shapes, o.dimensions}; }

/// A tensor between two operators.
struct traced_tensor {
    std::string name;
    data_type type;
    memory::dims dims;
    std::vector<std::uint8_t> bytes; ///< row-major over its dimensions
};

traced_tensor copy_of(const tensor_view &t) {
    traced_tensor copy = {t.name(), t.data_type(), t.dims(), std::vector<std::uint8_t>(t.size_in_bytes())};
    const memory from = t.get_memory();
    const memory::dims dims = from.get_desc().dims();
    const memory to(memory::desc(dims, t.data_type(), memory::dims()), from.get_engine(), copy.bytes.data());
    if (from.get_desc() == to.get_desc()) {
        std::memcpy(copy.bytes.data(), t.data(), copy.bytes.size());
        return copy;
    }
    primitive_attr attr;
    if (t.data_type() != data_type::f32)
        attr.set_requantization(requantization_rule::none);
    reorder(from, to, attr).execute(stream(to.get_engine()), from, to);
    return copy;
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

struct node_info {
    int number;
    std::string op;
    std::vector<std::string> inputs, outputs;
    memory::dims shape;
    std::string implementation, explanation;
};

node_info info_of(const network &net, std::size_t i) {
    const model::graph &g = net.get_graph();
    const model::node &n = g.nodes[i];
    return {model::node_number(g, i),
            model::operator_text(n),
            names_of(net, n.inputs),
            names_of(net, n.outputs),
            n.outputs.empty() ? memory::dims() : g.tensors[static_cast<std::size_t>(n.outputs[0])].dims,
            net.implementation(i),
            net.explain(i)};
}

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

/// Floats that stand for codes are converted into the network's buffer, others are read where they are.
template <typename Inputs> void set_inputs(network &net, const Inputs &given) {
    for (std::size_t i = 0; i < given.size(); i++)
        if (given[i].is_real)
            net.input(i).copy_from(static_cast<const float *>(given[i].data), given[i].count);
        else
            net.bind_input(i, given[i].data, given[i].bytes);
}

} // namespace

/// A turn and a context for the time of a call, without Python's lock.
class python_network::lease {
public:
    explicit lease(python_network &owner) : lease(owner, *owner.open_description()) {}
    lease(python_network &owner, const description &d) : lease(owner, d.sizes, d.key) {}
    lease(python_network &owner, network_sizes sizes, std::string key)
        : turn_(owner.turns_), owner_(owner), key_(std::move(key)), context_(owner.take(sizes, key_)) {}
    ~lease() { owner_.give_back(context_, key_); }
    network &operator*() const { return *context_; }
    network *operator->() const { return context_; }

private:
    const py::gil_scoped_release release_;
    const turns::call turn_;
    python_network &owner_;
    const std::string key_;
    network *const context_;
};

python_network::python_network(network first)
    : first_(std::move(first)), framework_(first_.get_graph().framework), has_state_(has_state(first_)),
      description_(describe(first_, sizes_of(first_.options()))), free_{{description_->key, &first_}} {}

std::shared_ptr<const python_network::description> python_network::describe(const network &net,
                                                                            const network_sizes &sizes) {
    const model::graph &g = net.get_graph();
    const auto port_of = [&](const tensor_view &t) {
        port p{t.name(), t.dims(), t.data_type(), t.quantization(), std::vector<bool>(t.dims().size())};
        const auto &names = g.tensors[static_cast<std::size_t>(t.index())].dim_names;
        for (std::size_t d = 0; d < std::min(names.size(), p.is_open.size()); d++)
            p.is_open[d] = !names[d].empty();
        return p;
    };
    auto d = std::make_shared<description>();
    d->sizes = sizes;
    for (std::size_t i = 0; i < net.input_count(); i++) {
        d->inputs.push_back(port_of(net.input(i)));
        d->key += model::to_text(d->inputs[i].dims) + ' ';
    }
    for (std::size_t i = 0; i < net.output_count(); i++)
        d->outputs.push_back(port_of(net.output(i)));
    return d;
}

bool python_network::port::takes(const memory::dims &given) const {
    if (given.size() != dims.size())
        return false;
    for (std::size_t d = 0; d < dims.size(); d++)
        if (is_open[d] ? given[d] < 1 : given[d] != dims[d])
            return false;
    return true;
}

std::string python_network::port::allowed() const {
    std::string text;
    for (std::size_t d = 0; d < dims.size(); d++)
        text += (d ? "x" : "") + (is_open[d] ? "*" : std::to_string(dims[d]));
    return text.empty() ? "scalar" : text;
}

bool python_network::description::has_open_sizes() const {
    return std::any_of(inputs.begin(), inputs.end(), [](const port &p) {
        return std::any_of(p.dims.begin(), p.dims.end(), [](dim_t d) { return d < 0; });
    });
}

bool python_network::description::has_dims_of(const description &other) const {
    const auto have_equal_dims = [](const std::vector<port> &a, const std::vector<port> &b) {
        return std::equal(a.begin(), a.end(), b.begin(),
                          [](const port &p, const port &q) { return p.dims == q.dims; });
    };
    return this == &other ||
           (have_equal_dims(inputs, other.inputs) && have_equal_dims(outputs, other.outputs));
}

/// In a turn. Of contexts in other sizes the one that was not used for longest gets these, once there are many.
network *python_network::take(const network_sizes &sizes, const std::string &key) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (has_state_)
        returned_.wait(lock, [&] { return !free_.empty(); });
    const auto fits = [&](const auto &context) { return context.first == key; };
    if (const auto found = std::find_if(free_.rbegin(), free_.rend(), fits); found != free_.rend()) {
        network *const context = found->second;
        free_.erase(std::next(found).base());
        return context;
    }
    const auto oldest = std::find_if(free_.begin(), free_.end(),
                                     [&](const auto &context) { return context.second != &first_; });
    network *context = nullptr;
    if (oldest != free_.end() && others_.size() >= most_contexts) {
        context = oldest->second;
        free_.erase(oldest);
    } else {
        others_.push_back(std::make_unique<network>(first_.new_context()));
        context = others_.back().get();
    }
    lock.unlock(); // a plan for other sizes may tell `progress`, which waits for Python's lock
    try {
        context->resize(sizes);
    } catch (...) {
        give_back(context, "");
        throw;
    }
    return context;
}

void python_network::give_back(network *context, const std::string &key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.emplace_back(key, context);
    returned_.notify_one();
}

void python_network::resize(const network_sizes &sizes) {
    open_description();
    const py::gil_scoped_release release;
    const turns::change turn(turns_);
    first_.resize(sizes);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        others_.clear();
        free_ = {{"", &first_}};
    }
    auto now = describe(first_, sizes);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        free_.front().first = now->key;
    }
    const py::gil_scoped_acquire python;
    description_ = std::move(now);
}

void python_network::reset_state() {
    const py::gil_scoped_release release;
    const turns::change turn(turns_);
    first_.reset_state();
}

/// Waits for calls that run; what is left is a network of nothing, which no call reaches.
void python_network::close() {
    is_closed_ = true;
    const py::gil_scoped_release release;
    const turns::change turn(turns_);
    model::graph nothing;
    nothing.framework = "tflite";
    first_ = network(std::move(nothing));
    const std::lock_guard<std::mutex> lock(mutex_);
    others_.clear();
    free_ = {{"", &first_}};
}

void python_network::save(const std::string &path) {
    open_description();
    const py::gil_scoped_release release;
    const turns::call turn(turns_);
    first_.save(path);
}

std::size_t python_network::buffer_bytes() {
    const py::gil_scoped_release release;
    const turns::call turn(turns_);
    return first_.buffer_bytes().first;
}

py::list python_network::nodes() {
    open_description();
    std::vector<node_info> infos;
    {
        const py::gil_scoped_release release;
        const turns::call turn(turns_);
        for (std::size_t i = 0; i < first_.get_graph().nodes.size(); i++)
            infos.push_back(info_of(first_, i));
    }
    py::list all;
    for (const node_info &info : infos) {
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
        info["dtype"] = dtype_of(p.type);
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
    py::dict words;
    words["batch"] = description_->sizes.batch;
    words["shapes"] = description_->sizes.shapes;
    words["dimensions"] = description_->sizes.dimensions;
    return words;
}

/// One input as elements of its type, or as float32 where it holds codes that stand for reals.
python_network::input python_network::checked(const port &p, const py::handle &given) {
    const py::array values = array_of(given, p.name);
    const memory::dims dims = dims_of(values);
    if (!p.takes(dims))
        throw py::value_error(p.text() + " has shape " + model::to_text(dims) + ", allowed is " +
                              p.allowed() + " (Network.resize takes other sizes)");
    const bool is_real = p.is_scaled() && values.dtype().kind() == 'f';
    const py::array elements = elements_as(values, is_real ? data_type::f32 : p.type, p.name);
    return {elements,
            dims,
            elements.data(),
            static_cast<std::size_t>(elements.size()),
            static_cast<std::size_t>(elements.nbytes()),
            is_real};
}

python_network::inputs_of_call python_network::checked(const description &d, const py::args &values,
                                                       const py::kwargs &named) {
    const std::vector<port> &ports = d.inputs;
    if (values.size() > ports.size())
        throw py::type_error("the network takes " + std::to_string(ports.size()) + " inputs, " +
                             std::to_string(values.size()) + " are given");
    inputs_of_call given(ports.size());
    const auto give = [&](std::size_t i, const py::handle &value) {
        if (given[i].array)
            throw py::type_error(ports[i].text() + " is given twice");
        given[i] = checked(ports[i], value);
    };
    for (std::size_t i = 0; i < values.size(); i++)
        give(i, values[i]);
    for (const auto &[name, value] : named) {
        const auto word = py::cast<std::string>(name);
        const auto found =
            std::find_if(ports.begin(), ports.end(), [&](const port &p) { return p.name == word; });
        if (found == ports.end())
            lease(*this)->input(word); // throws, with what there is
        give(static_cast<std::size_t>(found - ports.begin()), value);
    }
    for (std::size_t i = 0; i < ports.size(); i++)
        if (!given[i].array)
            throw py::type_error(ports[i].text() + " is missing");
    return given;
}

/// Throws ValueError for a network that was closed.
const std::shared_ptr<const python_network::description> &python_network::open_description() const {
    if (is_closed_)
        throw py::value_error("the network is closed");
    return description_;
}

/// The description of a network whose open sizes are as in `given`, of which the plan is made if need be; null where the
/// network itself got these sizes, since it had none.
std::shared_ptr<const python_network::description>
python_network::description_for(const description &usual, const inputs_of_call &given) {
    network_sizes sizes;
    std::string key;
    bool has_batch = true;
    for (std::size_t i = 0; i < given.size(); i++) {
        sizes.shapes[usual.inputs[i].name] = given[i].dims;
        key += model::to_text(given[i].dims) + ' ';
        has_batch &= given[i].dims.empty() || given[i].dims.front() == usual.sizes.batch;
    }
    if (has_batch) // constants may name the old one
        sizes.batch = usual.sizes.batch;
    if (usual.has_open_sizes()) {
        resize(sizes);
        return nullptr;
    }
    const auto found = std::find_if(others_described_.begin(), others_described_.end(),
                                    [&](const auto &d) { return d->key == key; });
    std::shared_ptr<const description> d;
    if (found != others_described_.end()) {
        d = *found;
        others_described_.erase(found);
    } else {
        const lease net(*this, sizes, key);
        d = describe(*net, sizes);
    }
    others_described_.push_front(d);
    if (others_described_.size() > most_contexts)
        others_described_.pop_back();
    return d;
}

/// Calls what `prepare` returns for the sizes and the checked inputs with a context that has them set: what was checked
/// is what is bound, since a context has the sizes of its description, and inputs are checked anew where `resize` changed
/// the usual ones before a turn began.
template <typename Prepare>
void python_network::in_context(const py::args &values, const py::kwargs &named, const Prepare &prepare) {
    for (;;) {
        const std::shared_ptr<const description> usual = open_description();
        const inputs_of_call given = checked(*usual, values, named);
        bool is_usual = true;
        for (std::size_t i = 0; i < given.size(); i++)
            is_usual &= given[i].dims == usual->inputs[i].dims;
        const auto sizes = is_usual ? usual : description_for(*usual, given);
        if (!sizes)
            continue;
        const auto work = prepare(sizes, given);
        const lease net(*this, *sizes);
        if (is_usual && !description_->has_dims_of(*usual))
            continue;
        const bound_arrays unbind(*net);
        set_inputs(*net, given);
        work(*net);
        return;
    }
}

py::dict python_network::last_inputs() const {
    py::dict named;
    for (std::size_t i = 0; i < last_.inputs.size(); i++)
        named[py::str(last_.sizes->inputs[i].name)] = last_.inputs[i].array;
    return named;
}

std::vector<py::array> python_network::execute(const py::args &values, const py::kwargs &named) {
    std::vector<py::array> codes, results;
    in_context(values, named, [&](const auto &sizes, const inputs_of_call &given) {
        last_call now = {sizes, given};
        std::swap(last_, now); // what the old one keeps may end with Python code
        const bool wants_reals =
            std::any_of(given.begin(), given.end(), [](const input &i) { return i.is_real; });
        codes.clear();
        results.clear();
        for (const port &p : sizes->outputs) {
            codes.push_back(empty(p.type, p.dims));
            results.push_back(wants_reals && p.is_scaled() ? empty(data_type::f32, p.dims) : codes.back());
        }
        return [&](network &net) {
            for (std::size_t i = 0; i < codes.size(); i++)
                net.bind_output(i, codes[i].mutable_data(), static_cast<std::size_t>(codes[i].nbytes()));
            net.run();
            for (std::size_t i = 0; i < codes.size(); i++)
                if (!results[i].is(codes[i])) {
                    const std::vector<float> reals = net.output(i).as<float>();
                    std::copy(reals.begin(), reals.end(), static_cast<float *>(results[i].mutable_data()));
                }
        };
    });
    return results;
}

py::object python_network::call(const py::args &values, const py::kwargs &named) {
    std::vector<py::array> outputs = execute(values, named);
    if (outputs.size() == 1)
        return outputs[0];
    return py::tuple(py::cast(outputs));
}

py::dict python_network::run(const py::dict &feeds, const std::vector<std::string> &wanted) {
    const std::shared_ptr<const description> sizes = description_; // names are the same in all
    const std::vector<py::array> outputs = execute(py::args(), py::kwargs(feeds));
    py::dict result;
    for (std::size_t i = 0; i < outputs.size(); i++) {
        const std::string &name = sizes->outputs[i].name;
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
            result[py::str(name)] = outputs[i];
    }
    for (const std::string &name : wanted)
        if (!result.contains(name))
            lease(*this)->output(name); // throws, with what there is
    return result;
}

py::dict python_network::trace(const py::dict &feeds) {
    std::vector<traced_tensor> traced;
    in_context(py::args(), py::kwargs(feeds), [&](const auto &, const inputs_of_call &) {
        return [&](network &net) {
            const model::graph &g = net.get_graph();
            net.run([&](std::size_t node, double) {
                for (const int t : g.nodes[node].outputs)
                    if (t >= 0 && net.get_memory(t).get_data_handle())
                        traced.push_back(copy_of(net.tensor(t)));
            });
        };
    });
    py::dict result;
    for (const traced_tensor &t : traced) {
        py::array a = empty(t.type, t.dims);
        std::copy(t.bytes.begin(), t.bytes.end(), static_cast<std::uint8_t *>(a.mutable_data()));
        result[py::str(t.name)] = a;
    }
    return result;
}

std::vector<double> python_network::profile(const py::dict &feeds, int repeat) {
    std::vector<std::vector<double>> times;
    in_context(py::args(), py::kwargs(feeds), [&](const auto &, const inputs_of_call &) {
        return [&](network &net) {
            times.resize(net.get_graph().nodes.size());
            net.run(); // wakes threads, warms caches
            for (int r = 0; r < repeat; r++)
                net.run([&](std::size_t node, double seconds) { times[node].push_back(seconds); });
        };
    });
    std::vector<double> medians;
    for (std::vector<double> &t : times) {
        std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
        medians.push_back(t.empty() ? 0 : t[t.size() / 2]);
    }
    return medians;
}

double python_network::seconds_per_run(int repeat) {
    const lease net(*this);
    const auto begin = std::chrono::steady_clock::now();
    for (int r = 0; r < repeat; r++)
        net->run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / repeat;
}

void bind_network(py::module_ &m) {
    const auto make = [](const py::object &source, dim_t batch, int threads, const std::string &rule,
                         bool fusion, const std::map<std::string, memory::dims> &shapes,
                         const std::map<std::string, dim_t> &dimensions,
                         const std::function<void(double, const std::string &)> &progress,
                         std::size_t memory_limit, const std::string &profile) {
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
             py::arg("memory_limit") = 0, py::arg("profile") = "")
        .def("__call__", &python_network::call)
        .def("run", &python_network::run, py::arg("feeds"), py::arg("outputs") = std::vector<std::string>())
        .def("trace", &python_network::trace, py::arg("feeds"))
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
        .def("close", &python_network::close, "Gives its memory back. Calls are errors from then on.")
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
